//! What LVM's commands are called with.

use super::device_ref::DeviceRef;
use serde::{Deserialize, Serialize};

/// A physical volume to create.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pv {
    /// The device.
    pub device: DeviceRef,
    /// The UUID that we chose, in LVM's spelling.
    pub uuid: String,
    /// Its tag.
    pub tag: Option<String>,
}

/// The LVM commands that we use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LvmCommand {
    Pvcreate,
    Pvchange,
    Vgcreate,
    Lvcreate,
    Lvconvert,
    Lvextend,
}

impl LvmCommand {
    /// The name of the program.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pvcreate => "pvcreate",
            Self::Pvchange => "pvchange",
            Self::Vgcreate => "vgcreate",
            Self::Lvcreate => "lvcreate",
            Self::Lvconvert => "lvconvert",
            Self::Lvextend => "lvextend",
        }
    }
}
