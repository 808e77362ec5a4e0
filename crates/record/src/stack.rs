//! Stacks: layers in order, from volumes up to a mount point or a block device.

mod words;

use crate::knobs::Knobs;
use crate::lvm::{Attach, Detach, Lvm, LvmCache, Resync};
use crate::md::Md;
use crate::nfs::Nfs;
use crate::volume::Volume;
use crate::zfs::Zfs;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A resolved stack: every parameter replaced by its level.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stack {
    /// Name with its levels filled in, e.g. `btrfs-raid0-3`.
    pub name: String,
    /// The volumes under the first layer, in order.
    pub volumes: Vec<Volume>,
    /// Additional volumes that a layer uses, e.g. for an LVM cache; layers know them by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<Volume>,
    /// Layers from the bottom up. Empty: the workload runs on the raw block device, or in the existing directory.
    pub layers: Vec<Layer>,
    /// How often the stack is built.
    #[serde(default, skip_serializing_if = "Rebuild::is_trial")]
    pub rebuild: Rebuild,
}

/// How often a stack is built.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Rebuild {
    /// For every trial, so that trials are independent.
    #[default]
    Trial,
    /// Once: the stack and its data stay up for the whole run. Each trial finds what earlier trials left in the caches.
    Run,
}

impl Rebuild {
    /// Whether trials are independent.
    #[must_use]
    pub fn is_trial(&self) -> bool {
        *self == Self::Trial
    }

    /// Returns the spelling of the experiment file.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Trial => "trial",
            Self::Run => "run",
        }
    }
}

impl Stack {
    /// Returns all its volumes: first those under the first layer, then the additional ones.
    pub fn all_volumes(&self) -> impl Iterator<Item = &Volume> {
        self.volumes.iter().chain(&self.beside)
    }

    /// Returns the layers that change where bytes go or how, without layers that only apply settings.
    pub fn transforming(&self) -> impl DoubleEndedIterator<Item = &Layer> {
        self.layers.iter().filter(|layer| !matches!(layer, Layer::Knobs(_)))
    }

    /// Returns the machine that mounts the stack over NFS from the machine it is built on; `None`: it is loaded on the machine it
    /// is built on.
    #[must_use]
    pub fn client(&self) -> Option<&str> {
        self.nfs()?.client.as_deref()
    }

    /// Returns its nfs layer; there is at most one.
    #[must_use]
    pub fn nfs(&self) -> Option<&Nfs> {
        self.layers.iter().find_map(|layer| match layer {
            Layer::Nfs(nfs) => Some(nfs),
            _ => None,
        })
    }

    /// Returns what happens to the initial synchronization of its mirrors, from the bottom up.
    pub fn resyncs(&self) -> impl Iterator<Item = (&'static str, Resync)> {
        self.layers.iter().filter_map(|layer| match layer {
            Layer::Lvm(lvm) => lvm.layout.resync().map(|resync| ("lvm", resync)),
            Layer::Md(md) => md.resync.map(|resync| ("md", resync)),
            _ => None,
        })
    }

    /// Returns its LVM caches, from the bottom up.
    pub fn lvm_caches(&self) -> impl Iterator<Item = &LvmCache> {
        self.layers.iter().filter_map(|layer| match layer {
            Layer::Lvm(lvm) => lvm.cache.as_ref(),
            _ => None,
        })
    }

    /// Whether a cache is attached only after the data is laid out.
    #[must_use]
    pub fn attaches_late(&self) -> bool {
        self.lvm_caches().any(|cache| cache.attach == Attach::LaidOut)
    }

    /// Whether a cache is flushed and detached after the measured time.
    #[must_use]
    pub fn flushes(&self) -> bool {
        self.lvm_caches().any(|cache| cache.detach == Detach::Flush)
    }
}

/// One storage transformation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// ext3, ext4 or xfs on one block device.
    Filesystem(Filesystem),
    /// btrfs over one or more block devices.
    Btrfs(Btrfs),
    /// A layer that the user's own programs build.
    Command(CommandLayer),
    /// Kernel settings; the layer passes on what lies below.
    Knobs(Knobs),
    /// A logical volume.
    Lvm(Lvm),
    /// An md array.
    Md(Md),
    /// An encrypted device.
    Luks(Luks),
    /// A device with a faster one as its cache.
    Bcache(Bcache),
    /// A ZFS pool and a dataset in it.
    Zfs(Zfs),
    /// An NFS export of the file system below, mounted on the same machine or on another one.
    Nfs(Nfs),
}

impl Layer {
    /// Returns what the kernel must have for it, by the names of its file systems and drivers. ZFS isn't named: a program
    /// (zfs-fuse) may stand in for the driver.
    #[must_use]
    pub fn needs_of_kernel(&self) -> &'static [&'static str] {
        match self {
            Self::Filesystem(filesystem) => match filesystem.kind {
                FsKind::Ext3 => &["ext3"],
                FsKind::Ext4 => &["ext4"],
                FsKind::Xfs => &["xfs"],
            },
            Self::Btrfs(_) => &["btrfs"],
            Self::Lvm(_) | Self::Luks(_) => &["device-mapper"],
            Self::Md(_) => &["md"],
            Self::Bcache(_) => &["bcache"],
            Self::Nfs(_) => &["nfs", "nfsd"],
            Self::Zfs(_) | Self::Command(_) | Self::Knobs(_) => &[],
        }
    }
}

