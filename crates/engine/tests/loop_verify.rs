//! `verify` against injected faults: changed bytes in the backing file of a loop device, under a file system or under a block
//! device. Needs root.
#![allow(clippy::unwrap_used, reason = "tests may")]

#[path = "support/faults.rs"]
mod faults;
mod support;

use device::Ground;
use diskproof_engine::{Engine, EngineError};
use faults::{Machine, Mounted, claimed, engine, native, scratch, wait_until, written_loop};
use record::trial::{EngineOutput, FaultKind, Verified};
use record::workload::{Options, Rw, SizeShare, Workload};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use support::{Bench, asked};
use testkit::LoopDevice;

const UNIT: u64 = 4096;

/// The number of blocks that the load writes again and again.
const BLOCKS: usize = 256;

const SEED: u64 = 5;

fn verified(rw: Rw) -> Options {
    Options { verify: Some("crc32c".into()), size_bytes: BLOCKS as u64 * UNIT, ..native(rw) }
}

/// The backing storage, in which the tests inject faults.
struct Below {
    backing: File,
    /// The trial's number in block headers.
    trial: [u8; 8],
}

impl Below {
    /// Creates it after the data are laid out.
    fn new(backing: &Path, bench: &Bench) -> Self {
        let text = fs::read_to_string(bench.scratch.join("native.verify")).unwrap();
        let trial: u64 = text.split(' ').nth(1).unwrap().parse().unwrap();
        let backing = File::options().read(true).write(true).open(backing).unwrap();
        Self { backing, trial: trial.to_le_bytes() }
    }

    /// The offsets of a file's blocks in the backing storage, from an offset on.
    fn places(&self, file: u32, offset: u64) -> Vec<u64> {
        let mut all = vec![0; usize::try_from(self.backing.metadata().unwrap().len()).unwrap()];
        self.backing.read_exact_at(&mut all, 0).unwrap();
        let mut places = vec![None; BLOCKS];
        // Small ext4s have blocks of 1 KiB.
        for (place, block) in (0_u64..).step_by(1024).zip(all.windows(4096).step_by(1024)) {
            let ours = block.starts_with(b"dskproof") && block[12..16] == file.to_le_bytes();
            if ours && block[16..24] == self.trial {
                let at = u64::from_le_bytes(block[24..32].try_into().unwrap());
                if let Some(found) = places.get_mut(usize::try_from((at - offset) / UNIT).unwrap()) {
                    assert_eq!(found.replace(place), None, "block {at} is there twice");
                    let sum = crc32c::crc32c_append(crc32c::crc32c(&block[..8]), &block[12..]);
                    assert_eq!(block[8..12], sum.to_le_bytes(), "block {at} is not in one piece");
                }
            }
        }
        places.into_iter().map(Option::unwrap).collect()
    }

    fn read(&self, place: u64) -> Vec<u8> {
        let mut block = vec![0; 4096];
        self.backing.read_exact_at(&mut block, place).unwrap();
        block
    }

    fn write(&self, place: u64, bytes: &[u8]) {
        self.backing.write_all_at(bytes, place).unwrap();
        self.backing.sync_all().unwrap();
    }

    /// Changes one byte.
    fn flip(&self, place: u64, by: u8) {
        let mut byte = [0];
        self.backing.read_exact_at(&mut byte, place).unwrap();
        self.write(place, &[byte[0] ^ by]);
    }
}

fn generation(block: &[u8]) -> u32 {
    u32::from_le_bytes(block[32..36].try_into().unwrap())
}

/// A stopped process; it is resumed on drop, whatever happens in the test.
struct Frozen(Pid);

impl Frozen {
    fn stop(pid: Pid) -> Self {
        kill_process(pid, Signal::STOP).unwrap();
        // I/Os that it had in flight complete without it.
        std::thread::sleep(Duration::from_millis(100));
        Self(pid)
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        let _ = kill_process(self.0, Signal::CONT);
    }
}

