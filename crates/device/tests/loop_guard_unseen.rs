//! Writers that open descriptors don't show: mapped disks, and processes outside our own PID namespace.
#![allow(clippy::unwrap_used, reason = "a test that can't set up its scene fails")]

mod support;

use diskproof_device::{Check, ClaimBook, Refusal, Roots, disk};
use host::LocalRunner;
use std::path::PathBuf;
use std::process::Command;
use support::{Bench, Child, NAME, run, start};

/// The work of the test program when [`map`] runs it, and the guard's answer to [`inside`].
const MAP: &str = "DISKPROOF_TEST_MAP";
const ASK: &str = "DISKPROOF_TEST_ASK";
const HELPER: &str = "helper_that_other_tests_call";

/// Maps a device as `how` says, closes the descriptor, and keeps running.
fn map(device: &str, how: &str) -> Child {
    let program = std::env::current_exe().unwrap();
    let args = [format!("{MAP}={how} {device}"), program.to_str().unwrap().to_owned()];
    let args = [args[0].as_str(), args[1].as_str(), "--exact", HELPER, "--nocapture", "--quiet"];
    Child::start_and_find("env", &args, "ready")
}

/// The guard's answer in a process that `unshare` starts with these options.
fn inside(bench: &Bench, options: &[&str]) -> Result<(), String> {
    let roots = bench.roots();
    let ask =
        [&roots.sys, &roots.dev, &bench.dir.join("state")].map(|path| path.to_str().unwrap().to_owned());
    let output = Command::new("unshare")
        .args(options)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", HELPER, "--nocapture", "--quiet"])
        .env(ASK, ask.join(" "))
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let answer = text.split_once("<<").and_then(|(_, rest)| rest.split_once(">>")).map(|(answer, _)| answer);
    let answer =
        answer.unwrap_or_else(|| panic!("no answer: {text}\n{}", String::from_utf8_lossy(&output.stderr)));
    println!("{answer}");
    if answer == "accepted" { Ok(()) } else { Err(answer.to_owned()) }
}

#[test]
fn helper_that_other_tests_call() {
    if let Ok(how) = std::env::var(MAP) {
        let (how, device) = how.split_once(' ').unwrap();
        support::map_and_stay(device, how);
    }
    if let Ok(ask) = std::env::var(ASK) {
        let parts: Vec<PathBuf> = ask.split(' ').map(PathBuf::from).collect();
        let roots = Roots { sys: parts[0].clone(), dev: parts[1].clone(), ..Roots::default() };
        let book = ClaimBook::open(&parts[2]).unwrap();
        let answer = disk(&roots, &LocalRunner, &book, NAME, 0);
        println!("<<{}>>", answer.map_or_else(|refusal| refusal.to_string(), |_| "accepted".to_owned()));
    }
}

fn only_open_files(refusal: &Refusal) {
    assert!(refusal.dissent.iter().all(|d| d.witness == Check::Openers), "nobody else can know: {refusal}");
}

#[test]
fn loop_disk_mapped_for_writing_is_refused_without_a_descriptor() {
    let Some(bench) = start(16) else { return };
    let child = map(bench.path(), "shared");
    let by = format!("process {} (", child.pid());
    only_open_files(&bench.refused(Check::Openers, &[&by, "mapped for writing", "end process"]));
    drop(child);
    drop(bench.accepted());
}

#[test]
fn loop_disk_mapped_by_another_node_that_is_gone_is_refused() {
    let Some(bench) = start(16) else { return };
    let alias = bench.dir.join("alias");
    let number = std::fs::read_to_string(format!("/sys/block/{}/dev", bench.disk.name())).unwrap();
    let (major, minor) = number.trim().split_once(':').unwrap();
    run("mknod", &[alias.to_str().unwrap(), "b", major, minor]);
    let child = map(alias.to_str().unwrap(), "shared");
    std::fs::remove_file(&alias).unwrap();
    let by = format!("process {} (", child.pid());
    only_open_files(&bench.refused(Check::Openers, &[&by, "mapped for writing"]));
}

#[test]
fn loop_disk_mapped_read_only_that_can_become_writable_is_refused() {
    let Some(bench) = start(16) else { return };
    let child = map(bench.path(), "protected");
    let by = format!("process {} (", child.pid());
    only_open_files(&bench.refused(Check::Openers, &[&by, "mapped for writing"]));
}

#[test]
fn loop_disk_mapped_by_readers_or_privately_is_accepted() {
    let Some(bench) = start(16) else { return };
    for how in ["reader", "private"] {
        let child = map(bench.path(), how);
        drop(bench.accepted());
        drop(child);
    }
}

#[test]
fn loop_in_a_pid_namespace_of_its_own_the_guard_objects() {
    let Some(mut bench) = start(16) else { return };
    bench.claim(false);
    let writer = Child::perl("sysopen(F, $ARGV[0], O_RDWR) or die", &[bench.path()]);
    let objects = |bench: &Bench| {
        let refusal = inside(bench, &["--pid", "--fork", "--mount-proc"]).unwrap_err();
        for word in [
            "open files: could not be checked",
            "shows the PID namespace",
            "--pid=host",
            "--unseen-processes",
        ] {
            assert!(refusal.contains(word), "{word} isn't said: {refusal}");
        }
    };
    objects(&bench);
    // It also fails without a writer, because it can't know.
    drop(writer);
    objects(&bench);
    // The remedy: its owner says that nobody outside uses it.
    bench.claim(true);
    inside(&bench, &["--pid", "--fork", "--mount-proc"]).unwrap();
}

#[test]
fn loop_who_vouches_for_unseen_processes_is_heard_for_those_only() {
    let Some(mut bench) = start(16) else { return };
    bench.claim(true);
    let claimed = bench.accepted();
    claimed.recheck(&bench.roots(), &LocalRunner).unwrap();
    let writer = Child::perl("sysopen(F, $ARGV[0], O_RDWR) or die", &[bench.path()]);
    let by = format!("process {} (perl) has it open for writing", writer.pid());
    let ask = || claimed.recheck(&bench.roots(), &LocalRunner).unwrap_err();
    bench.unchanged(ask, Check::Openers, &[&by]);
}

#[test]
fn loop_with_the_machines_own_proc_a_pid_namespace_hides_nothing() {
    let Some(bench) = start(16) else { return };
    inside(&bench, &["--pid", "--fork"]).unwrap();
    let writer = Child::perl("sysopen(F, $ARGV[0], O_RDWR) or die", &[bench.path()]);
    let refusal = inside(&bench, &["--pid", "--fork"]).unwrap_err();
    assert!(
        refusal.contains(&format!("process {} (perl) has it open for writing", writer.pid())),
        "{refusal}"
    );
}

#[test]
fn loop_a_guard_that_may_not_look_into_other_processes_objects() {
    let Some(mut bench) = start(16) else { return };
    bench.claim(false);
    // Root as in a container: all capabilities but the one to examine other processes.
    let roots = bench.roots();
    let ask =
        [&roots.sys, &roots.dev, &bench.dir.join("state")].map(|path| path.to_str().unwrap().to_owned());
    let output = Command::new("setpriv")
        .args(["--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", HELPER, "--nocapture", "--quiet"])
        .env(ASK, ask.join(" "))
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("open files: could not be checked"),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
