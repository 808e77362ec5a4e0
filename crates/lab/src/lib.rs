//! The lab: a Debian guest in QEMU with emulated disks, for trying LVM caches or ZFS without risking a disk, and for our own tests.
//!
//! The image is built once (by mmdebstrap, as root) and stored under the hash of its recipe. The state after the first boot of each shape
//! of machine is saved, and from then on a guest is restored in seconds. Its disks are files with limits that can change while it runs.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # use diskproof_lab as lab;
//! use lab::{DiskSpec, Lab, Shape};
//! # let state = std::path::Path::new("/var/lib/diskproof");
//! #
//! let lab = Lab::open(state, "lab")?;
//! lab.ensure_up(&Shape::default(), &|told| println!("{told}"))?;
//! lab.attach(&["d1:size=1g,iops=80".parse::<DiskSpec>()?])?;
//! let argv = lab.ssh_argv()?; // + ["lsblk"]
//! lab.set_limits("d1", &"iops=200".parse()?)?;
//! lab.down()?;
//! # Ok(()) }
//! ```

mod accel;
mod apt;
mod boot;
mod build;
mod card;
mod cloud;
mod disk;
mod error;
mod forward;
mod guest;
mod lease;
mod lease_note;
mod lock;
mod machine;
mod modules;
mod namespaces;
mod places;
mod plug;
mod prerequisite;
mod process;
mod qmp;
mod recipe;
mod save;
mod shape;
mod ssh;
mod status;
mod steps;
#[cfg(test)]
mod workshop;

pub use build::{Build, build};
pub use card::Attached;
pub use cloud::{DEBIANS, Debian, MadeImage, debian};
pub use disk::{DiskSpec, SpecError, Throttle};
pub use error::LabError;
pub use guest::Lab;
pub use lease::{Lease, abandoned};
pub use machine::Accel;
pub use qmp::QmpError;
pub use recipe::MOUNTD_PORT;
pub use shape::Shape;
pub use ssh::quoted;
pub use status::{State, Status, all, forget};
pub use steps::StepEvent;
