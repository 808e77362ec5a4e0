//! Journals in difficult states: torn, from before a reboot, with a living owner, of another program, or with something busy.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that can't go on panics")]

mod support;

use diskproof_stack::{
    ActError, Built, Journal, JournalError, Machine, NoHooks, UndoError, Volumes, build, leftovers, set_knob,
    undo_run,
};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use support::{Bench, Hook, Scenario, chain, scenarios};
use testkit::{LoopDevice, exclusive, is_root};

fn scenario(bench: &Bench, name: &str) -> Scenario {
    scenarios(&bench.dir.join("lent")).into_iter().find(|scenario| scenario.name == name).unwrap()
}

/// Builds the scenario and leaves it, as a killed process does.
fn abandon(bench: &Bench, scenario: &Scenario) -> PathBuf {
    let (state_dir, hooks) = (bench.state_dir(), Hook::count());
    let machine = bench.machine(&state_dir, &hooks);
    let mut journal = Journal::open(&machine, &bench.run).unwrap();
    let cancel = AtomicBool::new(false);
    let volumes =
        Volumes::provide(&machine, &mut journal, &scenario.volumes, &mut |_, _| {}, &cancel).unwrap();
    let built = build(&machine, &mut journal, &volumes, &scenario.stack()).unwrap();
    place(&built)
}

fn place(built: &Built) -> PathBuf {
    match built.ground.place() {
        device::Place::Block(path) | device::Place::Directory(path) => path.clone(),
    }
}

fn journal_file(bench: &Bench) -> PathBuf {
    bench.state_dir().join("journal").join(format!("{}.jsonl", bench.run))
}

fn run(program: &str, args: &[&Path]) {
    let status = Command::new(program).args(args).status().unwrap();
    assert!(status.success(), "{program} {args:?}: {status}");
}

fn undo(bench: &Bench) -> Result<diskproof_stack::UndoReport, UndoError> {
    let state_dir = bench.state_dir();
    undo_run(&bench.machine(&state_dir, &NoHooks), &bench.run)
}

macro_rules! need_root {
    () => {
        if !is_root() {
            eprintln!("skipped: needs root");
            return;
        }
        let _alone = exclusive();
    };
}

/// The number of the loop device in the journal.
fn loop_number(bench: &Bench) -> String {
    let text = std::fs::read_to_string(journal_file(bench)).unwrap();
    text.split("\"number\":").nth(1).unwrap().split('}').next().unwrap().to_owned()
}

