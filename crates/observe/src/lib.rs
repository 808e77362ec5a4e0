//! Kernel counters to raw samples, and the devices under a file system. The roots of /proc and /sys are parameters.
//!
//! Nothing here computes rates or judges. A counter that the kernel doesn't offer is `None` or absent. A file in an unknown form
//! is a [`ReadError`] with path and line.

mod cgroups;
mod counter;
mod environment;
mod error;
mod hang;
mod kernel_file;
mod mountinfo;
mod open_files;
mod others;
mod sampler;
mod text;
mod topology;
mod virtualization;
mod watchdog;

pub use counter::collector::{Collector, Subjects, monotonic_ns};
pub use environment::{boot_id, environment};
pub use error::ReadError;
pub use hang::{Hang, HangWatch, threads_below};
pub use open_files::Exclusive;
pub use record::roots::Roots;
pub use sampler::{Config, Latest, Sampler, Unobservable};
pub use topology::{networked, topology, topology_exported};
