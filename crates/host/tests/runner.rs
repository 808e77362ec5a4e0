//! What a child process can do to diskproof, and what it can't.

use diskproof_host::{CommandFailure, Invocation, LocalRunner, Runner, Tool, version};
use std::time::{Duration, Instant};

fn sh(script: &str) -> Invocation {
    Invocation::program("sh").args(["-c", script])
}

#[test]
fn large_input_and_output_pass_without_deadlock() {
    let input = vec![b'x'; 3 << 20];
    let output = LocalRunner.run(&Invocation::program("cat").stdin(input.clone())).unwrap();
    assert_eq!(output.stdout.len(), input.len());
    let both = sh("head -c 2000000 /dev/zero >&2; head -c 2000000 /dev/zero; cat >/dev/null");
    let output = LocalRunner.run(&both.stdin(input)).unwrap();
    assert_eq!((output.stdout.len(), output.stderr.len()), (2_000_000, 2_000_000));
}

#[test]
fn a_child_that_does_not_read_is_no_error() {
    let output = LocalRunner.run(&sh("echo done").stdin(vec![0; 1 << 20])).unwrap();
    assert_eq!(output.stdout, "done\n");
}

#[test]
fn endless_output_is_stopped() {
    let result = LocalRunner.run(&Invocation::program("yes").capture(100_000));
    assert!(matches!(result, Err(CommandFailure::TooMuchOutput { limit_bytes: 100_000, .. })), "{result:?}");
}

#[test]
fn a_failure_carries_status_and_words() {
    let result = LocalRunner.run(&sh("echo out; echo bad >&2; exit 7"));
    let Err(CommandFailure::Failed { status, stdout, stderr, argv }) = result else { panic!("{result:?}") };
    assert_eq!((status, stdout.as_str(), stderr.as_str()), (7, "out\n", "bad\n"));
    assert!(argv[0].ends_with("/sh") && argv[0].starts_with('/'), "{argv:?}");
}

#[test]
fn accepted_statuses_are_no_failures() {
    let output = LocalRunner.run(&sh("exit 2").accept([0, 2])).unwrap();
    assert_eq!(output.status, 2);
    assert!(LocalRunner.run(&sh("exit 0").accept([2])).is_err());
}

#[test]
fn a_signal_is_told_from_a_status() {
    let result = LocalRunner.run(&sh("kill -TERM $$"));
    assert!(matches!(result, Err(CommandFailure::Failed { status: -15, .. })), "{result:?}");
}

#[test]
fn time_is_up_for_the_whole_group() {
    let begun = Instant::now();
    let result =
        LocalRunner.run(&sh("echo $$ >&2; sleep 600 & sleep 600").timeout(Duration::from_millis(300)));
    let Err(CommandFailure::TimedOut { stderr, .. }) = result else { panic!("{result:?}") };
    assert!(begun.elapsed() < Duration::from_secs(60), "it was not waited for");
    let group = stderr.trim();
    // Killed processes may stay as zombies until their parent waits; none may still run.
    let alive = || {
        let all = std::fs::read_dir("/proc").unwrap().flatten().filter(|entry| {
            let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
            let fields: Vec<_> = stat.rsplit(") ").next().unwrap_or("").split(' ').collect();
            fields.get(2) == Some(&group) && fields.first() != Some(&"Z")
        });
        all.count()
    };
    // On a busy machine, a killed grandchild may take a while to end.
    while alive() > 0 && begun.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(alive(), 0);
}

#[test]
fn a_daemon_left_behind_does_not_hold_us_up() {
    let begun = Instant::now();
    let output = LocalRunner.run(&sh("sleep 30 & echo $!")).unwrap();
    assert!(begun.elapsed() < Duration::from_secs(20), "waited for the daemon's copy of the pipe");
    let pid = output.stdout.trim().parse().unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

#[test]
fn children_run_in_a_group_of_their_own() {
    let output = LocalRunner.run(&sh("cut -d' ' -f5 /proc/$$/stat; echo $$")).unwrap();
    let lines: Vec<_> = output.stdout.lines().collect();
    assert_eq!(lines[0], lines[1], "process group is not the child's own");
}

#[test]
fn tools_see_a_plain_environment_and_users_programs_ours() {
    let output = LocalRunner.run(&Invocation::program("env").env("MINE", "1")).unwrap();
    assert!(output.stdout.contains("LC_ALL=C\n") && output.stdout.contains("MINE=1\n"), "{}", output.stdout);
    assert!(output.stdout.contains("CARGO_MANIFEST_DIR="), "a user's program keeps our environment");
}

#[test]
fn versions_come_as_printed() {
    let text = version(&LocalRunner, Tool::Mount).unwrap();
    assert!(text.starts_with("mount from util-linux"), "{text}");
    assert_eq!(Tool::Losetup.package(), "mount");
}