#[test]
fn loop_torn_last_line_is_no_intent() {
    need_root!();
    let bench = Bench::new("torn");
    let before = bench.state();
    abandon(&bench, &scenario(&bench, "ext4"));
    let mut file = std::fs::File::options().append(true).open(journal_file(&bench)).unwrap();
    file.write_all(br#"{"line":"intent","step":99,"act":{"act":"make_di"#).unwrap();
    drop(file);
    let report = undo(&bench).unwrap();
    assert_eq!(report.undone.len(), 5, "{report}");
    assert_eq!(before.diff(&bench.state()), "");
}

#[test]
fn loop_line_of_garbage_keeps_the_journal_and_undoes_the_rest() {
    need_root!();
    let bench = Bench::new("garbage");
    let before = bench.state();
    abandon(&bench, &scenario(&bench, "ext4"));
    let text = std::fs::read_to_string(journal_file(&bench)).unwrap();
    let (first, rest) = text.split_once('\n').unwrap();
    std::fs::write(journal_file(&bench), format!("{first}\nnot json\n{rest}")).unwrap();
    let error = undo(&bench).unwrap_err();
    assert!(chain(&error).contains("line 2 can't be read"), "{}", chain(&error));
    let left = before.diff(&bench.state());
    assert!(left.lines().all(|line| line.contains("garbage.jsonl")), "{left}");
    let (state_dir, hooks) = (bench.state_dir(), NoHooks);
    assert!(matches!(
        Journal::open(&bench.machine(&state_dir, &hooks), &bench.run),
        Err(JournalError::Corrupt { line: 2, .. })
    ));
}

/// A loop device can't be pulled out, so the journal is changed to name a disk that was.
#[test]
fn loop_the_mount_of_a_disk_that_is_gone_is_taken_down() {
    need_root!();
    // The first disk is gone; the second one's path leads to another device.
    for (name, id) in [("pulled", "diskproof-test-pulled"), ("replaced", "/dev/zero")] {
        let bench = Bench::new(name);
        let before = bench.state();
        let mount = abandon(&bench, &scenario(&bench, "ext4"));
        let text = std::fs::read_to_string(journal_file(&bench)).unwrap();
        let claimed = |line: &str| match line.split_once("\"title\":{\"backing\":\"") {
            Some((left, right)) if line.contains("\"fs_type\"") => {
                format!("{left}\"title\":{{\"claimed\":\"{id}{}", &right[right.find('"').unwrap()..])
            }
            _ => line.to_owned(),
        };
        let changed: Vec<String> = text.lines().map(claimed).collect();
        assert_ne!(changed.join("\n"), text.trim_end(), "the journal of the mount names its device");
        std::fs::write(journal_file(&bench), format!("{}\n", changed.join("\n"))).unwrap();
        let report = undo(&bench).unwrap();
        assert!(!mount.exists(), "{report}");
        assert_eq!(before.diff(&bench.state()), "");
    }
}

#[test]
fn loop_reboot_leaves_files_only() {
    need_root!();
    let bench = Bench::new("reboot");
    let before = bench.state();
    let mount = abandon(&bench, &scenario(&bench, "throttle"));
    // As after a reboot.
    let device = LoopDevice::new(1 << 20, "newcomer");
    run("umount", &[&mount]);
    let text = std::fs::read_to_string(journal_file(&bench)).unwrap();
    let number = &loop_number(&bench);
    run("losetup", &[Path::new("-d"), &PathBuf::from(format!("/dev/loop{number}"))]);
    device::loop_control::remove(Path::new("/dev"), number.parse().unwrap()).unwrap();
    for group in ["/sys/fs/cgroup/blkio", "/sys/fs/cgroup"] {
        let _ = std::fs::remove_dir(Path::new(group).join("diskproof-test-reboot"));
    }
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    assert!(text.contains(boot.trim()));
    // After the reboot, the number belongs to another device.
    device::loop_control::add(Path::new("/dev"), number.parse().unwrap()).unwrap();
    std::fs::write(journal_file(&bench), text.replace(boot.trim(), "an-earlier-boot")).unwrap();
    let report = undo(&bench).unwrap();
    assert!(
        Path::new(&format!("/sys/block/loop{number}")).exists(),
        "a number of this boot is not ours: {report}"
    );
    device::loop_control::remove(Path::new("/dev"), number.parse().unwrap()).unwrap();
    drop(device);
    assert_eq!(report.undone.len(), 2, "the mount point and the backing file: {report:?}");
    assert_eq!(before.diff(&bench.state()), "");
}

/// As udev does at times: a probe looks up the node before the device is removed, and opens it as soon as the driver has released
/// the old device.
#[test]
fn loop_a_probe_that_comes_late_leaves_no_device() {
    opened_again_after(Duration::ZERO, |number| {
        let path_only = rustix::fs::OFlags::PATH | rustix::fs::OFlags::CLOEXEC;
        let found = rustix::fs::open(format!("/dev/loop{number}"), path_only, rustix::fs::Mode::empty());
        let found = found.unwrap();
        move || std::fs::File::open(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&found)))
    });
}

/// As mdadm does when udev runs it: it makes its own node by the device's number, and opens that long after the device is gone.
#[test]
fn loop_a_node_by_number_that_is_opened_later_leaves_no_device() {
    opened_again_after(Duration::from_millis(700), |number| {
        let node = std::env::temp_dir().join(format!("diskproof-test-late-node-{number}"));
        let _ = std::fs::remove_file(&node);
        run("mknod", &[&node, Path::new("b"), Path::new("7"), Path::new(number)]);
        move || std::fs::File::open(&node).inspect(|_| std::fs::remove_file(&node).unwrap())
    });
}

