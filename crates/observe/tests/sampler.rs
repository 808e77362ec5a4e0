//! The sampler with fake trees (exact values) and on the machine that runs the test.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed, as it should")]

mod support;

use diskproof_observe::{Config, Roots, Sampler, Subjects};
use record::counter::{Evidence, Pressure};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use support::{stranger, wait_for};

fn put(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

const STAT: &str = "1 2 3 4 5 6 7 8 9 10 11\n";

fn config(root: &Path, devices: &[&str]) -> Config {
    let devices = devices.iter().map(ToString::to_string).collect();
    Config {
        roots: Roots::under(root),
        hz: 0.001,
        subjects: Subjects { devices, cgroup: Some(root.join("cgroup")), ..Subjects::default() },
        engine_pid: None,
        servers: Vec::new(),
    }
}

#[test]
fn one_sample_before_and_one_after_with_exact_values() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    put(root, "sys/class/block/loop0/stat", STAT);
    put(root, "sys/class/block/loop1/stat", STAT);
    put(root, "cgroup/io.stat", "7:0 rbytes=5 rios=1\n");
    put(root, "proc/stat", "cpu 1 2 3 4\ncpu0 1 2 3 4\n");
    put(root, "proc/meminfo", "MemTotal: 4 kB\n");
    put(root, "proc/vmstat", "pgpgin 7\n");
    put(root, "sys/kernel/mm/damon/admin/kdamonds/nr_kdamonds", "2\n");
    put(root, "sys/kernel/mm/damon/admin/kdamonds/0/state", "off\n");
    put(root, "sys/kernel/mm/damon/admin/kdamonds/1/state", "off\n");
    put(root, "proc/pressure/io", "some avg10=0 total=11\nfull avg10=0 total=12\n");
    let sampler = Sampler::start(&config(root, &["loop0", "loop1", "gone"])).unwrap();
    // The last sample shows what happens before the stop.
    put(root, "sys/class/block/loop0/stat", "101 2 3 4 5 6 7 8 9 10 11\n");
    put(root, "proc/vmstat", "pgpgin 8\n");
    put(root, "sys/kernel/mm/damon/admin/kdamonds/1/state", "on\n");
    let (evidence, problems) = sampler.stop_with_problems();
    assert!(problems.is_empty(), "{problems:?}");
    let [first, last] = evidence.samples.as_slice() else { panic!("{}", evidence.samples.len()) };
    assert!(first.monotonic_ns < last.monotonic_ns);
    assert_eq!((first.block["loop0"].reads, last.block["loop0"].reads), (1, 101));
    assert_eq!(first.block["loop1"], last.block["loop1"]);
    assert_eq!(first.block.len(), 2, "a device that isn't there is absent");
    assert_eq!(first.cpu.unwrap().user, 3);
    assert_eq!(first.cores.len(), 1);
    assert_eq!(first.memory.unwrap().total_bytes, Some(4096));
    assert_eq!((first.vm.unwrap().pgpgin_kib, last.vm.unwrap().pgpgin_kib), (Some(7), Some(8)));
    assert_eq!(first.vm.unwrap().nr_dirtied, None);
    assert_eq!((first.vm.unwrap().takes_cold_pages, last.vm.unwrap().takes_cold_pages), (false, true));
    let io = Pressure { some_us: 11, full_us: Some(12) };
    assert_eq!(first.pressure.iter().collect::<Vec<_>>(), [(&"io".to_owned(), &io)]);
    assert_eq!(first.cgroup_io["7:0"].read_bytes, Some(5));
    assert_eq!(first.engine, None);
    assert!(evidence.ticks_per_second > 0);
}

#[test]
fn a_machine_that_offers_nothing_gives_none_everywhere() {
    let dir = tempfile::tempdir().unwrap();
    let (evidence, problems) = Sampler::start(&config(dir.path(), &["sda"])).unwrap().stop_with_problems();
    assert!(problems.is_empty(), "{problems:?}");
    for sample in &evidence.samples {
        assert!(sample.block.is_empty() && sample.pressure.is_empty() && sample.cgroup_io.is_empty());
        assert_eq!((sample.cpu, sample.memory, sample.vm, sample.engine), (None, None, None, None));
    }
    assert_eq!(evidence.samples.len(), 2);
}

#[test]
fn one_file_of_garbage_is_named_and_spoils_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    put(root, "sys/class/block/loop0/stat", STAT);
    put(root, "sys/class/block/loop1/stat", "1 2 three\n");
    put(root, "proc/stat", "cpu 1 2 3 4\n");
    put(root, "proc/meminfo", "MemTotal: lots\n");
    let (evidence, problems) =
        Sampler::start(&config(root, &["loop0", "loop1"])).unwrap().stop_with_problems();
    let sample = &evidence.samples[0];
    assert_eq!(sample.block.keys().collect::<Vec<_>>(), ["loop0"]);
    assert_eq!(sample.memory, None);
    assert!(sample.cpu.is_some());
    let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
    let expected = [
        "/sys/class/block/loop1/stat:1: expected at least 11 numbers (Documentation/block/stat.rst), found `1 2 three`",
        "/proc/meminfo:1: expected `Key: number kB`, found `MemTotal: lots`",
    ];
    // Both problems, at both samples.
    assert_eq!(said.len(), 4, "{said:?}");
    for (said, expected) in said.iter().zip(expected.iter().cycle()) {
        assert!(said.ends_with(expected), "{said}");
    }
}

