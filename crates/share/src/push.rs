//! Sends a run.

use crate::bundle::{Manifest, Packed};
use crate::digest::Digest;
use crate::error::ShareError;
use crate::remote::Remote;
use std::fs;
use std::io::Write as _;
use std::path::Path;

/// What a push did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pushed {
    /// Digest of the manifest: the name of exactly this content.
    pub manifest: Digest,
    /// Bytes that were sent; blobs that were there already are not sent again.
    pub sent_bytes: u64,
    /// Bytes of all blobs.
    pub total_bytes: u64,
    /// The very same run was there already, and nothing was sent.
    pub was_there: bool,
}

/// Sends a packed run: first the blobs, last the manifest, so nobody ever sees a part of it. A tag that names something else is kept
/// unless `replace` is set.
///
/// # Errors
/// The place can't be reached or refuses, or the tag names something else.
pub fn push(packed: &Packed, remote: &dyn Remote, replace: bool) -> Result<Pushed, ShareError> {
    let signature = packed.signature.as_ref().map(|signature| signature.0.as_slice());
    let manifest = Manifest::of(&packed.info, &packed.config, signature);
    let bytes = serde_json::to_vec(&manifest)
        .map_err(|error| ShareError::Pack { what: "the manifest".to_owned(), source: error.into() })?;
    let total_bytes = manifest.layers.iter().map(|layer| layer.size).sum::<u64>() + manifest.config.size;
    let mut pushed = Pushed { manifest: Digest::of(&bytes), sent_bytes: 0, total_bytes, was_there: false };
    match remote.get_manifest()? {
        Some(there) if there == bytes => return Ok(Pushed { was_there: true, ..pushed }),
        Some(_) if !replace => return Err(ShareError::Occupied { at: remote.address() }),
        _ => {}
    }
    for packed in &packed.layers {
        let layer = &packed.layer;
        pushed.sent_bytes += send(remote, &layer.digest, &packed.path, layer.size_bytes)?;
    }
    for small in [Some(packed.config.as_slice()), signature].into_iter().flatten() {
        let digest = Digest::of(small);
        let unwritten = ShareError::file("write", std::env::temp_dir());
        let file = tempfile::NamedTempFile::new().and_then(|mut file| file.write_all(small).map(|()| file));
        let file = file.map_err(unwritten)?;
        pushed.sent_bytes += send(remote, &digest, file.path(), small.len() as u64)?;
    }
    remote.put_manifest(&bytes)?;
    match remote.get_manifest()? {
        Some(there) if there == bytes => Ok(pushed),
        _ => Err(ShareError::Unreadable {
            from: remote.address(),
            why: "the manifest that comes back isn't the one that was sent".to_owned(),
        }),
    }
}

/// Returns how many bytes were sent.
fn send(remote: &dyn Remote, digest: &Digest, path: &Path, bytes: u64) -> Result<u64, ShareError> {
    let there = fs::metadata(path).map_err(ShareError::file("read", path))?.len();
    if there != bytes {
        let why = "a file has changed while it was sent".to_owned();
        return Err(ShareError::Unreadable { from: remote.address(), why });
    }
    if remote.has_blob(digest, bytes)? {
        return Ok(0);
    }
    remote.put_blob(digest, path, bytes)?;
    Ok(bytes)
}
