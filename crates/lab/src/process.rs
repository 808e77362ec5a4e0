//! Which process is a guest's QEMU. It is told by its arguments, which name a file that only this guest has; so the answer is right
//! also when nobody could write a process number down, or the number is somebody else's by now.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// A live process.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    /// Stays with the process whatever becomes of its number.
    handle: OwnedFd,
}

/// The process that has `mark` as an argument of its own.
pub(crate) fn find(mark: &Path) -> Option<Process> {
    let entries = fs::read_dir("/proc").ok()?;
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| has_argument(*pid, mark)).find_map(|pid| {
        let handle = pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?;
        // It may have ended, and its number may be another's, between the look and the handle.
        has_argument(pid, mark).then_some(Process { pid, handle })
    })
}

/// A zombie has no arguments, so it isn't found.
fn has_argument(pid: i32, mark: &Path) -> bool {
    let Ok(arguments) = fs::read(format!("/proc/{pid}/cmdline")) else { return false };
    let mut words = arguments.split(|byte| *byte == 0);
    let is_qemu = words.next().is_some_and(|program| {
        program.rsplit(|byte| *byte == b'/').next().is_some_and(|name| name.starts_with(b"qemu-system"))
    });
    is_qemu && words.any(|word| word == mark.as_os_str().as_encoded_bytes())
}

impl Process {
    /// Whether it ends within `limit`.
    pub(crate) fn ends_within(&self, limit: Duration) -> bool {
        let mut polled = [PollFd::new(&self.handle, PollFlags::IN)];
        let limit = Timespec {
            tv_sec: i64::try_from(limit.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: limit.subsec_nanos().into(),
        };
        matches!(poll(&mut polled, Some(&limit)), Ok(1..))
    }

    /// Ends it, at once.
    pub(crate) fn kill(&self) {
        // It may be gone, which is what we want.
        let _ = pidfd_send_signal(&self.handle, Signal::KILL);
    }
}

#[cfg(test)]
mod tests {
    use super::find;
    use std::path::Path;

    #[test]
    fn nobody_is_taken_for_a_guest_by_a_mention() {
        let mark = Path::new("/tmp/diskproof-test-mark/qemu.pid");
        let mut other = std::process::Command::new("sleep").arg("30").arg(mark).spawn();
        // `sleep` refuses the argument at once, or waits; in both cases it is no QEMU.
        assert!(find(mark).is_none());
        if let Ok(child) = &mut other {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
