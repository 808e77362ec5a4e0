//! Addresses of copies: `s3://BUCKET/PREFIX` and `file:///FOLDER`.

use super::folder::Folder;
use super::objects::Objects;
use crate::error::ShareError;
use crate::patience::Patience;
use crate::s3::{Bucket, Options, S3Address, Settings};
use record::printable::Shown as _;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Few tries: the next pass asks again anyway.
const PATIENCE: Patience = Patience { tries: 3, pause: Duration::from_millis(500) };

/// A place for copies of runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CopyAddress {
    /// A prefix in a bucket.
    Bucket(S3Address),
    /// A folder that exists.
    Folder(PathBuf),
}

impl CopyAddress {
    /// Reads an address.
    ///
    /// # Errors
    /// It isn't one; the error says what is wrong.
    pub fn parse(text: &str) -> Result<Self, ShareError> {
        let wrong = |why: &str| ShareError::Address { address: text.to_owned(), why: why.to_owned() };
        if text.starts_with("s3://") {
            return S3Address::parse(text).map(Self::Bucket);
        }
        match text.strip_prefix("file://") {
            Some(path) if path.starts_with('/') && !path.chars().any(char::is_control) => {
                Ok(Self::Folder(PathBuf::from(path)))
            }
            Some(_) => Err(wrong("the path of a folder is absolute: file:///PATH")),
            None => Err(wrong("it begins with neither s3:// nor file:///")),
        }
    }

    /// Opens the place. Nothing is asked yet. A request that is under way ends when `cancel` is set. `plain_http` allows a bucket on another
    /// machine without encryption.
    ///
    /// # Errors
    /// The settings of AWS can't be read, or lead to a place without encryption, which isn't allowed.
    pub fn open(&self, plain_http: bool, cancel: &Arc<AtomicBool>) -> Result<Box<dyn Objects>, ShareError> {
        match self {
            Self::Bucket(address) => {
                let options = Options {
                    settings: Settings::usual(),
                    plain_http,
                    patience: PATIENCE,
                    cancel: Arc::clone(cancel),
                };
                Ok(Box::new(Bucket::open(address, &options)?))
            }
            Self::Folder(path) => Ok(Box::new(Folder { path: path.clone(), cancel: Arc::clone(cancel) })),
        }
    }
}

impl fmt::Display for CopyAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bucket(address) => write!(f, "{address}"),
            Self::Folder(path) => write!(f, "file://{}", path.shown()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::CopyAddress;

    #[test]
    fn addresses_read_back_as_they_are_written_and_others_are_refused() {
        for text in ["file:///srv/copies", "file:///srv/lab 1", "s3://results/nvme"] {
            assert_eq!(CopyAddress::parse(text).unwrap().to_string(), text);
        }
        for text in [
            "/srv",
            "file://srv/x",
            "file:///a\nb",
            "http://x/y",
            "oci://h/r",
            "none",
            "",
            "s3://a",
            "s3:///x",
        ] {
            assert!(CopyAddress::parse(text).is_err(), "{text:?}");
        }
    }
}
