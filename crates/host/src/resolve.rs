//! Finds programs in fixed directories, so that no `$PATH` decides which program erases a disk.

use crate::failure::CommandFailure;
use crate::invocation::Program;
use crate::tool::Tool;
use record::printable::Shown as _;
use rustix::fs::{Access, access};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The directories to search; the first match wins.
pub const DIRECTORIES: [&str; 6] =
    ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

static FOUND: Mutex<BTreeMap<Tool, PathBuf>> = Mutex::new(BTreeMap::new());

/// Returns the path of a tool. A found path is kept for the life of the process; a missing tool is searched again.
///
/// # Errors
/// [`CommandFailure::NotFound`], with the Debian package of the tool.
pub fn resolve(tool: Tool) -> Result<PathBuf, CommandFailure> {
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(path) = found.get(&tool) {
        return Ok(path.clone());
    }
    let path = search(tool.name(), Some(tool.package()))?;
    found.insert(tool, path.clone());
    Ok(path)
}

/// Returns the path of any program: an absolute path is used as it is, a name is searched in [`DIRECTORIES`].
///
/// # Errors
/// [`CommandFailure::NotFound`]; a relative path with a directory in it is never found.
pub fn find(program: &Path) -> Result<PathBuf, CommandFailure> {
    if program.is_absolute() {
        if is_program(program) {
            return Ok(program.to_path_buf());
        }
        let directory = program.parent().unwrap_or(program).to_path_buf();
        return Err(CommandFailure::NotFound {
            program: program.shown().to_string(),
            package: None,
            looked_in: vec![directory],
        });
    }
    search(&program.to_string_lossy(), None)
}

pub(crate) fn path_of(program: &Program) -> Result<PathBuf, CommandFailure> {
    match program {
        Program::Tool(tool) => resolve(*tool),
        Program::User(path) => find(path),
    }
}

fn search(name: &str, package: Option<&'static str>) -> Result<PathBuf, CommandFailure> {
    let bare = !name.is_empty() && !name.contains('/') && name != "." && name != "..";
    let path = DIRECTORIES.iter().map(|d| Path::new(d).join(name)).find(|p| bare && is_program(p));
    path.ok_or_else(|| CommandFailure::NotFound {
        program: name.to_owned(),
        package,
        looked_in: DIRECTORIES.iter().map(PathBuf::from).collect(),
    })
}

fn is_program(path: &Path) -> bool {
    path.is_file() && access(path, Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::find;
    use std::path::Path;

    #[test]
    fn names_are_found_in_the_fixed_directories_only() {
        assert!(find(Path::new("cat")).unwrap().is_absolute());
        assert!(find(Path::new("../bin/cat")).is_err(), "a relative path would depend on where we stand");
        assert!(find(Path::new("")).is_err());
        assert!(find(Path::new("..")).is_err());
        assert!(find(Path::new("diskproof-no-such-program")).is_err());
    }

    #[test]
    fn absolute_paths_must_be_programs() {
        assert!(find(Path::new("/etc/passwd")).is_err(), "not executable");
        assert!(find(Path::new("/usr")).is_err(), "a directory");
        let text = find(Path::new("/nowhere/up.sh")).unwrap_err().to_string();
        assert_eq!(text, "/nowhere/up.sh was not found in /nowhere");
    }
}
