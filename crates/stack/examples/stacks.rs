//! Builds stacks on emulated volumes and undoes them, many times, alternating with a script of the bare commands
//! (bench/stacks/run.sh).
//!
//!   stacks DIRECTORY TIMES SCRIPT MIB STACK...
//!
//! MIB is the size of each of eight volumes: four that diskproof holds open, as in a run, and four for the script that nothing
//! holds open, so that udev probes them as usual. Prints one line per pair: the stack, the seconds of `build` and `undo`, and the
//! seconds of the script.

use diskproof_stack::{Built, Journal, Machine, NoHooks, Volumes, build};
use record::id::RunId;
use record::lvm::{Attach, CacheForm, CacheKind, CacheMode, Detach, Lvm, LvmCache, LvmLayout, Resync};
use record::md::{Md, MdLevel};
use record::nfs::{Nfs, NfsVersion};
use record::stack::{Btrfs, BtrfsProfile, Filesystem, FsKind, Layer, Rebuild, Stack};
use record::volume::{Limits, Volume, VolumeKind};
use record::zfs::{Vdev, Zfs};
use std::error::Error;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [directory, times, script, mib, names @ ..] = args.as_slice() else {
        return Err("DIRECTORY TIMES SCRIPT MIB STACK...".into());
    };
    let stacks = names.iter().map(|name| stack(name)).collect::<Result<Vec<_>, _>>()?;
    let (roots, state) = (device::Roots::default(), Path::new(directory));
    let machine = Machine::local(&host::LocalRunner, &roots, state, &NoHooks);
    let mut journal = Journal::open(&machine, &RunId("bench-stacks".to_owned()))?;
    let kind = VolumeKind::Emulate { size_bytes: mib.parse::<u64>()? << 20, limits: Limits::default() };
    let all: Vec<Volume> = (0..8).map(|n| Volume { name: format!("vol[{n}]"), kind: kind.clone() }).collect();
    let (held, free) = all.split_at(4);
    let mut provide = |volumes: &[Volume]| {
        Volumes::provide(&machine, &mut journal, volumes, &mut |_, _| {}, &AtomicBool::new(false))
    };
    let (volumes, let_go) = (provide(held)?, provide(free)?);
    let nodes: Vec<_> = let_go.facts().into_iter().filter_map(|fact| fact.device).collect();
    drop(let_go);
    let result = measure(&machine, &mut journal, &volumes, held, &stacks, times.parse()?, (script, &nodes));
    drop(volumes);
    journal.undo_all(&machine)?;
    result
}

fn measure(
    machine: &Machine<'_>,
    journal: &mut Journal,
    volumes: &Volumes,
    all: &[Volume],
    stacks: &[Asked<'_>],
    times: u32,
    (script, nodes): (&str, &[PathBuf]),
) -> Result<(), Box<dyn Error>> {
    for _ in 0..times {
        for (name, [mains, beside], layers) in stacks {
            let count = mains + beside;
            let stack = Stack {
                name: (*name).to_owned(),
                volumes: all[..*mains].to_vec(),
                beside: all[*mains..count].to_vec(),
                layers: layers.clone(),
                rebuild: Rebuild::Trial,
            };
            let begun = Instant::now();
            let built: Built = build(machine, journal, volumes, &stack)?;
            built.undo(machine, journal)?;
            let ours = begun.elapsed().as_secs_f64();
            let begun = Instant::now();
            let status =
                Command::new(script).arg(name).args(&nodes[..count]).stdout(Stdio::null()).status()?;
            let theirs = begun.elapsed().as_secs_f64();
            if !status.success() {
                return Err(format!("{script} {name}: {status}").into());
            }
            // Not println: it panics when its reader is gone, and then nothing would be undone.
            writeln!(std::io::stdout(), "{name} {ours:.4} {theirs:.4}")?;
        }
    }
    Ok(())
}

/// A stack's name, the number of main volumes and of volumes beside them, and its layers.
type Asked<'n> = (&'n str, [usize; 2], Vec<Layer>);

/// The stack that the script builds under the same name.
fn stack(name: &str) -> Result<Asked<'_>, Box<dyn Error>> {
    let plain = |kind| {
        Layer::Filesystem(Filesystem {
            kind,
            mkfs_options: Vec::new(),
            mount_options: Vec::new(),
            stripe: None,
        })
    };
    let lvm = |layout, cache| Layer::Lvm(Lvm { layout, size_bytes: None, tag: None, cache, thin: None });
    let (counts, layers) = match name {
        "ext4" => ([1, 0], vec![plain(FsKind::Ext4)]),
        "xfs" => ([1, 0], vec![plain(FsKind::Xfs)]),
        "btrfs-raid0" => {
            let striped = Btrfs {
                data: BtrfsProfile::Raid0,
                metadata: None,
                compress: None,
                mkfs_options: Vec::new(),
                mount_options: Vec::new(),
            };
            ([4, 0], vec![Layer::Btrfs(striped)])
        }
        "lvm-striped" => {
            let layout = LvmLayout::Striped { stripes: 4, stripe_bytes: 64 << 10 };
            ([4, 0], vec![lvm(layout, None), plain(FsKind::Ext4)])
        }
        "lvm-raid1" => {
            let layout = LvmLayout::Raid1 { copies: 2, resync: Resync::Skip };
            ([2, 0], vec![lvm(layout, None), plain(FsKind::Ext4)])
        }
        "lvm-cache" => {
            let (kind, mode) = (CacheKind::Cachevol, CacheMode::Writethrough);
            let cache = LvmCache {
                volumes: vec!["vol[1]".to_owned()],
                tag: None,
                form: CacheForm::Cache { kind, mode, chunk_bytes: Some(64 << 10), policy: None },
                attach: Attach::Built,
                detach: Detach::Undo,
            };
            ([1, 1], vec![lvm(LvmLayout::Linear, Some(cache)), plain(FsKind::Ext4)])
        }
        "md-raid0" => {
            let md = Md {
                level: MdLevel::Raid0,
                chunk_bytes: Some(64 << 10),
                layout: None,
                bitmap: false,
                resync: None,
            };
            ([4, 0], vec![Layer::Md(md), plain(FsKind::Ext4)])
        }
        "md-raid1" => {
            let md = Md {
                level: MdLevel::Raid1,
                chunk_bytes: None,
                layout: None,
                bitmap: false,
                resync: Some(Resync::Skip),
            };
            ([2, 0], vec![Layer::Md(md), plain(FsKind::Ext4)])
        }
        "nfs" => {
            let nfs = Nfs {
                version: Some(NfsVersion::V4p2),
                export: Vec::new(),
                rsize_bytes: None,
                wsize_bytes: None,
                mount_options: Vec::new(),
                client: None,
            };
            ([1, 0], vec![plain(FsKind::Ext4), Layer::Nfs(nfs)])
        }
        "zfs-stripe" => {
            let zfs = Zfs {
                vdev: Vdev::Stripe,
                width: None,
                log: Vec::new(),
                cache: Vec::new(),
                ashift: Some(12),
                properties: std::collections::BTreeMap::new(),
                arc_max_bytes: None,
            };
            ([4, 0], vec![Layer::Zfs(zfs)])
        }
        _ => return Err(format!("no stack {name}").into()),
    };
    Ok((name, counts, layers))
}
