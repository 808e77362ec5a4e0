//! Kernel counters to raw samples, and what lies under a ground: the roots of /proc and /sys are injected.
//!
//! Nothing here derives a rate or judges. What the kernel doesn't offer is `None` or absent; what it offers in a shape
//! we don't understand is a [`ReadError`] that carries path and line.

mod cgroups;
mod counter;
mod environment;
mod error;
mod kernel_file;
mod mountinfo;
mod open_files;
mod others;
mod roots;
mod sampler;
mod text;
mod topology;
mod virtualization;
mod watchdog;

pub use counter::collector::{Collector, Subjects, monotonic_ns};
pub use environment::environment;
pub use error::ReadError;
pub use open_files::Exclusive;
pub use roots::Roots;
pub use sampler::{Config, Sampler, Unobservable};
pub use topology::{networked, topology, topology_exported};
