//! Builds stacks on emulated volumes and undoes them, many times; the bare commands do the same in between (bench/stacks/run.sh).
//!
//!   stacks DIRECTORY TIMES SCRIPT
//!
//! Prints a line for each pair: stack, seconds of `build` and `undo`, seconds of the script.

use diskproof_stack::{Built, Journal, Machine, NoHooks, Volumes, build};
use record::id::RunId;
use record::stack::{Btrfs, BtrfsProfile, Filesystem, FsKind, Layer, Rebuild, Stack};
use record::volume::{Limits, Volume, VolumeKind};
use std::error::Error;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

const SIZE_BYTES: u64 = 512 << 20;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [directory, times, script] = args.as_slice() else { return Err("DIRECTORY TIMES SCRIPT".into()) };
    let (roots, state) = (device::Roots::default(), Path::new(directory));
    let machine = Machine::local(&host::LocalRunner, &roots, state, &NoHooks);
    let mut journal = Journal::open(&machine, &RunId("bench-stacks".to_owned()))?;
    let kind = VolumeKind::Emulate { size_bytes: SIZE_BYTES, limits: Limits::default() };
    let all: Vec<Volume> = (0..4).map(|n| Volume { name: format!("vol[{n}]"), kind: kind.clone() }).collect();
    let volumes = Volumes::provide(&machine, &mut journal, &all, &mut |_, _| {}, &AtomicBool::new(false))?;
    let result = measure(&machine, &mut journal, &volumes, &all, times.parse()?, script);
    drop(volumes);
    journal.undo_all(&machine)?;
    result
}

fn measure(
    machine: &Machine<'_>,
    journal: &mut Journal,
    volumes: &Volumes,
    all: &[Volume],
    times: u32,
    script: &str,
) -> Result<(), Box<dyn Error>> {
    let nodes: Vec<_> = volumes.facts().into_iter().filter_map(|fact| fact.device).collect();
    for _ in 0..times {
        for (name, count, layer) in stacks() {
            let stack = Stack {
                name: name.to_owned(),
                volumes: all[..count].to_vec(),
                beside: Vec::new(),
                layers: vec![layer],
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
            // no println: it panics when its reader is gone, and nothing would be undone
            writeln!(std::io::stdout(), "{name} {ours:.4} {theirs:.4}")?;
        }
    }
    Ok(())
}

fn stacks() -> [(&'static str, usize, Layer); 3] {
    let plain = |kind| {
        Layer::Filesystem(Filesystem {
            kind,
            mkfs_options: Vec::new(),
            mount_options: Vec::new(),
            stripe: None,
        })
    };
    let striped = Layer::Btrfs(Btrfs {
        data: BtrfsProfile::Raid0,
        metadata: None,
        compress: None,
        mkfs_options: Vec::new(),
        mount_options: Vec::new(),
    });
    [("ext4", 1, plain(FsKind::Ext4)), ("xfs", 1, plain(FsKind::Xfs)), ("btrfs-raid0", 4, striped)]
}
