//! NFS in a kernel that has it: exported, mounted, loaded, taken down; at every moment a step fails or the process is killed.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that can't go on panics")]

mod support;

use diskproof_stack::{Journal, NfsClient, NoHooks, Volumes, serve, undo_run};
use record::stack::{FsKind, Rebuild, Stack};
use record::volume::Limits;
use std::net::Ipv4Addr;
use std::sync::atomic::AtomicBool;
use std::time::Instant;
use support::{
    Bench, Fault, Hook, Matrix, Server, apart, asked_for_all, chain, emulated, served, simple,
    stands_and_falls, works,
};
use testkit::{exclusive, is_root};

/// The server runs while faults are injected in the layers above it: starting it takes long.
const SERVED: Matrix = Matrix {
    scenarios: |bench| served(&bench.dir.join("lent")).into_iter().take(scenarios()).collect(),
    child: "lab_nfs_child_that_dies",
    acts: &["export_nfs", "mount_nfs"],
    is_slow: true,
};
/// The least number of faults in the matrix of one scenario: two acts, five moments each.
const FEWEST_FAULTS: usize = 10;

/// Each scenario performs every act; all of them take long in an emulated guest, so they run only with
/// `DISKPROOF_TEST_FAULTS=all`.
fn scenarios() -> usize {
    if asked_for_all() { usize::MAX } else { 1 }
}

#[test]
fn lab_nfs_any_moment_may_be_the_last() {
    if !is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    let _server = Server::running();
    SERVED.run(Fault::Kill, FEWEST_FAULTS);
}

#[test]
fn lab_nfs_any_step_may_fail() {
    if !is_root() || !asked_for_all() {
        eprintln!("skipped: needs root, and DISKPROOF_TEST_FAULTS=all");
        return;
    }
    let _server = Server::running();
    SERVED.run(Fault::Fail, FEWEST_FAULTS);
    SERVED.kill_at_instants(&["nfs"], 6);
}

/// No test by itself: the process that is killed. Does nothing when it runs with the others.
#[test]
fn lab_nfs_child_that_dies() {
    SERVED.die_if_told();
}

/// The server is started when it doesn't run, and stopped with all units that came with it, even if the process is killed while
/// it starts.
#[test]
fn lab_nfs_server_runs_only_as_long_as_it_must() {
    if !is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    let _alone = exclusive();
    let bench = Bench::new("served");
    let (before, units) = (bench.state(), Server::units());
    assert!(!units.contains("nfs-server.service"), "{units:?}");
    let scenario = &served(&bench.dir.join("lent"))[0];
    let same = |what: &str| {
        assert_eq!(before.diff(&bench.state()), "", "{what}");
        assert_eq!(Server::units(), units, "{what}");
    };
    let hook = Hook::count();
    let began = Instant::now();
    scenario
        .with_ground(&bench, &hook, |built| {
            assert!(Server::units().contains("nfs-server.service"));
            Ok(works(built)?)
        })
        .unwrap_or_else(|error| panic!("{}", chain(&*error)));
    same("without a fault");
    eprintln!("started and stopped: {:.1} s", began.elapsed().as_secs_f64());
    let points = hook.seen();
    let of_server = points.iter().enumerate().filter(|(_, point)| point.act == "start_nfs_server");
    let of_server: Vec<usize> = of_server.map(|(at, _)| at).collect();
    assert_eq!(of_server.len(), 5, "{points:?}");
    // By default only one moment: the server runs, and the journal doesn't say so yet.
    let chosen: Vec<usize> = if asked_for_all() { of_server } else { vec![of_server[2]] };
    let (state_dir, hooks) = (bench.state_dir(), NoHooks);
    for at in chosen {
        scenario.whole(&bench, &Hook::fail(at)).expect_err("the failure that was injected must show");
        for _ in 0..2 {
            undo_run(&bench.machine(&state_dir, &hooks), &bench.run).unwrap();
            same(&support::name(&points[at]));
        }
    }
}

