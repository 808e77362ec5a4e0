//! The disks of a guest that are files or block devices of its host, and how their limits are set.

use crate::guest_host::GuestHost;
use record::volume::{LimitChange, Limits};
use std::error::Error;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// A disk of a guest whose host shows what lies below it. All disks of one guest have one host.
#[derive(Debug, Clone)]
pub struct HostedDisk {
    /// The name of its link in the guest's `/dev/disk/by-id`.
    pub id: String,
    /// The machine that runs the guest.
    pub host: Arc<dyn GuestHost>,
    /// The file or block device of the host that backs it.
    pub backing: PathBuf,
    /// Whether its I/O bypasses the host's page cache.
    pub direct_io: bool,
    /// Its limits at the beginning of each trial.
    pub limits: Limits,
    /// The limits that change during each trial; none without a throttle.
    pub changes: Vec<LimitChange>,
    /// The means of setting its limits; `None`: diskproof neither reads nor sets them.
    pub throttle: Option<Arc<dyn Throttle>>,
}

/// Reads and sets the limits of a guest's disk.
pub trait Throttle: fmt::Debug + Send + Sync {
    /// The current limits; `None` when the disk is gone or can't be queried.
    fn now(&self) -> Option<Limits>;

    /// Sets all limits at once.
    ///
    /// # Errors
    /// When they can't be set.
    fn set(&self, limits: &Limits) -> Result<(), ThrottleError>;
}

/// Why the limits of a guest's disk could not be set.
pub type ThrottleError = Box<dyn Error + Send + Sync>;
