//! Mount options, by file system.

use super::table::Form::{Number, OneOf, Size, Switch};
use super::table::{Named, Refusal, WAY_OUT, named, perhaps, shown};

/// A file system that takes mount options from an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mounted {
    /// ext3 and ext4.
    Ext,
    /// XFS.
    Xfs,
    /// btrfs.
    Btrfs,
    /// NFS, mounted by the client.
    Nfs,
}

/// The mount options that one file system allows.
pub(super) struct Mounts {
    what: &'static str,
    pub(super) allowed: &'static [&'static [Named]],
    own: &'static [(&'static str, &'static str)],
}

pub(super) fn table(what: Mounted) -> &'static Mounts {
    match what {
        Mounted::Ext => &EXT,
        Mounted::Xfs => &XFS_MOUNTS,
        Mounted::Btrfs => &BTRFS_MOUNTS,
        Mounted::Nfs => &NFS_MOUNTS,
    }
}

const FRESH: &str = "the file system is mounted fresh and read-write";
const OTHER_DEVICE: &str = "it would use a device that nobody has claimed for this";
const NEW: &str = "the file system is new; there is nothing to choose";
const COMPRESS: &str = "write `compress` or `compress_force` beside `mount_options`";
const VERSION: &str = "write `version` beside `mount_options`";
const SIZES: &str = "write `rsize` and `wsize` beside `mount_options`";
const SERVER: &str = "where the server is follows from the stack's volumes and from `client`";
const NO_PROGRAM: &str =
    "options that begin with `x-` or `X-` or name a helper are for other programs than the kernel";
const RIGHTS: &str =
    "nothing on a measured file system needs it, and it would give rights to whoever writes there";

/// Reasons why options that a user may try are refused, on every file system.
const REFUSED: &[(&str, &str)] = &[
    ("ro", FRESH),
    ("bind", FRESH),
    ("rbind", FRESH),
    ("remount", FRESH),
    ("move", FRESH),
    ("loop", FRESH),
    ("offset", FRESH),
    ("sizelimit", FRESH),
    ("journal_dev", OTHER_DEVICE),
    ("journal_path", OTHER_DEVICE),
    ("logdev", OTHER_DEVICE),
    ("rtdev", OTHER_DEVICE),
    ("device", OTHER_DEVICE),
    ("subvol", NEW),
    ("subvolid", NEW),
    ("x-mount.mkdir", NEW),
    ("helper", NO_PROGRAM),
    ("suid", RIGHTS),
    ("dev", RIGHTS),
    ("user", RIGHTS),
    ("users", RIGHTS),
    ("owner", RIGHTS),
    ("group", RIGHTS),
    ("errors", "`errors=panic` would halt the machine at an error"),
];

/// The kernel's own options, for every file system.
const COMMON: &[Named] = &[
    named("async", Switch),
    named("atime", Switch),
    named("defaults", Switch),
    named("diratime", Switch),
    named("dirsync", Switch),
    named("iversion", Switch),
    named("lazytime", Switch),
    named("noatime", Switch),
    named("nodev", Switch),
    named("nodiratime", Switch),
    named("noexec", Switch),
    named("noiversion", Switch),
    named("nolazytime", Switch),
    named("norelatime", Switch),
    named("nostrictatime", Switch),
    named("nosuid", Switch),
    named("relatime", Switch),
    named("rw", Switch),
    named("strictatime", Switch),
    named("sync", Switch),
];

const BIT: &[&str] = &["0", "1"];
const DAX: &[&str] = &["always", "inode", "never"];

static EXT: Mounts = Mounts {
    what: "ext3 and ext4",
    allowed: &[
        COMMON,
        &[
            named("acl", Switch),
            perhaps("auto_da_alloc", OneOf(BIT)),
            perhaps("barrier", OneOf(BIT)),
            named("block_validity", Switch),
            named("commit", Number),
            named("data", OneOf(&["journal", "ordered", "writeback"])),
            named("data_err", OneOf(&["abort", "ignore"])),
            perhaps("dax", OneOf(DAX)),
            named("delalloc", Switch),
            named("dioread_lock", Switch),
            named("dioread_nolock", Switch),
            named("discard", Switch),
            named("errors", OneOf(&["continue", "remount-ro"])),
            named("grpquota", Switch),
            named("i_version", Switch),
            perhaps("init_itable", Number),
            named("inode_readahead_blks", Number),
            named("journal_async_commit", Switch),
            named("journal_checksum", Switch),
            named("journal_ioprio", Number),
            named("max_batch_time", Number),
            named("max_dir_size_kb", Number),
            perhaps("mb_optimize_scan", OneOf(BIT)),
            named("min_batch_time", Number),
            named("no_mbcache", Switch),
            named("no_prefetch_block_bitmaps", Switch),
            named("noacl", Switch),
            named("noauto_da_alloc", Switch),
            named("nobarrier", Switch),
            named("noblock_validity", Switch),
            named("nodelalloc", Switch),
            named("nodiscard", Switch),
            named("nodioread_nolock", Switch),
            named("noinit_itable", Switch),
            named("nojournal_checksum", Switch),
            named("nombcache", Switch),
            named("noquota", Switch),
            named("nouser_xattr", Switch),
            named("prefetch_block_bitmaps", Switch),
            named("prjquota", Switch),
            named("quota", Switch),
            named("stripe", Number),
            named("user_xattr", Switch),
            named("usrquota", Switch),
        ],
    ],
    own: &[],
};

