//! Sends a run.

use crate::bundle::{Manifest, Packed, PackedLayer};
use crate::digest::Digest;
use crate::error::ShareError;
use crate::remote::{Blob, Remote};
use std::fs;
use std::io::Write as _;

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
    let mut files = Vec::new();
    for small in [Some(packed.config.as_slice()), signature].into_iter().flatten() {
        let unwritten = ShareError::file("write", std::env::temp_dir());
        let file = tempfile::NamedTempFile::new().and_then(|mut file| file.write_all(small).map(|()| file));
        files.push((Digest::of(small), file.map_err(unwritten)?, small.len() as u64));
    }
    let layers = packed.layers.iter().map(|PackedLayer { layer, path }| Blob {
        digest: &layer.digest,
        path,
        bytes: layer.size_bytes,
    });
    let small = files.iter().map(|(digest, file, bytes)| Blob { digest, path: file.path(), bytes: *bytes });
    let blobs: Vec<Blob<'_>> = layers.chain(small).collect();
    send(remote, &manifest, &blobs, replace)
}

/// Sends a manifest and the blobs that it names.
pub(crate) fn send(
    remote: &dyn Remote,
    manifest: &Manifest,
    blobs: &[Blob<'_>],
    replace: bool,
) -> Result<Pushed, ShareError> {
    let bytes = serde_json::to_vec(&manifest)
        .map_err(|error| ShareError::Pack { what: "the manifest".to_owned(), source: error.into() })?;
    let total_bytes = manifest.layers.iter().map(|layer| layer.size).sum::<u64>() + manifest.config.size;
    let mut pushed = Pushed { manifest: Digest::of(&bytes), sent_bytes: 0, total_bytes, was_there: false };
    for blob in blobs {
        let there = fs::metadata(blob.path).map_err(ShareError::file("read", blob.path))?.len();
        if there != blob.bytes {
            let why = "a file has changed while it was sent".to_owned();
            return Err(ShareError::Unreadable { from: remote.address(), why });
        }
    }
    let (manifest, there) = remote.survey(blobs)?;
    match manifest {
        Some(there) if there == bytes => return Ok(Pushed { was_there: true, ..pushed }),
        Some(_) if !replace => return Err(ShareError::Occupied { at: remote.address() }),
        _ => {}
    }
    let lacking: Vec<Blob<'_>> =
        blobs.iter().zip(there).filter(|(_, there)| !there).map(|(blob, _)| *blob).collect();
    pushed.sent_bytes = lacking.iter().map(|blob| blob.bytes).sum();
    remote.put_blobs(&lacking)?;
    remote.put_manifest(&bytes)?;
    if remote.has_manifest(&bytes)? {
        return Ok(pushed);
    }
    Err(ShareError::Unreadable {
        from: remote.address(),
        why: "the manifest that comes back isn't the one that was sent".to_owned(),
    })
}