/// Runs a workload that writes its blocks in order, again and again. When each has been written at least twice and the load has
/// reached its end, `act` gets the blocks as they once were, the blocks as they are, and the number of the block that would be
/// written next. Its changes are made before everything is read back.
fn run_frozen(
    bench: &Bench,
    workload: &Workload,
    below: &Below,
    places: &[u64],
    act: impl FnOnce(&[Vec<u8>], &[Vec<u8>], usize) + Send,
) -> Result<EngineOutput, EngineError> {
    const SECONDS: f64 = 3.0;
    let mut job = bench.job(workload, SEED, SECONDS);
    let (tell, told) = channel();
    let started = |pid: u32| tell.send(pid).unwrap();
    job.started = &started;
    // The worker has started by then, so the load's end is known.
    let begins = Duration::from_secs(2);
    let end = Instant::now() + begins + Duration::from_secs_f64(SECONDS + 0.5);
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let now_ns = u64::try_from(now.tv_sec * 1_000_000_000 + now.tv_nsec).unwrap();
    job.begins_at_ns = Some(now_ns + u64::try_from(begins.as_nanos()).unwrap());
    let all = || places.iter().map(|place| below.read(*place)).collect::<Vec<_>>();
    let least = || all().iter().map(|block| generation(block)).min().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let pid = told.recv().unwrap();
            let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
            wait_until("every block has been written", || least() >= 1);
            let frozen = Frozen::stop(pid);
            let before = all();
            drop(frozen);
            let latest = before.iter().map(|block| generation(block)).max().unwrap();
            wait_until("every block has been written again", || least() > latest);
            let _frozen = Frozen::stop(pid);
            std::thread::sleep(end.saturating_duration_since(Instant::now()));
            let now = all();
            let newest = now.iter().map(|block| generation(block)).max().unwrap();
            let next = now.iter().position(|block| generation(block) < newest).unwrap_or(0);
            act(&before, &now, next);
        });
        engine().run(&job)
    })
}

/// All blocks at one time.
type Blocks<'a> = &'a [Vec<u8>];