/// Undoes a volume while udev is working; `pause` after its device has gone, another process opens it again.
fn opened_again_after<Open>(pause: Duration, prepare: impl FnOnce(&str) -> Open)
where
    Open: Fn() -> std::io::Result<std::fs::File> + Sync,
{
    need_root!();
    let bench = Bench::new("late-probe");
    let before = bench.state();
    abandon(&bench, &scenario(&bench, "ext4"));
    let number = &loop_number(&bench);
    let open = prepare(number);
    let udev = bench.dir.join("run/udev");
    std::fs::create_dir_all(&udev).unwrap();
    std::fs::write(udev.join("queue"), "").unwrap();
    let roots = device::Roots { run: bench.dir.join("run"), ..device::Roots::default() };
    let state_dir = bench.state_dir();
    let machine = Machine { roots: &roots, ..bench.machine(&state_dir, &NoHooks) };
    let device = PathBuf::from(format!("/sys/block/loop{number}"));
    std::thread::scope(|scope| {
        let late = scope.spawn(|| {
            let moment = || std::thread::sleep(Duration::from_millis(1));
            while device.exists() {
                moment();
            }
            std::thread::sleep(pause);
            while open().is_err() {
                moment();
            }
            std::fs::remove_file(udev.join("queue")).unwrap();
        });
        undo_run(&machine, &bench.run).unwrap();
        assert!(late.is_finished(), "the device was made anew while its undo was still looking");
    });
    std::fs::remove_dir_all(&roots.run).unwrap();
    assert_eq!(before.diff(&bench.state()), "");
}

