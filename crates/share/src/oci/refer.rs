//! Artifacts that refer to an image by `subject` (OCI 1.1): a registry leads from the image to the runs that were made on it.

use super::{MANIFEST_BYTES, Registry};
use crate::address::{Address, Reference};
use crate::bundle::Manifest;
use crate::digest::Digest;
use crate::error::ShareError;
use crate::image::{IMAGE, image_tag};
use crate::remote::{ManifestRef, Referrer, Remote as _};
use host::http::{Body, Request};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Media type of a list of manifests.
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
/// Most tries to change the list while others change it.
const TRIES: u32 = 3;

/// A list of manifests.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Index {
    schema_version: u32,
    media_type: String,
    manifests: Vec<Value>,
}

impl Index {
    fn lists(&self, digest: &Digest) -> bool {
        self.manifests.iter().any(|one| one["digest"] == digest.to_string())
    }
}

/// Returns the manifest of an image in the same repository, by the digest of its disk.
pub(super) fn image(registry: &Registry, disk: &Digest) -> Result<Option<ManifestRef>, ShareError> {
    let Some(bytes) = tagged(registry, image_tag(disk)).get_manifest()? else { return Ok(None) };
    // The tag has only a part of the digest, and anybody may have moved it.
    let is_of_disk = Manifest::read(&bytes, IMAGE)
        .is_ok_and(|image| image.layers.first().is_some_and(|layer| layer.digest == *disk));
    Ok(is_of_disk.then(|| ManifestRef { digest: Digest::of(&bytes), bytes: bytes.len() as u64 }))
}

/// Adds an artifact to the registry's list of those that refer to `subject`. A registry with the referrers API does so by itself: it reads
/// `subject` in the artifact's manifest. For other registries, this adds the artifact to a list under a tag made of the digest ("Referrers Tag Schema" of the
/// specification).
pub(super) fn refer(
    registry: &Registry,
    subject: &ManifestRef,
    referrer: &Referrer<'_>,
) -> Result<(), ShareError> {
    if has_api(registry, subject)? {
        return Ok(());
    }
    let list = tagged(registry, format!("sha256-{}", subject.digest.hex()));
    for tried in 0.. {
        let mut index = read(&list)?;
        if index.lists(referrer.digest) {
            return Ok(());
        }
        // Registries have no conditional writes: of two at the same moment, one is lost, and made again here.
        if tried == TRIES {
            break;
        }
        index.manifests.push(json!({
            "mediaType": crate::bundle::MANIFEST,
            "digest": referrer.digest,
            "size": referrer.bytes,
            "artifactType": referrer.kind,
            "annotations": referrer.annotations,
        }));
        write(&list, &index)?;
    }
    let why = "its list of what refers to the image is changed again and again".to_owned();
    Err(ShareError::Unreadable { from: list.address(), why })
}

fn tagged(registry: &Registry, tag: String) -> Registry {
    registry.at(Address { reference: Some(Reference::Tag(tag)), ..registry.address.clone() })
}

fn has_api(registry: &Registry, subject: &ManifestRef) -> Result<bool, ShareError> {
    let request = Request::new("GET", registry.url(&format!("referrers/{}", subject.digest))?);
    let request = request.header("Accept", INDEX).at_most(MANIFEST_BYTES);
    match registry.insist("list what refers to an image", &request) {
        Ok(reply) => Ok(reply.status == 200 && serde_json::from_slice::<Index>(&reply.body).is_ok()),
        // A registry may refuse a path that it doesn't know.
        Err(ShareError::Denied { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

fn read(list: &Registry) -> Result<Index, ShareError> {
    let Some(bytes) = list.get_manifest()? else {
        return Ok(Index { schema_version: 2, media_type: INDEX.to_owned(), manifests: Vec::new() });
    };
    serde_json::from_slice(&bytes).map_err(|error| {
        let why = format!("it is no list of what refers to the image ({error})");
        ShareError::Unreadable { from: list.address(), why }
    })
}

fn write(list: &Registry, index: &Index) -> Result<(), ShareError> {
    let bytes = serde_json::to_vec(index)
        .map_err(|error| ShareError::Pack { what: "a list of manifests".to_owned(), source: error.into() })?;
    let request = Request::new("PUT", list.url(&format!("manifests/{}", list.reference()?))?);
    let request = request.header("Content-Type", INDEX).body(Body::Bytes(bytes));
    let reply = list.insist("take a list of manifests", &request)?;
    if reply.is_success() { Ok(()) } else { Err(list.unexpected("take a list of manifests", &reply)) }
}
