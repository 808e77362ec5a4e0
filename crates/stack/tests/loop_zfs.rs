//! ZFS pools on emulated volumes: with the kernel's ZFS where it has one, else with zfs-fuse.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that can't go on panics")]

mod support;

use diskproof_stack::{Built, Journal, NoHooks, Volumes, build, undo_run};
use record::stack::{Layer, Rebuild, Stack};
use record::volume::{Limits, Volume};
use record::zfs::Vdev;
use std::io::Read as _;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use support::{Bench, Fault, Hook, Matrix, Scenario, chain, emulated, has_zfs, works, zfs};
use testkit::{exclusive, is_root};

macro_rules! need {
    () => {
        if !is_root() || !has_zfs() {
            eprintln!("skipped: needs root, and a kernel with ZFS or zfs-fuse");
            return;
        }
        let _alone = exclusive();
    };
}

fn by_process() -> bool {
    !Path::new("/sys/module/zfs").exists()
}

fn daemons() -> usize {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let read = |path: std::path::PathBuf| std::fs::read_to_string(path).unwrap_or_default();
    // A process that has exited but wasn't reaped has no arguments.
    let alive = |path: &Path| !read(path.join("cmdline")).is_empty();
    entries.filter(|e| read(e.path().join("comm")).trim_end() == "zfs-fuse" && alive(&e.path())).count()
}

fn mount(built: &Built) -> std::path::PathBuf {
    match built.ground.place() {
        device::Place::Directory(dir) => dir.clone(),
        device::Place::Block(dev) => panic!("{}", dev.to_string_lossy()),
    }
}

#[test]
fn loop_pools_of_every_kind_work_and_go() {
    kinds();
}

#[test]
fn lab_pools_of_every_kind_work_and_go() {
    kinds();
}

#[test]
fn loop_a_pool_tells_what_its_files_take() {
    tells();
}

#[test]
fn lab_a_pool_tells_what_its_files_take() {
    tells();
}

#[test]
fn loop_what_zfs_fuse_lacks_is_refused_by_name() {
    refusals();
}

#[test]
fn lab_limits_that_would_not_bind_are_refused() {
    refusals();
}

