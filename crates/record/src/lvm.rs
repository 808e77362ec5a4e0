//! LVM: one logical volume in a volume group of its own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A logical volume over the devices below.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lvm {
    /// How its data lies on them.
    pub layout: LvmLayout,
    /// Its size; `None`: all there is, in whole extents.
    pub size_bytes: Option<u64>,
    /// Tag of the devices below, by which the volume is placed on them; `None`: it is placed by their names.
    pub tag: Option<String>,
    /// What it is cached by.
    pub cache: Option<LvmCache>,
}

/// How a logical volume lies on its devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LvmLayout {
    /// One device after the other.
    Linear,
    /// In chunks over several.
    Striped {
        /// Over how many; where there are more, one such group follows the other.
        stripes: u32,
        /// Bytes on one before the next is used.
        stripe_bytes: u64,
    },
    /// The same on all.
    Raid1 {
        /// How many.
        copies: u32,
        /// What becomes of the initial copying.
        resync: Resync,
    },
    /// Stripes over pairs that hold the same.
    Raid10 {
        /// Pairs.
        stripes: u32,
        /// Bytes on one before the next is used.
        stripe_bytes: u64,
        /// What becomes of the initial copying.
        resync: Resync,
    },
}

/// What becomes of the copying that makes new mirrors equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Resync {
    /// It is waited for before anything is measured.
    Wait,
    /// It is left out: the mirrors are taken for equal. What was never written may differ between them.
    Skip,
}

/// What a logical volume is cached by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LvmCache {
    /// Names of the volumes it lies on, all of them beside the stack's main ones.
    pub volumes: Vec<String>,
    /// Tag of these volumes, by which the cache is placed on them; `None`: by their names.
    pub tag: Option<String>,
    /// Which kind.
    pub form: CacheForm,
    /// When it is put before the volume.
    #[serde(default, skip_serializing_if = "Attach::is_built")]
    pub attach: Attach,
    /// How it goes.
    #[serde(default, skip_serializing_if = "Detach::is_undo")]
    pub detach: Detach,
}

/// When a cache is put before its volume.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Attach {
    /// When the stack is built: data are laid out through it.
    #[default]
    Built,
    /// When the data are laid out: they are on the origin alone then, and the cache is empty.
    LaidOut,
}

/// How a cache goes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Detach {
    /// With its stack, whatever it holds.
    #[default]
    Undo,
    /// After the measured time, when all that only it holds is written to the origin.
    Flush,
}

/// Kinds of caches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheForm {
    /// dm-cache: reads and writes.
    Cache {
        /// Whether its metadata lies apart from its data.
        kind: CacheKind,
        /// When writes reach the origin.
        mode: CacheMode,
        /// Bytes that are promoted at a time; `None`: LVM decides.
        chunk_bytes: Option<u64>,
        /// Which blocks it keeps; `None`: LVM decides.
        policy: Option<String>,
    },
    /// dm-writecache: writes only.
    Writecache,
}

/// Where the metadata of a cache lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CacheKind {
    /// In a volume of its own.
    Cachepool,
    /// In the same volume as the data.
    Cachevol,
}

/// When writes reach the origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CacheMode {
    /// At once.
    Writethrough,
    /// Some time later.
    Writeback,
}

impl Attach {
    /// Whether it is there from the beginning.
    #[must_use]
    pub fn is_built(&self) -> bool {
        *self == Self::Built
    }

    /// As the experiment file spells it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Built => "built",
            Self::LaidOut => "laid_out",
        }
    }
}

impl Detach {
    /// Whether it goes with its stack.
    #[must_use]
    pub fn is_undo(&self) -> bool {
        *self == Self::Undo
    }

    /// As the experiment file spells it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Undo => "undo",
            Self::Flush => "flush",
        }
    }
}

impl CacheKind {
    /// As the experiment file spells it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Cachepool => "cachepool",
            Self::Cachevol => "cachevol",
        }
    }
}

impl CacheMode {
    /// As lvconvert spells it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Writethrough => "writethrough",
            Self::Writeback => "writeback",
        }
    }
}

impl LvmLayout {
    /// Devices that it needs, or a multiple of which it takes.
    #[must_use]
    pub fn devices(self) -> u32 {
        match self {
            Self::Linear => 1,
            Self::Striped { stripes, .. } => stripes,
            Self::Raid1 { copies, .. } => copies,
            Self::Raid10 { stripes, .. } => stripes * 2,
        }
    }

    /// What becomes of the initial copying; `None`: there are no mirrors.
    #[must_use]
    pub fn resync(self) -> Option<Resync> {
        match self {
            Self::Linear | Self::Striped { .. } => None,
            Self::Raid1 { resync, .. } | Self::Raid10 { resync, .. } => Some(resync),
        }
    }

    /// How often every byte is written.
    #[must_use]
    pub fn copies(self) -> u32 {
        match self {
            Self::Linear | Self::Striped { .. } => 1,
            Self::Raid1 { copies, .. } => copies,
            Self::Raid10 { .. } => 2,
        }
    }

    /// Bytes on one device before the next is used; `None`: not striped.
    #[must_use]
    pub fn stripe_bytes(self) -> Option<u64> {
        match self {
            Self::Striped { stripe_bytes, .. } | Self::Raid10 { stripe_bytes, .. } => Some(stripe_bytes),
            Self::Linear | Self::Raid1 { .. } => None,
        }
    }
}
