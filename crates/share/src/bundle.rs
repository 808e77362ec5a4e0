//! A run as a bundle: a description (JSON) and two archives. The same run gives the same bytes.

mod facts;
mod info;
mod manifest;
mod pack;
mod unpack;

pub use facts::facts;
pub(crate) use facts::{FACTS, short};
pub use info::{Layer, LayerKind, RunInfo};
pub(crate) use manifest::{Descriptor, MANIFEST, Manifest, RUN, annotation};
pub use pack::{Packed, PackedLayer, Packer, Signature};
pub use unpack::is_run_name;
pub(crate) use unpack::{Trials, head};
