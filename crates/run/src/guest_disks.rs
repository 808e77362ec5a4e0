//! The disks of a guest that are files or block devices of its host, and how their limits are set.

use crate::guest_host::GuestHost;
use record::volume::{HostLimits, LimitChange, Limits, Volume, VolumeKind};
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
    /// The limits that its host set on it at the beginning of the run, where diskproof doesn't set them; `None`: the host doesn't tell.
    pub host_limits: Option<HostLimits>,
    /// Tells these limits again, before and after each measurement.
    pub imposed: Option<Arc<dyn Imposed>>,
}

impl HostedDisk {
    /// The limits in force now; `None` where they aren't known.
    pub(crate) fn limits_now(&self) -> Option<Limits> {
        match (&self.throttle, &self.imposed) {
            (Some(throttle), _) => throttle.now(),
            (None, Some(imposed)) => imposed.now().map(|now| now.limits),
            (None, None) => None,
        }
    }
}

/// The limits that the host sets on a volume; `None`: it is no guest's disk, or the host doesn't tell.
pub(crate) fn host_limits(hosted: &[HostedDisk], volumes: &[Volume], name: &str) -> Option<HostLimits> {
    let volume = volumes.iter().find(|volume| volume.name == name)?;
    let VolumeKind::Disk { id } = &volume.kind else { return None };
    hosted.iter().find(|disk| disk.id == *id)?.host_limits.clone()
}

/// Tells the limits that a host sets on a guest's disk, and that diskproof doesn't change.
pub trait Imposed: fmt::Debug + Send + Sync {
    /// The current limits; `None` when the host doesn't tell.
    fn now(&self) -> Option<HostLimits>;
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
