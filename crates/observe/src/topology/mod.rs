//! What lies under a ground, down to the real leaves.

mod block_node;
mod mounted;
mod walk;

pub use walk::topology;

#[cfg(test)]
mod tests;
