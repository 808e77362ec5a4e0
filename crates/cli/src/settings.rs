//! Settings and their origins: defaults < configuration files < environment < command line.

mod file;
pub(crate) mod keys;
#[cfg(test)]
mod tests;

use crate::args::{Global, Typed};
use keys::{
    ALLOWED_SIGNERS, COLOR, COPY_TO, Color, CopyTo, FromText, KEYS, Key, PLAIN_HTTP, PROGRESS, PlainHttp,
    Progress, SSH_CONFIG, STATE, STORE, SUDO, Sudo,
};
use record::printable::Shown as _;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The system-wide configuration file, read before the user's own.
const SYSTEM_FILE: &str = "/etc/diskproof/config.yaml";
/// Root's state folder.
const ROOT_STATE: &str = "/var/lib/diskproof";

/// A setting's value and origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Setting<T> {
    /// The value.
    pub(crate) value: T,
    /// Where it comes from.
    pub(crate) origin: Origin,
}

/// Where a setting's value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The built-in default.
    Default,
    /// A configuration file.
    File {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
    },
    /// An environment variable.
    Environment(&'static str),
    /// A flag.
    CommandLine(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line } => write!(f, "{}:{line}", path.shown()),
            Self::Environment(variable) => write!(f, "environment {variable}"),
            Self::CommandLine(flag) => write!(f, "command line {flag}"),
        }
    }
}

/// All settings.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// See [`STORE`].
    pub(crate) store: Setting<PathBuf>,
    /// See [`STATE`].
    pub(crate) state: Setting<PathBuf>,
    /// See [`COLOR`].
    pub(crate) color: Setting<Color>,
    /// See [`PROGRESS`].
    pub(crate) progress: Setting<Progress>,
    /// See [`SUDO`].
    pub(crate) sudo: Setting<Sudo>,
    /// See [`SSH_CONFIG`].
    pub(crate) ssh_config: Setting<Option<PathBuf>>,
    /// See [`ALLOWED_SIGNERS`].
    pub(crate) allowed_signers: Setting<Option<PathBuf>>,
    /// See [`COPY_TO`].
    pub(crate) copy_to: Setting<CopyTo>,
    /// See [`PLAIN_HTTP`].
    pub(crate) plain_http: Setting<PlainHttp>,
    /// The configuration files that diskproof looks for, and whether each exists.
    pub(crate) files: Vec<(PathBuf, bool)>,
}

impl Settings {
    /// How to connect to machines.
    pub(crate) fn fleet(&self) -> fleet::Options {
        fleet::Options {
            state_dir: self.state.value.clone(),
            state_dir_is_named: self.state.origin != Origin::Default,
            sudo: self.sudo.value == Sudo::Auto,
            ssh_config: self.ssh_config.value.clone(),
            tells_steps: self.progress.value != Progress::None,
            tell: crate::output::aside,
        }
    }
}

/// Settings that can't be used.
#[derive(Debug, Error)]
pub(crate) enum SettingsError {
    /// A file exists and can't be read. The user named it, or it lies where everybody's configuration file lies.
    #[error("can't read the configuration file {}; {}", path.shown(), another_place(*named))]
    Unreadable { path: PathBuf, named: bool, source: std::io::Error },
    /// A file isn't a YAML mapping of text to text.
    #[error("{}: {message}", path.shown())]
    Malformed { path: PathBuf, message: String },
    /// A file has an unknown key.
    #[error("{}:{line}: unknown setting `{name}`{}", path.shown(), hint(*did_you_mean))]
    UnknownKey { path: PathBuf, line: u64, name: String, did_you_mean: Option<&'static str> },
    /// A value has the wrong form.
    #[error("{origin}: `{text}` is not a value for `{key}`; expected {expected}")]
    Value { key: &'static str, text: String, origin: Origin, expected: String },
    /// A default path needs HOME or an XDG variable, and neither is set.
    #[error("neither HOME nor {variable} is set, so there is no place for {}; use {flag}", key.help)]
    NoHome { key: Key, variable: &'static str, flag: &'static str },
}

fn another_place(named: bool) -> &'static str {
    if named {
        "name another one by --config"
    } else {
        "set HOME to a directory that you can read, or name a file by --config"
    }
}

fn hint(did_you_mean: Option<&str>) -> String {
    match did_you_mean {
        Some(name) => format!("; did you mean `{name}`?"),
        None => format!("; known are {}", KEYS.map(|k| k.name).join(", ")),
    }
}

/// A setting's value as text, before it is parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Said {
    key: Key,
    text: String,
    origin: Origin,
}

