//! Runs elsewhere: a run becomes a bundle of files that are the same whenever the same run is packed, and travels to a registry (OCI)
//! or a bucket (S3) and back. A pulled run has no judgement: it is judged anew where it arrives.

mod address;
pub mod anonymise;
mod base64;
mod bundle;
pub mod copies;
mod digest;
mod error;
mod image;
mod oci;
mod patience;
mod place;
mod pull;
mod push;
mod remote;
pub mod s3;
pub mod search;
mod sign;
mod tar;

pub use address::{Address, Reference};
pub use bundle::{Layer, LayerKind, Packed, PackedLayer, Packer, RunInfo, Signature, facts, is_run_name};
pub use digest::Digest;
pub use error::ShareError;
pub use image::{
    ImageFile, ImageInfo, ImagePart, OutgoingImage, PulledImage, image_tag, pull_image, push_image,
};
pub use oci::{Credentials, Options as RegistryOptions};
pub use patience::Patience;
pub use place::{Place, open};
pub use pull::{Pulled, Puller, Verify};
pub use push::{Pushed, push};
pub use remote::{Blob, ManifestRef, Referrer, Remote};
pub use sign::{sign, verify};
