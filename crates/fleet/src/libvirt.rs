//! Guests of libvirt: asked and changed by `virsh` on their machine.

mod build;
mod destroy;
mod disks;
mod display;
mod domain;
mod error;
mod escape;
mod filter;
mod first_boot;
mod guest_name;
mod guest_ssh;
mod iso;
mod leftover;
mod migrate;
mod note;
mod pattern;
mod power;
mod request;
mod starting;
mod vmadm;
mod xml;

pub use build::{Built, Steps, build};
pub use destroy::{Destroyed, destroy};
pub use display::{Viewer, console, viewer};
pub use domain::{Domain, DomainState, domains};
pub use error::GuestError;
pub use guest_name::{check as check_name, generated};
pub use guest_ssh::{config_entry, shell};
pub use migrate::migrate;
pub use pattern::{GuestPattern, NoGuest, select};
pub use power::{Stop, reboot, start, stop};
pub use request::{Network, NewDisk, NewGuest, Nic, is_public_key};
pub use vmadm::{Description, Wrong};

pub(crate) use build::{check_network, crashed, host_key, mac, random};
pub(crate) use disks::{GuestDisk, Source, describe};
pub(crate) use escape::{escaped, unescaped};
pub(crate) use first_boot::disk as first_boot_disk;
pub(crate) use guest_ssh::{GuestSsh, Try, address};
pub(crate) use starting::Starting;
pub(crate) use xml::{Boot, DiskFile, Host, Tuning, domain as description};