/// What the settings depend on besides files; a parameter, so that tests can replace it.
pub(crate) struct Surroundings<'a> {
    /// The environment.
    pub(crate) variable: &'a dyn Fn(&str) -> Option<OsString>,
    /// Whether the process is root.
    pub(crate) root: bool,
    /// [`SYSTEM_FILE`], elsewhere in tests.
    pub(crate) system_file: &'a Path,
    /// The folder to which relative paths of the command line refer.
    pub(crate) here: &'a Path,
}

impl Settings {
    /// Reads the settings of this process.
    ///
    /// # Errors
    /// The first wrong value in any of the places, even if a higher place overrides it.
    pub(crate) fn load(global: &Global, verb: &Typed) -> Result<Self, SettingsError> {
        let surroundings = Surroundings {
            variable: &|name| std::env::var_os(name).filter(|value| !value.is_empty()),
            root: rustix::process::geteuid().is_root(),
            system_file: Path::new(SYSTEM_FILE),
            here: &std::env::current_dir().unwrap_or_default(),
        };
        Self::resolve(global, verb, &surroundings)
    }

    /// Does the same in given surroundings.
    pub(crate) fn resolve(
        global: &Global,
        verb: &Typed,
        at: &Surroundings<'_>,
    ) -> Result<Self, SettingsError> {
        let mut said = Vec::new();
        let files = config_files(global, at);
        for (path, required) in &files {
            said.extend(file::read(path, *required)?);
        }
        said.extend(KEYS.into_iter().filter_map(|key| {
            let text = (at.variable)(key.variable)?.to_string_lossy().into_owned();
            Some(Said { key, text, origin: Origin::Environment(key.variable) })
        }));
        said.extend(typed(global, verb, at.here));
        Ok(Self {
            store: pick(STORE, &said, || default_store(at))?,
            state: pick(STATE, &said, || default_state(at))?,
            color: pick(COLOR, &said, || Ok(Color::Auto))?,
            progress: pick(PROGRESS, &said, || Ok(Progress::Auto))?,
            sudo: pick(SUDO, &said, || Ok(Sudo::Auto))?,
            ssh_config: pick(SSH_CONFIG, &said, || Ok(None))?,
            allowed_signers: pick(ALLOWED_SIGNERS, &said, || Ok(None))?,
            copy_to: pick(COPY_TO, &said, || Ok(CopyTo(None)))?,
            plain_http: pick(PLAIN_HTTP, &said, || Ok(PlainHttp::Never))?,
            files: files.into_iter().map(|(path, _)| (path.clone(), path.exists())).collect(),
        })
    }

    /// Every setting as name, value and origin, in the documented order.
    pub(crate) fn rows(&self) -> [(Key, String, &Origin); 9] {
        [
            (STORE, self.store.value.to_text(), &self.store.origin),
            (STATE, self.state.value.to_text(), &self.state.origin),
            (COLOR, self.color.value.to_text(), &self.color.origin),
            (PROGRESS, self.progress.value.to_text(), &self.progress.origin),
            (SUDO, self.sudo.value.to_text(), &self.sudo.origin),
            (SSH_CONFIG, self.ssh_config.value.to_text(), &self.ssh_config.origin),
            (ALLOWED_SIGNERS, self.allowed_signers.value.to_text(), &self.allowed_signers.origin),
            (COPY_TO, self.copy_to.value.to_text(), &self.copy_to.origin),
            (PLAIN_HTTP, self.plain_http.value.to_text(), &self.plain_http.origin),
        ]
    }

    /// Whether http without encryption is allowed.
    pub(crate) fn allows_plain_http(&self) -> bool {
        self.plain_http.value == PlainHttp::Allow
    }

    /// Whether text for this stream may have colours.
    pub(crate) fn colored(&self, is_terminal: bool) -> bool {
        match self.color.value {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => is_terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
        }
    }
}

