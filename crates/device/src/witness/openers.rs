//! Processes that have the disk open for writing without asking the kernel for exclusive use: virtual machines, databases,
//! a dd somebody forgot.

use crate::block::names_in;
use crate::devno::DevNo;
use crate::refusal::{Dissent, Witness};
use crate::roots::Roots;
use crate::witness::exclusive::comm;
use crate::witness::users::Sight;
use std::fmt;
use std::fs;

/// A process that has a device open.
pub(crate) struct Opener {
    pid: String,
    name: String,
    writes: bool,
}

impl fmt::Display for Opener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} ({})", self.pid, self.name)
    }
}

/// Those that may write. Readers are let be: udev, smartd and their like look at every disk now and then. Open files of
/// processes with more rights than ours can't be seen; then this witness says nothing, and the others have to do.
pub(crate) fn testify(roots: &Roots, sight: &Sight) -> Vec<Dissent> {
    let family: Vec<_> = sight.family.members.iter().map(|m| m.block.devno).collect();
    let own = std::process::id().to_string();
    let writers = openers(roots, &family).into_iter().filter(|o| o.writes && o.pid != own);
    writers
        .map(|opener| {
            let saw = format!("{opener} has it open for writing");
            Dissent::new(Witness::Openers, saw, format!("end process {}, if nobody needs it", opener.pid))
        })
        .collect()
}

/// Every process that has one of these devices open.
pub(crate) fn openers(roots: &Roots, devices: &[DevNo]) -> Vec<Opener> {
    let pids = names_in(&roots.proc).unwrap_or_default();
    let pids = pids.into_iter().filter(|n| n.bytes().all(|b| b.is_ascii_digit()));
    pids.filter_map(|pid| {
        let writes = opens(roots, &pid, devices)?;
        Some(Opener { name: comm(roots, &pid), pid, writes })
    })
    .collect()
}

/// Whether a process has one of these devices open, and if so, for writing.
fn opens(roots: &Roots, pid: &str, devices: &[DevNo]) -> Option<bool> {
    let dir = roots.proc.join(pid);
    let fds = names_in(&dir.join("fd")).ok()?;
    let open = fds
        .iter()
        .filter(|fd| roots.block_at(&dir.join("fd").join(fd)).is_ok_and(|devno| devices.contains(&devno)));
    open.map(|fd| writes(&fs::read_to_string(dir.join("fdinfo").join(fd)).unwrap_or_default())).max()
}

/// From the octal open flags of fdinfo (proc_pid_fdinfo(5)).
fn writes(fdinfo: &str) -> bool {
    let flags = fdinfo.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|text| u32::from_str_radix(text.trim(), 8).ok());
    // O_WRONLY is 1, O_RDWR is 2; what can't be told is taken for the worst.
    flags.is_none_or(|f| f & 0b11 != 0)
}

#[cfg(test)]
mod tests {
    use super::writes;

    #[test]
    fn open_modes_are_told_apart() {
        assert!(!writes("pos:\t0\nflags:\t0100000\nmnt_id:\t20\n"));
        assert!(writes("pos:\t0\nflags:\t0100001\n"));
        assert!(writes("pos:\t0\nflags:\t02100002\n"));
        assert!(writes(""));
    }
}
