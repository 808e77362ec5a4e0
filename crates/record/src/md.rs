//! md: the kernel's software RAID.

use crate::lvm::Resync;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An md array over the devices below.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Md {
    /// RAID level.
    pub level: MdLevel,
    /// Bytes on one member before the next is used (chunk size); `None`: the level has no chunks.
    pub chunk_bytes: Option<u64>,
    /// Layout of the copies of raid10; `None`: another level.
    pub layout: Option<MdLayout>,
    /// Whether the members keep a write-intent bitmap, so that a crash needs no full resync.
    pub bitmap: bool,
    /// What happens to the initial resync; `None`: the level has none.
    pub resync: Option<Resync>,
}

/// The levels without parity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MdLevel {
    /// Striped.
    Raid0,
    /// Mirrored on all members.
    Raid1,
    /// Striped copies.
    Raid10,
}

/// Layout of the copies of raid10 (md(4)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct MdLayout {
    /// Placement of the copies.
    pub kind: MdCopies,
    /// Number of copies.
    pub copies: u8,
}

/// Where raid10 places the copies of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MdCopies {
    /// On neighbouring members, at about the same offset.
    Near,
    /// Far apart: all first copies at the beginning of the members.
    Far,
    /// On the next member, at the next offset.
    Offset,
}

impl MdLevel {
    /// Returns the spelling of mdadm.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Raid0 => "raid0",
            Self::Raid1 => "raid1",
            Self::Raid10 => "raid10",
        }
    }

    /// Returns the smallest number of members.
    #[must_use]
    pub fn min_devices(self) -> usize {
        match self {
            Self::Raid0 => 1,
            Self::Raid1 | Self::Raid10 => 2,
        }
    }
}

impl MdLayout {
    /// Returns the spelling of mdadm, e.g. `n2`.
    #[must_use]
    pub fn name(self) -> String {
        let letter = match self.kind {
            MdCopies::Near => 'n',
            MdCopies::Far => 'f',
            MdCopies::Offset => 'o',
        };
        format!("{letter}{}", self.copies)
    }
}

impl Md {
    /// Returns how often every byte is written with this number of members.
    #[must_use]
    pub fn copies(&self, members: u32) -> u32 {
        match self.level {
            MdLevel::Raid0 => 1,
            MdLevel::Raid1 => members,
            MdLevel::Raid10 => self.layout.map_or(2, |layout| u32::from(layout.copies)),
        }
    }
}