/// dm-crypt with a LUKS2 header, on one block device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Luks {
    /// As dm-crypt names it, e.g. `aes-xts-plain64`.
    pub cipher: String,
    /// Size of the volume key, bits.
    pub key_bits: u32,
    /// Bytes that are encrypted as one unit, each with an initial value of its own.
    pub sector_bytes: u32,
    /// Whether reads are decrypted where they complete, not by dm-crypt's threads.
    pub no_read_workqueue: bool,
    /// Whether writes are encrypted by the process that submits them, not by dm-crypt's threads.
    pub no_write_workqueue: bool,
}

impl Luks {
    /// Bytes that cryptsetup keeps free for its header at the begin of the device.
    pub const HEADER_BYTES: u64 = 16 << 20;
    /// The cipher if none is said; cryptsetup's own default.
    pub const CIPHER: &'static str = "aes-xts-plain64";
    /// Bytes that may be encrypted as one unit; the first if nothing is said.
    pub const SECTOR_BYTES: [u32; 4] = [512, 1024, 2048, 4096];

    /// Whether a text may be handed to cryptsetup as a cipher: at most 64 of a-z 0-9 : _ -, a letter or digit first.
    #[must_use]
    pub fn is_cipher(text: &str) -> bool {
        let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b":_-".contains(&byte);
        text.len() <= 64
            && text.bytes().all(fits)
            && text.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric())
    }

    /// Bits of the volume key if none are said, as cryptsetup chooses them: XTS takes two keys.
    #[must_use]
    pub fn default_key_bits(cipher: &str) -> u32 {
        if cipher.contains("-xts-") { 512 } else { 256 }
    }
}

/// bcache: a block device, its backing device, with another one as its cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bcache {
    /// Name of the volume that the cache uses, additional to the main volumes of the stack.
    pub cache: String,
    /// What the cache does with writes, and whether there is caching at all.
    pub mode: BcacheMode,
    /// Smallest request of the device, bytes; `None`: the larger logical block size of the two devices.
    pub block_bytes: Option<u64>,
    /// Bytes that the cache allocates at a time.
    pub bucket_bytes: u64,
    /// A sequential stream bypasses the cache from this many bytes on; 0: never; `None`: the kernel's default, 4 MiB.
    pub sequential_cutoff_bytes: Option<u64>,
    /// Share of the cache that the kernel keeps dirty by slow write-back, percent; 0: write-back runs at full speed; `None`: the
    /// kernel's default, 10.
    pub writeback_percent: Option<u8>,
    /// A read bypasses the cache while the cache takes longer than this, microseconds; 0: never; `None`: the kernel's default, 2000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congested_read_threshold_us: Option<u32>,
    /// The same of a write; `None`: the kernel's default, 20000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congested_write_threshold_us: Option<u32>,
}

impl Bcache {
    /// Bytes before the data on the backing device (`BDEV_DATA_START_DEFAULT`, drivers/md/bcache/bcache_ondisk.h).
    pub const DATA_OFFSET: u64 = 8 << 10;
    /// The smallest number of buckets that the kernel accepts: a 1024th of the next power of two must be one at least (`cache_alloc`,
    /// drivers/md/bcache/super.c). make-bcache accepts 128.
    pub const LEAST_BUCKETS: u64 = 513;
    /// The size of a bucket if none is said, as make-bcache chooses it, bytes.
    pub const BUCKET_BYTES: u64 = 512 << 10;
    /// Bytes that a bucket may have; a power of two among them.
    pub const BUCKETS: std::ops::RangeInclusive<u64> = (64 << 10)..=(16 << 20);
    /// Bytes that a block may have.
    pub const BLOCK_BYTES: [u64; 4] = [512, 1024, 2048, 4096];
    /// The largest share that may be dirty, percent (`CUTOFF_WRITEBACK`, drivers/md/bcache/writeback.h).
    pub const MOST_PERCENT: u8 = 40;
}

/// What bcache does with writes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BcacheMode {
    /// They go to both devices, and complete when the backing device has them.
    #[default]
    Writethrough,
    /// They complete when the cache has them; the backing device gets them later.
    Writeback,
    /// They go to the backing device only.
    Writearound,
    /// Nothing is cached.
    None,
}

impl BcacheMode {
    /// All modes, in the kernel's order.
    pub const ALL: [Self; 4] = [Self::Writethrough, Self::Writeback, Self::Writearound, Self::None];

    /// Returns the kernel's spelling, which is also that of the experiment file.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Writethrough => "writethrough",
            Self::Writeback => "writeback",
            Self::Writearound => "writearound",
            Self::None => "none",
        }
    }
}

