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
#[cfg(test)]
mod tests;
mod xfs;

use std::fmt;

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

/// A file system that takes mount options from an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mounted {
    /// ext3 and ext4.
    Ext,
    /// XFS.
    Xfs,
    /// btrfs.
    Btrfs,
    /// NFS, mounted by the client.
    Nfs,
}

/// The form of an option's value.
#[derive(Debug, Clone, Copy)]
enum Form {
    /// No value.
    Switch,
    /// Digits.
    Number,
    /// Digits, optionally with a decimal point.
    Decimal,
    /// Digits, optionally followed by one letter as the unit.
    Size,
    /// A name: letters, digits and `_ . -`; it starts with a letter or digit.
    Label,
    /// One word of this list.
    OneOf(&'static [&'static str]),
    /// Words of this list, separated by commas; a `^` before a word switches it off.
    Features(&'static [&'static str]),
    /// `NAME` and `NAME=VALUE`, separated by commas.
    Named(&'static [Named]),
}

/// `NAME=VALUE`, or `NAME` alone where the value is optional.
#[derive(Debug)]
struct Named {
    name: &'static str,
    form: Form,
    /// Whether the value may be missing.
    alone: bool,
}

const fn named(name: &'static str, form: Form) -> Named {
    Named { name, form, alone: matches!(form, Form::Switch) }
}

/// A sub-option with an optional value.
const fn perhaps(name: &'static str, form: Form) -> Named {
    Named { name, form, alone: true }
}

/// An option of a program, with all its spellings: `-b`, `--byte-count`.
#[derive(Debug)]
struct Opt {
    names: &'static [&'static str],
    form: Form,
}

const fn opt(names: &'static [&'static str], form: Form) -> Opt {
    Opt { names, form }
}

/// The options of one program.
struct Table {
    program: &'static str,
    allowed: &'static [Opt],
    /// Reasons for the message why other options are refused, by name; sub-options as `-d name`.
    refused: &'static [(&'static str, &'static str)],
}

/// The reason why an option is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Index of the refused element in the list, from 0.
    pub at: usize,
    /// What is wrong, with the program and the option.
    pub message: String,
    /// What is allowed there instead.
    pub allowed: String,
    /// Why it is refused, and what to do instead.
    pub help: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}; allowed: {}", self.message, self.help, self.allowed)
    }
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

const WAY_OUT: &str =
    "only what stays on the stack's own devices is handed over; a `command` layer can do more, with its undo";

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

impl Table {
    /// Finds the option that an element names, and the value in the same element. Names must be complete: no abbreviated long names,
    /// no combined letters.
    fn find<'t>(&self, given: &'t str) -> Option<(&Opt, Option<&'t str>)> {
        let by_name = |option: &'static Opt| {
            option.names.iter().find_map(|name| {
                let rest = given.strip_prefix(name)?;
                match (name.starts_with("--"), rest) {
                    (_, "") => Some((option, None)),
                    (true, rest) => rest.strip_prefix('=').map(|value| (option, Some(value))),
                    (false, rest) => Some((option, Some(rest))),
                }
            })
        };
        self.allowed.iter().find_map(by_name)
    }

    fn names(&self) -> String {
        self.allowed.iter().map(|option| option.names.join("|")).collect::<Vec<_>>().join(" ")
    }

    fn why(&self, name: &str) -> Option<&'static str> {
        let long = name.split('=').next().unwrap_or(name);
        let letter = || name.get(..2).filter(|_| !name.starts_with("--"));
        let entry = |wanted: &str| self.refused.iter().find(|(name, _)| *name == wanted);
        entry(long).or_else(|| letter().and_then(entry)).map(|(_, why)| *why)
    }

    fn unknown(&self, at: usize, given: &str) -> Refusal {
        let (program, shown) = (self.program, shown(given));
        let together = || {
            let switch = given.get(..2).and_then(|letter| self.find(letter));
            let is_switch = switch.is_some_and(|(option, _)| matches!(option.form, Form::Switch));
            is_switch.then_some("write every option as an element of its own")
        };
        let message = if given.starts_with('-') {
            format!("the option `{shown}` is not allowed for {program}")
        } else {
            format!("`{shown}` is not allowed for {program}: it is neither an option nor the value of one")
        };
        let help = match together().or_else(|| self.why(given)) {
            Some(why) => format!("{why}; {WAY_OUT}"),
            None => WAY_OUT.to_owned(),
        };
        Refusal { at, message, allowed: self.names(), help }
    }

    fn without_value(&self, at: usize, given: &str, form: &Form) -> Refusal {
        Refusal {
            at,
            message: format!("the option `{}` of {} has no value", shown(given), self.program),
            allowed: form.to_string(),
            help: "write the value as the next element of the list".to_owned(),
        }
    }

    fn wrong_value(&self, at: usize, name: &str, form: &Form, part: &str) -> Refusal {
        let sub = part.split('=').next().unwrap_or(part);
        let help = match self.why(&format!("{name} {sub}")) {
            Some(why) => format!("{why}; {WAY_OUT}"),
            None => WAY_OUT.to_owned(),
        };
        let message = format!("the option `{name}` of {} may not be `{}`", self.program, shown(part));
        Refusal { at, message, allowed: form.to_string(), help }
    }
}

