//! The names of layers.

use std::fmt;

/// A layer's name. What reads layers matches all of them, so a name that nobody reads doesn't compile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LayerName {
    Raw,
    Ext3,
    Ext4,
    Xfs,
    Btrfs,
    Lvm,
    Md,
    Luks,
    Bcache,
    Zfs,
    Nfs,
    Command,
    Knobs,
}

impl LayerName {
    pub(crate) const ALL: [Self; 13] = [
        Self::Raw,
        Self::Ext3,
        Self::Ext4,
        Self::Xfs,
        Self::Btrfs,
        Self::Lvm,
        Self::Md,
        Self::Luks,
        Self::Bcache,
        Self::Zfs,
        Self::Nfs,
        Self::Command,
        Self::Knobs,
    ];

    /// All names, as the experiment file writes them.
    pub(crate) const NAMES: [&'static str; Self::ALL.len()] = {
        let mut names = [""; Self::ALL.len()];
        let mut at = 0;
        while at < names.len() {
            names[at] = Self::ALL[at].name();
            at += 1;
        }
        names
    };

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Ext3 => "ext3",
            Self::Ext4 => "ext4",
            Self::Xfs => "xfs",
            Self::Btrfs => "btrfs",
            Self::Lvm => "lvm",
            Self::Md => "md",
            Self::Luks => "luks",
            Self::Bcache => "bcache",
            Self::Zfs => "zfs",
            Self::Nfs => "nfs",
            Self::Command => "command",
            Self::Knobs => "knobs",
        }
    }
}

impl fmt::Display for LayerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
