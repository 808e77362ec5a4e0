//! The extents of files, and how much of them the page cache holds.

mod btrfs;
mod fiemap;
mod file;
mod residency;

pub use btrfs::of_subvolume;
pub use file::{ExtentsError, of_file};
pub use residency::{drop_file_cache, residency};
