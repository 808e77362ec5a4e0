//! Which cgroup flavour can limit block devices here, and how it is told.

use crate::act::Act;
use crate::act::cgroup::{EnableController, MakeCgroup, SetThrottle};
use crate::machine::Machine;
use crate::{mounts, names};
use record::id::RunId;
use record::volume::Limits;
use std::path::{Path, PathBuf};

/// Which cgroup flavour limits block I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavour {
    /// `blkio.throttle.*`: limits direct I/O and reads; write-back by kernel threads escapes.
    V1,
    /// `io.max`: limits write-back too, where the file system supports it.
    V2,
}

impl Flavour {
    /// `v1` or `v2`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::V2 => "v2",
        }
    }
}

/// The limits of a run's emulated volumes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Throttle {
    /// A process that writes `0` here is limited from then on.
    pub cgroup_procs: PathBuf,
    /// Which flavour.
    pub flavour: Flavour,
}

/// Where the flavour that can limit block devices is mounted. v2 is taken when it has the io controller, v1 otherwise.
#[must_use]
pub fn detect(proc: &Path) -> Option<(Flavour, PathBuf)> {
    let mounted = mounts::read(proc).ok()?;
    let v2 = mounted.iter().find(|entry| {
        let controllers = std::fs::read_to_string(entry.target.join("cgroup.controllers"));
        entry.fs_type == "cgroup2"
            && controllers.is_ok_and(|text| text.split_whitespace().any(|word| word == "io"))
    });
    let is_blkio = |options: &str| options.split(',').any(|option| option == "blkio");
    let v1 = || mounted.iter().find(|entry| entry.fs_type == "cgroup" && is_blkio(&entry.super_options));
    match v2 {
        Some(entry) => Some((Flavour::V2, entry.target.clone())),
        None => v1().map(|entry| (Flavour::V1, entry.target.clone())),
    }
}

/// The acts that make the run's cgroup, and the throttle they make.
pub(crate) fn make(
    machine: &Machine<'_>,
    run: &RunId,
    flavour: Flavour,
    root: &Path,
) -> (Vec<Act>, Throttle) {
    let path = root.join(names::of_run(machine, run));
    let mut acts = Vec::new();
    let control = root.join("cgroup.subtree_control");
    let enabled = std::fs::read_to_string(&control).unwrap_or_default();
    if flavour == Flavour::V2 && !enabled.split_whitespace().any(|word| word == "io") {
        acts.push(Act::EnableController(EnableController { file: control, controller: "io".to_owned() }));
    }
    let throttle = Throttle { cgroup_procs: path.join("cgroup.procs"), flavour };
    acts.push(Act::MakeCgroup(MakeCgroup { path }));
    (acts, throttle)
}

/// The acts that limit one device.
pub(crate) fn limit(throttle: &Throttle, devno: (u32, u32), limits: &Limits) -> Vec<Act> {
    let group = throttle.cgroup_procs.parent().unwrap_or(Path::new("/"));
    let device = format!("{}:{}", devno.0, devno.1);
    let set = |file: &str, limit: String, none: &str| {
        let (file, none) = (group.join(file), none.to_owned());
        Act::SetThrottle(SetThrottle { file, device: device.clone(), limit, none })
    };
    let asked = |names: [&'static str; 4]| {
        let values = [limits.read_bps, limits.write_bps, limits.read_iops, limits.write_iops];
        names.into_iter().zip(values).filter_map(|(name, value)| Some((name, value?))).collect::<Vec<_>>()
    };
    match throttle.flavour {
        Flavour::V1 => asked(["read_bps", "write_bps", "read_iops", "write_iops"])
            .into_iter()
            .map(|(name, value)| set(&format!("blkio.throttle.{name}_device"), value.to_string(), "0"))
            .collect(),
        Flavour::V2 => {
            let words: Vec<String> = asked(["rbps", "wbps", "riops", "wiops"])
                .into_iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            let none = "rbps=max wbps=max riops=max wiops=max";
            if words.is_empty() { Vec::new() } else { vec![set("io.max", words.join(" "), none)] }
        }
    }
}
