//! Finds the parts of a running run: loop devices, cgroup, data files, engine.

use super::measured::{Limit, Quantity};
use super::place::run;
use std::fs;
use std::path::{Path, PathBuf};

/// A running trial, for injections.
#[derive(Debug, Clone)]
pub(crate) struct Site {
    pub(crate) run: String,
    /// The agent process.
    pub(crate) node: u32,
    pub(crate) round: u32,
    /// The measured directory of this trial, if its volume is one.
    pub(crate) lent: Option<PathBuf>,
}

impl Site {
    /// The loop device of an emulated volume: its path and `major:minor`.
    pub(crate) fn device(&self, volume: &str) -> Result<(PathBuf, String), String> {
        let ending = format!("-{volume}.img");
        for entry in list(Path::new("/sys/block")) {
            let backing = fs::read_to_string(entry.join("loop/backing_file")).unwrap_or_default();
            if backing.contains(&self.run) && backing.trim_end().ends_with(&ending) {
                let name = entry.file_name().unwrap_or_default();
                let devno = fs::read_to_string(entry.join("dev")).map_err(|e| e.to_string())?;
                return Ok((Path::new("/dev").join(name), devno.trim().to_owned()));
            }
        }
        Err(format!("no loop device of {volume} in run {}", self.run))
    }

    /// The backing file of an emulated volume.
    pub(crate) fn backing(&self, volume: &str) -> Result<PathBuf, String> {
        let (device, _) = self.device(volume)?;
        let name = device.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let file = fs::read_to_string(format!("/sys/block/{name}/loop/backing_file"));
        file.map(|text| PathBuf::from(text.trim_end())).map_err(|e| format!("{name}: {e}"))
    }

    /// The run's cgroup with the limits, and whether it is cgroup v1.
    pub(crate) fn cgroup(&self) -> Result<(PathBuf, bool), String> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").map_err(|e| e.to_string())?;
        let targets = mounts.lines().filter(|l| l.contains(" - cgroup")).filter_map(|l| l.split(' ').nth(4));
        for target in targets {
            let group = Path::new(target).join(format!("diskproof-{}", self.run));
            let v1 = group.join("blkio.throttle.read_iops_device").exists();
            if v1 || group.join("io.max").exists() {
                return Ok((group, v1));
            }
        }
        Err(format!("no cgroup of run {}", self.run))
    }

    /// The first data file of the trial.
    pub(crate) fn data_file(&self) -> Result<PathBuf, String> {
        let directory = match &self.lent {
            Some(lent) => list(lent).into_iter().find(|p| p.to_string_lossy().contains(&self.run)),
            None => mounted(&self.run),
        };
        let directory = directory.ok_or_else(|| format!("no ground of run {}", self.run))?;
        let mut files: Vec<PathBuf> = list(&directory).into_iter().filter(|p| p.is_file()).collect();
        files.sort();
        files.into_iter().next().ok_or_else(|| format!("no data in {}", directory.to_string_lossy()))
    }

    /// The share of the data file in memory, by `fincore`.
    pub(crate) fn resident(&self) -> Result<f64, String> {
        let path = self.data_file()?;
        let args = ["--bytes", "--raw", "--noheadings", "--output", "RES,SIZE"];
        let said = run("fincore", &[&args[..], &[&path.to_string_lossy()]].concat())?;
        let figures: Vec<f64> = said.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        match figures[..] {
            [held, size] if size > 0.0 => Ok(held / size),
            _ => Err(format!("fincore said {said:?}")),
        }
    }

    /// The extents of the data file on its device, by `filefrag`: start and length.
    pub(crate) fn extents(&self) -> Result<Vec<(u64, u64)>, String> {
        let path = self.data_file()?;
        let said = run("filefrag", &["-s", "-e", "-b4096", &path.to_string_lossy()])?;
        let extents: Vec<(u64, u64)> = said.lines().filter_map(extent).collect();
        if extents.is_empty() { Err(format!("filefrag said {said:?}")) } else { Ok(extents) }
    }

    /// All limits of the run's cgroup.
    pub(crate) fn limits(&self) -> Vec<Limit> {
        let Ok((group, v1)) = self.cgroup() else { return Vec::new() };
        let read = |name: &str| fs::read_to_string(group.join(name)).unwrap_or_default();
        if !v1 {
            return read("io.max").lines().flat_map(limits_of_line).collect();
        }
        let of_file = |(name, kind): (&str, Quantity)| {
            let text = read(&format!("blkio.throttle.{name}_device"));
            let one = |line: &str| {
                let (number, per_second) = line.split_once(' ')?;
                Some(Limit { device: device(number)?, kind, per_second: per_second.parse().ok()? })
            };
            text.lines().filter_map(one).collect::<Vec<Limit>>()
        };
        [
            ("read_iops", Quantity::Reads),
            ("write_iops", Quantity::Writes),
            ("read_bps", Quantity::ReadBytes),
            ("write_bps", Quantity::WriteBytes),
        ]
        .into_iter()
        .flat_map(of_file)
        .collect()
    }

    /// The running children of the agent process; during the measured time, the engine.
    pub(crate) fn engine(&self) -> Vec<u32> {
        let mut family = vec![self.node];
        let all: Vec<(u32, u32)> = list(Path::new("/proc")).iter().filter_map(|p| parent(p)).collect();
        loop {
            let before = family.len();
            for (pid, parent) in &all {
                if family.contains(parent) && !family.contains(pid) {
                    family.push(*pid);
                }
            }
            if family.len() == before {
                let mut engine = family.split_off(1);
                engine.retain(|pid| has_a_job(*pid));
                return engine;
            }
        }
    }
}

