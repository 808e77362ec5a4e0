//! Images of guests' disks, kept on the machines under their digests.

mod error;
mod fetch;
mod import;
mod manifest;
mod remove;
mod store;

pub use error::ImageError;
pub use import::{ImageSource, Imported, import};
pub use manifest::{DiskFormat, Image};
pub use remove::remove;
pub use store::{find, list};

pub(crate) use manifest::{CMDLINE, is_digest};
