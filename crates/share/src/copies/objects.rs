//! What a place for copies can do.

use crate::error::ShareError;
use crate::s3::{Condition, Put};

/// An object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its content.
    pub bytes: Vec<u8>,
    /// Names this version of the object, for [`Condition::IfMatch`].
    pub etag: String,
}

/// A place for copies: objects by key. A write is all or nothing. Its condition holds at the moment of the write.
pub trait Objects {
    /// Writes an object.
    ///
    /// # Errors
    /// No answer, no permission, no space.
    fn put(&self, key: &str, bytes: &[u8], condition: &Condition) -> Result<Put, ShareError>;

    /// Reads an object; `None`: there is none.
    ///
    /// # Errors
    /// No answer, no permission, or it is larger than any that diskproof writes.
    fn get(&self, key: &str) -> Result<Option<Found>, ShareError>;

    /// Returns the keys that begin with this text, sorted.
    ///
    /// # Errors
    /// No answer, or no permission.
    fn keys(&self, beginning: &str) -> Result<Vec<String>, ShareError>;

    /// Returns the names before the first `/` of all keys, sorted: one per run.
    ///
    /// # Errors
    /// As for [`Self::keys`].
    fn folders(&self) -> Result<Vec<String>, ShareError>;

    /// Whether the place keeps the conditions of writes.
    ///
    /// # Errors
    /// As for [`Self::put`].
    fn keeps_conditions(&self) -> Result<bool, ShareError>;
}

/// Largest object that is read into memory, in bytes. The record of a trial is below 100 MiB before compression.
pub(crate) const OBJECT_BYTES: u64 = 256 << 20;