static XFS_MOUNTS: Mounts = Mounts {
    what: "xfs",
    allowed: &[
        COMMON,
        &[
            named("allocsize", Size),
            named("attr2", Switch),
            perhaps("dax", OneOf(DAX)),
            named("discard", Switch),
            named("filestreams", Switch),
            named("gqnoenforce", Switch),
            named("gquota", Switch),
            named("grpquota", Switch),
            named("ikeep", Switch),
            named("inode32", Switch),
            named("inode64", Switch),
            named("largeio", Switch),
            named("logbsize", Size),
            named("logbufs", Number),
            named("max_atomic_write", Size),
            named("noalign", Switch),
            named("noattr2", Switch),
            named("nodiscard", Switch),
            named("noikeep", Switch),
            named("nolargeio", Switch),
            named("noquota", Switch),
            named("pqnoenforce", Switch),
            named("pquota", Switch),
            named("prjquota", Switch),
            named("quota", Switch),
            named("sunit", Number),
            named("swalloc", Switch),
            named("swidth", Number),
            named("uqnoenforce", Switch),
            named("uquota", Switch),
            named("usrquota", Switch),
            named("wsync", Switch),
        ],
    ],
    own: &[],
};

static BTRFS_MOUNTS: Mounts = Mounts {
    what: "btrfs",
    allowed: &[
        COMMON,
        &[
            named("acl", Switch),
            named("autodefrag", Switch),
            named("barrier", Switch),
            named("clear_cache", Switch),
            named("commit", Number),
            named("datacow", Switch),
            named("datasum", Switch),
            perhaps("discard", OneOf(&["async", "sync"])),
            named("flushoncommit", Switch),
            named("max_inline", Size),
            named("metadata_ratio", Number),
            named("noacl", Switch),
            named("noautodefrag", Switch),
            named("nobarrier", Switch),
            named("nodatacow", Switch),
            named("nodatasum", Switch),
            named("nodiscard", Switch),
            named("noflushoncommit", Switch),
            named("nospace_cache", Switch),
            named("nossd", Switch),
            named("nossd_spread", Switch),
            named("notreelog", Switch),
            perhaps("space_cache", OneOf(&["v1", "v2"])),
            named("ssd", Switch),
            named("ssd_spread", Switch),
            named("thread_pool", Number),
            named("treelog", Switch),
        ],
    ],
    own: &[
        ("compress", COMPRESS),
        ("compress-force", COMPRESS),
        ("degraded", "all of its devices are there"),
    ],
};

static NFS_MOUNTS: Mounts = Mounts {
    what: "nfs",
    allowed: &[
        COMMON,
        &[
            named("ac", Switch),
            named("acdirmax", Number),
            named("acdirmin", Number),
            named("acl", Switch),
            named("acregmax", Number),
            named("acregmin", Number),
            named("actimeo", Number),
            named("cto", Switch),
            named("fg", Switch),
            named("hard", Switch),
            named("local_lock", OneOf(&["all", "flock", "none", "posix"])),
            named("lock", Switch),
            named("lookupcache", OneOf(&["all", "none", "pos", "positive"])),
            named("max_connect", Number),
            named("nconnect", Number),
            named("noac", Switch),
            named("noacl", Switch),
            named("nocto", Switch),
            named("nolock", Switch),
            named("nordirplus", Switch),
            named("noresvport", Switch),
            named("nosharecache", Switch),
            named("proto", OneOf(&["rdma", "tcp", "udp"])),
            perhaps("rdirplus", OneOf(&["force", "none"])),
            named("resvport", Switch),
            named("retrans", Number),
            named("retry", Number),
            named("sec", OneOf(&["sys"])),
            named("sharecache", Switch),
            named("soft", Switch),
            named("softerr", Switch),
            named("softreval", Switch),
            named("timeo", Number),
            named("write", OneOf(&["eager", "lazy", "wait"])),
        ],
    ],
    own: &[
        ("vers", VERSION),
        ("nfsvers", VERSION),
        ("v3", VERSION),
        ("v4", VERSION),
        ("v4.0", VERSION),
        ("v4.1", VERSION),
        ("v4.2", VERSION),
        ("minorversion", VERSION),
        ("rsize", SIZES),
        ("wsize", SIZES),
        ("addr", SERVER),
        ("clientaddr", SERVER),
        ("mountaddr", SERVER),
        ("mounthost", SERVER),
        ("port", SERVER),
        ("mountport", SERVER),
        ("bg", "the mount must be there before the trial begins"),
        ("fsc", "it would keep a cache on a disk that doesn't belong to the stack"),
    ],
};

impl Mounts {
    pub(super) fn refusal(&self, at: usize, option: &str) -> Refusal {
        let name = option.split('=').next().unwrap_or(option);
        let form = self.allowed.iter().flat_map(|all| all.iter()).find(|named| named.name == name);
        let for_others = name.starts_with("x-") || name.starts_with("X-");
        let mut known = self.own.iter().chain(REFUSED);
        let why = known.find(|(refused, _)| *refused == name).map(|(_, why)| *why);
        let why = why.or(for_others.then_some(NO_PROGRAM));
        let allowed: Vec<String> = match form {
            Some(named) => vec![named.to_string()],
            None => self.allowed.iter().flat_map(|all| all.iter()).map(ToString::to_string).collect(),
        };
        Refusal {
            at,
            message: format!("mount option `{}` of {} is refused", shown(option), self.what),
            allowed: allowed.join(" "),
            help: why.unwrap_or(WAY_OUT).to_owned(),
        }
    }
}
