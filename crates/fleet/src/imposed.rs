//! The limits that libvirt sets on the disks of guests, asked for on their hosts.

use crate::at::At;
use crate::libvirt::{GuestDisk, describe};
use record::printable::{chain, printable};
use record::volume::{HostLimits, Limits};
use run::guest_disks::Imposed;
use std::sync::Arc;

/// A disk of a guest of libvirt, by its serial number.
#[derive(Debug, Clone)]
pub(crate) struct OfLibvirt {
    /// The host.
    pub(crate) at: Arc<At>,
    /// The guest's name or UUID.
    pub(crate) domain: String,
    /// The disk's serial number.
    pub(crate) serial: String,
    /// What the experiment asked the host for.
    pub(crate) asked: Limits,
}

impl OfLibvirt {
    /// Asks for the limits.
    ///
    /// # Errors
    /// Why they aren't known.
    pub(crate) fn limits(&self) -> Result<HostLimits, String> {
        let guest = describe(&self.at, &self.domain).map_err(|error| chain(&error))?;
        let disk = with_serial(guest.disks, &self.serial).ok_or_else(|| {
            let (host, domain) = (self.at.name(), printable(&self.domain));
            format!(
                "libvirt on {host} has no disk of the serial number {} in {domain}",
                printable(&self.serial)
            )
        })?;
        Ok(HostLimits { asked: self.asked, ..disk.limits })
    }
}

/// The only disk of a serial number.
fn with_serial(disks: Vec<GuestDisk>, serial: &str) -> Option<GuestDisk> {
    let mut fitting = disks.into_iter().filter(|disk| disk.serial.as_deref() == Some(serial));
    fitting.next().filter(|_| fitting.next().is_none())
}

impl Imposed for OfLibvirt {
    fn now(&self) -> Option<HostLimits> {
        self.limits().ok()
    }
}
