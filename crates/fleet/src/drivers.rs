//! Drivers that are built in, and need what is known here of machines and guests.

mod lab;
mod libvirt;

pub use lab::LabDriver;
pub use libvirt::Libvirt;
