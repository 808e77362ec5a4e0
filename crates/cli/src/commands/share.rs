//! What `push` and `pull` share.

use crate::args::Place;
use crate::exit::Failure;
use crate::output;
use crate::settings::Settings;
use record::printable::Shown as _;
use share::s3::{self, Settings as AwsSettings};
use share::{Credentials, RegistryOptions, ShareError};
use std::path::PathBuf;
use std::sync::Arc;

/// Options for a place, as the command line says.
pub(crate) struct Options {
    pub(crate) registry: RegistryOptions,
    pub(crate) bucket: s3::Options,
}

/// Reads the options of the command line.
///
/// # Errors
/// A file of credentials was named and isn't there.
pub(crate) fn options_of(place: &Place, settings: &Settings) -> Result<Options, Failure> {
    let registry = options(place, settings)?;
    let mut aws = AwsSettings::usual();
    if let Some(file) = &place.credentials {
        let file = std::path::absolute(file).map_err(Failure::machine)?;
        let file = file
            .to_str()
            .ok_or_else(|| Failure::input(format!("--credentials {}: the path isn't UTF-8", file.shown())))?;
        // The file is named for this command: the keys of the environment don't come before it.
        aws.variables.retain(|name, _| name != "AWS_ACCESS_KEY_ID");
        aws.variables.insert("AWS_SHARED_CREDENTIALS_FILE".to_owned(), file.to_owned());
    }
    let bucket = s3::Options {
        settings: aws,
        plain_http: registry.plain_http,
        patience: registry.patience,
        cancel: Arc::clone(&registry.cancel),
    };
    Ok(Options { registry, bucket })
}

/// Options for a registry.
///
/// # Errors
/// A file of credentials was named and isn't there.
pub(crate) fn options(place: &Place, settings: &Settings) -> Result<RegistryOptions, Failure> {
    let credentials = match &place.credentials {
        Some(file) if !file.exists() => {
            return Err(Failure::input(format!("--credentials {}: there is no such file", file.shown())));
        }
        Some(file) => Credentials { files: vec![file.clone()] },
        None => Credentials::usual(),
    };
    let plain_http = place.plain_http || settings.allows_plain_http();
    Ok(RegistryOptions { plain_http, credentials, ..RegistryOptions::default() })
}

/// Whose fault it is.
pub(crate) fn failure(error: ShareError) -> Failure {
    if error.is_input() { Failure::input(error) } else { Failure::machine(error) }
}

/// Where archives lie while they travel: beside the results, which have the room.
pub(crate) fn folder(settings: &Settings) -> PathBuf {
    let store = &settings.store.value;
    store
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .map_or_else(|| PathBuf::from("."), PathBuf::from)
}

/// A size for people.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} bytes"),
        10_000..10_000_000 => format!("{} kB", bytes / 1000),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}

/// Asks whether to send what was listed.
///
/// # Errors
/// There is no terminal to ask at.
pub(crate) fn agreed() -> Result<bool, Failure> {
    if !output::can_ask() {
        return Err(Failure::input("nothing was sent: there is no terminal to ask at; --yes sends it"));
    }
    Ok(output::ask("send it? [y/N] ").is_some_and(|typed| matches!(typed.as_str(), "y" | "Y" | "yes")))
}
