//! md: the kernel's software RAID.

use crate::lvm::Resync;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An md array over the devices below.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Md {
    /// How data lies on its members.
    pub level: MdLevel,
    /// Bytes on one member before the next is used; `None`: the level has no chunks.
    pub chunk_bytes: Option<u64>,
    /// Where the copies of raid10 lie.
    pub layout: Option<MdLayout>,
    /// Whether writes in progress are noted on the members, so that a crash costs no full resync.
    pub bitmap: bool,
    /// What becomes of the initial resync; `None`: the level has none.
    pub resync: Option<Resync>,
}

/// Levels without parity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MdLevel {
    /// Striped.
    Raid0,
    /// The same on all members.
    Raid1,
    /// Striped copies.
    Raid10,
}

/// Where the copies of raid10 lie (md(4)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct MdLayout {
    /// Which way.
    pub kind: MdCopies,
    /// How many copies.
    pub copies: u8,
}

/// Where the copies of a chunk lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MdCopies {
    /// Side by side, at about the same offset.
    Near,
    /// Far apart, the first copies all at the begin of the members.
    Far,
    /// At the next offset of the next member.
    Offset,
}

impl MdLevel {
    /// As mdadm spells it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Raid0 => "raid0",
            Self::Raid1 => "raid1",
            Self::Raid10 => "raid10",
        }
    }

    /// The fewest members.
    #[must_use]
    pub fn min_devices(self) -> usize {
        match self {
            Self::Raid0 => 1,
            Self::Raid1 | Self::Raid10 => 2,
        }
    }
}

impl MdLayout {
    /// As mdadm spells it, e.g. `n2`.
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
    /// How often every byte is written, on so many members.
    #[must_use]
    pub fn copies(&self, members: u32) -> u32 {
        match self.level {
            MdLevel::Raid0 => 1,
            MdLevel::Raid1 => members,
            MdLevel::Raid10 => self.layout.map_or(2, |layout| u32::from(layout.copies)),
        }
    }
}
