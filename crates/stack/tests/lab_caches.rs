//! Caches of LVM taken away and put back, in a kernel that has them: the data stay, to the last block that only the cache had.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that can't go on panics")]

mod support;

use device::Place;
use diskproof_stack::{Built, Cache, Journal, Machine, NoHooks, Volumes, build};
use record::lvm::{CacheKind, CacheMode, Lvm};
use record::lvm_cache::CacheState;
use record::stack::{Layer, Rebuild, Stack};
use record::volume::Limits;
use sha2::{Digest as _, Sha256};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use support::{Bench, cached, chain, emulated, ssd};
use testkit::{exclusive, is_root};

const MIB: u64 = 1 << 20;
/// Of the volume at first: its device has room for more.
const FIRST: u64 = 48 * MIB;
const GROWN: u64 = 64 * MIB;

fn stack(layer: Lvm) -> Stack {
    let layer = Lvm { size_bytes: Some(FIRST), ..layer };
    Stack {
        name: "cached".into(),
        volumes: emulated(1, 80, Limits::default()),
        beside: ssd(48),
        layers: vec![Layer::Lvm(layer)],
        rebuild: Rebuild::Trial,
    }
}

fn device(built: &Built) -> PathBuf {
    match built.ground.place() {
        Place::Block(path) => path.clone(),
        Place::Directory(_) => panic!("a block device"),
    }
}

/// Writes every block, whole chunks first and then small ones in between, so that a writing-back cache has some that the origin doesn't.
fn fill(device: &Path) {
    let direct = i32::try_from(rustix::fs::OFlags::DIRECT.bits()).unwrap();
    let mut file = std::fs::File::options().write(true).open(device).unwrap();
    let mut state = 88_172_645_463_325_252_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut block = vec![0_u8; 256 << 10];
    for _ in 0..FIRST / (256 << 10) {
        block.chunks_exact_mut(8).for_each(|word| word.copy_from_slice(&next().to_le_bytes()));
        file.write_all(&block).unwrap();
    }
    file.sync_all().unwrap();
    drop(file);
    // aligned, for direct writes: a cache counts them one by one
    let page = vec![0xA5_u8; 8192];
    let begin = page.as_ptr().align_offset(4096);
    let mut file = std::fs::File::options().write(true).custom_flags(direct).open(device).unwrap();
    for round in 0..4 {
        for i in 0..128_u64 {
            file.seek(SeekFrom::Start(i * 64 * 1024 + round * 4096)).unwrap();
            file.write_all(&page[begin..begin + 4096]).unwrap();
        }
    }
    file.sync_all().unwrap();
}

/// Past the page cache, so that it is the devices that answer.
fn checksum(device: &Path, bytes: u64) -> String {
    let mut file = std::fs::File::open(device).unwrap();
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
    let (mut hash, mut left) = (Sha256::new(), bytes);
    let mut block = vec![0_u8; 1 << 20];
    while left > 0 {
        let length = usize::try_from(left.min(MIB)).unwrap();
        file.read_exact(&mut block[..length]).unwrap();
        hash.update(&block[..length]);
        left -= length as u64;
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn size(device: &Path) -> u64 {
    std::fs::File::open(device).unwrap().seek(SeekFrom::End(0)).unwrap()
}

fn dirty(cache: &Cache, machine: &Machine<'_>) -> u64 {
    match cache.state(machine) {
        Some(CacheState::Cache(state)) => state.dirty_blocks,
        Some(CacheState::Writecache(state)) => state.blocks - state.free_blocks,
        None => panic!("no cache"),
    }
}

/// What the page says: remove the cache, resize, cache again; nothing is lost, of what only the cache had neither.
#[test]
fn lab_a_cache_is_detached_the_volume_grown_and_cached_again_with_its_data() {
    if !is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    let _alone = exclusive();
    let (name, layer) = ("cachepool", cached(CacheKind::Cachepool, CacheMode::Writeback));
    let bench = Bench::new(&format!("detach-{name}"));
    let (before, state_dir) = (bench.state(), bench.state_dir());
    let machine = bench.machine(&state_dir, &NoHooks);
    let mut journal = Journal::open(&machine, &bench.run).unwrap();
    let stack = stack(layer);
    let all: Vec<_> = stack.all_volumes().cloned().collect();
    let never = std::sync::atomic::AtomicBool::new(false);
    let volumes = Volumes::provide(&machine, &mut journal, &all, &mut |_, _| {}, &never).unwrap();
    let built = build(&machine, &mut journal, &volumes, &stack).unwrap();
    let (device, cache) = (device(&built), built.caches[0].clone());
    fill(&device);
    let (held, written) = (dirty(&cache, &machine), checksum(&device, FIRST));
    assert!(held > 0, "the cache must have what the origin lacks, or nothing is shown");
    assert!(cache.grow(&machine, &mut journal, GROWN).is_err() || size(&device) == GROWN, "{name}");
    cache.detach(&machine, &mut journal).unwrap_or_else(|e| panic!("{name}: {}", chain(&e)));
    assert_eq!(cache.state(&machine), None, "{name}: a plain volume");
    assert_eq!(checksum(&device, FIRST), written, "{name}: detached");
    assert!(cache.detach(&machine, &mut journal).is_err(), "{name}: there is none");
    if size(&device) < GROWN {
        cache.grow(&machine, &mut journal, GROWN).unwrap_or_else(|e| panic!("{name}: {}", chain(&e)));
    }
    assert_eq!(size(&device), GROWN, "{name}");
    cache.attach(&machine, &mut journal).unwrap_or_else(|e| panic!("{name}: {}", chain(&e)));
    assert_eq!(checksum(&device, FIRST), written, "{name}: cached again");
    eprintln!("{name}: {held} blocks were only in the cache");

    built.undo(&machine, &mut journal).unwrap();
    drop(volumes);
    journal.undo_all(&machine).unwrap();
    assert_eq!(before.diff(&bench.state()), "", "{name}");
}