/// Parses a line of `filefrag -e -b4096`: `0:  0..  4095:  34816..  38911:  4096:  last,eof`, in blocks of 4 KiB.
fn extent(line: &str) -> Option<(u64, u64)> {
    let parts: Vec<&str> = line.split(':').map(str::trim).collect();
    let [number, _, physical, blocks, ..] = parts[..] else { return None };
    number.parse::<u64>().ok()?;
    let start: u64 = physical.split("..").next()?.trim().parse().ok()?;
    Some((start * 4096, blocks.parse::<u64>().ok()? * 4096))
}

/// The limits in a line of `io.max`: `7:0 rbps=max wbps=max riops=300 wiops=300`.
fn limits_of_line(line: &str) -> Vec<Limit> {
    let mut words = line.split_whitespace();
    let Some(device) = words.next().and_then(device) else { return Vec::new() };
    let one = |word: &str| {
        let (name, per_second) = word.split_once('=')?;
        let kind = match name {
            "riops" => Quantity::Reads,
            "wiops" => Quantity::Writes,
            "rbps" => Quantity::ReadBytes,
            "wbps" => Quantity::WriteBytes,
            _ => return None,
        };
        Some(Limit { device: device.clone(), kind, per_second: per_second.parse().ok()? })
    };
    words.filter_map(one).collect()
}

/// The name of the device `major:minor`.
fn device(number: &str) -> Option<String> {
    let entry = fs::canonicalize(Path::new("/sys/dev/block").join(number)).ok()?;
    Some(entry.file_name()?.to_str()?.to_owned())
}

/// Whether a process runs a job; it isn't one that prints its version or is about to start.
fn has_a_job(pid: u32) -> bool {
    let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = || command.split(|byte| *byte == 0);
    words().any(|word| word.starts_with(b"engine-") || word.ends_with(b".fio"))
}

/// A process and its parent, from `/proc/PID`.
fn parent(process: &Path) -> Option<(u32, u32)> {
    let pid = process.file_name()?.to_str()?.parse().ok()?;
    let stat = fs::read_to_string(process.join("stat")).ok()?;
    let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?;
    Some((pid, parent))
}

/// The only child of a process.
pub(crate) fn child(of: u32) -> Option<u32> {
    list(Path::new("/proc")).iter().filter_map(|p| parent(p)).find(|(_, p)| *p == of).map(|(pid, _)| pid)
}

fn list(directory: &Path) -> Vec<PathBuf> {
    fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// A mount point of a run.
fn mounted(run: &str) -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let mut targets = mounts.lines().filter_map(|l| l.split(' ').nth(4)).filter(|t| t.contains(run));
    targets.next_back().map(PathBuf::from)
}

#[test]
fn extents_are_read_from_what_filefrag_says() {
    let said = "   0:        0..    4095:      34816..     38911:   4096:             last,eof";
    assert_eq!(extent(said), Some((34816 * 4096, 16 << 20)));
    assert_eq!(extent(" ext:     logical_offset:        physical_offset: length:   expected: flags:"), None);
    assert_eq!(extent("/mnt/file: 1 extent found"), None);
}