impl Form {
    /// Checks that a value has this form; the error is the wrong part.
    fn check(&self, value: &str) -> Result<(), String> {
        let holds = |right: bool| if right { Ok(()) } else { Err(value.to_owned()) };
        match self {
            Self::Switch => holds(value.is_empty()),
            Self::Number => holds(is_digits(value)),
            Self::Decimal => {
                let (whole, part) = value.split_once('.').unwrap_or((value, "0"));
                holds(is_digits(whole) && is_digits(part))
            }
            Self::Size => {
                holds(is_digits(value.strip_suffix(|c: char| c.is_ascii_alphabetic()).unwrap_or(value)))
            }
            Self::Label => {
                let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
                let begins = value.starts_with(|c: char| c.is_ascii_alphanumeric());
                holds(begins && value.len() <= 64 && value.chars().all(plain))
            }
            Self::OneOf(words) => holds(words.contains(&value)),
            Self::Features(words) => {
                each(value, |word| words.contains(&word.strip_prefix('^').unwrap_or(word)))
            }
            Self::Named(all) => each(value, |part| all.iter().any(|named| named.takes(part))),
        }
    }
}

/// Checks each part between commas, and returns the first wrong one as the error.
fn each(value: &str, right: impl Fn(&str) -> bool) -> Result<(), String> {
    value.split(',').find(|part| !right(part)).map_or(Ok(()), |part| Err(part.to_owned()))
}

fn is_digits(text: &str) -> bool {
    (1..=18).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit())
}

impl Named {
    fn takes(&self, part: &str) -> bool {
        match part.split_once('=') {
            None => part == self.name && self.alone,
            Some((name, value)) => {
                name == self.name && !matches!(self.form, Form::Switch) && self.form.check(value).is_ok()
            }
        }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Switch => f.write_str("no value"),
            Self::Number => f.write_str("NUMBER"),
            Self::Decimal => f.write_str("NUMBER with or without a decimal point"),
            Self::Size => f.write_str("SIZE, a number with or without a letter for its unit"),
            Self::Label => f.write_str("NAME of letters, digits and _ . -"),
            Self::OneOf(words) => f.write_str(&words.join("|")),
            Self::Features(words) => {
                write!(f, "a list, with ^ before what is switched off, of {}", words.join(" "))
            }
            Self::Named(all) => {
                let shown: Vec<String> = all.iter().map(ToString::to_string).collect();
                write!(f, "a list of {}", shown.join(" "))
            }
        }
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = match self.form {
            Form::Switch => return f.write_str(self.name),
            Form::OneOf(words) => words.join("|"),
            Form::Size => "SIZE".to_owned(),
            Form::Number | Form::Decimal => "NUMBER".to_owned(),
            _ => "VALUE".to_owned(),
        };
        match self.alone {
            true => write!(f, "{}[={value}]", self.name),
            false => write!(f, "{}={value}", self.name),
        }
    }
}

/// The text as a message shows it.
fn shown(text: &str) -> String {
    let cut: String = text.chars().take(60).collect();
    crate::printable::printable(&cut).into_owned() + if cut.len() < text.len() { "…" } else { "" }
}
