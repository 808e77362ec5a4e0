//! A scenario for every kind of stack: built from nothing, and taken down to nothing.

use super::bench::Bench;
use device::Place;
use diskproof_stack::{Built, Hooks, Journal, Machine, NfsClient, NfsSource, Volumes, build, mount, serve};
use record::knobs::{Knob, KnobName, Knobs};
use record::stack::{
    Btrfs, BtrfsProfile, CommandLayer, Compress, Filesystem, FsKind, Layer, Provides, Rebuild, Stack,
};
use record::volume::{Limits, Volume, VolumeKind};
use record::zfs::{Vdev, Zfs};
use std::error::Error;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::atomic::AtomicBool;

const MIB: u64 = 1 << 20;

/// Volumes and a stack on them.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) volumes: Vec<Volume>,
    /// The volumes beside the main ones.
    pub(crate) beside: Vec<Volume>,
    pub(crate) layers: Vec<Layer>,
}

pub(crate) fn emulated(count: usize, mib: u64, limits: Limits) -> Vec<Volume> {
    let kind = VolumeKind::Emulate { size_bytes: mib * MIB, limits };
    (0..count).map(|index| Volume { name: format!("vol[{index}]"), kind: kind.clone() }).collect()
}

pub(crate) fn simple(kind: FsKind) -> Layer {
    Layer::Filesystem(Filesystem { kind, mkfs_options: Vec::new(), mount_options: Vec::new(), stripe: None })
}

fn btrfs(data: BtrfsProfile, metadata: Option<BtrfsProfile>, compress: Option<Compress>) -> Layer {
    Layer::Btrfs(Btrfs { data, metadata, compress, mkfs_options: Vec::new(), mount_options: Vec::new() })
}

