//! Runs below a prefix of a bucket: archives as `blobs/sha256/HEX`, and `manifest.json`, which is written last.

use super::address::S3Address;
use super::bucket::{Bucket, Options};
use super::upload::{Condition, Put, Source};
use crate::digest::Digest;
use crate::error::ShareError;
use crate::remote::Remote;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The object that makes a run visible.
const MANIFEST: &str = "manifest.json";
/// Largest manifest, as for registries.
const MANIFEST_BYTES: u64 = 4 << 20;
/// Most folders that a search reads: each costs a request.
const MOST_FOLDERS: usize = 10_000;

/// The place of one run.
pub(crate) struct RunPlace {
    bucket: Bucket,
    /// Holds for the manifest that was seen last: a push may replace what it saw, and nothing that somebody else has written since.
    seen: Mutex<Condition>,
}

impl RunPlace {
    pub(crate) fn open(address: &S3Address, options: &Options) -> Result<Self, ShareError> {
        Ok(Self { bucket: Bucket::open(address, options)?, seen: Mutex::new(Condition::IfAbsent) })
    }
}

fn key(digest: &Digest) -> String {
    format!("blobs/sha256/{}", digest.hex())
}

impl Remote for RunPlace {
    fn address(&self) -> String {
        self.bucket.address().to_string()
    }

    fn has_blob(&self, digest: &Digest, bytes: u64) -> Result<bool, ShareError> {
        Ok(self.bucket.head(&key(digest))?.is_some_and(|object| object.bytes == bytes))
    }

    fn put_blob(&self, digest: &Digest, path: &Path, _bytes: u64) -> Result<(), ShareError> {
        self.bucket.put(&key(digest), Source::File(path), &Condition::None).map(|_| ())
    }

    fn get_blob(&self, digest: &Digest, path: &Path, bytes: u64) -> Result<Option<Digest>, ShareError> {
        self.bucket.fetch(&key(digest), path, bytes, None)
    }

    fn get_manifest(&self) -> Result<Option<Vec<u8>>, ShareError> {
        let found = self.bucket.get(MANIFEST, MANIFEST_BYTES)?;
        let condition = match &found {
            None => Condition::IfAbsent,
            Some(content) if content.etag.is_empty() => Condition::None,
            Some(content) => Condition::IfMatch(content.etag.clone()),
        };
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = condition;
        Ok(found.map(|content| content.bytes))
    }

    fn put_manifest(&self, bytes: &[u8]) -> Result<(), ShareError> {
        let condition = self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match self.bucket.put(MANIFEST, Source::Bytes(bytes), &condition)? {
            Put::Done { .. } => Ok(()),
            Put::Refused => Err(ShareError::Occupied { at: self.address() }),
        }
    }
}

/// A name one level below a prefix, and the manifest there, if there is one.
pub(crate) type Named = (String, Option<Vec<u8>>);

/// Returns the names one level below the prefix, with the manifest in each, if there is one.
pub(crate) fn manifests(address: &S3Address, options: &Options) -> Result<Vec<Named>, ShareError> {
    let bucket = Bucket::open(address, options)?;
    let folders = bucket.folders()?;
    if folders.len() > MOST_FOLDERS {
        return Err(bucket.unreadable(format!("it has more than {MOST_FOLDERS} folders")));
    }
    let manifest = |name: String| {
        let found = bucket.get(&format!("{name}/{MANIFEST}"), MANIFEST_BYTES)?;
        Ok((name, found.map(|content| content.bytes)))
    };
    folders.into_iter().map(manifest).collect()
}
