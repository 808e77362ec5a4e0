//! The shape of a guest's machine.

use crate::error::LabError;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The shape of a guest's machine. Each shape is booted once and restored from then on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// Its RAM.
    pub memory_mib: u32,
    /// Its number of processors.
    pub cpus: u32,
    /// Whether it has ZFS modules.
    pub zfs: bool,
    /// The port on 127.0.0.1 that is forwarded to its sshd; `None`: a free one.
    #[serde(default)]
    pub port: Option<u16>,
}

impl Default for Shape {
    fn default() -> Self {
        Self { memory_mib: 1024, cpus: 2, zfs: true, port: None }
    }
}

impl Shape {
    /// Checks that such a machine is possible.
    ///
    /// # Errors
    /// Its memory is below 512 MiB or above 1 TiB, or it has no processors or more than 64.
    pub fn check(&self) -> Result<(), LabError> {
        if !(512..=1 << 20).contains(&self.memory_mib) {
            return Err(LabError::Shape(format!(
                "a guest needs 512m of memory or more, not {}m",
                self.memory_mib
            )));
        }
        if !(1..=64).contains(&self.cpus) {
            return Err(LabError::Shape(format!("a guest has 1 to 64 processors, not {}", self.cpus)));
        }
        Ok(())
    }

    /// Whether a running guest of shape `has` meets a request for this shape.
    pub(crate) fn is_met_by(&self, has: &Self) -> bool {
        self.memory_mib == has.memory_mib
            && self.cpus == has.cpus
            && (has.zfs || !self.zfs)
            && (self.port.is_none() || self.port == has.port)
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let zfs = if self.zfs { "with" } else { "without" };
        write!(f, "{} MiB, {} processors, {zfs} ZFS", self.memory_mib, self.cpus)?;
        match self.port {
            Some(port) => write!(f, ", port {port}"),
            None => Ok(()),
        }
    }
}
