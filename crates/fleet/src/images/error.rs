//! Errors with images.

use crate::at::AtError;
use crate::transfer::CopyError;
use record::printable::Shown as _;
use run::fault::Fault;
use std::path::PathBuf;
use thiserror::Error;

/// A command on images fails.
#[derive(Debug, Error)]
pub enum ImageError {
    /// A command on the machine fails.
    #[error(transparent)]
    At(#[from] AtError),
    /// The copy to the machine fails.
    #[error(transparent)]
    Copy(#[from] CopyError),
    /// A file on this machine.
    #[error("can't read {}", .path.shown())]
    Here {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The machine has no such image.
    #[error("{machine} has no image {}; {known}", .name.shown())]
    Unknown {
        /// The machine.
        machine: String,
        /// The name, digest or UUID.
        name: String,
        /// What it has, and how to get one.
        known: String,
    },
    /// The beginning of a digest fits several images.
    #[error("{machine} has several images whose digest begins with {}; write more of it", .name.shown())]
    Several {
        /// The machine.
        machine: String,
        /// The beginning.
        name: String,
    },
    /// A name of an image is no plain word.
    #[error("`{}` is no name for an image: it has letters, digits, `.`, `_` and `-`, and at most 63 of them", .name.shown())]
    Name {
        /// The name.
        name: String,
    },
    /// The directory lacks a file, or has several.
    #[error("{} isn't the directory of an image: {why}", .path.shown())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What is wrong.
        why: &'static str,
    },
    /// It isn't an image that a guest may have.
    #[error("{}: {why}", .source_name.shown())]
    Refused {
        /// The file or URL.
        source_name: String,
        /// Why.
        why: String,
    },
    /// Its digest is another one.
    #[error("{}: its SHA-256 is {found}, not {expected}; nothing was imported", .source_name.shown())]
    Digest {
        /// The file or URL.
        source_name: String,
        /// The digest that it has.
        found: String,
        /// The digest that was asked for.
        expected: String,
    },
    /// The machine can't download.
    #[error(
        "{machine} has neither curl nor wget; on Debian: apt-get install curl. Or download the file and import it"
    )]
    NoDownloader {
        /// The machine.
        machine: String,
    },
    /// Guests use it.
    #[error("{machine}: the image {name} is under the disks of {guests}; destroy them first")]
    InUse {
        /// The machine.
        machine: String,
        /// The image.
        name: String,
        /// The guests.
        guests: String,
    },
}

impl ImageError {
    /// Whose fault it is.
    #[must_use]
    pub fn fault(&self) -> Fault {
        match self {
            Self::At(_) | Self::Copy(_) | Self::NoDownloader { .. } => Fault::Machine,
            _ => Fault::User,
        }
    }
}
