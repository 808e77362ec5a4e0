//! Reads lists of machines: diskproof's own YAML, and Ansible's inventories (INI, YAML, and what `ansible-inventory --list` prints).

mod ansible;
mod groups;
mod ini;
mod own;
mod range;

use crate::diagnostic::Diagnostic;
use crate::limits::MAX_FILE_BYTES;
use crate::load::{LoadError, single};
use crate::problems::Problems;
use crate::source::Source;
use crate::tree::find;
use crate::{beside, tree};
use record::machine::Machine;
use record::printable::Shown as _;
use std::path::Path;

/// The machines of a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MachineList {
    /// The machines, in the order of the file.
    pub machines: Vec<Machine>,
    /// Notes about what the file says and diskproof doesn't use, each with its line.
    pub notes: Vec<String>,
}

/// Reads a list of machines. YAML with `machines:` is diskproof's own form, other YAML and JSON is Ansible's; what isn't YAML by its name
/// is Ansible's INI.
///
/// # Errors
/// The file can't be read, or is wrong; all errors in it are reported together.
pub fn machines(path: &Path) -> Result<MachineList, LoadError> {
    let io = |error| LoadError::Io { path: path.to_owned(), source: std::io::Error::other(error) };
    let text = beside::text(path, MAX_FILE_BYTES).map_err(|error: beside::NoText| io(error))?;
    let name = path.shown().to_string();
    let is_yaml = path.extension().is_some_and(|end| end == "yaml" || end == "yml" || end == "json");
    of_text(&name, &text, if is_yaml { Form::Yaml } else { Form::Ini })
}

/// Reads what `ansible-inventory --list` prints. Messages use `name` for its source.
///
/// # Errors
/// It has another form.
pub fn ansible_list(text: &str, name: &str) -> Result<MachineList, LoadError> {
    of_text(name, text, Form::List)
}

#[derive(Clone, Copy)]
enum Form {
    Yaml,
    Ini,
    List,
}

fn of_text(name: &str, text: &str, form: Form) -> Result<MachineList, LoadError> {
    let source = Source::new(name, text);
    let mut problems = Problems::new(&source);
    let machines = match form {
        Form::Ini => ini::read(&source, &mut problems),
        Form::List => {
            tree::parse(text, &mut problems).map(|root| ansible::list(&root, &source, &mut problems))
        }
        Form::Yaml => tree::parse(text, &mut problems).map(|root| {
            if find(&root, "machines").is_some() || find(&root, "currency").is_some() {
                own::read(&root, &source, &mut problems)
            } else {
                ansible::yaml(&root, &source, &mut problems)
            }
        }),
    };
    let notes = problems.finish().map_err(LoadError::Diagnostics)?;
    let machines = machines.unwrap_or_default();
    if machines.is_empty() {
        return Err(single(Diagnostic {
            file: name.to_owned(),
            message: "there are no machines in it".to_owned(),
            expected: Some("`machines: { NAME: { ssh: user@host } }`, or an Ansible inventory".to_owned()),
            ..Diagnostic::default()
        }));
    }
    Ok(MachineList { machines, notes })
}

#[cfg(test)]
mod tests;
