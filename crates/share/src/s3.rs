//! Objects in a bucket of S3, or of a server that speaks its protocol.
//!
//! [`Bucket`] reads and writes objects below a prefix. A write may depend on what is there ([`Condition`]). Each request is signed anew
//! (Signature Version 4), with the SHA-256 of what it sends, and is tried again as [`crate::Patience`] says.

mod address;
mod bucket;
mod call;
mod credentials;
mod endpoint;
mod ini;
mod objects;
mod place;
mod read;
mod reply;
mod settings;
mod sign;
mod upload;

pub use address::S3Address;
pub use bucket::{Bucket, Options};
pub use objects::Object;
pub(crate) use place::{RunPlace, manifests};
pub use read::Content;
pub use settings::Settings;
pub use upload::{Condition, Put, Source};