#[test]
fn loop_a_device_that_is_opened_again_and_again_is_named_and_undone_later() {
    need_root!();
    let bench = Bench::new("restless");
    let before = bench.state();
    abandon(&bench, &scenario(&bench, "ext4"));
    let number = &loop_number(&bench);
    let path_only = rustix::fs::OFlags::PATH | rustix::fs::OFlags::CLOEXEC;
    let node = format!("/dev/loop{number}");
    let found = rustix::fs::open(&node, path_only, rustix::fs::Mode::empty()).unwrap();
    let device = PathBuf::from(format!("/sys/block/loop{number}"));
    // udev is at work, so undo looks for seconds, and not only once.
    let run = bench.dir.join("run");
    std::fs::create_dir_all(run.join("udev")).unwrap();
    std::fs::write(run.join("udev/queue"), "").unwrap();
    let roots = device::Roots { run: run.clone(), ..device::Roots::default() };
    let state_dir = bench.state_dir();
    let machine = Machine { roots: &roots, ..bench.machine(&state_dir, &NoHooks) };
    let over = AtomicBool::new(false);
    let error = std::thread::scope(|scope| {
        scope.spawn(|| {
            let again = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&found));
            while !over.load(std::sync::atomic::Ordering::Relaxed) {
                if !device.exists() {
                    drop(std::fs::File::open(&again));
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let undone = undo_run(&machine, &bench.run);
        over.store(true, std::sync::atomic::Ordering::Relaxed);
        undone.unwrap_err()
    });
    let UndoError::Steps { failures, .. } = &error else { panic!("{error}") };
    assert!(matches!(&failures[..], [only] if matches!(only.error, ActError::Busy { .. })), "{error}");
    assert!(error.to_string().contains(&node), "{error}");
    std::fs::remove_dir_all(run).unwrap();
    undo(&bench).unwrap();
    assert_eq!(before.diff(&bench.state()), "");
}

/// The process is killed while its mount runs: the mount goes on without it, and could finish after an undo has looked.
#[test]
fn loop_what_outlives_the_killed_process_is_waited_for() {
    need_root!();
    let bench = Bench::new("orphan");
    let before = bench.state();
    let mount = abandon(&bench, &scenario(&bench, "ext4"));
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let line = mounts.lines().find(|line| line.contains(&*mount.to_string_lossy())).unwrap();
    let device = line.split(" - ext4 ").nth(1).unwrap().split(' ').next().unwrap();
    run("umount", &[&mount]);
    let late = format!(
        "(sleep 1; exec mount -t ext4 {device} {}) </dev/null >/dev/null 2>&1 &",
        mount.to_string_lossy()
    );
    let started_by = (host::STARTED_BY, std::process::id().to_string());
    let status = Command::new("sh").args(["-c", &late]).envs([started_by]).status().unwrap();
    assert!(status.success() && mount.exists());
    let report = undo(&bench).unwrap();
    assert!(report.undone.iter().any(|act| act.starts_with("mount ext4")), "{report:?}");
    assert_eq!(before.diff(&bench.state()), "");
}

#[test]
fn loop_busy_mount_is_named_kept_and_undone_later() {
    need_root!();
    let bench = Bench::new("busy");
    let before = bench.state();
    let mount = abandon(&bench, &scenario(&bench, "ext4"));
    let mut holder =
        Command::new("sleep").arg("600").current_dir(&mount).stdout(Stdio::null()).spawn().unwrap();
    let error = undo(&bench).unwrap_err();
    let UndoError::Steps { failures, of, .. } = &error else { panic!("{error}") };
    assert_eq!(*of, 5);
    let ActError::Busy { holders, .. } = &failures[0].error else { panic!("{error}") };
    assert_eq!(holders.iter().map(|holder| holder.pid).collect::<Vec<_>>(), [holder.id()]);
    assert!(error.to_string().contains(&format!("sleep (pid {})", holder.id())), "{error}");
    let (state_dir, hooks) = (bench.state_dir(), NoHooks);
    let machine = bench.machine(&state_dir, &hooks);
    let left = leftovers(&machine).unwrap();
    assert_eq!((left.len(), left[0].acts.len(), left[0].owner_alive), (1, failures.len(), false));
    assert!(matches!(Journal::open(&machine, &bench.run), Err(JournalError::Unfinished { .. })));
    holder.kill().unwrap();
    holder.wait().unwrap();
    undo(&bench).unwrap();
    assert_eq!(before.diff(&bench.state()), "");
}

#[test]
fn loop_living_owner_is_left_in_peace() {
    need_root!();
    let bench = Bench::new("owner");
    let before = bench.state();
    let (state_dir, hooks) = (bench.state_dir(), Hook::count());
    let machine = bench.machine(&state_dir, &hooks);
    let all = scenario(&bench, "lent");
    let mut journal = Journal::open(&machine, &bench.run).unwrap();
    let cancel = AtomicBool::new(false);
    let volumes = Volumes::provide(&machine, &mut journal, &all.volumes, &mut |_, _| {}, &cancel).unwrap();
    let during = bench.state();

    let refused = undo(&bench).unwrap_err();
    assert!(
        chain(&refused).contains(&format!("another diskproof (pid {})", std::process::id())),
        "{}",
        chain(&refused)
    );
    assert!(matches!(Journal::open(&machine, &bench.run), Err(JournalError::Locked { .. })));
    assert!(leftovers(&machine).unwrap()[0].owner_alive);
    let other = record::id::RunId("another".to_owned());
    let mut second = Journal::open(&machine, &other).unwrap();
    let error = Volumes::provide(&machine, &mut second, &all.volumes, &mut |_, _| {}, &cancel).unwrap_err();
    assert!(chain(&error).contains("is in use"), "{}", chain(&error));
    second.undo_all(&machine).unwrap();
    assert_eq!(during.diff(&bench.state()), "");

    drop(volumes);
    journal.undo_all(&machine).unwrap();
    assert_eq!(before.diff(&bench.state()), "");
}

#[test]
fn loop_neighbours_with_similar_names_stay() {
    need_root!();
    let bench = Bench::new("neighbours");
    bench.state();
    let neighbour = LoopDevice::new(1 << 20, "neighbours-0-vol-0");
    let file = bench.state_dir().join("volumes/diskproof-test-neighbours-9-vol.img");
    std::fs::write(&file, "x").unwrap();
    std::fs::create_dir(bench.state_dir().join("mnt/diskproof-test-neighbours-99")).unwrap();
    std::fs::create_dir(bench.dir.join("lent/diskproof-test-neighbours-7")).unwrap();
    let before = bench.state();
    for name in ["ext4", "lent"] {
        abandon(&bench, &scenario(&bench, name));
        undo(&bench).unwrap();
        assert_eq!(before.diff(&bench.state()), "", "{name}");
    }
    assert!(neighbour.backing().exists());
}

/// A manipulated journal that names files that were never ours: no file of others is removed.
#[test]
fn loop_forged_journal_removes_nothing_foreign() {
    need_root!();
    let bench = Bench::new("forged");
    bench.state();
    let precious = bench.dir.join("precious");
    std::fs::create_dir(&precious).unwrap();
    std::fs::write(precious.join("file"), "x").unwrap();
    std::fs::write(bench.state_dir().join("volumes/plain.img"), "x").unwrap();
    let neighbour = LoopDevice::new(1 << 20, "forged-neighbour");
    let about = std::fs::metadata(neighbour.path()).unwrap();
    let rdev = std::os::unix::fs::MetadataExt::rdev(&about);
    let device = serde_json::json!({ "path": neighbour.path(), "devno": [rustix::fs::major(rdev), rustix::fs::minor(rdev)],
        "title": { "backing": bench.state_dir().join("volumes/diskproof-test-forged-0.img") } });
    run("mkfs.ext4", &[Path::new("-q"), neighbour.path()]);
    let acts = serde_json::json!([
        { "act": "write_backing_file", "path": precious.join("file"), "size_bytes": 1, "seed": 1 },
        { "act": "write_backing_file", "path": bench.state_dir().join("volumes/plain.img"), "size_bytes": 1, "seed": 1 },
        { "act": "write_backing_file", "path": bench.state_dir().join("volumes/../../precious/file"), "size_bytes": 1, "seed": 1 },
        { "act": "lend_dir", "parent": bench.dir, "path": precious },
        { "act": "use_lent_dir", "path": precious },
        { "act": "make_dir", "path": precious },
        { "act": "make_cgroup", "path": "/sys/fs/cgroup/blkio/system" },
        { "act": "set_throttle", "file": "/sys/fs/cgroup/blkio/blkio.throttle.read_iops_device", "device": "7:0", "limit": "1", "none": "0" },
        { "act": "mkfs", "fs": "ext4", "devices": [device], "uuid": "u", "args": [] },
        { "act": "command_up", "devices": [device], "up": [], "down": [["rm", "-r", precious]] },
        { "act": "mount", "devices": [device], "fs_type": "proc", "options": [], "target": "/proc" },
    ]);
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let mut text =
        serde_json::json!({ "line": "session", "format": { "major": 1, "minor": 0 }, "run": "forged",
        "prefix": "diskproof-test-", "boot_id": boot.trim(), "pid": 1 })
        .to_string();
    for (step, act) in acts.as_array().unwrap().iter().enumerate() {
        text += &format!("\n{}", serde_json::json!({ "line": "intent", "step": step, "act": act }));
    }
    std::fs::write(journal_file(&bench), text + "\n").unwrap();
    std::fs::set_permissions(journal_file(&bench), std::os::unix::fs::PermissionsExt::from_mode(0o600))
        .unwrap();
    let before = bench.state();
    let error = undo(&bench).unwrap_err();
    let UndoError::Steps { failures, .. } = &error else { panic!("{}", chain(&error)) };
    assert_eq!(failures.len(), 9, "{error}");
    assert!(failures.iter().all(|f| matches!(f.error, ActError::NotOurs { .. })), "{error}");
    let diff = before.diff(&bench.state());
    assert!(diff.lines().all(|line| line.contains("forged.jsonl")), "{diff}");
    let blkid = Command::new("blkid").arg("-p").arg(neighbour.path()).output().unwrap();
    assert!(String::from_utf8_lossy(&blkid.stdout).contains("ext4"));
}

#[test]
fn loop_journal_that_others_may_write_is_not_obeyed() {
    need_root!();
    let bench = Bench::new("open");
    let before = bench.state();
    abandon(&bench, &scenario(&bench, "raw"));
    std::fs::set_permissions(journal_file(&bench), std::os::unix::fs::PermissionsExt::from_mode(0o622))
        .unwrap();
    let error = undo(&bench).unwrap_err();
    assert!(chain(&error).contains("mode 622"), "{}", chain(&error));
    std::fs::set_permissions(journal_file(&bench), std::os::unix::fs::PermissionsExt::from_mode(0o600))
        .unwrap();
    undo(&bench).unwrap();
    assert_eq!(before.diff(&bench.state()), "");
}

#[test]
fn loop_knob_is_put_back_unless_somebody_else_changed_it() {
    need_root!();
    let bench = Bench::new("knob");
    bench.state();
    let disk = LoopDevice::new(1 << 20, "knob-disk");
    let knob = PathBuf::from(format!("/sys/block/{}/queue/read_ahead_kb", disk.name()));
    let read = || std::fs::read_to_string(&knob).unwrap().trim().to_owned();
    let before = read();
    let (state_dir, hooks) = (bench.state_dir(), NoHooks);
    let machine = bench.machine(&state_dir, &hooks);
    for interfered in [false, true] {
        let mut journal = Journal::open(&machine, &bench.run).unwrap();
        set_knob(&machine, &mut journal, &knob, "64").unwrap();
        assert_eq!(read(), "64");
        if interfered {
            std::fs::write(&knob, "32").unwrap();
        }
        drop(journal);
        let report = undo(&bench).unwrap();
        assert_eq!(read(), if interfered { "32" } else { before.as_str() }, "{report}");
    }
    let mut journal = Journal::open(&machine, &bench.run).unwrap();
    let error = set_knob(&machine, &mut journal, &bench.dir.join("lent/../no"), "1").unwrap_err();
    assert!(chain(&error).contains("cannot read"), "{}", chain(&error));
    journal.undo_all(&machine).unwrap();
    std::fs::write(&knob, before).unwrap();
}
