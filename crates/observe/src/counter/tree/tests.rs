use super::ProcessTree;
use record::counter::ProcessCounters;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A process in a fake /proc: its parent, its threads' own ticks (the process's first), its waited ticks, its I/O.
struct Fake {
    pid: u32,
    parent: u32,
    threads: &'static [u64],
    waited: u64,
    io: Option<u64>,
    children: Option<&'static str>,
}

const FAKE: Fake = Fake { pid: 0, parent: 1, threads: &[0], waited: 0, io: Some(0), children: Some("") };

fn stat(pid: u32, fake: &Fake, own: u64, threads: usize) -> String {
    let Fake { parent, waited, .. } = fake;
    format!("{pid} (fio) S {parent} 1 1 0 -1 4194304 1 0 0 0 {own} 1 {waited} 2 20 0 {threads} 0 1 1 1\n")
}

fn make(proc: &Path, fake: &Fake) {
    let directory = proc.join(fake.pid.to_string());
    fs::create_dir_all(&directory).unwrap();
    let whole: u64 = fake.threads.iter().sum();
    fs::write(directory.join("stat"), stat(fake.pid, fake, whole, fake.threads.len())).unwrap();
    if let Some(io) = fake.io {
        let text = format!(
            "rchar: {io}\nwchar: {}\nread_bytes: {}\nwrite_bytes: {}\n",
            io * 10,
            io * 100,
            io * 1000
        );
        fs::write(directory.join("io"), text).unwrap();
    }
    for (thread, own) in (fake.pid..).zip(fake.threads) {
        let task = directory.join("task").join(thread.to_string());
        fs::create_dir_all(&task).unwrap();
        fs::write(task.join("stat"), stat(thread, fake, *own, fake.threads.len())).unwrap();
        if let Some(children) = fake.children {
            fs::write(task.join("children"), children).unwrap();
        }
    }
}

#[test]
fn a_tree_is_summed_with_its_threads_and_waited_children() {
    let proc = tempfile::tempdir().unwrap();
    let proc = proc.path();
    make(
        proc,
        &Fake { pid: 100, threads: &[5, 90], waited: 40, io: Some(1), children: Some("200 "), ..FAKE },
    );
    make(
        proc,
        &Fake { pid: 200, parent: 100, threads: &[70], io: Some(2), children: Some("50 60 "), ..FAKE },
    );
    make(proc, &Fake { pid: 50, parent: 200, threads: &[7], io: Some(4), ..FAKE });
    make(proc, &Fake { pid: 60, parent: 200, threads: &[0], io: Some(8), ..FAKE });
    make(proc, &Fake { pid: 61, parent: 1, threads: &[1000], io: Some(1000), ..FAKE });
    let mut tree = ProcessTree::new(proc, 100).unwrap();
    let expected = ProcessCounters {
        tasks: 5,
        user_ticks: 95 + 40 + 70 + 7,
        // One tick each, and two of waited children each.
        system_ticks: 4 * 3,
        busiest_thread_ticks: Some(91),
        read_chars: Some(15),
        write_chars: Some(150),
        read_bytes: Some(1500),
        write_bytes: Some(15_000),
    };
    assert_eq!(tree.read(&mut Vec::new()).unwrap(), expected);
    assert_eq!(tree.read(&mut Vec::new()).unwrap(), expected, "a second reading adds nothing twice");
}

#[test]
fn a_kernel_without_lists_of_children_is_searched_by_parent() {
    let proc = tempfile::tempdir().unwrap();
    let proc = proc.path();
    let fake = Fake { children: None, ..FAKE };
    make(proc, &Fake { pid: 100, threads: &[1], ..fake });
    // Process numbers wrapped around: the grandchild's is below its parent's.
    make(proc, &Fake { pid: 300, parent: 100, threads: &[10], ..fake });
    make(proc, &Fake { pid: 20, parent: 300, threads: &[100], ..fake });
    make(proc, &Fake { pid: 400, parent: 2, threads: &[5000], ..fake });
    let mut tree = ProcessTree::new(proc, 100).unwrap();
    let read = tree.read(&mut Vec::new()).unwrap();
    assert_eq!((read.tasks, read.user_ticks), (3, 111));
    // A later child is found although its siblings are known.
    make(proc, &Fake { pid: 401, parent: 300, threads: &[1000], ..fake });
    let read = tree.read(&mut Vec::new()).unwrap();
    assert_eq!((read.tasks, read.user_ticks), (4, 1111));
}

#[test]
fn io_that_cannot_be_read_is_unknown_not_zero() {
    let proc = tempfile::tempdir().unwrap();
    make(proc.path(), &Fake { pid: 100, io: Some(1), children: Some("101"), ..FAKE });
    make(proc.path(), &Fake { pid: 101, parent: 100, threads: &[3], io: None, ..FAKE });
    let read = ProcessTree::new(proc.path(), 100).unwrap().read(&mut Vec::new()).unwrap();
    assert_eq!((read.user_ticks, read.read_chars, read.write_bytes), (3, None, None));
}

#[test]
fn garbage_is_an_error_with_its_path() {
    let proc = tempfile::tempdir().unwrap();
    make(proc.path(), &Fake { pid: 100, ..FAKE });
    fs::write(proc.path().join("100/io"), "rchar: many\n").unwrap();
    let error = ProcessTree::new(proc.path(), 100).unwrap().read(&mut Vec::new()).unwrap_err();
    assert!(error.to_string().ends_with("/100/io:1: expected `key: number`, found `rchar: many`"), "{error}");
}

