//! LVM caches that are detached and attached, in a kernel that has them: the data stay, down to the last block that only the
//! cache had.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that can't go on panics")]

mod support;

use device::Place;
use diskproof_stack::{
    Built, Cache, Fill, Hooks, Injected, Journal, Machine, NoHooks, Point, Volumes, build, undo_run,
};
use record::lvm::{CacheForm, CacheKind, CacheMode, Lvm, LvmLayout};
use record::lvm_cache::{CacheState, DmCache, DmWritecache};
use record::stack::{Layer, Rebuild, Stack};
use record::volume::Limits;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use support::{Bench, Hook, Scenario, cached, chain, emulated, keeping, lvm, on_ssd, ssd};
use testkit::{exclusive, is_root};

const MIB: u64 = 1 << 20;
/// The volume's first size: its device has space for more.
const FIRST: u64 = 48 * MIB;
const GROWN: u64 = 64 * MIB;
/// The number of small requests in these tests, each in its own cache block.
const SPOTS: u64 = 128;
const SPOT_BYTES: u64 = 64 << 10;
/// How often the requests are repeated, until the cache must have taken them in.
const PASSES: usize = 200;
/// The offset in each spot at which nothing small has been written.
const LAST: u64 = 16 << 10;
/// The byte of small writes.
const SMALL: u8 = 0xA5;

static NEVER: AtomicBool = AtomicBool::new(false);

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

/// Writes every block, first in whole chunks, then in small requests to the same places again and again, so that a cache takes
/// them in.
fn fill(device: &Path) {
    let mut file = std::fs::File::options().write(true).open(device).unwrap();
    let mut noise = std::fs::File::open("/dev/urandom").unwrap();
    let mut block = vec![0_u8; 256 << 10];
    for _ in 0..FIRST / (256 << 10) {
        noise.read_exact(&mut block).unwrap();
        file.write_all(&block).unwrap();
    }
    file.sync_all().unwrap();
    for round in 0..4 {
        small(device, Direction::Write, round * 4096);
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Direction {
    Read,
    Write,
}

/// One small direct request to each spot, at this offset in it: a cache counts each one.
fn small(device: &Path, direction: Direction, at: u64) {
    let direct = i32::try_from(rustix::fs::OFlags::DIRECT.bits()).unwrap();
    let mut page = vec![SMALL; 8192];
    let begin = page.as_ptr().align_offset(4096);
    let page = &mut page[begin..begin + 4096];
    let mut options = std::fs::File::options();
    let options = if direction == Direction::Read { options.read(true) } else { options.write(true) };
    let mut file = options.custom_flags(direct).open(device).unwrap();
    for spot in 0..SPOTS {
        file.seek(SeekFrom::Start(spot * SPOT_BYTES + at)).unwrap();
        match direction {
            Direction::Read => file.read_exact(page).unwrap(),
            Direction::Write => file.write_all(page).unwrap(),
        }
    }
    if direction == Direction::Write {
        file.sync_all().unwrap();
    }
}

/// The whole device, read around the page cache, so that the devices answer.
fn contents(device: &Path) -> Vec<u8> {
    let mut file = std::fs::File::open(device).unwrap();
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
    let mut all = vec![0_u8; usize::try_from(FIRST).unwrap()];
    file.read_exact(&mut all).unwrap();
    all
}

fn size(device: &Path) -> u64 {
    std::fs::File::open(device).unwrap().seek(SeekFrom::End(0)).unwrap()
}

fn dm_cache(cache: &Cache, machine: &Machine<'_>) -> DmCache {
    match cache.state(machine) {
        Some(CacheState::Cache(state)) => state,
        other => panic!("{other:?}"),
    }
}

fn dm_writecache(cache: &Cache, machine: &Machine<'_>) -> DmWritecache {
    match cache.state(machine) {
        Some(CacheState::Writecache(state)) => state,
        other => panic!("{other:?}"),
    }
}

fn writecache() -> Lvm {
    Lvm { cache: Some(on_ssd(CacheForm::Writecache, None)), ..lvm(LvmLayout::Linear) }
}

/// Set when an act begins.
#[derive(Default)]
struct Begun(AtomicBool);

impl Hooks for Begun {
    fn at(&self, _: &Point) -> Result<(), Injected> {
        self.0.store(true, Ordering::Relaxed);
        Ok(())
    }

    fn fill(&self) -> Fill {
        Fill::Reserved
    }
}

/// Small writes until the cache has a dirty block: the cache itself decides what it takes in.
fn write_until_it_owes(device: &Path, cache: &Cache, machine: &Machine<'_>) {
    let owes = || match cache.state(machine) {
        Some(CacheState::Cache(state)) => state.dirty_blocks > 0,
        Some(CacheState::Writecache(state)) => state.free_blocks < state.blocks,
        Some(CacheState::Bcache(_)) | None => false,
    };
    for _ in 0..PASSES {
        small(device, Direction::Write, LAST);
        if owes() {
            return;
        }
    }
    panic!("it takes nothing in: {:?}", cache.state(machine));
}

/// Runs `act` while small writes go on until an act begins: a cache that is idle for a second writes its dirty blocks back, and
/// then there would be nothing to show.
fn while_written<T>(device: &Path, begun: &Begun, act: impl FnOnce() -> T) -> T {
    small(device, Direction::Write, LAST);
    begun.0.store(false, Ordering::Relaxed);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !begun.0.load(Ordering::Relaxed) {
                small(device, Direction::Write, LAST);
            }
        });
        let done = act();
        begun.0.store(true, Ordering::Relaxed);
        done
    })
}

