//! Settings of S3 at the places where the tools of AWS keep them: variables, then `~/.aws`.

use super::ini::Ini;
use crate::error::ShareError;
use record::printable::{Shown as _, printable};
use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

/// Where settings come from.
#[derive(Clone, Default)]
pub struct Settings {
    /// Variables: those that begin with `AWS_`.
    pub variables: BTreeMap<String, String>,
    /// The user's folder, which holds `.aws`.
    pub home: Option<PathBuf>,
}

/// The files, read.
pub(crate) struct Files {
    pub(crate) config: Ini,
    pub(crate) credentials: Ini,
}

impl Settings {
    /// The usual places: this process's variables and the user's folder.
    #[must_use]
    pub fn usual() -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((
                name.into_string().ok().filter(|name| name.starts_with("AWS_"))?,
                value.into_string().ok()?,
            ))
        };
        Self {
            variables: env::vars_os().filter_map(text).collect(),
            home: env::var_os("HOME").map(PathBuf::from),
        }
    }

    /// A variable that isn't empty.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The profile that the user chose.
    pub(crate) fn profile(&self) -> &str {
        self.variable("AWS_PROFILE").or_else(|| self.variable("AWS_DEFAULT_PROFILE")).unwrap_or("default")
    }

    /// Reads the files. One that isn't there is empty.
    pub(crate) fn files(&self) -> Result<Files, ShareError> {
        let files = Files {
            config: self.read("AWS_CONFIG_FILE", "config")?,
            credentials: self.read("AWS_SHARED_CREDENTIALS_FILE", "credentials")?,
        };
        let profile = self.profile();
        if profile != "default" && !files.config.has(&section(profile)) && !files.credentials.has(profile) {
            let why = format!("AWS_PROFILE names `{}`, which no file of AWS has", printable(profile));
            return Err(ShareError::Credentials { why });
        }
        Ok(files)
    }

    fn read(&self, variable: &str, usual: &str) -> Result<Ini, ShareError> {
        let named = self.variable(variable).map(|path| match path.strip_prefix("~/") {
            Some(rest) => self.home.clone().unwrap_or_default().join(rest),
            None => PathBuf::from(path),
        });
        let Some(path) = named.or_else(|| Some(self.home.as_ref()?.join(".aws").join(usual))) else {
            return Ok(Ini::default());
        };
        match fs::read_to_string(&path) {
            Ok(text) => Ini::parse(&text).map_err(|line| ShareError::Credentials {
                why: format!("{}, line {line}: it is neither [SECTION] nor NAME = VALUE", path.shown()),
            }),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                Ok(Ini::default())
            }
            Err(source) => Err(ShareError::file("read", path)(source)),
        }
    }
}

/// The section of a profile in `config`.
pub(crate) fn section(profile: &str) -> String {
    if profile == "default" { profile.to_owned() } else { format!("profile {profile}") }
}

impl Files {
    /// A setting of a profile in `config`.
    pub(crate) fn of_profile(&self, profile: &str, name: &str) -> Option<&str> {
        self.config.get(&section(profile), name)
    }
}
