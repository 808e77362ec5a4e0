//! Programs that outlive their diskproof process: when it is killed during a mount or a mkfs, that program goes on and could
//! change the machine after an undo. So an undo waits for them first.

use crate::holders::Holder;
use crate::machine::Machine;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a program may go on by itself. Most take less than a second.
const MAY_FINISH: Duration = Duration::from_secs(30);
/// How long a killed program may take to exit: it may wait for a slow disk.
const MAY_DIE: Duration = Duration::from_secs(60);

/// Waits for the programs that `owner` started, and kills those that take too long. Returns the process ids of the killed ones.
///
/// # Errors
/// The programs that don't exit even when killed.
pub(super) fn wait(machine: &Machine<'_>, owner: u32) -> Result<Vec<u32>, Vec<Holder>> {
    let proc = &machine.roots.proc;
    if gone(proc, owner, MAY_FINISH).is_empty() {
        return Ok(Vec::new());
    }
    let ended: Vec<u32> = of(proc, owner).iter().filter(|orphan| kill(orphan.pid)).map(|o| o.pid).collect();
    let left = gone(proc, owner, MAY_DIE);
    if left.is_empty() { Ok(ended) } else { Err(left) }
}

/// Waits for the programs that `owner` started, and kills none. Returns those that still run after a while.
pub(crate) fn outlast(machine: &Machine<'_>, owner: u32) -> Vec<Holder> {
    gone(&machine.roots.proc, owner, MAY_FINISH)
}

fn gone(proc: &Path, owner: u32, patience: Duration) -> Vec<Holder> {
    let end = Instant::now() + patience;
    loop {
        let left = of(proc, owner);
        if left.is_empty() || Instant::now() >= end {
            return left;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn kill(pid: u32) -> bool {
    use rustix::process::{Pid, Signal, kill_process};
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| kill_process(pid, Signal::KILL).is_ok())
}

/// The programs that `owner` started and that have another parent by now. Leaves out a session leader: it is a daemon that is
/// meant to stay, and the act that started it has its own undo.
fn of(proc: &Path, owner: u32) -> Vec<Holder> {
    let Ok(entries) = std::fs::read_dir(proc) else { return Vec::new() };
    let mark = format!("{}={owner}", host::STARTED_BY);
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter_map(|pid| {
        let process = proc.join(pid.to_string());
        let environment = std::fs::read(process.join("environ")).ok()?;
        if !environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes()) {
            return None;
        }
        let stat = std::fs::read_to_string(process.join("stat")).ok()?;
        let (comm, [parent, session]) = parse(&stat)?;
        (parent != owner && session != pid).then(|| Holder { pid, comm: comm.to_owned() })
    })
    .collect()
}

/// Parses name, parent and session from `/proc/PID/stat` (proc_pid_stat(5)). The name may contain spaces and parentheses.
fn parse(stat: &str) -> Option<(&str, [u32; 2])> {
    let (comm, rest) = stat.split_once('(')?.1.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(1).map(str::parse);
    let (parent, _group, session) = (fields.next()?.ok()?, fields.next()?.ok()?, fields.next()?.ok()?);
    Some((comm, [parent, session]))
}

#[cfg(test)]
mod tests {
    use super::{of, parse};
    use std::path::Path;

    #[test]
    fn a_name_may_hold_anything() {
        assert_eq!(parse("12 (a) b (c) S 1 12 7 0 -1"), Some(("a) b (c", [1, 7])));
        assert_eq!(parse("12 (cut"), None);
    }

    fn process(proc: &Path, pid: u32, owner: u32, parent: u32, session: u32) {
        let dir = proc.join(pid.to_string());
        std::fs::create_dir(&dir).unwrap();
        std::fs::write(dir.join("environ"), format!("PATH=/bin\0{}={owner}\0", host::STARTED_BY)).unwrap();
        std::fs::write(dir.join("stat"), format!("{pid} (mount) D {parent} {pid} {session} 0 -1")).unwrap();
    }

    #[test]
    fn only_what_lost_its_parent_and_is_no_daemon_is_an_orphan() {
        let proc = tempfile::tempdir().unwrap();
        process(proc.path(), 20, 10, 1, 5); // an orphan
        process(proc.path(), 21, 10, 10, 5); // its parent lives
        process(proc.path(), 22, 10, 1, 22); // a daemon
        process(proc.path(), 23, 11, 1, 5); // another owner's
        process(proc.path(), 24, 1, 1, 5); // 1 is not 10
        let pids: Vec<u32> = of(proc.path(), 10).iter().map(|orphan| orphan.pid).collect();
        assert_eq!(pids, [20]);
    }
}
