//! Injected outages within a trial: the mechanism, the start and the length.

use super::injection::{cpu_cgroup, limit_lines, now_ns, set_limit, write};
use super::site::Site;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What holds up the I/Os or the engine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Outage {
    /// An emulated volume has this limit meanwhile.
    Limit { volume: &'static str, to: u64 },
    /// The file system of the backing file below the measured directory is frozen, so its loop device completes no write.
    Below,
    /// A signal stops the engine.
    Stopped,
    /// The engine is in a frozen cgroup (v1 freezer).
    Frozen,
    /// The engine may run for a millisecond in each half second.
    Quota,
}

/// The mount point of the freezer.
const FREEZER: &str = "/sys/fs/cgroup/freezer";
/// The cgroup of the quota.
pub(super) const QUOTA_GROUP: &str = "diskproof-test-quota";

/// Makes all outages; `times` has the start after the engine's start and the length of each, in milliseconds. Ends each, also on `stop`.
pub(super) fn make(
    how: Outage,
    times: &[(u64, u64)],
    site: &Site,
    stop: &Arc<AtomicBool>,
) -> Result<Option<u64>, String> {
    let begun = loop {
        if !site.engine().is_empty() {
            break Instant::now();
        }
        if stop.load(Ordering::SeqCst) {
            return Err("the engine was never there".to_owned());
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    if how == Outage::Quota {
        only_engine_in_quota_group(site)?;
    }
    let until = |ms: u64| {
        while begun.elapsed() < Duration::from_millis(ms) && !stop.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    for (from, length) in times {
        until(*from);
        if stop.load(Ordering::SeqCst) {
            return Err("the trial ended before the outage".to_owned());
        }
        let engine = site.engine();
        let begun = begin(how, site, &engine);
        until(from + length);
        let ended = end(how, site, &engine);
        begun.and(ended)?;
    }
    Ok(Some(now_ns()))
}

fn begin(how: Outage, site: &Site, engine: &[u32]) -> Result<(), String> {
    match how {
        Outage::Limit { volume, to } => set_limit(site, volume, to).map(drop),
        Outage::Below => fsfreeze("--freeze", &below(site)?),
        Outage::Stopped => signal("STOP", engine),
        Outage::Frozen => {
            let group = freezer()?;
            fs::create_dir_all(&group).map_err(|e| format!("{}: {e}", group.to_string_lossy()))?;
            let procs = group.join("cgroup.procs");
            engine.iter().try_for_each(|pid| write(&procs, &pid.to_string()))?;
            write(&group.join("freezer.state"), "FROZEN")
        }
        Outage::Quota => {
            let group = cpu_cgroup()?.join(QUOTA_GROUP);
            write(&group.join("cpu.cfs_period_us"), "500000")?;
            write(&group.join("cpu.cfs_quota_us"), "1000")
        }
    }
}

fn end(how: Outage, site: &Site, engine: &[u32]) -> Result<(), String> {
    match how {
        Outage::Limit { volume, .. } => limit_lines(site, volume, super::injection::LIMIT)?
            .iter()
            .try_for_each(|(f, line)| write(f, line)),
        Outage::Below => fsfreeze("--unfreeze", &below(site)?),
        Outage::Stopped => signal("CONT", engine),
        Outage::Frozen => {
            let group = freezer()?;
            write(&group.join("freezer.state"), "THAWED")?;
            let parent = Path::new(FREEZER).join("cgroup.procs");
            // an error is fine: an ended process is in no group any more
            engine.iter().for_each(|pid| drop(fs::write(&parent, pid.to_string())));
            fs::remove_dir(&group).map_err(|e| format!("{}: {e}", group.to_string_lossy()))
        }
        Outage::Quota => write(&cpu_cgroup()?.join(QUOTA_GROUP).join("cpu.cfs_quota_us"), "-1"),
    }
}

/// Moves the agent process out of the cgroup of the quota, so that only the engine is in it. An engine that started outside is an error.
pub(super) fn only_engine_in_quota_group(site: &Site) -> Result<(), String> {
    write(&cpu_cgroup()?.join("cgroup.procs"), &site.node.to_string())?;
    for pid in site.engine() {
        let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).map_err(|e| format!("{pid}: {e}"))?;
        if !groups.lines().any(|line| line.ends_with(QUOTA_GROUP)) {
            return Err("the engine started before the agent process was in the cgroup".to_owned());
        }
    }
    Ok(())
}

fn freezer() -> Result<PathBuf, String> {
    let there = Path::new(FREEZER).join("cgroup.procs").exists();
    let group = Path::new(FREEZER).join("diskproof-test-freezer");
    there.then_some(group).ok_or_else(|| "no freezer of version 1 is mounted".to_owned())
}

/// The mount point of the file system below the measured directory.
fn below(site: &Site) -> Result<PathBuf, String> {
    let lent = site.lent.as_ref().ok_or("nothing is lent")?;
    let mut name = lent.file_name().unwrap_or_default().to_os_string();
    name.push("-under");
    Ok(lent.with_file_name(name))
}

fn fsfreeze(what: &str, mount: &Path) -> Result<(), String> {
    run(Command::new("fsfreeze").arg(what).arg(mount))
}

fn signal(name: &str, engine: &[u32]) -> Result<(), String> {
    let pids = engine.iter().map(u32::to_string);
    run(Command::new("kill").arg(format!("-{name}")).args(pids))
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    let said = || format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    if output.status.success() { Ok(()) } else { Err(said()) }
}
