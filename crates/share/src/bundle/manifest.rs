//! The manifest of an artifact (OCI image specification 1.1, "Image Manifest").

use super::info::RunInfo;
use crate::digest::Digest;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Media type of a manifest.
pub(crate) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// Type of the artifact, and media type of its description.
pub(crate) const RUN: &str = "application/vnd.diskproof.run.v1+json";
/// Media type of a signature.
pub(crate) const SIGNATURE: &str = "application/vnd.diskproof.signature.v1.ssh";

/// The name of an annotation.
pub(crate) fn annotation(fact: &str) -> String {
    format!("vnd.diskproof.{fact}")
}

/// What an artifact consists of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Manifest {
    pub(crate) schema_version: u32,
    pub(crate) media_type: String,
    #[serde(default)]
    pub(crate) artifact_type: Option<String>,
    pub(crate) config: Descriptor,
    pub(crate) layers: Vec<Descriptor>,
    /// The manifest of the image that the run was made on, if that is in the same place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) subject: Option<Descriptor>,
    #[serde(default)]
    pub(crate) annotations: BTreeMap<String, String>,
}

/// What kind of manifest it is: an index and docker's own kinds have other fields.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Kind {
    media_type: Option<String>,
}

/// A blob: type, digest and size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Descriptor {
    pub(crate) media_type: String,
    pub(crate) digest: Digest,
    /// In bytes.
    pub(crate) size: u64,
}

impl Manifest {
    /// The manifest of a run, with its signature as a last layer.
    pub(crate) fn of(info: &RunInfo, config: &[u8], signature: Option<&[u8]>) -> Self {
        let blob = |media_type: &str, bytes: &[u8]| Descriptor {
            media_type: media_type.to_owned(),
            digest: Digest::of(bytes),
            size: bytes.len() as u64,
        };
        let mut layers: Vec<Descriptor> = info
            .layers
            .iter()
            .map(|layer| Descriptor {
                media_type: layer.kind.media_type().to_owned(),
                digest: layer.digest.clone(),
                size: layer.size_bytes,
            })
            .collect();
        layers.extend(signature.map(|bytes| blob(SIGNATURE, bytes)));
        Self {
            schema_version: 2,
            media_type: MANIFEST.to_owned(),
            artifact_type: Some(RUN.to_owned()),
            config: blob(RUN, config),
            layers,
            subject: None,
            annotations: info.facts.iter().map(|(name, fact)| (annotation(name), fact.clone())).collect(),
        }
    }

    /// Reads the manifest of an artifact of this type; anything else is refused with the reason.
    pub(crate) fn read(bytes: &[u8], wanted: &str) -> Result<Self, String> {
        let kind: Option<Kind> = serde_json::from_slice(bytes).ok();
        if let Some(kind) = kind.and_then(|kind| kind.media_type).filter(|kind| kind != MANIFEST) {
            return Err(format!("it is a `{}`, not a `{MANIFEST}`", record::printable::printable(&kind)));
        }
        let manifest: Self =
            serde_json::from_slice(bytes).map_err(|error| format!("its manifest can't be read ({error})"))?;
        if manifest.config.media_type == wanted {
            Ok(manifest)
        } else {
            let found = manifest.artifact_type.unwrap_or(manifest.config.media_type);
            Err(format!("it is a `{}`, not a `{wanted}`", record::printable::printable(&found)))
        }
    }

    /// The signature's blob.
    pub(crate) fn signature(&self) -> Option<&Descriptor> {
        self.layers.iter().find(|layer| layer.media_type == SIGNATURE)
    }
}