fn live(hz: f64) -> Config {
    Config { hz, ..Config::default() }
}

#[test]
fn samples_of_this_machine_come_in_order_and_no_more_than_asked() {
    let sampler = Sampler::start(&live(50.0)).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let (evidence, problems) = sampler.stop_with_problems();
    assert!(problems.is_empty(), "{problems:?}");
    let samples = &evidence.samples;
    let nanoseconds = samples.last().unwrap().monotonic_ns - samples[0].monotonic_ns;
    // Even on a slow machine, missed samples are not made up for.
    let at_most = nanoseconds / 20_000_000 + 2;
    assert!(samples.len() >= 3 && samples.len() as u64 <= at_most, "{} in {nanoseconds} ns", samples.len());
    for pair in samples.windows(2) {
        assert!(pair[0].monotonic_ns < pair[1].monotonic_ns);
        assert!(pair[0].cpu.unwrap().user <= pair[1].cpu.unwrap().user);
        assert!(pair[0].vm.unwrap().pgpgout_kib <= pair[1].vm.unwrap().pgpgout_kib);
    }
    let cores = std::thread::available_parallelism().unwrap().get();
    assert!(samples[0].cores.len() >= cores);
}

#[test]
fn the_engine_may_be_named_later_and_its_end_is_not_lost() {
    let sampler = Sampler::start(&live(100.0)).unwrap();
    let script = "dd if=/dev/zero of=/dev/null bs=1M count=64 2>/dev/null; echo done; read wait";
    let mut engine =
        Command::new("sh").args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    sampler.engine_pid(engine.id());
    let mut line = String::new();
    BufReader::new(engine.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let sampled = || sampler.latest().map(|latest| latest.monotonic_ns);
    let until = Instant::now() + Duration::from_secs(60);
    let before = sampled();
    // The first new sample may have begun before the line came; the second one began after it.
    let mut seen = std::collections::BTreeSet::from([before]);
    while seen.len() < 3 {
        assert!(Instant::now() < until, "no sample comes");
        std::thread::sleep(Duration::from_millis(5));
        seen.insert(sampled());
    }
    writeln!(engine.stdin.as_mut().unwrap(), "end").unwrap();
    engine.wait().unwrap();
    let evidence: Evidence = sampler.stop();
    assert_eq!(evidence.samples[0].engine, None);
    let last = evidence.samples.last().unwrap().engine.unwrap();
    assert_eq!(last.tasks, 0);
    assert!(last.write_chars.unwrap() >= 64 << 20, "{last:?}");
}

#[test]
fn strangers_that_write_are_seen_and_our_own_writing_is_not() {
    // Needs a real disk under the file: writes to tmpfs never reach the block layer. The build directory has one.
    let dir =
        tempfile::Builder::new().prefix("diskproof-test-").tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let write = |name: &str| {
        format!("dd if=/dev/zero of={}/{name} bs=1M count=4 conv=fsync", dir.path().to_string_lossy())
    };
    let (pid, mut stdin) =
        stranger(&format!("read a; {}; touch {}/done; read b", write("a"), dir.path().to_string_lossy()));
    let sampler = Sampler::start(&live(10.0)).unwrap();
    writeln!(stdin, "go").unwrap();
    let ours = Command::new("sh").args(["-c", &write("b")]).stderr(Stdio::null()).status().unwrap();
    assert!(ours.success());
    wait_for(&dir.path().join("done"));
    let evidence = sampler.stop();
    drop(stdin);
    let us = std::process::id();
    assert!(evidence.others.iter().all(|other| other.pid != us));
    let seen = evidence.others.iter().find(|other| other.pid == pid).expect("the stranger is seen");
    assert_eq!(seen.comm, "sh");
    assert_eq!((seen.kernel, seen.on_ground), (Some(false), None), "nobody asked who is on the ground");
    assert!((4 << 20..6 << 20).contains(&seen.write_bytes), "{seen:?}");
    // Without root, and in some sandboxes with it, the first process is not readable. Then the evidence says so.
    if fs::read("/proc/1/io").is_err() {
        assert!(!evidence.others_complete);
    }
}

#[test]
fn a_stranger_that_computes_is_seen_without_any_io() {
    let dir = tempfile::tempdir().unwrap();
    let done = dir.path().join("done");
    let (pid, mut stdin) = stranger(&format!(
        "read a; i=0; while [ $i -lt 1000000 ]; do i=$((i+1)); done; touch {}; read b",
        done.to_string_lossy()
    ));
    let sampler = Sampler::start(&live(10.0)).unwrap();
    writeln!(stdin, "go").unwrap();
    wait_for(&done);
    let evidence = sampler.stop();
    drop(stdin);
    let seen = evidence.others.iter().find(|other| other.pid == pid).expect("the stranger is seen");
    let ticks = seen.cpu_ticks.unwrap();
    assert!(ticks > 0 && evidence.others_cpu_ticks.unwrap() >= ticks, "{seen:?}");
    // The CPU of other processes and of the kernel is part of the machine's busy time, with a tolerance of one census.
    let busy = |i: usize| evidence.samples[i].cpu.map(|c| c.user + c.system + c.irq.unwrap_or(0)).unwrap();
    let all = busy(evidence.samples.len() - 1) - busy(0);
    let counted = evidence.others_cpu_ticks.unwrap() + evidence.kernel_cpu_ticks.unwrap();
    assert!(counted <= 2 * all + 100, "{counted} of {all}");
}
