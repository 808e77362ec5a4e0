//! The devices under a file system or device, down to the leaves.

mod block_node;
mod device_name;
mod mounted;
mod networked;
mod stacked;
mod walk;

pub use networked::networked;
pub use walk::{topology, topology_exported};

#[cfg(test)]
mod tests;