pub(crate) fn btrfs_raid0() -> Layer {
    btrfs(BtrfsProfile::Raid0, None, None)
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

fn ext2_by_hand() -> Layer {
    // `down` must also succeed when `up` never ran; umount fails without a mount, so a shell ignores that.
    Layer::Command(CommandLayer {
        up: vec![words("mkfs.ext2 -q {device}"), words("mount -t ext2 {device} {mount}")],
        down: vec![vec![
            "sh".to_owned(),
            "-c".to_owned(),
            "if mountpoint -q \"$1\"; then umount \"$1\"; fi".to_owned(),
            "sh".to_owned(),
            "{mount}".to_owned(),
        ]],
        provides: Provides::Mount,
    })
}

/// A device of the user's own program: here it is the volume itself.
fn device_by_hand() -> Layer {
    Layer::Command(CommandLayer {
        up: vec![words("blockdev --setra 256 {device}")],
        down: vec![words("blockdev --setra 256 {device}")],
        provides: Provides::Device("{device}".to_owned()),
    })
}

/// A ZFS pool, with its cache on the volume `ssd` if `cache` is set.
pub(crate) fn zfs(vdev: Vdev, cache: bool, properties: &[(&str, &str)]) -> Layer {
    let properties =
        properties.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let cache = if cache { vec!["ssd".to_owned()] } else { Vec::new() };
    Layer::Zfs(Zfs {
        vdev,
        width: None,
        log: Vec::new(),
        cache,
        ashift: Some(12),
        properties,
        arc_max_bytes: None,
    })
}

/// Whether ZFS can be built here.
pub(crate) fn has_zfs() -> bool {
    Path::new("/sys/module/zfs").exists() || host::resolve(host::Tool::ZfsFuse).is_ok()
}

/// Kernel settings: a scheduler, which resets other settings, and one of two settings that exclude each other.
pub(crate) fn knobs(set: &[(KnobName, &str)]) -> Layer {
    let set = set.iter().map(|(name, value)| Knob { name: *name, value: (*value).to_owned() }).collect();
    Layer::Knobs(Knobs { set })
}

/// One scenario of every kind.
pub(crate) fn scenarios(lent: &Path) -> Vec<Scenario> {
    let free = Limits::default();
    let slow = Limits {
        read_iops: Some(4000),
        write_iops: Some(4000),
        write_bps: Some(1 << 30),
        ..Limits::default()
    };
    let zstd = Compress { algorithm: "zstd".to_owned(), level: Some(3), force: true };
    let of = |name, volumes, layers| Scenario { name, volumes, beside: Vec::new(), layers };
    let raid1 = Some(BtrfsProfile::Raid1);
    vec![
        of("raw", emulated(1, 16, free), vec![]),
        of("throttle", emulated(1, 16, slow), vec![simple(FsKind::Ext4)]),
        of("ext3", emulated(1, 16, free), vec![simple(FsKind::Ext3)]),
        of("ext4", emulated(1, 16, free), vec![simple(FsKind::Ext4)]),
        of("xfs", emulated(1, 304, free), vec![simple(FsKind::Xfs)]),
        of("btrfs-single", emulated(1, 112, free), vec![btrfs(BtrfsProfile::Single, None, None)]),
        of("btrfs-raid0", emulated(2, 128, free), vec![btrfs(BtrfsProfile::Raid0, None, None)]),
        of("btrfs-raid1", emulated(2, 128, free), vec![btrfs(BtrfsProfile::Raid1, raid1, None)]),
        of("btrfs-raid10", emulated(2, 128, free), vec![btrfs(BtrfsProfile::Raid10, raid1, None)]),
        of("btrfs-compress", emulated(1, 112, free), vec![btrfs(BtrfsProfile::Single, None, Some(zstd))]),
        of("command-mount", emulated(1, 16, free), vec![ext2_by_hand()]),
        of("command-device", emulated(1, 16, free), vec![device_by_hand(), simple(FsKind::Ext4)]),
        of(
            "knobs",
            emulated(1, 16, free),
            vec![
                knobs(&[
                    (KnobName::NrRequests, "64"),
                    (KnobName::Scheduler, "mq-deadline"),
                    (KnobName::ReadAhead, "256"),
                    (KnobName::DirtyBytes, "268435456"),
                    (KnobName::DirtyBackgroundRatio, "9"),
                ]),
                simple(FsKind::Ext4),
            ],
        ),
        of(
            "lent",
            vec![Volume { name: "dir".into(), kind: VolumeKind::Directory { path: lent.into() } }],
            vec![],
        ),
    ]
}

impl Scenario {
    pub(crate) fn stack(&self) -> Stack {
        Stack {
            name: self.name.to_owned(),
            volumes: self.volumes.clone(),
            beside: self.beside.clone(),
            layers: self.layers.clone(),
            rebuild: Rebuild::Trial,
        }
    }

    /// Provides volumes, builds, works, and takes the stack and the volumes down. In between, caches are attached and detached as
    /// requested.
    pub(crate) fn whole(&self, bench: &Bench, hooks: &dyn Hooks) -> Result<(), Box<dyn Error>> {
        self.whole_looked_at(bench, hooks, |_, _, _| ())
    }

    /// The same, with a check right after the build.
    pub(crate) fn whole_looked_at(
        &self,
        bench: &Bench,
        hooks: &dyn Hooks,
        look: impl Fn(&Self, &Machine<'_>, &Built),
    ) -> Result<(), Box<dyn Error>> {
        self.with_journal(bench, hooks, |machine, journal, built| {
            look(self, machine, built);
            works(built)?;
            if !built.attach_caches(machine, journal)?.is_empty() {
                works(built)?;
            }
            built.flush_caches(machine, journal, &AtomicBool::new(false))?;
            Ok(())
        })
    }

    /// The same with other work.
    pub(crate) fn with_ground(
        &self,
        bench: &Bench,
        hooks: &dyn Hooks,
        work: impl FnOnce(&Built) -> Result<(), Box<dyn Error>>,
    ) -> Result<(), Box<dyn Error>> {
        self.with_journal(bench, hooks, |_, _, built| work(built))
    }

    fn with_journal(
        &self,
        bench: &Bench,
        hooks: &dyn Hooks,
        work: impl FnOnce(&Machine<'_>, &mut Journal, &Built) -> Result<(), Box<dyn Error>>,
    ) -> Result<(), Box<dyn Error>> {
        let state_dir = bench.state_dir();
        let machine = bench.machine(&state_dir, hooks);
        let mut journal = Journal::open(&machine, &bench.run)?;
        let cancel = AtomicBool::new(false);
        let all: Vec<Volume> = self.stack().all_volumes().cloned().collect();
        let volumes = Volumes::provide(&machine, &mut journal, &all, &mut |_, _| {}, &cancel)?;
        let stack = self.stack();
        let mut built = Vec::new();
        if stack.client().is_some() {
            // Both ends use one journal: each does what it would do on its own machine.
            let to = NfsClient { address: Ipv4Addr::LOCALHOST, any_port: true };
            let served = serve(&machine, &mut journal, &volumes, &stack, std::slice::from_ref(&to), &cancel)?;
            let directory = served.nfs.as_ref().and_then(|nfs| nfs.directory.clone()).ok_or("no export")?;
            let from =
                NfsSource { server: Ipv4Addr::LOCALHOST, port: Some(2049), mount_port: None, directory };
            built.push(served);
            built.push(mount(&machine, &mut journal, &stack, &from, &cancel)?);
        } else {
            built.push(build(&machine, &mut journal, &volumes, &stack)?);
        }
        work(&machine, &mut journal, built.last().ok_or("nothing is built")?)?;
        while let Some(top) = built.pop() {
            top.undo(&machine, &mut journal)?;
        }
        drop(volumes);
        journal.undo_all(&machine)?;
        Ok(())
    }
}

/// Writes to the device or file system under test and reads it back.
pub(crate) fn works(built: &Built) -> std::io::Result<()> {
    let path = match built.ground.place() {
        Place::Block(device) => device.clone(),
        Place::Directory(dir) => dir.join("file"),
    };
    let data: Vec<u8> = (0..65_536_u32).map(|i| u8::try_from(i % 251).unwrap()).collect();
    let mut file = std::fs::File::options();
    let is_file = matches!(built.ground.place(), Place::Directory(_));
    let mut file = file.read(true).write(true).create(is_file).truncate(is_file).open(&path)?;
    file.write_all(&data)?;
    file.sync_all()?;
    let mut back = vec![0; data.len()];
    file.seek(SeekFrom::Start(0))?;
    file.read_exact(&mut back)?;
    assert_eq!(back, data, "{}", path.to_string_lossy());
    Ok(())
}
