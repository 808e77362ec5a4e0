//! Why fio can't be given a user's job file.

use crate::error::EngineError;
use crate::fio::forbidden::Forbidden;
use crate::regions::PlaceError;
use record::job_file::{NoRoom, Wrong};
use thiserror::Error;

/// Why fio can't be given a user's job file there.
#[derive(Debug, Error)]
pub enum UserFileError {
    /// The device can't be examined.
    #[error(transparent)]
    Device(#[from] Box<EngineError>),
    /// It has only defaults.
    #[error("the job file has no job section")]
    NoJob,
    /// A line is neither a section nor an option of one.
    #[error("line {line}: {wrong}")]
    Line {
        /// The line, from 1.
        line: usize,
        /// What it is.
        wrong: Wrong,
    },
    /// The name of a section that fio would expand or cut.
    #[error("the section name {name:?} can't hold {c:?}")]
    SectionName {
        /// The name.
        name: String,
        /// The character.
        c: char,
    },
    /// An option that would make fio leave the storage under test.
    #[error("section [{section}]: {why}")]
    Forbidden {
        /// The section.
        section: String,
        /// Why.
        why: Forbidden,
    },
    /// Something that fio can't do of a job there, or a size or place that can't be read.
    #[error("section [{section}]: {why}")]
    Unfit {
        /// The section.
        section: String,
        /// Why, with the option.
        why: String,
    },
    /// Sizes that depend on the room, which doesn't suffice.
    #[error(transparent)]
    Room(#[from] NoRoom),
    /// A place that fio can't be given.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// A name of files that fio makes, with a keyword that diskproof doesn't know.
    #[error("filename_format={format}: only $jobname, $jobnum and $filenum are known here")]
    Format {
        /// The format.
        format: String,
    },
    /// Sizes beyond all devices.
    #[error("{}its sizes add up to more than 2^64 bytes", .section.as_ref().map(|name| format!("section [{name}]: ")).unwrap_or_default())]
    TooLarge {
        /// The section, if it is one alone.
        section: Option<String>,
    },
}
