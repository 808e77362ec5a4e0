//! The options of mkfs, mount and exports that an experiment may use: for each program a table of options and the form of their values.
//!
//! mkfs can write undo files, copy directories and put journals on other devices, and mount can change existing mounts. So only
//! options in these tables are passed on. Everything else is refused, including options that a later version of the program adds.
//! `spec` refuses an option at its line of the file. `stack` checks again before the program starts, because a plan may come from
//! a store that somebody else wrote.

mod btrfs;
mod ext;
mod mount;
#[cfg(test)]
mod property_tests;
mod table;
#[cfg(test)]
mod tests;
mod xfs;

pub use mount::Mounted;
pub use table::Refusal;

use table::{Form, shown};

/// An mkfs program that takes options from an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mkfs {
    /// mkfs.ext3 and mkfs.ext4.
    Ext,
    /// mkfs.xfs.
    Xfs,
    /// mkfs.btrfs.
    Btrfs,
}

/// Options of exports(5) that change how a server works, but not anybody's rights.
pub const EXPORTS: &[&str] = &[
    "sync",
    "async",
    "wdelay",
    "no_wdelay",
    "subtree_check",
    "no_subtree_check",
    "secure_locks",
    "insecure_locks",
    "auth_nlm",
    "no_auth_nlm",
    "acl",
    "no_acl",
    "pnfs",
    "no_pnfs",
    "security_label",
];

/// Checks all mkfs options of an experiment.
///
/// # Errors
/// The first option that is not allowed.
pub fn mkfs(program: Mkfs, options: &[String]) -> Result<(), Refusal> {
    let table = match program {
        Mkfs::Ext => &ext::TABLE,
        Mkfs::Xfs => &xfs::TABLE,
        Mkfs::Btrfs => &btrfs::TABLE,
    };
    let mut at = 0;
    while let Some(given) = options.get(at) {
        let Some((option, attached)) = table.find(given) else { return Err(table.unknown(at, given)) };
        let value = match (option.form, attached) {
            (Form::Switch, None) => None,
            (Form::Switch, Some(_)) => return Err(table.unknown(at, given)),
            (_, Some(value)) => Some((at, value)),
            (_, None) => {
                at += 1;
                let value =
                    options.get(at).ok_or_else(|| table.without_value(at - 1, given, &option.form))?;
                Some((at, value.as_str()))
            }
        };
        if let Some((at, value)) = value {
            let name = option.names[0];
            option.form.check(value).map_err(|part| table.wrong_value(at, name, &option.form, &part))?;
        }
        at += 1;
    }
    Ok(())
}

/// Checks all mount options of an experiment, one per element.
///
/// # Errors
/// The first option that is not allowed.
pub fn mount(what: Mounted, options: &[String]) -> Result<(), Refusal> {
    let table = mount::table(what);
    let known = |option: &str| table.allowed.iter().any(|all| Form::Named(all).check(option).is_ok());
    match options.iter().position(|option| !known(option)) {
        None => Ok(()),
        Some(at) => Err(table.refusal(at, &options[at])),
    }
}

/// Checks all NFS export options of an experiment.
///
/// # Errors
/// The first option that is not allowed.
pub fn export(options: &[String]) -> Result<(), Refusal> {
    match options.iter().position(|option| !EXPORTS.contains(&option.as_str())) {
        None => Ok(()),
        Some(at) => Err(Refusal {
            at,
            message: format!("export option `{}` is refused", shown(&options[at])),
            allowed: EXPORTS.join(" "),
            help: "only what changes how the server works can be set".to_owned(),
        }),
    }
}
