//! What kind of machine a guest is.

use crate::error::LabError;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A guest's machine. Every shape is booted once and then restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// RAM.
    pub memory_mib: u32,
    /// Processors.
    pub cpus: u32,
    /// Whether ZFS modules are in it.
    pub zfs: bool,
    /// The port of 127.0.0.1 that leads to its sshd; `None`: a free one.
    #[serde(default)]
    pub port: Option<u16>,
}

impl Default for Shape {
    fn default() -> Self {
        Self { memory_mib: 1024, cpus: 2, zfs: true, port: None }
    }
}

impl Shape {
    /// Whether such a machine can be.
    pub(crate) fn check(&self) -> Result<(), LabError> {
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

    /// Whether a running guest of shape `has` will do for who asked for this one.
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
