//! A place for runs, elsewhere.

use crate::digest::Digest;
use crate::error::ShareError;
use std::collections::BTreeMap;
use std::path::Path;

/// A blob and its file, which is to be sent or comes about.
#[derive(Debug, Clone, Copy)]
pub struct Blob<'a> {
    /// Its digest.
    pub digest: &'a Digest,
    /// The file.
    pub path: &'a Path,
    /// Its size.
    pub bytes: u64,
}

/// A manifest, by its digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestRef {
    /// Its digest.
    pub digest: Digest,
    /// Its size.
    pub bytes: u64,
}

/// An artifact that refers to another one.
#[derive(Debug, Clone, Copy)]
pub struct Referrer<'a> {
    /// The digest of its manifest.
    pub digest: &'a Digest,
    /// The size of its manifest.
    pub bytes: u64,
    /// Its type.
    pub kind: &'a str,
    /// The annotations of its manifest.
    pub annotations: &'a BTreeMap<String, String>,
}

/// What a place for runs can do. Blobs are named by their digest, so sending one twice does no harm; the manifest is the only name that
/// moves, and makes a run visible.
pub trait Remote {
    /// Its address.
    fn address(&self) -> String;

    /// Whether it has a blob of this digest and size.
    ///
    /// # Errors
    /// No answer, or no permission.
    fn has_blob(&self, digest: &Digest, bytes: u64) -> Result<bool, ShareError>;

    /// Sends a blob.
    ///
    /// # Errors
    /// It can't be sent, or arrives as something else.
    fn put_blob(&self, digest: &Digest, path: &Path, bytes: u64) -> Result<(), ShareError>;

    /// Fetches a blob to a file, and goes on where an earlier try ended. Returns the digest of what came, if all of it came at once; else
    /// the file has to be read for it. The caller compares the digest.
    ///
    /// # Errors
    /// It isn't there, or doesn't come whole.
    fn get_blob(&self, digest: &Digest, path: &Path, bytes: u64) -> Result<Option<Digest>, ShareError>;

    /// Fetches blobs to files; see [`Remote::get_blob`].
    ///
    /// # Errors
    /// One isn't there, or doesn't come whole.
    fn get_blobs(&self, blobs: &[Blob<'_>]) -> Result<Vec<Option<Digest>>, ShareError> {
        blobs.iter().map(|blob| self.get_blob(blob.digest, blob.path, blob.bytes)).collect()
    }

    /// Fetches the manifest; `None`: there is none.
    ///
    /// # Errors
    /// No answer, or no permission.
    fn get_manifest(&self) -> Result<Option<Vec<u8>>, ShareError>;

    /// Sends the manifest.
    ///
    /// # Errors
    /// It can't be sent.
    fn put_manifest(&self, bytes: &[u8]) -> Result<(), ShareError>;

    /// Fetches the manifest, and says for each blob whether it is there.
    ///
    /// # Errors
    /// No answer, or no permission.
    fn survey(&self, blobs: &[Blob<'_>]) -> Result<(Option<Vec<u8>>, Vec<bool>), ShareError> {
        let manifest = self.get_manifest()?;
        let there = blobs.iter().map(|blob| self.has_blob(blob.digest, blob.bytes));
        Ok((manifest, there.collect::<Result<_, _>>()?))
    }

    /// Sends blobs that aren't there.
    ///
    /// # Errors
    /// One can't be sent, or arrives as something else.
    fn put_blobs(&self, blobs: &[Blob<'_>]) -> Result<(), ShareError> {
        blobs.iter().try_for_each(|blob| self.put_blob(blob.digest, blob.path, blob.bytes))
    }

    /// Returns the manifest of an image in the same place, by the digest of its disk; `None`: it isn't there, or the place has no images.
    ///
    /// # Errors
    /// No answer, or no permission.
    fn image(&self, _disk: &Digest) -> Result<Option<ManifestRef>, ShareError> {
        Ok(None)
    }

    /// Makes `subject` lead to an artifact that refers to it.
    ///
    /// # Errors
    /// No answer, or no permission.
    fn refer(&self, _subject: &ManifestRef, _referrer: &Referrer<'_>) -> Result<(), ShareError> {
        Ok(())
    }

    /// Whether exactly this manifest is there, after it was sent.
    ///
    /// # Errors
    /// No answer, or no permission.
    fn has_manifest(&self, bytes: &[u8]) -> Result<bool, ShareError> {
        Ok(self.get_manifest()?.is_some_and(|there| there == bytes))
    }
}
