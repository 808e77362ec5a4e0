//! Which cgroup version can limit block devices here, and the text of its limits.

use crate::act::Act;
use crate::act::cgroup::{EnableController, IO, MakeCgroup, SetThrottle, UNLIMITED};
use crate::machine::Machine;
use crate::{mounts, names};
use record::id::RunId;
use record::volume::Limits;
use std::path::{Path, PathBuf};

/// The cgroup version that limits block I/O.
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
    /// The cgroup version.
    pub flavour: Flavour,
}

/// Finds the mount of the cgroup version that can limit block devices: v2 if it has the io controller, else v1.
#[must_use]
pub fn detect(proc: &Path) -> Option<(Flavour, PathBuf)> {
    let mounted = mounts::read(proc).ok()?;
    let v2 = mounted.iter().find(|entry| {
        let controllers = std::fs::read_to_string(entry.point.join("cgroup.controllers"));
        entry.fs_type == "cgroup2"
            && controllers.is_ok_and(|text| text.split_whitespace().any(|word| word == "io"))
    });
    let is_blkio = |options: &str| options.split(',').any(|option| option == "blkio");
    let v1 = || mounted.iter().find(|entry| entry.fs_type == "cgroup" && is_blkio(&entry.super_options));
    match v2 {
        Some(entry) => Some((Flavour::V2, entry.point.clone())),
        None => v1().map(|entry| (Flavour::V1, entry.point.clone())),
    }
}

/// The acts that create the run's cgroup, and the throttle that results.
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
        acts.push(Act::EnableController(EnableController { file: control, controller: IO.to_owned() }));
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
            if words.is_empty() { Vec::new() } else { vec![set("io.max", words.join(" "), UNLIMITED)] }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Flavour, detect, limit, make};
    use crate::act::{Act, Doing, Undoing, Undone};
    use crate::machine::{Machine, NoHooks};
    use record::id::RunId;
    use record::volume::Limits;
    use std::fs::{create_dir, create_dir_all, read_to_string, remove_file, write};
    use std::path::{Path, PathBuf};
    use std::sync::atomic::AtomicBool;

    /// Creates a fake /proc that lists these mounts, and the directory of the mount points.
    fn tree(mounts: &[(&str, &str, &str)]) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let proc = dir.path().join("proc");
        create_dir_all(proc.join("self")).unwrap();
        let line = |(name, kind, options): &(&str, &str, &str)| {
            create_dir(dir.path().join(name)).unwrap();
            format!("30 20 0:30 / {}/{name} rw - {kind} {kind} {options}\n", dir.path().to_string_lossy())
        };
        let text: String = mounts.iter().map(line).collect();
        write(proc.join("self/mountinfo"), text).unwrap();
        (dir, proc)
    }

    #[test]
    fn v2_is_taken_only_with_its_controller() {
        let (dir, proc) =
            tree(&[("unified", "cgroup2", "rw"), ("cpu", "cgroup", "rw,cpu"), ("b", "cgroup", "rw,blkio")]);
        write(dir.path().join("unified/cgroup.controllers"), "cpu memory\n").unwrap();
        assert_eq!(detect(&proc), Some((Flavour::V1, dir.path().join("b"))));
        write(dir.path().join("unified/cgroup.controllers"), "cpu io memory\n").unwrap();
        assert_eq!(detect(&proc), Some((Flavour::V2, dir.path().join("unified"))));
        assert_eq!(detect(&tree(&[("cpu", "cgroup", "rw,cpu")]).1), None);
    }

    #[test]
    fn v1_has_a_file_per_limit() {
        let limits = Limits { read_iops: Some(80), write_bps: Some(1 << 20), ..Limits::default() };
        let throttle =
            super::Throttle { cgroup_procs: PathBuf::from("/c/g/cgroup.procs"), flavour: Flavour::V1 };
        let shown: Vec<String> = limit(&throttle, (7, 3), &limits).iter().map(ToString::to_string).collect();
        let expected = [
            "write \"7:3 1048576\" to /c/g/blkio.throttle.write_bps_device",
            "write \"7:3 80\" to /c/g/blkio.throttle.read_iops_device",
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn v2_enables_its_controller_limits_and_takes_both_back() {
        let (dir, proc) = tree(&[("unified", "cgroup2", "rw")]);
        let root = dir.path().join("unified");
        write(root.join("cgroup.subtree_control"), "cpu\n").unwrap();
        let roots = device::Roots { proc, ..device::Roots::default() };
        let machine = Machine::local(&host::LocalRunner, &roots, dir.path(), &NoHooks);
        let (mut acts, throttle) = make(&machine, &RunId("r".to_owned()), Flavour::V2, &root);
        let limits = Limits { read_iops: Some(80), write_iops: Some(70), ..Limits::default() };
        acts.extend(limit(&throttle, (7, 3), &limits));
        let (never, mut silent, mut argv) = (AtomicBool::new(false), |_| {}, Vec::new());
        let mut doing = Doing { machine: &machine, progress: &mut silent, cancel: &never, argv: &mut argv };
        acts.iter().for_each(|act| act.perform(&mut doing).unwrap());
        let group = root.join("diskproof-r");
        assert_eq!(read_to_string(root.join("cgroup.subtree_control")).unwrap(), "+io");
        assert_eq!(read_to_string(group.join("io.max")).unwrap(), "7:3 riops=80 wiops=70");

        let run = RunId("r".to_owned());
        let undoing = Undoing { machine: &machine, run: &run, given_up: None, rebooted: false };
        let undo = |act: &Act| act.undo(&undoing).unwrap();
        assert_eq!(undo(&acts[2]), Undone::Done);
        assert_eq!(
            read_to_string(group.join("io.max")).unwrap(),
            "7:3 rbps=max wbps=max riops=max wiops=max"
        );
        assert!(matches!(undo(&acts[0]), Undone::Left(_)), "another run's cgroup would lose its limits");
        remove_file(group.join("io.max")).unwrap(); // cgroupfs removes its own files with the directory
        assert_eq!((undo(&acts[1]), undo(&acts[1])), (Undone::Done, Undone::Nothing));
        assert_eq!(undo(&acts[0]), Undone::Done);
        assert_eq!(read_to_string(root.join("cgroup.subtree_control")).unwrap(), "-io");
    }

    #[test]
    fn a_controller_that_was_there_stays() {
        let (dir, proc) = tree(&[("unified", "cgroup2", "rw")]);
        write(dir.path().join("unified/cgroup.subtree_control"), "cpu io\n").unwrap();
        let roots = device::Roots { proc, ..device::Roots::default() };
        let machine = Machine::local(&host::LocalRunner, &roots, Path::new("/"), &NoHooks);
        let (acts, _) = make(&machine, &RunId("r".to_owned()), Flavour::V2, &dir.path().join("unified"));
        assert!(matches!(acts.as_slice(), [Act::MakeCgroup(_)]), "{acts:?}");
    }
}