/// The configuration files in the order in which they are read, and whether each must exist.
fn config_files(global: &Global, at: &Surroundings<'_>) -> Vec<(PathBuf, bool)> {
    let named = global.config.clone().or_else(|| (at.variable)("DISKPROOF_CONFIG").map(PathBuf::from));
    if let Some(path) = named {
        return vec![(at.here.join(path), true)];
    }
    let mut files = vec![(at.system_file.to_path_buf(), false)];
    if let Some(folder) = folder(at, "XDG_CONFIG_HOME", ".config") {
        files.push((folder.join("config.yaml"), false));
    }
    files
}

/// The settings on the command line. Relative paths refer to `here`, the current directory.
fn typed(global: &Global, verb: &Typed, here: &Path) -> Vec<Said> {
    let path = |path: &Option<PathBuf>| path.as_ref().map(|p| here.join(p).to_text());
    let progress = match (verb.json, global.quiet) {
        (true, _) => Some(("json", "--json")),
        (_, true) => Some(("none", "--quiet")),
        _ => global.progress.as_deref().map(|text| (text, PROGRESS.flag)),
    };
    let plain = |text: &Option<String>| text.clone();
    let all = [
        (STORE, path(&global.store), STORE.flag),
        (STATE, path(&global.state), STATE.flag),
        (COLOR, plain(&global.color), COLOR.flag),
        (SUDO, plain(&global.sudo), SUDO.flag),
        (SSH_CONFIG, path(&global.ssh_config), SSH_CONFIG.flag),
        (COPY_TO, verb.copy_to.clone(), COPY_TO.flag),
        (PLAIN_HTTP, verb.plain_http.then(|| PlainHttp::Allow.to_text()), PLAIN_HTTP.flag),
        (PROGRESS, progress.map(|(text, _)| text.to_owned()), progress.map_or("", |(_, flag)| flag)),
    ];
    all.into_iter()
        .filter_map(|(key, text, flag)| Some(Said { key, text: text?, origin: Origin::CommandLine(flag) }))
        .collect()
}

/// The last value of `key`. All values are checked, also those that a later one overrides.
fn pick<T: FromText>(
    key: Key,
    said: &[Said],
    default: impl FnOnce() -> Result<T, SettingsError>,
) -> Result<Setting<T>, SettingsError> {
    let mut last = None;
    for said in said.iter().filter(|said| said.key == key) {
        let value = T::from_text(&said.text).map_err(|expected| SettingsError::Value {
            key: key.name,
            text: said.text.clone(),
            origin: said.origin.clone(),
            expected,
        })?;
        last = Some(Setting { value, origin: said.origin.clone() });
    }
    match last {
        Some(setting) => Ok(setting),
        None => Ok(Setting { value: default()?, origin: Origin::Default }),
    }
}

/// diskproof's folder below an XDG base directory. A relative path in these variables is ignored, as the specification says.
fn folder(at: &Surroundings<'_>, variable: &str, below_home: &str) -> Option<PathBuf> {
    let absolute = |value: OsString| Some(PathBuf::from(value)).filter(|p| p.is_absolute());
    let base = (at.variable)(variable).and_then(absolute);
    let base = base.or_else(|| (at.variable)("HOME").and_then(absolute).map(|home| home.join(below_home)))?;
    Some(base.join("diskproof"))
}

fn default_store(at: &Surroundings<'_>) -> Result<PathBuf, SettingsError> {
    match folder(at, "XDG_DATA_HOME", ".local/share") {
        Some(folder) => Ok(folder.join("diskproof.db")),
        None if at.root => Ok(Path::new(ROOT_STATE).join("diskproof.db")),
        None => Err(SettingsError::NoHome { key: STORE, variable: "XDG_DATA_HOME", flag: STORE.flag }),
    }
}

fn default_state(at: &Surroundings<'_>) -> Result<PathBuf, SettingsError> {
    if at.root {
        return Ok(PathBuf::from(ROOT_STATE));
    }
    folder(at, "XDG_STATE_HOME", ".local/state").ok_or(SettingsError::NoHome {
        key: STATE,
        variable: "XDG_STATE_HOME",
        flag: STATE.flag,
    })
}