/// Exports that others make meanwhile are left alone, and so is the server that they use.
#[test]
fn lab_nfs_exports_of_others_stay() {
    if !is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    let _alone = exclusive();
    let bench = Bench::new("others");
    let theirs = std::env::temp_dir().join("somebody-elses-directory");
    std::fs::create_dir_all(&theirs).unwrap();
    let address = format!("127.0.0.2:{}", theirs.to_string_lossy());
    let exportfs = |args: &[&str]| {
        assert!(std::process::Command::new("exportfs").args(args).status().unwrap().success(), "{args:?}");
    };
    let scenario = &served(&bench.dir.join("lent"))[0];
    let done = scenario.with_ground(&bench, &Hook::count(), |_| {
        exportfs(&["-o", "ro,fsid=4711,no_subtree_check", &address]);
        Ok(())
    });
    let table = std::fs::read_to_string("/var/lib/nfs/etab").unwrap();
    let threads = std::fs::read_to_string("/proc/fs/nfsd/threads").unwrap_or_default();
    exportfs(&["-u", &address]);
    drop(Server);
    std::fs::remove_dir(&theirs).unwrap();
    done.unwrap_or_else(|error| panic!("{}", chain(&*error)));
    assert!(table.contains("somebody-elses-directory"), "{table}");
    assert_eq!(table.lines().count(), 1, "{table}");
    assert_ne!(threads.trim(), "0", "the server that others use was stopped");
}

/// The kernel records the time of an export flush in whole seconds, and flushes only once that second has come: a second flush
/// within the same second moves the time into the future.
#[test]
fn lab_nfs_a_server_that_was_told_to_forget_too_often_still_lets_go() {
    if !is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    let _alone = exclusive();
    let _server = Server::running();
    let bench = Bench::new("told");
    let scenarios = served(&bench.dir.join("lent"));
    for scenario in
        scenarios.iter().filter(|scenario| ["nfs", "nfs-btrfs", "nfs-zfs"].contains(&scenario.name))
    {
        let done = scenario.with_ground(&bench, &Hook::count(), |built| {
            works(built)?;
            for _ in 0..4 {
                assert!(std::process::Command::new("exportfs").arg("-f").status()?.success());
            }
            Ok(())
        });
        done.unwrap_or_else(|error| panic!("{}: {}", scenario.name, chain(&*error)));
    }
}

/// A client that dies with open files, or couldn't be told to unmount, keeps the file system busy: the server expires it.
#[test]
fn lab_nfs_what_a_client_left_open_is_forgotten() {
    if !is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    let _alone = exclusive();
    let _server = Server::running();
    let bench = Bench::new("abandoned");
    let (state_dir, hooks) = (bench.state_dir(), NoHooks);
    let machine = bench.machine(&state_dir, &hooks);
    let mut journal = Journal::open(&machine, &bench.run).unwrap();
    let never = AtomicBool::new(false);
    let volumes = emulated(1, 16, Limits::default());
    let provided = Volumes::provide(&machine, &mut journal, &volumes, &mut |_, _| {}, &never).unwrap();
    let stack = Stack {
        name: "apart".to_owned(),
        volumes,
        beside: Vec::new(),
        layers: vec![simple(FsKind::Ext4), apart(None)],
        rebuild: Rebuild::Trial,
    };
    let to = NfsClient { address: Ipv4Addr::LOCALHOST, any_port: true };
    let served = serve(&machine, &mut journal, &provided, &stack, std::slice::from_ref(&to), &never).unwrap();
    let directory = served.nfs.as_ref().unwrap().directory.clone().unwrap();
    let theirs = bench.dir.join("theirs");
    std::fs::create_dir(&theirs).unwrap();
    let shell =
        |args: &[&str]| std::process::Command::new(args[0]).args(&args[1..]).status().unwrap().success();
    let at = theirs.to_string_lossy().into_owned();
    let source = format!("127.0.0.1:{}", directory.to_string_lossy());
    assert!(shell(&["mount", "-t", "nfs", "-o", "vers=4.2", &source, &at]));
    let open = std::fs::File::create(theirs.join("open")).unwrap();
    let undone = served.undo(&machine, &mut journal);
    drop(open);
    assert!(shell(&["umount", "-f", "-l", &at]));
    undone.unwrap_or_else(|error| panic!("{}", chain(&error)));
    drop(provided);
    journal.undo_all(&machine).unwrap();
}

/// Builds each once without faults; reports all that can't be built together.
#[test]
fn lab_nfs_every_stack_stands_and_falls() {
    if !is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    let _server = Server::running();
    let scenarios = |bench: &Bench| {
        let mut all = served(&bench.dir.join("lent"));
        if !support::has_zfs() {
            eprintln!("nfs-zfs: skipped, no ZFS");
            all.retain(|scenario| scenario.name != "nfs-zfs");
        }
        all
    };
    stands_and_falls(scenarios, |_, _, _| ());
}