/// The output of a ZFS program.
fn said(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output().unwrap();
    assert!(output.status.success(), "{program} {args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The pool's devices as arguments of `zpool create`.
fn layout(pool: &str) -> Vec<String> {
    let status = said("zpool", &["status", "-P", pool]);
    let tree = status.lines().skip_while(|line| line.split_whitespace().next() != Some(pool));
    let names = tree.skip(1).take_while(|line| !line.trim().is_empty());
    names
        .map(|line| match line.split_whitespace().next().unwrap() {
            "logs" => "log".to_owned(),
            name => name.split_once('-').map_or(name, |(kind, _)| kind).to_owned(),
        })
        .collect()
}

/// Sets every option at once; then tries every compression in ZFS's notation.
#[test]
fn lab_a_pool_is_what_was_asked_for() {
    need!();
    if by_process() {
        eprintln!("skipped: needs a kernel with ZFS");
        return;
    }
    let asked = [
        ("atime", "off"),
        ("checksum", "sha256"),
        ("compression", "gzip-3"),
        ("copies", "2"),
        ("dedup", "on"),
        ("logbias", "throughput"),
        ("primarycache", "metadata"),
        ("recordsize", "16384"),
        ("secondarycache", "none"),
        ("sync", "always"),
        ("xattr", "sa"),
    ];
    let mut layer = zfs(Vdev::Mirror, true, &asked);
    if let Layer::Zfs(zfs) = &mut layer {
        (zfs.width, zfs.ashift, zfs.log) = (Some(2), Some(13), vec!["slog".to_owned()]);
    }
    let volumes = emulated(4, 80, Limits::default());
    let beside = ["slog", "ssd"].map(|name| Volume { name: name.to_owned(), kind: volumes[0].kind.clone() });
    let scenario = Scenario { name: "all", volumes, beside: beside.into(), layers: vec![layer] };
    let bench = Bench::new("zfs-all");
    let before = bench.state();
    let result = scenario.with_ground(&bench, &Hook::count(), |built| {
        works(built)?;
        let name = built.pool.as_ref().unwrap().name.as_str();
        let get = |property| said("zfs", &["get", "-Hp", "-o", "value", property, name]);
        for (property, value) in asked {
            assert_eq!(get(property).trim(), value, "{property}");
        }
        assert_eq!(said("zpool", &["get", "-Hp", "-o", "value", "ashift", name]).trim(), "13");
        let create = built.argv.iter().find(|argv| argv[0].ends_with("zpool")).unwrap();
        let devices: Vec<String> = create.iter().skip_while(|arg| *arg != name).skip(1).cloned().collect();
        assert_eq!(devices.len(), 4 + 2 + 2 + 2, "{create:?}");
        assert_eq!(layout(name), devices);
        let named = ["on", "off", "lz4", "lzjb", "zle", "gzip", "zstd", "zstd-fast"].map(str::to_owned);
        let gzip = (1..=9).map(|level| format!("gzip-{level}"));
        let zstd = [1, 3, 19].map(|level| format!("zstd-{level}"));
        let fast = [1, 10, 20, 100, 500, 1000].map(|level| format!("zstd-fast-{level}"));
        for compression in named.into_iter().chain(gzip).chain(zstd).chain(fast) {
            said("zfs", &["set", &format!("compression={compression}"), name]);
            // The default level, when none is given.
            let shown = match compression.as_str() {
                "gzip-6" => "gzip",
                "zstd-fast-1" => "zstd-fast",
                other => other,
            };
            assert_eq!(get("compression").trim(), shown);
        }
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{}", chain(&*error)));
    assert_eq!(before.diff(&bench.state()), "");
}

/// The limit in force differs from the parameter, and is put back all the same.
#[test]
fn lab_the_limit_of_arc_is_put_back() {
    need!();
    let parameter = Path::new("/sys/module/zfs/parameters/zfs_arc_max");
    let limit = || {
        let stats = std::fs::read_to_string("/proc/spl/kstat/zfs/arcstats").unwrap_or_default();
        let line = stats.lines().find(|line| line.starts_with("c_max ")).map(str::to_owned);
        (std::fs::read_to_string(parameter).unwrap_or_default(), line)
    };
    if by_process() {
        eprintln!("skipped: needs a kernel with ZFS");
        return;
    }
    let bench = Bench::new("zfs-arc");
    let before = (bench.state(), limit());
    let mut layer = zfs(Vdev::Stripe, false, &[]);
    if let Layer::Zfs(zfs) = &mut layer {
        zfs.arc_max_bytes = Some(96 << 20);
    }
    let volumes = emulated(1, 80, Limits::default());
    let scenario = Scenario { name: "arc", volumes, beside: Vec::new(), layers: vec![layer] };
    let result = scenario.with_ground(&bench, &Hook::count(), |built| {
        assert!(limit().1.unwrap().ends_with(" 100663296"), "{:?}", limit());
        assert_eq!(built.settings[0].value, "100663296");
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{}", chain(&*error)));
    assert_eq!(before.0.diff(&bench.state()), "");
    assert_eq!(before.1, limit());
}

/// Injects faults around the act that creates a pool, and around ARC's limit where the kernel has ARC.
const POOLS: Matrix = Matrix {
    scenarios: |_| {
        let mut layer = zfs(Vdev::Stripe, false, &[]);
        if let Layer::Zfs(zfs) = &mut layer
            && !by_process()
        {
            zfs.arc_max_bytes = Some(96 << 20);
        }
        let volumes = emulated(1, 80, Limits::default());
        vec![Scenario { name: "pool", volumes, beside: Vec::new(), layers: vec![layer] }]
    },
    child: "loop_child_that_dies_with_a_pool",
    acts: &["set_arc_max", "start_zfs_fuse", "create_pool"],
    is_slow: true,
};
/// The least number of faults in the matrix: two acts, five moments each.
const FEWEST_FAULTS: usize = 10;

#[test]
fn loop_any_moment_of_a_pool_may_be_the_last() {
    faults(Fault::Kill, FEWEST_FAULTS);
}

#[test]
fn lab_any_moment_of_a_pool_may_be_the_last() {
    faults(Fault::Kill, FEWEST_FAULTS);
}

/// In the lab only: zfs-fuse takes three seconds to stop.
#[test]
fn lab_any_step_of_a_pool_may_fail() {
    faults(Fault::Fail, FEWEST_FAULTS);
}

/// No test by itself: the process that is killed, in the lab as well. Does nothing when it runs with the others.
#[test]
fn loop_child_that_dies_with_a_pool() {
    POOLS.die_if_told();
}

fn faults(fault: Fault, fewest: usize) {
    if !has_zfs() {
        eprintln!("skipped: needs a kernel with ZFS or zfs-fuse");
        return;
    }
    POOLS.run(fault, fewest);
}

fn kinds() {
    need!();
    let bench = Bench::new("zfs-kinds");
    let before = bench.state();
    let free = Limits::default();
    let gzip = [("compression", "gzip-1"), ("recordsize", "16384"), ("atime", "off")];
    for (name, volumes, layer) in [
        ("stripe", emulated(2, 80, free), zfs(Vdev::Stripe, true, &gzip)),
        ("mirror", emulated(2, 80, free), zfs(Vdev::Mirror, false, &[("compression", "lzjb")])),
        ("raidz", emulated(3, 80, free), zfs(Vdev::Raidz, false, &[])),
    ] {
        let cached = matches!(&layer, Layer::Zfs(zfs) if !zfs.cache.is_empty());
        let ssd = Volume { name: "ssd".to_owned(), kind: volumes[0].kind.clone() };
        let beside = if cached { vec![ssd] } else { Vec::new() };
        let scenario = Scenario { name, volumes, beside, layers: vec![layer] };
        let result = scenario.whole(&bench, &Hook::count());
        result.unwrap_or_else(|error| panic!("{name}: {}", chain(&*error)));
        assert_eq!(before.diff(&bench.state()), "", "{name}");
    }
    if by_process() {
        assert_eq!(daemons(), 0, "the process that was started is ended again");
    }
}

fn tells() {
    need!();
    let bench = Bench::new("zfs-tells");
    let (state_dir, hooks) = (bench.state_dir(), Hook::count());
    let machine = bench.machine(&state_dir, &hooks);
    let mut journal = Journal::open(&machine, &bench.run).unwrap();
    let cancel = AtomicBool::new(false);
    let asked = emulated(1, 96, Limits::default());
    let volumes = Volumes::provide(&machine, &mut journal, &asked, &mut |_, _| {}, &cancel).unwrap();
    let layer = zfs(Vdev::Stripe, false, &[("compression", "gzip-1")]);
    let stack = Stack {
        name: "z".into(),
        volumes: asked.clone(),
        beside: vec![],
        layers: vec![layer],
        rebuild: Rebuild::Trial,
    };
    let built = build(&machine, &mut journal, &volumes, &stack).unwrap();
    let pool = built.pool.as_ref().unwrap();
    assert!(pool.guid.len() > 8 && pool.guid.bytes().all(|b| b.is_ascii_digit()), "{pool:?}");
    assert_eq!(pool.process(&machine).is_some(), by_process(), "{pool:?}");
    let dir = mount(&built);
    let text = "all work and no play makes it easy to compress\n".repeat(200_000);
    std::fs::write(dir.join("text"), &text).unwrap();
    let mut noise = vec![0; 4_000_000];
    std::fs::File::open("/dev/urandom").unwrap().read_exact(&mut noise).unwrap();
    std::fs::write(dir.join("noise"), &noise).unwrap();
    std::fs::File::create(dir.join("hole")).unwrap().set_len(8 << 20).unwrap();
    pool.settle(&machine, true).unwrap();
    let of = |name: &str| device::extents::of_file(&dir.join(name)).unwrap();
    let (packed, hole) = (of("text"), of("hole"));
    assert_eq!(packed.encoded_bytes, text.len() as u64, "{packed:?}");
    assert!(packed.disk_bytes.unwrap() * 10 < packed.size_bytes, "{packed:?}");
    assert_eq!((hole.hole_bytes, hole.written_bytes), (8 << 20, 0), "{hole:?}");
    assert!(of("noise").disk_bytes.unwrap() > 1 << 20);
    let state = pool.state(&machine);
    assert!(
        state.compress_ratio_percent.unwrap() > 150 && state.referenced_bytes.unwrap() > 1 << 20,
        "{state:?}"
    );
    assert_eq!(state.logical_referenced_bytes.is_none(), by_process(), "{state:?}");
    assert_eq!(std::fs::read_to_string(dir.join("text")).unwrap(), text, "also after the cache forgot it");
    built.undo(&machine, &mut journal).unwrap();
    drop(volumes);
    journal.undo_all(&machine).unwrap();
}

fn refusals() {
    need!();
    let bench = Bench::new("zfs-lacks");
    let before = bench.state();
    let slow = Limits { read_iops: Some(500), ..Limits::default() };
    let refused = |limits: Limits, layer: Layer| {
        let scenario =
            Scenario { name: "z", volumes: emulated(1, 80, limits), beside: Vec::new(), layers: vec![layer] };
        let result = scenario.whole(&bench, &Hook::count()).map_err(|error| chain(&*error));
        undo_run(&bench.machine(&bench.state_dir(), &NoHooks), &bench.run).unwrap();
        result
    };
    if by_process() {
        let error =
            refused(Limits::default(), zfs(Vdev::Stripe, false, &[("compression", "lz4")])).unwrap_err();
        assert!(error.contains("`compression: lz4` needs OpenZFS") && error.contains("gzip-9"), "{error}");
    } else {
        let error = refused(slow, zfs(Vdev::Stripe, false, &[])).unwrap_err();
        assert!(error.contains("would not bind"), "{error}");
        for (property, value, since) in
            [("direct", "always", "2.3"), ("checksum", "blake3", "2.2"), ("recordsize", "4194304", "2.2")]
        {
            // A newer OpenZFS has this.
            if let Err(error) = refused(Limits::default(), zfs(Vdev::Stripe, false, &[(property, value)])) {
                let named = format!("`{property}: {value}` needs OpenZFS {since}");
                assert!(error.contains(&named) && error.contains("this machine's, OpenZFS "), "{error}");
            }
        }
    }
    assert_eq!(before.diff(&bench.state()), "");
}

/// The process that serves the pool is killed: its mount and its labels are left.
#[test]
fn loop_a_pool_whose_process_was_killed_is_taken_down() {
    need!();
    if !by_process() {
        return;
    }
    let bench = Bench::new("zfs-killed");
    let before = bench.state();
    let (state_dir, hooks) = (bench.state_dir(), NoHooks);
    let machine = bench.machine(&state_dir, &hooks);
    let mut journal = Journal::open(&machine, &bench.run).unwrap();
    let cancel = AtomicBool::new(false);
    let asked = emulated(1, 80, Limits::default());
    let volumes = Volumes::provide(&machine, &mut journal, &asked, &mut |_, _| {}, &cancel).unwrap();
    let layers = vec![zfs(Vdev::Stripe, false, &[])];
    let stack =
        Stack { name: "z".into(), volumes: asked.clone(), beside: vec![], layers, rebuild: Rebuild::Trial };
    let built = build(&machine, &mut journal, &volumes, &stack).unwrap();
    works(&built).unwrap();
    let pid = built.pool.as_ref().unwrap().process(&machine).unwrap();
    assert!(Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap().success());
    drop((built, volumes, journal));
    undo_run(&machine, &bench.run).unwrap();
    undo_run(&machine, &bench.run).unwrap();
    assert_eq!(before.diff(&bench.state()), "");
}
