//! Sends a run.

use crate::bundle::{Descriptor, MANIFEST, Manifest, Packed, PackedLayer};
use crate::digest::Digest;
use crate::error::ShareError;
use crate::remote::{Blob, ManifestRef, Referrer, Remote};
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
/// unless `replace` is set. If the image that the run was made on is in the same place, the run refers to it (`subject`).
///
/// # Errors
/// The place can't be reached or refuses, or the tag names something else.
pub fn push(packed: &Packed, remote: &dyn Remote, replace: bool) -> Result<Pushed, ShareError> {
    let signature = packed.signature.as_ref().map(|signature| signature.0.as_slice());
    let mut manifest = Manifest::of(&packed.info, &packed.config, signature);
    // A run on several images refers to none of them.
    let disk = packed.info.facts.get("image").and_then(|image| Digest::parse(image));
    let image = disk.map(|disk| remote.image(&disk)).transpose()?.flatten();
    manifest.subject = image.map(|ManifestRef { digest, bytes }| Descriptor {
        media_type: MANIFEST.to_owned(),
        digest,
        size: bytes,
    });
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
    let (found, there) = remote.survey(blobs)?;
    let is_same_run = found.as_ref().is_some_and(|found| is_same_but_subject(found, manifest));
    match found {
        Some(found) if found == bytes => {
            refer(remote, manifest, &pushed.manifest, bytes.len())?;
            return Ok(Pushed { was_there: true, ..pushed });
        }
        // The image came or went since: the same run gets its `subject`, and keeps one that it has.
        Some(found) if is_same_run && manifest.subject.is_none() => {
            return Ok(Pushed { manifest: Digest::of(&found), was_there: true, ..pushed });
        }
        Some(_) if !replace && !is_same_run => return Err(ShareError::Occupied { at: remote.address() }),
        _ => {}
    }
    let lacking: Vec<Blob<'_>> =
        blobs.iter().zip(there).filter(|(_, there)| !there).map(|(blob, _)| *blob).collect();
    pushed.sent_bytes = lacking.iter().map(|blob| blob.bytes).sum();
    remote.put_blobs(&lacking)?;
    remote.put_manifest(&bytes)?;
    if remote.has_manifest(&bytes)? {
        refer(remote, manifest, &pushed.manifest, bytes.len())?;
        return Ok(pushed);
    }
    Err(ShareError::Unreadable {
        from: remote.address(),
        why: "the manifest that comes back isn't the one that was sent".to_owned(),
    })
}

/// Makes the manifest's subject lead to it.
fn refer(remote: &dyn Remote, manifest: &Manifest, digest: &Digest, bytes: usize) -> Result<(), ShareError> {
    let Some(Descriptor { digest: subject, size, .. }) = manifest.subject.clone() else { return Ok(()) };
    let kind = manifest.artifact_type.as_deref().unwrap_or(&manifest.config.media_type);
    let referrer = Referrer { digest, bytes: bytes as u64, kind, annotations: &manifest.annotations };
    remote.refer(&ManifestRef { digest: subject, bytes: size }, &referrer)
}

/// Whether bytes are this manifest, but for its subject.
fn is_same_but_subject(bytes: &[u8], manifest: &Manifest) -> bool {
    let without = |manifest: Manifest| Manifest { subject: None, ..manifest };
    serde_json::from_slice(bytes).is_ok_and(|there: Manifest| without(there) == without(manifest.clone()))
}
