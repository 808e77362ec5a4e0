//! Finds the program of a driver.

use host::{TrustError, open_trusted, untrusted_by};
use record::printable::{Shown as _, printable};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// What the names of all drivers' programs begin with.
pub const PREFIX: &str = "diskproof-driver-";
/// The longest name of a driver.
const LONGEST: usize = 40;

/// The program of a driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The driver's name.
    pub name: String,
    /// Its absolute path.
    pub path: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
}

/// Why there is no program of a driver.
#[derive(Debug, Error)]
pub enum ProgramError {
    /// It can't be a driver's name.
    #[error("`{}` is not the name of a driver: lower-case letters, digits and hyphens, at most {LONGEST}", printable(.0))]
    Name(String),
    /// No driver of this name is built in or on the PATH.
    #[error(
        "there is no driver `{name}`: built in are {}, and no directory of PATH has {PREFIX}{name}; `diskproof driver list` shows all",
        .built_in.join(", ")
    )]
    Unknown {
        /// The name.
        name: String,
        /// The built-in ones.
        built_in: Vec<String>,
    },
    /// Others can change it.
    #[error("the driver's program can't be trusted, since it sees secrets")]
    Untrusted(#[source] TrustError),
    /// Others can change the file.
    #[error("the driver's program {} can't be used: {source}", .path.shown())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Where drivers are looked for.
#[derive(Debug, Clone)]
pub struct Places {
    /// The built-in drivers' names.
    pub built_in: Vec<String>,
    /// This program, with the arguments that come before `driver NAME`.
    pub own: (PathBuf, Vec<OsString>),
    /// The user's `PATH`.
    pub path: OsString,
}

impl Places {
    /// Finds a driver: a built-in one before one on the user's PATH.
    ///
    /// # Errors
    /// There is none, or others can change its program.
    pub fn find(&self, name: &str) -> Result<Program, ProgramError> {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
        if !begins || name.len() > LONGEST || !name.chars().all(plain) {
            return Err(ProgramError::Name(name.to_owned()));
        }
        if self.built_in.iter().any(|known| known == name) {
            let (path, before) = &self.own;
            let args =
                before.iter().cloned().chain([OsString::from("driver"), OsString::from(name)]).collect();
            return Ok(Program { name: name.to_owned(), path: path.clone(), args });
        }
        let file = format!("{PREFIX}{name}");
        let found = self.directories().map(|dir| dir.join(&file)).find(|path| path.is_file());
        let unknown = || ProgramError::Unknown { name: name.to_owned(), built_in: self.built_in.clone() };
        own(&found.ok_or_else(unknown)?, name)
    }

    /// The names of drivers on the user's PATH, in order, each once.
    #[must_use]
    pub fn on_path(&self) -> Vec<String> {
        let entries = self.directories().filter_map(|dir| std::fs::read_dir(dir).ok()).flatten().flatten();
        let name =
            |entry: std::fs::DirEntry| entry.file_name().to_str()?.strip_prefix(PREFIX).map(str::to_owned);
        let mut names: Vec<String> =
            entries.filter_map(name).filter(|name| !self.built_in.contains(name)).collect();
        names.sort();
        names.dedup();
        names
    }

    /// Absolute directories only: what a relative one means depends on where one stands.
    fn directories(&self) -> impl Iterator<Item = PathBuf> {
        std::env::split_paths(&self.path).filter(|dir| dir.is_absolute())
    }
}

/// A driver's program by its path.
///
/// # Errors
/// It doesn't exist, or others can change it.
pub fn own(path: &Path, name: &str) -> Result<Program, ProgramError> {
    let failed = |source| ProgramError::File { path: path.to_path_buf(), source };
    let path = std::path::absolute(path).map_err(failed)?;
    host::only_ours_down_to(path.parent().unwrap_or(Path::new("/"))).map_err(ProgramError::Untrusted)?;
    // A link is fine where its target is; its directories are checked on the way.
    let real =
        std::fs::canonicalize(&path).map_err(|source| ProgramError::File { path: path.clone(), source })?;
    host::only_ours_down_to(real.parent().unwrap_or(Path::new("/"))).map_err(ProgramError::Untrusted)?;
    open_trusted(&real, host::StateAccess::Read).map_err(|source| ProgramError::File {
        path: real.clone(),
        source: match untrusted_by(&source) {
            Some(why) => io::Error::other(why.to_string()),
            None => source,
        },
    })?;
    Ok(Program { name: name.to_owned(), path: real, args: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::{Places, ProgramError};
    use std::ffi::OsString;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;

    fn places(path: &Path) -> Places {
        let own = ("/usr/bin/diskproof".into(), vec![OsString::from("--state"), "/s".into()]);
        Places { built_in: vec!["lab".to_owned()], own, path: path.as_os_str().to_owned() }
    }

    fn put(path: &Path, mode: u32) {
        std::fs::write(path, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_built_in_driver_is_this_program() {
        let program = places(Path::new("/nowhere")).find("lab").unwrap();
        assert_eq!(program.path, Path::new("/usr/bin/diskproof"));
        assert_eq!(program.args, ["--state", "/s", "driver", "lab"]);
    }

    #[test]
    fn a_program_that_others_can_change_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let at = places(dir.path());
        put(&dir.path().join("diskproof-driver-mine"), 0o755);
        put(&dir.path().join("diskproof-driver-open"), 0o777);
        assert_eq!(at.on_path(), ["mine", "open"]);
        assert_eq!(at.find("mine").unwrap().path, dir.path().join("diskproof-driver-mine"));
        let said = at.find("open").unwrap_err();
        assert!(
            said.to_string().contains("diskproof-driver-open") && said.to_string().contains("777"),
            "{said}"
        );
        std::fs::set_permissions(dir.path(), Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(at.find("mine"), Err(ProgramError::Untrusted(_))));
    }

    #[test]
    fn names_lead_nowhere_else() {
        let at = places(Path::new("/usr/bin"));
        for name in ["", "../x", "a/b", "A", "-a", "a b", "1a"] {
            assert!(matches!(at.find(name), Err(ProgramError::Name(_))), "{name}");
        }
        let said = at.find("no-such").unwrap_err().to_string();
        assert!(said.contains("diskproof-driver-no-such") && said.contains("built in are lab"), "{said}");
    }
}