/// A shell that executes one line at a time.
fn shell() -> Child {
    Command::new("sh").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
}

/// Makes the shell run a command, and waits for the line that it prints.
fn obey(shell: &mut Child, command: &str) -> String {
    writeln!(shell.stdin.as_mut().unwrap(), "{command}").unwrap();
    let mut line = String::new();
    // Byte by byte: nothing may stay in the temporary buffer.
    BufReader::with_capacity(1, shell.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    line.trim().to_owned()
}

/// Reads until a condition holds; fails after ten seconds.
fn until(tree: &mut ProcessTree, holds: impl Fn(&ProcessCounters) -> bool) -> ProcessCounters {
    let begun = Instant::now();
    loop {
        let read = tree.read(&mut Vec::new()).unwrap();
        if holds(&read) {
            return read;
        }
        assert!(begun.elapsed() < Duration::from_secs(10), "{read:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

const MIB: u64 = 1 << 20;
const COPY: &str = "dd if=/dev/zero of=/dev/null bs=1M count=64 2>/dev/null";

#[test]
fn children_of_real_processes_are_counted_once_also_after_they_ended() {
    let mut shell = shell();
    let mut tree = ProcessTree::new(Path::new("/proc"), shell.id()).unwrap();
    let before = tree.read(&mut Vec::new()).unwrap();
    assert_eq!(before.tasks, 1);
    obey(&mut shell, &format!("{COPY}; echo done"));
    let after = until(&mut tree, |read| read.tasks == 1);
    let written = after.write_chars.unwrap() - before.write_chars.unwrap();
    assert!((64 * MIB..65 * MIB).contains(&written), "{written}");
    // Living children are seen while they live.
    obey(&mut shell, "sleep 60 & a=$!; sleep 60 & b=$!; echo started");
    until(&mut tree, |read| read.tasks == 3);
    obey(&mut shell, "kill $a $b; wait; echo gone");
    let last = until(&mut tree, |read| read.tasks == 1);
    assert!(last.user_ticks + last.system_ticks >= after.user_ticks + after.system_ticks);
    drop(shell.stdin.take());
    shell.wait().unwrap();
}

#[test]
fn what_was_seen_of_a_root_that_ended_is_kept_and_its_orphans_are_followed() {
    let mut shell = shell();
    let mut tree = ProcessTree::new(Path::new("/proc"), shell.id()).unwrap();
    obey(&mut shell, &format!("{COPY}; echo done"));
    let seen = tree.read(&mut Vec::new()).unwrap();
    assert!(seen.write_chars.unwrap() >= 64 * MIB);
    let orphan: u32 = obey(&mut shell, "sleep 60 >/dev/null & echo $!").parse().unwrap();
    until(&mut tree, |read| read.tasks == 2);
    drop(shell.stdin.take());
    shell.wait().unwrap();
    let after = until(&mut tree, |read| read.tasks == 1);
    assert!(after.write_chars >= seen.write_chars);
    let orphan = rustix::process::Pid::from_raw(orphan.cast_signed()).unwrap();
    rustix::process::kill_process(orphan, rustix::process::Signal::TERM).unwrap();
    let last = until(&mut tree, |read| read.tasks == 0);
    assert!(last.write_chars >= after.write_chars);
    assert!(last.user_ticks >= after.user_ticks);
}

#[test]
fn many_short_children_never_make_a_counter_fall() {
    let mut shell = shell();
    let mut tree = ProcessTree::new(Path::new("/proc"), shell.id()).unwrap();
    let stdin = shell.stdin.as_mut().unwrap();
    writeln!(stdin, "i=0; while [ $i -lt 150 ]; do dd if=/dev/zero of=/dev/null bs=64k count=16 2>/dev/null; i=$((i+1)); done; echo done; read wait")
        .unwrap();
    let mut last = tree.read(&mut Vec::new()).unwrap();
    let begun = Instant::now();
    while last.write_chars.unwrap() < 150 * MIB {
        let now = tree.read(&mut Vec::new()).unwrap();
        assert!(now.write_chars >= last.write_chars, "{now:?} after {last:?}");
        assert!(
            now.user_ticks + now.system_ticks >= last.user_ticks + last.system_ticks,
            "{now:?} after {last:?}"
        );
        last = now;
        assert!(begun.elapsed() < Duration::from_secs(30), "{last:?}");
    }
    assert!(last.write_chars.unwrap() < 151 * MIB, "counted twice: {last:?}");
    drop(shell.stdin.take());
    shell.wait().unwrap();
}

#[test]
fn a_frozen_process_is_told_by_where_it_waits() {
    let proc = tempfile::tempdir().unwrap();
    let proc = proc.path();
    make(proc, &Fake { pid: 100, children: Some("200 300 "), ..FAKE });
    make(proc, &Fake { pid: 200, parent: 100, ..FAKE });
    make(proc, &Fake { pid: 300, parent: 100, ..FAKE });
    // as frozen by v1 and by v2; a kernel that doesn't show the place writes 0
    for (pid, place) in [(100, "0"), (200, "__refrigerator"), (300, "do_freezer_trap\n")] {
        fs::write(proc.join(pid.to_string()).join("wchan"), place).unwrap();
    }
    let mut tree = ProcessTree::new(proc, 100).unwrap();
    tree.read(&mut Vec::new()).unwrap();
    assert_eq!(tree.frozen(&mut Vec::new()), [200, 300]);
    fs::write(proc.join("200/wchan"), "do_wait").unwrap();
    fs::write(proc.join("300/wchan"), "0").unwrap();
    assert!(tree.frozen(&mut Vec::new()).is_empty());
}
