//! Every setting: its name, its values and its default.

use share::copies::CopyAddress;
use std::path::PathBuf;

/// A setting's names and description, for documentation and error messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key {
    /// Its key in the configuration file.
    pub(crate) name: &'static str,
    /// Its environment variable.
    pub(crate) variable: &'static str,
    /// Its flag on the command line.
    pub(crate) flag: &'static str,
    /// Its purpose.
    pub(crate) help: &'static str,
    /// Its default, in words.
    pub(crate) default: &'static str,
}

/// The database of results.
pub(crate) const STORE: Key = Key {
    name: "store",
    variable: "DISKPROOF_STORE",
    flag: "--store",
    help: "the database that keeps results",
    default: "$XDG_DATA_HOME/diskproof/diskproof.db, or ~/.local/share/diskproof/diskproof.db",
};
/// The state folder, which the agent process needs to undo its changes.
pub(crate) const STATE: Key = Key {
    name: "state",
    variable: "DISKPROOF_STATE",
    flag: "--state",
    help: "the folder of journals, claims, locks and backing files",
    default: "/var/lib/diskproof as root, else $XDG_STATE_HOME/diskproof, or ~/.local/state/diskproof",
};
/// Colours.
pub(crate) const COLOR: Key = Key {
    name: "color",
    variable: "DISKPROOF_COLOR",
    flag: "--color",
    help: "auto (on a terminal, unless NO_COLOR is set), always or never",
    default: "auto",
};
/// Progress.
pub(crate) const PROGRESS: Key = Key {
    name: "progress",
    variable: "DISKPROOF_PROGRESS",
    flag: "--progress",
    help: "auto (live on a terminal, else lines), live, blank (live, but empty while a load runs), lines, json or none",
    default: "auto",
};
/// Whether to become root by sudo.
pub(crate) const SUDO: Key = Key {
    name: "sudo",
    variable: "DISKPROOF_SUDO",
    flag: "--sudo",
    help: "auto (become root by `sudo -n` for what needs it) or never",
    default: "auto",
};

/// The file that ssh reads.
pub(crate) const SSH_CONFIG: Key = Key {
    name: "ssh_config",
    variable: "DISKPROOF_SSH_CONFIG",
    flag: "--ssh-config",
    help: "what ssh reads instead of ~/.ssh/config (its -F)",
    default: "none: ssh's own files",
};

/// Whose signatures `pull` trusts.
pub(crate) const ALLOWED_SIGNERS: Key = Key {
    name: "allowed_signers",
    variable: "DISKPROOF_ALLOWED_SIGNERS",
    flag: "pull --allowed-signers",
    help: "`pull` takes only runs that somebody in this file has signed (ssh-keygen(1), ALLOWED SIGNERS)",
    default: "none: signatures aren't checked",
};

/// Where finished trials are copied to.
pub(crate) const COPY_TO: Key = Key {
    name: "copy_to",
    variable: "DISKPROOF_COPY_TO",
    flag: "--copy-to",
    help: "where each finished trial of a run is copied to: s3://BUCKET/PREFIX, file:///FOLDER or none",
    default: "none",
};

/// Whether to speak with registries and buckets on other machines without encryption.
pub(crate) const PLAIN_HTTP: Key = Key {
    name: "plain_http",
    variable: "DISKPROOF_PLAIN_HTTP",
    flag: "--plain-http",
    help: "allow: speak http with registries and buckets on other machines, without encryption; never: refuse that",
    default: "never",
};

/// All settings, in the order of their documentation.
pub(crate) const KEYS: [Key; 9] =
    [STORE, STATE, COLOR, PROGRESS, SUDO, SSH_CONFIG, ALLOWED_SIGNERS, COPY_TO, PLAIN_HTTP];

/// When to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

/// How a run shows its progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Progress {
    Auto,
    Live,
    Blank,
    Lines,
    Json,
    None,
}

/// Whether to become root where needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Sudo {
    Auto,
    Never,
}

/// Whether http without encryption is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PlainHttp {
    Allow,
    Never,
}

/// A setting's value that can be parsed. The error says what is expected.
pub(crate) trait FromText: Sized {
    fn from_text(text: &str) -> Result<Self, String>;
    fn to_text(&self) -> String;
}

impl FromText for PathBuf {
    fn from_text(text: &str) -> Result<Self, String> {
        let path = Self::from(text);
        if path.is_absolute() { Ok(path) } else { Err("an absolute path".to_owned()) }
    }

    fn to_text(&self) -> String {
        self.to_string_lossy().into_owned()
    }
}

impl FromText for Option<PathBuf> {
    fn from_text(text: &str) -> Result<Self, String> {
        if text == "none" { Ok(None) } else { PathBuf::from_text(text).map(Some) }
    }

    fn to_text(&self) -> String {
        self.as_ref().map_or_else(|| "none".to_owned(), PathBuf::to_text)
    }
}

/// Where runs are copied to. `None`: the word `none`, which overrides what an experiment says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CopyTo(pub(crate) Option<CopyAddress>);

impl FromText for CopyTo {
    fn from_text(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(Self(None));
        }
        let parsed = CopyAddress::parse(text).map(|address| Self(Some(address)));
        parsed.map_err(|error| format!("s3://BUCKET/PREFIX, file:///FOLDER or none ({error})"))
    }

    fn to_text(&self) -> String {
        self.0.as_ref().map_or_else(|| "none".to_owned(), ToString::to_string)
    }
}

macro_rules! words {
    ($type:ident: $($word:literal = $variant:ident),+ $(; earlier $old:literal = $same:ident)?) => {
        impl FromText for $type {
            fn from_text(text: &str) -> Result<Self, String> {
                match text {
                    $($word => Ok(Self::$variant),)+
                    $($old => Ok(Self::$same),)?
                    _ => Err([$($word),+].join(", ")),
                }
            }

            fn to_text(&self) -> String {
                match self {
                    $(Self::$variant => $word,)+
                }
                .to_owned()
            }
        }
    };
}

words!(Color: "auto" = Auto, "always" = Always, "never" = Never);
words!(Progress: "auto" = Auto, "live" = Live, "blank" = Blank, "lines" = Lines, "json" = Json, "none" = None; earlier "bar" = Live);
words!(Sudo: "auto" = Auto, "never" = Never);
words!(PlainHttp: "allow" = Allow, "never" = Never);
