//! Other processes on a device or file system under test: real processes, on loop devices. Needs root.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed, as it should")]

mod support;

use diskproof_observe::{Config, Exclusive, Sampler, Subjects};
use record::counter::{Evidence, OtherProcess};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use support::{stranger, wait_for, wait_until};
use testkit::{LoopDevice, exclusive, is_root};

fn skipped() -> bool {
    if !is_root() {
        eprintln!("skipped: needs root");
    }
    !is_root()
}

fn run(program: &str, args: &[&str], paths: &[&Path]) {
    let output = Command::new(program).args(args).args(paths).output().unwrap();
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
}

fn start(directory: &Path, device: &Path) -> Sampler {
    let places = Exclusive { directory: Some(directory.into()), devices: vec![device.into()] };
    let subjects = Subjects { exclusive: Some(places), ..Subjects::default() };
    Sampler::start(&Config { subjects, ..Config::default() }).unwrap()
}

fn seen(evidence: &Evidence, pid: u32) -> Option<&OtherProcess> {
    evidence.others.iter().find(|other| other.pid == pid)
}

/// Ends processes that wait for an input line.
fn end(strangers: Vec<(u32, ChildStdin)>) {
    for (pid, stdin) in strangers {
        drop(stdin);
        wait_until(|| !PathBuf::from(format!("/proc/{pid}")).exists(), "a stranger does not end");
    }
}

#[test]
fn loop_who_writes_on_the_ground_is_told_from_who_writes_elsewhere() {
    if skipped() {
        return;
    }
    let _alone = exclusive();
    let device = LoopDevice::new(64 << 20, "observe-trespass");
    let (mount, elsewhere) =
        (testkit::fresh_dir("observe-trespass"), testkit::fresh_dir("observe-elsewhere"));
    run("mkfs.ext4", &["-q", "-F"], &[device.path()]);
    run("mount", &[], &[device.path(), &mount]);
    // Each process begins on a signal, then keeps its file open.
    let writer = |name: &str, directory: &Path| {
        let done = elsewhere.join(name);
        let (data, done) = (directory.join(format!("{name}.data")), done.to_string_lossy());
        let data = data.to_string_lossy();
        stranger(&format!(
            "read a; exec 4>{data}; head -c 4194304 /dev/zero >&4; sync {data}; touch {done}; read b"
        ))
    };
    let mut on = writer("on", &mount);
    let mut beside = writer("beside", &elsewhere);
    let opened = elsewhere.join("raw");
    let raw = stranger(&format!(
        "exec 4<{}; touch {}; read b",
        device.path().to_string_lossy(),
        opened.to_string_lossy()
    ));
    wait_for(&opened);

    let sampler = start(&mount, device.path());
    let ours = format!("of={}/ours", mount.to_string_lossy());
    let mut own = Command::new("dd")
        .args(["if=/dev/zero", "bs=1M", "count=4", &ours])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    for (_, stdin) in [&mut on, &mut beside] {
        writeln!(stdin, "go").unwrap();
    }
    wait_for(&elsewhere.join("on"));
    wait_for(&elsewhere.join("beside"));
    assert!(own.wait().unwrap().success());
    let evidence = sampler.stop();
    let pids = [on.0, beside.0, raw.0];
    end(vec![on, beside, raw]);
    run("umount", &[], &[&mount]);

    let [on, beside, raw] = pids.map(|pid| seen(&evidence, pid));
    let on = on.expect("who wrote on the ground is listed");
    assert_eq!((on.on_ground, on.kernel), (Some(true), Some(false)));
    assert!(on.write_bytes >= 4 << 20, "{on:?}");
    assert_eq!(beside.expect("who wrote elsewhere is listed").on_ground, Some(false));
    assert_eq!(raw.expect("who has the device open is listed, idle or not").on_ground, Some(true));
    let us = [own.id(), std::process::id()];
    assert!(evidence.others.iter().all(|other| !us.contains(&other.pid)), "{:?}", evidence.others);
}

#[test]
fn loop_files_of_subvolumes_count_and_so_do_children_that_ended() {
    if skipped() {
        return;
    }
    let _alone = exclusive();
    let device = LoopDevice::new(128 << 20, "observe-subvolume");
    let (mount, elsewhere) =
        (testkit::fresh_dir("observe-subvolume"), testkit::fresh_dir("observe-elsewhere"));
    run("mkfs.btrfs", &["-q", "-f"], &[device.path()]);
    run("mount", &[], &[device.path(), &mount]);
    run("btrfs", &["-q", "subvolume", "create"], &[&mount.join("sub")]);
    let [opened, ended] = ["opened", "ended"].map(|name| elsewhere.join(name));
    let data = mount.join("sub/data");
    // The child has the file open at the first check, and has ended at the last one.
    let (parent, mut stdin) = stranger(&format!(
        "(exec 4>{}; touch {}; read a); touch {}; read b",
        data.to_string_lossy(),
        opened.to_string_lossy(),
        ended.to_string_lossy()
    ));
    wait_for(&opened);
    let sampler = start(&mount, device.path());
    writeln!(stdin, "end").unwrap();
    wait_for(&ended);
    let evidence = sampler.stop();
    end(vec![(parent, stdin)]);
    run("umount", &[], &[&mount]);
    run("btrfs", &["device", "scan", "--forget"], &[device.path()]);
    assert_eq!(seen(&evidence, parent).expect("it answers for its child").on_ground, Some(true));
    let on_ground = evidence.others.iter().filter(|other| other.on_ground == Some(true));
    assert_eq!(on_ground.count(), 1, "{:?}", evidence.others);
}
