//! Drivers that are built in, and need what is known here of machines and guests.

mod libvirt;

pub use libvirt::Libvirt;
