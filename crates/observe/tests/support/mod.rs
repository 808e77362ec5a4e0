//! Processes outside of the test's own tree.
#![allow(
    clippy::unwrap_used,
    unreachable_pub,
    dead_code,
    reason = "a test may panic, and uses what it needs"
)]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use std::time::Duration;

/// Starts a process that is not a descendant: its parent has ended, so it belongs to init.
pub fn stranger(script: &str) -> (u32, ChildStdin) {
    // The stdin of the process is the test's pipe, through a separate descriptor: a shell gives its background jobs none.
    let outer = format!("exec 3<&0; (sh -c '{script}' <&3 >/dev/null 2>&1 & echo $!)");
    let mut parent =
        Command::new("sh").args(["-c", &outer]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(parent.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let stdin = parent.stdin.take().unwrap();
    parent.wait().unwrap();
    (line.trim().parse().unwrap(), stdin)
}

/// Waits until a file exists, at most ten seconds.
pub fn wait_for(path: &Path) {
    wait_until(|| path.exists(), &format!("{} is still missing", path.to_string_lossy()));
}

/// Waits until a condition holds, at most ten seconds.
pub fn wait_until(holds: impl Fn() -> bool, otherwise: &str) {
    for _ in 0..6000 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{otherwise}");
}
