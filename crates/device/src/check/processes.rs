//! Whether all processes of this machine are visible, their names, and how to visit all their tables of open files.

use crate::block::names_in;
use crate::mountinfo::parse_options;
use crate::refusal::{Check, Dissent};
use record::printable::{Printable, Shown as _};
use record::roots::Roots;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The initial PID namespace and the initial user namespace (`PID_NS_INIT_INO` and `USER_NS_INIT_INO` of linux/nsfs.h; unchanged
/// since Linux 3.8).
const FIRST_PIDS: &str = "pid:[4026531836]";
const FIRST_USERS: &str = "user:[4026531837]";
/// The bit of CAP_SYS_PTRACE in CapEff (linux/capability.h).
const SYS_PTRACE: u32 = 19;
/// `enum kcmp_type` of linux/kcmp.h.
const KCMP_FILES: libc::c_int = 2;

pub(crate) const AS_FULL_ROOT: &str = "ask again as root with all capabilities, outside of any container; or, if you know that they don't \
                                       use the disk, claim it with --unseen-processes";
const OUTSIDE: &str = "run diskproof in the machine's own PID namespace and with its /proc (docker run --pid=host, hostPID: true in \
                       Kubernetes); or, if you know that nobody outside uses the disk, claim it with --unseen-processes";

/// Why /proc may hide processes; `None` when it shows all.
pub(crate) fn unseen(roots: &Roots) -> Option<Dissent> {
    match shown(roots) {
        Ok(shown) if shown == Path::new(FIRST_PIDS) => hidden_by_option(roots),
        Ok(shown) => {
            let why = format!(
                "{} shows the PID namespace {} only, and processes outside of it may write to the disk",
                roots.proc.shown(),
                shown.shown()
            );
            Some(Dissent::unheard(Check::Openers, why, OUTSIDE))
        }
        Err(error) => {
            let why = format!("it is unknown whether {} shows all processes: {error}", roots.proc.shown());
            Some(Dissent::unheard(Check::Openers, why, OUTSIDE))
        }
    }
}

/// The PID namespace of this procfs, whichever one we are in: that of its process 1. If process 1 can't be examined, it is ours,
/// provided that we have only one process id (`NSpid` in proc_pid_status(5)).
fn shown(roots: &Roots) -> io::Result<PathBuf> {
    let first = fs::read_link(roots.proc("1/ns/pid"));
    first.or_else(|error| {
        let status = fs::read_to_string(roots.proc("self/status"))?;
        let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:")).map(str::split_whitespace);
        match numbers.map(Iterator::count) {
            Some(1) => fs::read_link(roots.proc("self/ns/pid")),
            _ => Err(error),
        }
    })
}

/// `hidepid` hides other users' processes from everyone who may not trace them.
fn hidden_by_option(roots: &Roots) -> Option<Dissent> {
    let mounts = fs::read(roots.proc("self/mountinfo")).unwrap_or_default();
    let options = parse_options(&mounts, "proc", &roots.proc);
    let hides = |option: &&String| option.strip_prefix("hidepid=").is_some_and(|v| v != "0" && v != "off");
    let option = options.iter().find(hides)?;
    if traces_all(roots) {
        return None;
    }
    let why = format!("{} is mounted with {option}, which hides processes", roots.proc.shown());
    Some(Dissent::unheard(Check::Openers, why, AS_FULL_ROOT))
}

fn traces_all(roots: &Roots) -> bool {
    let first = fs::read_link(roots.proc("self/ns/user")).is_ok_and(|ns| ns == Path::new(FIRST_USERS));
    let status = fs::read_to_string(roots.proc("self/status")).unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = effective.and_then(|text| u64::from_str_radix(text.trim(), 16).ok());
    first && effective.is_some_and(|caps| caps >> SYS_PTRACE & 1 == 1)
}

/// Our own process id in this procfs.
pub(crate) fn own(roots: &Roots) -> String {
    let link = fs::read_link(roots.proc("self")).ok();
    link.map_or_else(|| std::process::id().to_string(), |pid| pid.to_string_lossy().into_owned())
}

/// The name of a process.
pub(crate) fn comm(roots: &Roots, pid: &str) -> String {
    // A process chooses this name itself.
    let name = fs::read(roots.proc.join(pid).join("comm")).unwrap_or_default();
    Printable(name.trim_ascii()).to_string()
}

/// Whether the process ended meanwhile, or is a zombie, which has no files.
pub(crate) fn gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH)
}

/// One task for each table of open files of a process. Usually that is one, but a thread may have its own table, and the first
/// thread may have ended and left its table empty.
pub(crate) fn tables(roots: &Roots, pid: &str) -> Vec<String> {
    let mut found = vec![pid.to_owned()];
    let tasks = names_in(&roots.proc.join(pid).join("task")).unwrap_or_default();
    for task in tasks.into_iter().filter(|task| task != pid) {
        if !found.iter().any(|other| share_files(other, &task)) {
            found.push(task);
        }
    }
    found
}

/// Whether two tasks certainly share a table of open files.
fn share_files(one: &str, other: &str) -> bool {
    let (Ok(one), Ok(other)) = (one.parse::<libc::pid_t>(), other.parse::<libc::pid_t>()) else {
        return false;
    };
    // SAFETY: kcmp(2) takes five numbers and no pointers, and changes nothing.
    #[expect(unsafe_code, reason = "no safe wrapper for this call exists")]
    let compared = unsafe { libc::syscall(libc::SYS_kcmp, one, other, KCMP_FILES, 0, 0) };
    compared == 0
}
