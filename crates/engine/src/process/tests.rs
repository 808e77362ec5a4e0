use super::{Ended, Order, Why, describe, run};
use crate::EngineError;
use std::cell::Cell;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Runs a shell instead of fio.
fn shell(
    scratch: &Path,
    script: &str,
    cancel: &AtomicBool,
    expected: Duration,
) -> Result<Ended, EngineError> {
    run(&Order {
        argv: vec!["/bin/sh".into(), "-c".into(), script.into()],
        scratch,
        cgroup_procs: None,
        cancel,
        expected,
        patience: Duration::from_millis(100),
        // A shell may wait long for a processor before it handles the signal.
        grace: LONG,
        started: &|_| {},
        tick: &|_| {},
    })
}

const LONG: Duration = Duration::from_secs(60);

#[test]
fn output_and_status_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let ended = shell(dir.path(), "echo out; echo err >&2; exit 3", &AtomicBool::new(false), LONG).unwrap();
    assert_eq!(ended.why, Why::Itself);
    assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("out\n", "err\n"));
    assert_eq!(describe(ended.status), "ended with status 3");
    let ended = shell(dir.path(), "kill -9 $$", &AtomicBool::new(false), LONG).unwrap();
    assert_eq!(describe(ended.status), "was ended by signal 9");
}

#[test]
fn the_end_of_io_is_the_end_of_the_last_job() {
    let dir = tempfile::tempdir().unwrap();
    let before = super::now_ns();
    let ended =
        shell(dir.path(), "sleep 0.2 & sleep 0.4 & wait; exec sleep 3", &AtomicBool::new(false), LONG);
    let took = Duration::from_nanos(ended.unwrap().end_ns - before);
    assert!(took >= Duration::from_millis(400), "{took:?}");
    assert!(took < Duration::from_secs(3), "the 3 s after the last job don't count: {took:?}");
}

#[test]
#[expect(unsafe_code, reason = "only libc sets what a signal does")]
fn cancelling_interrupts() {
    // SAFETY: no handler is installed. As for a background command of a script.
    unsafe { libc::signal(libc::SIGINT, libc::SIG_IGN) };
    let dir = tempfile::tempdir().unwrap();
    let cancel = AtomicBool::new(false);
    let begun = Instant::now();
    let ready = dir.path().join("ready");
    let script = format!(
        "trap 'echo stopped; exit 0' INT; : >{}; while :; do sleep 0.05; done",
        ready.to_string_lossy()
    );
    let ended = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ready.exists() && begun.elapsed() < LONG {
                std::thread::sleep(Duration::from_millis(10));
            }
            cancel.store(true, Ordering::SeqCst);
        });
        shell(dir.path(), &script, &cancel, LONG).unwrap()
    });
    assert_eq!(ended.why, Why::Cancelled);
    assert_eq!(ended.stdout, "stopped\n", "asked to stop before being killed");
    assert!(begun.elapsed() < LONG, "not by patience");
}

#[test]
fn what_hangs_is_killed_with_its_jobs() {
    let dir = tempfile::tempdir().unwrap();
    let job = Cell::new(0);
    let ended = run(&Order {
        argv: vec![
            "/bin/sh".into(),
            "-c".into(),
            "trap '' INT TERM; setsid sleep 1000 & echo $!; wait".into(),
        ],
        scratch: dir.path(),
        cgroup_procs: None,
        cancel: &AtomicBool::new(false),
        // Long enough for the shell to start its job on a busy machine.
        expected: Duration::from_secs(2),
        patience: Duration::from_millis(100),
        grace: Duration::from_millis(200),
        started: &|_| {},
        tick: &|pids| job.set(pids.get(1).copied().unwrap_or(job.get())),
    })
    .unwrap();
    assert_eq!(ended.why, Why::Hung);
    assert_eq!(describe(ended.status), "was ended by signal 9");
    assert_eq!(ended.stdout.trim(), job.get().to_string(), "the job was seen");
    let gone = || !Path::new(&format!("/proc/{}/stat", job.get())).exists() || is_zombie(job.get());
    for _ in 0..100 {
        if gone() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("its job, a session of its own, is still alive");
}

fn is_zombie(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|s| s.contains(") Z "))
}

#[test]
fn what_cannot_start_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let result = run(&Order {
        argv: vec!["/nonexistent/fio".into(), "x.fio".into()],
        scratch: dir.path(),
        cgroup_procs: Some(Path::new("/nonexistent/cgroup.procs")),
        cancel: &AtomicBool::new(false),
        expected: LONG,
        patience: LONG,
        grace: LONG,
        started: &|_| {},
        tick: &|_| {},
    });
    assert_eq!(result.err().unwrap().to_string(), "cannot open /nonexistent/cgroup.procs");
    let script = shell(Path::new("/nonexistent"), "true", &AtomicBool::new(false), LONG);
    assert_eq!(script.err().unwrap().to_string(), "cannot create /nonexistent/fio.stdout");
}

#[test]
fn the_child_joins_the_cgroup_before_it_runs() {
    let dir = tempfile::tempdir().unwrap();
    let procs = dir.path().join("cgroup.procs");
    std::fs::write(&procs, "").unwrap();
    let ended = run(&Order {
        argv: vec!["/bin/cat".into(), procs.clone().into_os_string()],
        scratch: dir.path(),
        cgroup_procs: Some(&procs),
        cancel: &AtomicBool::new(false),
        expected: LONG,
        patience: LONG,
        grace: LONG,
        started: &|_| {},
        tick: &|_| {},
    })
    .unwrap();
    assert_eq!(ended.stdout, "0", "written before the program began");
}

#[test]
fn the_child_is_told_to_end_when_we_die() {
    // The setting belongs to the first thread of the started process. A Rust test never runs on that one; a Python script does.
    if host::find(Path::new("python3")).is_err() {
        println!("skipped: needs python3");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let ask =
        "import ctypes; v = ctypes.c_int(); ctypes.CDLL(None).prctl(2, ctypes.byref(v)); print(v.value)";
    let script = format!("exec python3 -c '{ask}'");
    let ended = shell(dir.path(), &script, &AtomicBool::new(false), LONG).unwrap();
    assert_eq!(ended.stdout.trim(), "15", "{}", ended.stderr);
}
