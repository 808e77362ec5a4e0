//! Starts fio before the load is to begin, and holds its jobs back until then: a fio that is started at that moment begins later by
//! its own start, which takes tens of milliseconds and differs from machine to machine.
//!
//! Each job runs `flock` before its first I/O and before its clock begins. `flock` waits for a file that we have locked.

use super::ini::Ini;
use crate::error::EngineError;
use rustix::fs::{FlockOperation, flock};
use rustix::time::{ClockId, clock_gettime};
use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The locked file, in fio's working directory.
const FILE: &str = "gate";
/// How often a gate looks whether the work is to end.
const LOOK: Duration = Duration::from_millis(20);

/// Jobs that wait for a moment.
pub(super) struct Gate {
    /// The lock holds until this is closed.
    locked: File,
    at_ns: u64,
}

impl Gate {
    /// Closes the gate, and tells the job file's jobs to wait for it. `at_ns`: CLOCK_MONOTONIC.
    pub(super) fn close(scratch: &Path, ini: &mut Ini, at_ns: u64) -> Result<Self, EngineError> {
        let path = scratch.join(FILE);
        let failed = |source| EngineError::Io { action: "lock", path: path.clone(), source };
        let locked = File::create(&path).map_err(failed)?;
        flock(&locked, FlockOperation::NonBlockingLockExclusive).map_err(|errno| failed(errno.into()))?;
        if let Some(global) = ini.sections.first_mut() {
            // fio gives it to a shell; nothing in it comes from outside.
            global.set("exec_prerun", format!("flock --shared {FILE} true"));
        }
        Ok(Self { locked, at_ns })
    }

    /// Waits for the moment, then opens the gate. Opens it at once when the work is cancelled or has ended.
    pub(super) fn open(self, cancel: &AtomicBool, ended: &AtomicBool) {
        while !cancel.load(Ordering::Relaxed) && !ended.load(Ordering::Relaxed) {
            let left = self.at_ns.saturating_sub(now_ns());
            if left == 0 {
                break;
            }
            std::thread::sleep(LOOK.min(Duration::from_nanos(left)));
        }
        drop(self.locked);
    }
}

/// Whether fio said this about a job that waited.
pub(super) fn is_of_the_gate(line: &str) -> bool {
    line.contains(" : Saving output of prerun in ") && line.ends_with(".prerun.txt")
}

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let part = |value: i64| u64::try_from(value).unwrap_or(0);
    part(now.tv_sec).saturating_mul(1_000_000_000).saturating_add(part(now.tv_nsec))
}

#[cfg(test)]
mod tests {
    use super::{Gate, is_of_the_gate, now_ns};
    use crate::fio::ini::{Ini, Section};
    use std::process::Command;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn jobs_wait_for_the_moment_and_no_longer_than_the_work_lasts() {
        let scratch = tempfile::tempdir().unwrap();
        let mut ini = Ini { sections: vec![Section::new("global"), Section::new("job0")] };
        let never = AtomicBool::new(false);
        let hour = 3_600_000_000_000;
        for (at_ns, cancel) in [(now_ns() + 100_000_000, &never), (now_ns() + hour, &AtomicBool::new(true))] {
            let gate = Gate::close(scratch.path(), &mut ini, at_ns).unwrap();
            let command = ini.sections[0].get("exec_prerun").unwrap().to_owned();
            let words: Vec<&str> = command.split(' ').collect();
            let mut job =
                Command::new(words[0]).args(&words[1..]).current_dir(scratch.path()).spawn().unwrap();
            gate.open(cancel, &never);
            assert!(job.wait().unwrap().success());
            assert!(now_ns() >= at_ns || cancel.load(std::sync::atomic::Ordering::Relaxed));
        }
        assert!(Gate::close(scratch.path(), &mut ini, 0).is_ok(), "the lock is free again");
    }

    #[test]
    fn what_fio_says_of_the_gate_is_known() {
        assert!(is_of_the_gate("job0 : Saving output of prerun in job0.prerun.txt"));
        assert!(!is_of_the_gate("fio: job0: Input/output error"));
    }
}