/// Type of a file system on one block device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FsKind {
    /// ext3
    Ext3,
    /// ext4
    Ext4,
    /// xfs
    Xfs,
}

impl FsKind {
    /// Returns the kernel's name for it, as in `/proc/filesystems` and `mount -t`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ext3 => "ext3",
            Self::Ext4 => "ext4",
            Self::Xfs => "xfs",
        }
    }
}

/// An ext3, ext4 or xfs file system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filesystem {
    /// Type of the file system.
    pub kind: FsKind,
    /// Extra arguments for mkfs, one per element.
    pub mkfs_options: Vec<String>,
    /// Mount options, joined by commas.
    pub mount_options: Vec<String>,
    /// Stripe geometry of the layers below, for mkfs's stripe options; `None`: mkfs decides.
    pub stripe: Option<StripeGeometry>,
}

/// Geometry for stripe-aware mkfs options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StripeGeometry {
    /// Bytes on one member before the next is used.
    pub chunk_bytes: u64,
    /// Number of members that hold data.
    pub width: u32,
}

/// A btrfs file system and its profiles.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Btrfs {
    /// Data profile.
    pub data: BtrfsProfile,
    /// Metadata profile; `None`: the default of mkfs.btrfs for this number of devices.
    pub metadata: Option<BtrfsProfile>,
    /// Compression; `None`: off.
    pub compress: Option<Compress>,
    /// Extra arguments for mkfs.btrfs.
    pub mkfs_options: Vec<String>,
    /// Mount options besides compression.
    pub mount_options: Vec<String>,
}

/// A btrfs block-group profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BtrfsProfile {
    /// One copy, on whichever device has room.
    Single,
    /// Two copies on the same device (metadata only, in practice).
    Dup,
    /// Striped.
    Raid0,
    /// Two copies on two devices.
    Raid1,
    /// Striped mirrors.
    Raid10,
}

impl BtrfsProfile {
    /// Returns the spelling of `mkfs.btrfs -d`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Dup => "dup",
            Self::Raid0 => "raid0",
            Self::Raid1 => "raid1",
            Self::Raid10 => "raid10",
        }
    }

    /// Returns the smallest number of devices that mkfs.btrfs (6.x, kernel 5.15 or later) accepts for it.
    #[must_use]
    pub fn min_devices(self) -> usize {
        match self {
            Self::Single | Self::Dup | Self::Raid0 => 1,
            Self::Raid1 | Self::Raid10 => 2,
        }
    }
}

/// btrfs compression as a mount option.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compress {
    /// `zlib`, `lzo` or `zstd`.
    pub algorithm: String,
    /// zlib 1..=9, zstd 1..=15; `None`: the kernel's default level. lzo has none.
    pub level: Option<u8>,
    /// `compress-force` instead of `compress`.
    pub force: bool,
}

/// A layer that the user's own programs build and take down. Arguments may contain `{device}` (the first input), `{devices}` (all
/// inputs, as separate arguments), `{mount}` (an empty directory that diskproof makes) and `{name}` (a unique name with
/// diskproof's prefix).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandLayer {
    /// Programs that build the layer, run in order; each is an argument vector.
    pub up: Vec<Vec<String>>,
    /// Programs that take the layer down, run in order. They must also succeed if `up` ran only partly or not at all.
    pub down: Vec<Vec<String>>,
    /// What the layer provides to the next one: `{mount}` as a directory, or a block device.
    pub provides: Provides,
}

/// What a command layer provides to the next one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Provides {
    /// A directory: the `{mount}` directory.
    Mount,
    /// A block device; its path may contain the same placeholders.
    Device(String),
}

#[cfg(test)]
mod tests {
    use super::{Luks, Stack};

    #[test]
    fn a_cipher_is_one_word_and_no_option() {
        for good in [Luks::CIPHER, "serpent-cbc-essiv:sha256", "aes", "cipher_null-ecb"] {
            assert!(Luks::is_cipher(good), "{good}");
        }
        for bad in [
            "",
            "-v",
            "AES-xts-plain64",
            "aes xts",
            "aes,xts",
            "capi:xts(aes)-plain64",
            "a\n",
            &"a".repeat(65),
        ] {
            assert!(!Luks::is_cipher(bad), "{bad:?}");
        }
        assert_eq!(["aes-xts-plain64", "aes-cbc-essiv:sha256"].map(Luks::default_key_bits), [512, 256]);
    }

    #[test]
    fn stacks_without_volumes_beside_are_written_as_before() {
        let old = r#"{"name":"s","volumes":[{"name":"a","kind":{"directory":{"path":"/a"}}}],"layers":[]}"#;
        let mut stack: Stack = serde_json::from_str(old).unwrap();
        assert_eq!(serde_json::to_string(&stack).unwrap(), old, "cells are known by it");
        let mut beside = stack.volumes.clone();
        beside[0].name = "b".to_owned();
        stack.beside = beside;
        assert_eq!(stack.all_volumes().map(|v| v.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        let text = serde_json::to_string(&stack).unwrap();
        assert_eq!(serde_json::from_str::<Stack>(&text).unwrap(), stack);
    }
}