/// What a test does with a cached volume.
type Work<'w> = &'w dyn Fn(&Machine<'_>, &mut Journal, &Path, &Cache);

/// Builds a cached volume, runs `work` and takes all down: then the machine must be as before.
fn with_cached(name: &str, layer: Lvm, hooks: &dyn Hooks, work: Work<'_>) {
    let bench = Bench::new(&format!("caches-{name}"));
    let (before, state_dir) = (bench.state(), bench.state_dir());
    let machine = bench.machine(&state_dir, hooks);
    let mut journal = Journal::open(&machine, &bench.run).unwrap();
    let stack = stack(layer);
    let all: Vec<_> = stack.all_volumes().cloned().collect();
    let volumes = Volumes::provide(&machine, &mut journal, &all, &mut |_, _| {}, &NEVER).unwrap();
    let built =
        build(&machine, &mut journal, &volumes, &stack).unwrap_or_else(|e| panic!("{name}: {}", chain(&e)));
    work(&machine, &mut journal, &device(&built), &built.caches[0]);
    built.undo(&machine, &mut journal).unwrap();
    drop(volumes);
    journal.undo_all(&machine).unwrap();
    assert_eq!(before.diff(&bench.state()), "", "{name}");
}

/// LVM 2.03.16 has the kernel use another policy, and reports the requested one.
#[test]
fn lab_a_policy_that_a_cachevol_does_not_get_is_told() {
    if !is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    let _alone = exclusive();
    let bench = Bench::new("caches-policy");
    let before = bench.state();
    let layer = keeping("smq", cached(CacheKind::Cachevol, CacheMode::Writethrough));
    let scenario = Scenario {
        name: "policy",
        volumes: emulated(1, 32, Limits::default()),
        beside: ssd(48),
        layers: vec![Layer::Lvm(layer)],
    };
    // A newer LVM uses the requested policy.
    if let Err(error) = scenario.whole(&bench, &Hook::count()) {
        let error = chain(&*error);
        assert!(
            error.contains("`policy` of the cache") && error.ends_with("expected smq, found mq"),
            "{error}"
        );
    }
    undo_run(&bench.machine(&bench.state_dir(), &NoHooks), &bench.run).unwrap();
    assert_eq!(before.diff(&bench.state()), "");
}

/// The documented procedure: detach the cache, resize, cache again; no data are lost, including those that only the cache had.
#[test]
fn lab_a_cache_is_detached_the_volume_grown_and_cached_again_with_its_data() {
    if !is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    let _alone = exclusive();
    for (name, layer) in [
        ("cachepool", cached(CacheKind::Cachepool, CacheMode::Writeback)),
        ("cachevol", cached(CacheKind::Cachevol, CacheMode::Writeback)),
        ("writecache", writecache()),
    ] {
        let begun = Begun::default();
        with_cached(name, layer, &begun, &|machine, journal, device, cache| {
            fill(device);
            assert!(cache.grow(machine, journal, GROWN).is_err() || size(device) == GROWN, "{name}");
            let mut written = contents(device);
            for at in (0..SPOTS).map(|spot| usize::try_from(spot * SPOT_BYTES + LAST).unwrap()) {
                written[at..at + 4096].fill(SMALL);
            }
            write_until_it_owes(device, cache, machine);
            let flushed = while_written(device, &begun, || cache.detach(machine, journal, &NEVER));
            let flushed = flushed.unwrap_or_else(|e| panic!("{name}: {}", chain(&e)));
            assert_eq!(cache.state(machine), None, "{name}: a plain volume");
            assert!(contents(device) == written, "{name}: detached");
            let owed = flushed.owed_bytes.unwrap_or_default();
            assert!(owed > 0, "{name}: the cache must have what the origin lacks, or nothing is shown");
            assert!(cache.detach(machine, journal, &NEVER).is_err(), "{name}: there is none");
            if size(device) < GROWN {
                cache.grow(machine, journal, GROWN).unwrap_or_else(|e| panic!("{name}: {}", chain(&e)));
            }
            assert_eq!(size(device), GROWN, "{name}");
            cache.attach(machine, journal).unwrap_or_else(|e| panic!("{name}: {}", chain(&e)));
            assert!(contents(device) == written, "{name}: cached again");
            eprintln!("{name}: {flushed:?}");
        });
    }
}

/// Every request counts once, a repeated one is promoted and hit, and only a write-back cache has dirty blocks.
#[test]
fn lab_a_cachevol_counts_hits_misses_promotions_and_what_is_dirty() {
    if !is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    let _alone = exclusive();
    for mode in [CacheMode::Writethrough, CacheMode::Writeback] {
        let name = mode.name();
        with_cached(name, cached(CacheKind::Cachevol, mode), &Hook::count(), &|machine, _, device, cache| {
            let first = dm_cache(cache, machine);
            assert_eq!((first.mode.as_deref(), first.block_bytes), (Some(name), 64 << 10));
            small(device, Direction::Read, 0);
            let once = dm_cache(cache, machine);
            let counted = |c: &DmCache| (c.read_hits + c.read_misses, c.write_hits + c.write_misses);
            assert!(counted(&once).0 >= counted(&first).0 + SPOTS, "{name}: {first:?}, then {once:?}");
            assert!(
                once.read_misses > first.read_misses,
                "{name}: new, so not everything was in it: {once:?}"
            );
            let taken = |c: &DmCache| c.promotions > once.promotions && c.read_hits >= once.read_hits + SPOTS;
            let mut now = once.clone();
            for _ in 0..PASSES {
                if taken(&now) {
                    break;
                }
                small(device, Direction::Read, 0);
                now = dm_cache(cache, machine);
            }
            assert!(taken(&now) && now.used_blocks >= now.promotions - now.demotions, "{name}: {now:?}");
            let written = while_written(device, &Begun::default(), || cache.state(machine));
            let Some(CacheState::Cache(written)) = written else { panic!("{name}: {written:?}") };
            assert!(counted(&written).1 >= counted(&now).1 + SPOTS, "{name}: {now:?}, then {written:?}");
            assert!(written.write_hits > now.write_hits, "{name}: {now:?}, then {written:?}");
            assert_eq!(written.dirty_blocks > 0, mode == CacheMode::Writeback, "{name}: {written:?}");
            eprintln!("{name}: {first:?}\n  then {written:?}");
        });
    }
}

/// A writecache takes writes and serves them to reads, and knows nothing of what was only read.
#[test]
fn lab_a_writecache_counts_what_it_takes_and_what_it_has() {
    if !is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    let _alone = exclusive();
    with_cached("writecache", writecache(), &Hook::count(), &|machine, _, device, cache| {
        let first = dm_writecache(cache, machine);
        let of = |count: Option<u64>| count.expect("the lab's kernel counts");
        small(device, Direction::Write, 0);
        let written = dm_writecache(cache, machine);
        assert!(of(written.writes) >= of(first.writes) + SPOTS, "{first:?}, then {written:?}");
        assert!(first.free_blocks >= written.free_blocks + SPOTS, "{first:?}, then {written:?}");
        small(device, Direction::Read, 0);
        let read = dm_writecache(cache, machine);
        assert!(of(read.read_hits) >= of(written.read_hits) + SPOTS, "{written:?}, then {read:?}");
        small(device, Direction::Read, 8192);
        let missed = dm_writecache(cache, machine);
        assert!(of(missed.reads) >= of(read.reads) + SPOTS, "{read:?}, then {missed:?}");
        assert!(
            of(missed.read_hits) < of(read.read_hits) + SPOTS,
            "never written: {read:?}, then {missed:?}"
        );
        assert_eq!(missed.error, 0);
        eprintln!("{first:?}\n  then {missed:?}");
    });
}