/// Makes one block of each kind of fault, and returns the expected findings by kind.
fn spoil(
    below: &Below,
    places: &[u64],
    (before, now, laid_out): (Blocks<'_>, Blocks<'_>, Blocks<'_>),
    next: usize,
) -> Vec<(FaultKind, Vec<u64>)> {
    // Well behind the last write: a few more writes may come before the load notices its end.
    let behind = |distance: usize| (next + BLOCKS - distance) % BLOCKS;
    let offset = |block: usize| block as u64 * UNIT;
    let [stale, lost, zeroed, torn, misdirected, corrupt] = [10, 20, 30, 40, 50, 60].map(behind);
    below.write(places[stale], &before[stale]);
    below.write(places[lost], &laid_out[lost]);
    below.write(places[zeroed], &[0; 4096]);
    below.write(places[torn] + 2048, &before[torn][2048..]);
    let parts = [&now[torn][..2048], &before[torn][2048..]].concat();
    let first = parts.iter().zip(&now[torn]).position(|(a, b)| a != b).unwrap();
    below.write(places[misdirected], &now[behind(51)]);
    below.flip(places[corrupt] + 1234, 1);
    let mut both = vec![offset(lost), offset(zeroed)];
    both.sort_unstable();
    vec![
        (FaultKind::Lost, both),
        (FaultKind::Stale, vec![offset(stale)]),
        (FaultKind::Torn, vec![offset(torn) + first as u64]),
        (FaultKind::Misdirected, vec![offset(misdirected)]),
        (FaultKind::Corrupt, vec![offset(corrupt) + 1234]),
    ]
}

fn found(verified: &Verified, path: &Path) -> Vec<(FaultKind, Vec<u64>)> {
    let one = |fault: &record::trial::VerifyFault| {
        let mut offsets = fault.offsets_bytes.clone();
        offsets.sort_unstable();
        assert_eq!(offsets.len() as u64, fault.count);
        assert_eq!(Path::new(&fault.path), path);
        (fault.kind, offsets)
    };
    verified.faults.iter().map(one).collect()
}

fn failed(ended: Result<EngineOutput, EngineError>) -> EngineOutput {
    match ended {
        Err(EngineError::Failed { ended, output: Some(output), .. }) => {
            assert_eq!(ended, "read wrong content");
            *output
        }
        other => panic!("{other:?}"),
    }
}

/// All kinds at once; `backing` is the storage below `bench`.
fn every_kind(bench: &Bench, backing: &Path, ioengine: &str) {
    let paced = Options { rate_iops: Some(1000), ioengine: ioengine.into(), ..verified(Rw::Write) };
    let workload = asked(paced);
    let path = engine().prepare(&bench.job(&workload, SEED, 1.0)).unwrap().remove(0);
    let below = Below::new(backing, bench);
    let places = below.places(0, 0);
    let laid_out: Vec<_> = places.iter().map(|place| below.read(*place)).collect();
    let mut expected = Vec::new();
    let ended = run_frozen(bench, &workload, &below, &places, |before, now, next| {
        expected = spoil(&below, &places, (before, now, &laid_out), next);
    });
    let output = failed(ended);
    let verified = output.verified.unwrap();
    assert_eq!(found(&verified, &path), expected, "{:#?}", verified.faults);
    let errors: u64 = output.errors.iter().map(|error| error.count).sum();
    assert_eq!(errors, 6, "{:?}", output.errors);
}

#[test]
fn loop_every_kind_of_fault_under_ext4_has_its_name() {
    let Some(machine) = Machine::take() else { return };
    for ioengine in ["io_uring", "psync"] {
        let ground = Mounted::new(written_loop(48 << 20, "verify-kinds"), "ext4");
        let bench = ground.bench();
        every_kind(&bench, ground.device.backing(), ioengine);
        drop(bench);
        ground.unmount();
    }
    machine.assert_as_before();
}

#[test]
fn loop_every_kind_of_fault_of_a_block_device_has_its_name() {
    let Some(machine) = Machine::take() else { return };
    let device = written_loop(16 << 20, "verify-block");
    let claim = claimed(&device);
    let bench = Bench::on(scratch(), Ground::block(&claim));
    every_kind(&bench, device.backing(), "io_uring");
    drop((bench, claim, device));
    machine.assert_as_before();
}

/// Random numbers that differ from run to run; the seed is printed.
struct Dice(u64);

impl Dice {
    fn new() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
        let seed = u64::try_from(now & u128::from(u64::MAX)).unwrap();
        println!("dice: {seed}");
        Self(seed | 1)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// Changes one byte in the backing file, between layout and load.
#[test]
fn loop_a_flipped_byte_under_ext4_is_always_found() {
    let Some(machine) = Machine::take() else { return };
    let mut dice = Dice::new();
    let ground = Mounted::new(written_loop(48 << 20, "verify-flip"), "ext4");
    let bench = ground.bench();
    let half = BLOCKS as u64 / 2 * UNIT;
    // A write over the byte would repair it, so a rate ends the writers long before they reach it.
    for (rw, rate, from) in [
        (Rw::Randread, None, 0),
        (Rw::Read, None, 0),
        (Rw::Read, Some(100), half),
        (Rw::Write, Some(100), half),
        (Rw::Rw, Some(100), half),
    ] {
        for (direct, ioengine) in [(true, "io_uring"), (false, "io_uring"), (true, "psync"), (false, "psync")]
        {
            // A mix takes no rate; a pause after each I/O has the same effect.
            let (rate_iops, thinktime_us) = if rw == Rw::Rw { (None, 10_000) } else { (rate, 0) };
            let o = Options { direct, ioengine: ioengine.into(), rate_iops, thinktime_us, ..verified(rw) };
            let workload = asked(Options { iodepth: if rw == Rw::Rw { 1 } else { o.iodepth }, ..o });
            let job = bench.job(&workload, SEED, 0.3);
            let path = engine().prepare(&job).unwrap().remove(0);
            let below = Below::new(ground.device.backing(), &bench);
            let at = from + dice.below(BLOCKS as u64 * UNIT - from);
            let place = below.places(0, 0)[usize::try_from(at / UNIT).unwrap()];
            below.flip(place + at % UNIT, u8::try_from(1 + dice.below(255)).unwrap());
            drop_cache(&path);
            let output = failed(engine().run(&job));
            let expected = [(FaultKind::Corrupt, vec![at])];
            assert_eq!(found(&output.verified.unwrap(), &path), expected, "{workload:?}");
        }
    }
    drop(bench);
    ground.unmount();
    machine.assert_as_before();
}

fn drop_cache(path: &Path) {
    let file = File::open(path).unwrap();
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
}

/// During the load, for direct reads and for reads from the page cache, which doesn't see the change.
#[test]
fn loop_a_byte_flipped_under_a_running_load_is_found() {
    let Some(machine) = Machine::take() else { return };
    let mut dice = Dice::new();
    let ground = Mounted::new(written_loop(48 << 20, "verify-running"), "ext4");
    let bench = ground.bench();
    for direct in [true, false] {
        let workload = asked(Options { direct, ..verified(Rw::Randread) });
        let mut job = bench.job(&workload, SEED, 0.8);
        let path = engine().prepare(&job).unwrap().remove(0);
        let below = Below::new(ground.device.backing(), &bench);
        let at = dice.below(BLOCKS as u64 * UNIT);
        let place = below.places(0, 0)[usize::try_from(at / UNIT).unwrap()] + at % UNIT;
        let (tell, told) = channel();
        let started = |_| tell.send(()).unwrap();
        job.started = &started;
        let below = &below;
        let ended = std::thread::scope(|scope| {
            scope.spawn(move || {
                told.recv().unwrap();
                std::thread::sleep(Duration::from_millis(250));
                below.flip(place, 0x40);
            });
            engine().run(&job)
        });
        let verified = failed(ended).verified.unwrap();
        assert_eq!(found(&verified, &path), [(FaultKind::Corrupt, vec![at])], "direct {direct}");
    }
    drop(bench);
    ground.unmount();
    machine.assert_as_before();
}

/// Writes a block of one job's file over that of another.
#[test]
fn loop_what_belongs_to_another_file_is_misdirected() {
    let Some(machine) = Machine::take() else { return };
    let ground = Mounted::new(written_loop(48 << 20, "verify-files"), "ext4");
    let bench = ground.bench();
    let mut o = Options { numjobs: 2, ..verified(Rw::Randread) };
    o.other.insert("continue_on_error".into(), "verify".into());
    let workload = asked(o);
    let job = bench.job(&workload, SEED, 0.3);
    let paths = engine().prepare(&job).unwrap();
    let below = Below::new(ground.device.backing(), &bench);
    let (one, two) = (below.places(0, 0), below.places(1, 0));
    below.write(two[9], &below.read(one[9]));
    paths.iter().for_each(|path| drop_cache(path));
    let verified = engine().run(&job).unwrap().verified.unwrap();
    assert_eq!(found(&verified, &paths[1]), [(FaultKind::Misdirected, vec![9 * UNIT])]);
    assert!(verified.faults[0].example.contains("of file number 0"), "{}", verified.faults[0].example);
    drop(bench);
    ground.unmount();
    machine.assert_as_before();
}

/// No fault is found where there is none.
fn clean(bench: &Bench, options: Options) {
    let regions = u64::from(options.numjobs) * options.size_bytes;
    let workload = asked(options);
    let job = bench.job(&workload, SEED, 0.25);
    engine().prepare(&job).unwrap();
    let output = engine().run(&job).unwrap_or_else(|error| panic!("{error}: {workload:?}"));
    let verified = output.verified.unwrap();
    assert_eq!(verified.faults, [], "{workload:?}");
    assert!(verified.bytes >= regions, "{verified:?}");
}

fn all_clean(bench: &Bench, ioengines: &[&str]) {
    for (direct, ioengine) in ioengines.iter().flat_map(|ioengine| [(true, *ioengine), (false, *ioengine)]) {
        for rw in [Rw::Write, Rw::Randwrite, Rw::Randrw, Rw::Rw] {
            let o = Options { direct, ioengine: ioengine.into(), iodepth: 16, ..verified(rw) };
            clean(bench, Options { numjobs: 4, ..o.clone() });
            if rw.is_random() {
                clean(bench, Options { random_distribution: "zipf:1.4".into(), iodepth: 32, ..o.clone() });
            }
            let share = |bs_bytes, percent| SizeShare { bs_bytes, percent };
            clean(bench, Options { bssplit: vec![share(4096, 70), share(32768, 30)], ..o });
        }
    }
}

#[test]
fn loop_a_good_ground_has_no_faults() {
    let Some(machine) = Machine::take() else { return };
    for (kind, size, ioengines) in
        [("ext4", 64, ["io_uring", "psync"].as_slice()), ("xfs", 320, &["io_uring"])]
    {
        let ground = Mounted::new(LoopDevice::new(size << 20, "verify-clean"), kind);
        let bench = ground.bench();
        all_clean(&bench, ioengines);
        drop(bench);
        ground.unmount();
    }
    let device = LoopDevice::new(32 << 20, "verify-clean-block");
    let claim = claimed(&device);
    let bench = Bench::on(scratch(), Ground::block(&claim));
    all_clean(&bench, &["io_uring"]);
    drop((bench, claim, device));
    machine.assert_as_before();
}
