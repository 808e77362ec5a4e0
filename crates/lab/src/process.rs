//! Finds a guest's QEMU process by its arguments, which name a file that only this guest has. So the answer is also right if the process id
//! could not be written down, or belongs to another process by now.

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
    /// A pidfd, which stays with the process even if its id is used again.
    handle: OwnedFd,
}

/// The process that has `mark` as one of its arguments.
pub(crate) fn find(mark: &Path) -> Option<Process> {
    let entries = fs::read_dir("/proc").ok()?;
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| has_argument(*pid, mark)).find_map(|pid| {
        let handle = pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?;
        // Before the pidfd was opened, the process may have ended and its id may have been used again.
        has_argument(pid, mark).then_some(Process { pid, handle })
    })
}

/// A zombie has no arguments, so it isn't found.
pub(crate) fn has_argument(pid: i32, mark: &Path) -> bool {
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

    /// Kills it by SIGKILL.
    pub(crate) fn kill(&self) {
        // If it has ended already, that is what we want.
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
        // `sleep` refuses the argument and ends, or waits; in both cases it isn't QEMU.
        assert!(find(mark).is_none());
        if let Ok(child) = &mut other {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
