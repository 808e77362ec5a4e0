//! The device-mapper devices of a volume group, in whatever state it was left.

use super::device_ref::{DeviceRef, devno_of};
use super::doing::{Undoing, Undone};
use super::retry::until_closed;
use crate::error::ActError;
use crate::holders;
use crate::layer::lvm::escaped;
use crate::machine::Machine;
use crate::names;
use host::{Invocation, Tool};
use record::printable::Shown as _;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

/// The beginning of the UUID of every device that LVM creates.
const LVMS: &str = "LVM-";

/// A device of a volume group.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mapped {
    /// The kernel's name, e.g. `dm-3`.
    kernel: String,
    /// The device-mapper name, e.g. `diskproof--run--3-data`.
    name: String,
}

/// Removes all devices of our group, the topmost first. It doesn't use LVM: a killed command may have left devices that no
/// metadata lists. Dirty cache blocks are not written back, since the origin goes too.
pub(super) fn remove_group(
    undoing: &Undoing<'_>,
    group: &str,
    below: &[&DeviceRef],
) -> Result<Undone, ActError> {
    let machine = undoing.machine;
    if !names::is_of_run(machine, undoing.run, group) {
        return Err(ActError::NotOurs {
            what: format!("volume group {group}"),
            saw: "it doesn't have one of diskproof's names".to_owned(),
        });
    }
    let mut undone = Undone::Nothing;
    if let Some(top) = of_group(&machine.roots.sys, group).first() {
        let ours = below.iter().filter_map(|device| devno_of(&device.ours(undoing)?)).collect();
        let all = of_group(&machine.roots.sys, group);
        if let Some(on) = all.iter().find_map(|device| elsewhere(&machine.roots.sys, &device.kernel, &ours)) {
            return Err(ActError::NotOurs {
                what: format!("volume group {group}"),
                saw: format!("it also rests on {on}, which diskproof didn't make"),
            });
        }
        let node = machine.roots.dev.join(&top.kernel);
        until_closed(&node, || remove_all(machine, group))?;
        undone = Undone::Done;
    }
    tidy(machine, group)?;
    Ok(undone)
}

fn remove_all(machine: &Machine<'_>, group: &str) -> Result<(), ActError> {
    let devices = of_group(&machine.roots.sys, group);
    let Some(top) = devices.first() else { return Ok(()) };
    let remove = Invocation::new(Tool::Dmsetup)
        .args(["remove", "--noudevsync", "--noudevrules"])
        .args(devices.iter().map(|device| &device.name));
    let Err(failure) = machine.runner.run(&remove) else { return Ok(()) };
    let node = machine.roots.dev.join("mapper").join(&top.name);
    let mut holders = holders::of(&machine.roots.proc, &node);
    holders.extend(holders::of(&machine.roots.proc, &machine.roots.dev.join(&top.kernel)));
    if holders.is_empty() {
        return Err(ActError::tool(format!("remove the devices of volume group {group}"))(failure));
    }
    Err(ActError::Busy { what: node.shown().to_string(), holders })
}

/// The devices of a group, the topmost first.
fn of_group(sys: &Path, group: &str) -> Vec<Mapped> {
    let Ok(entries) = std::fs::read_dir(sys.join("block")) else { return Vec::new() };
    let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default().trim_end().to_owned();
    let mut found: Vec<Mapped> = entries
        .flatten()
        .filter_map(|entry| {
            let kernel = entry.file_name().into_string().ok().filter(|name| name.starts_with("dm-"))?;
            let name = read(&entry.path().join("dm/name"));
            let ours = is_of_group(&name, group) && read(&entry.path().join("dm/uuid")).starts_with(LVMS);
            ours.then_some(Mapped { kernel, name })
        })
        .collect();
    // Devices at the same height are sorted by name, so that the order is stable.
    found.sort_by_key(|device| (height(sys, &device.kernel), device.name.clone()));
    found.reverse();
    found
}

/// A device below a device-mapper device that isn't ours. A device-mapper device without any device below, which a killed command
/// left half made, holds nobody's data.
fn elsewhere(sys: &Path, kernel: &str, ours: &BTreeSet<(u32, u32)>) -> Option<String> {
    let below = std::fs::read_dir(sys.join("block").join(kernel).join("slaves")).into_iter().flatten();
    let mut names = below.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    names.find_map(|name| {
        // A partition's directory is in that of its disk.
        let dir = sys.join("class/block").join(&name);
        let number = std::fs::read_to_string(dir.join("dev")).unwrap_or_default();
        let number =
            number.trim().split_once(':').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
        if number.is_some_and(|number| ours.contains(&number)) {
            return None;
        }
        let stacked = name.starts_with("dm-") && has_slaves(sys, &name);
        if stacked { elsewhere(sys, &name, ours) } else { Some(name) }
    })
}

fn has_slaves(sys: &Path, kernel: &str) -> bool {
    let dir = std::fs::read_dir(sys.join("block").join(kernel).join("slaves"));
    dir.is_ok_and(|mut entries| entries.next().is_some())
}

/// The largest number of levels below a device.
fn height(sys: &Path, kernel: &str) -> usize {
    let Ok(below) = std::fs::read_dir(sys.join("block").join(kernel).join("slaves")) else { return 0 };
    let heights = below.flatten().map(|entry| 1 + height(sys, &entry.file_name().to_string_lossy()));
    heights.max().unwrap_or(0)
}

/// Whether a device-mapper name belongs to the group: a single dash separates group and volume, and a dash in a name is doubled.
fn is_of_group(name: &str, group: &str) -> bool {
    let volume = name.strip_prefix(&escaped(group)).and_then(|rest| rest.strip_prefix('-'));
    volume.is_some_and(|volume| !volume.is_empty() && !volume.starts_with('-'))
}

/// Removes what LVM creates itself where udev doesn't: nodes in `/dev/mapper` and links in `/dev/<group>`.
fn tidy(machine: &Machine<'_>, group: &str) -> Result<(), ActError> {
    let links = machine.roots.dev.join(group);
    for link in inside(&links).filter(|path| path.is_symlink()) {
        gone(std::fs::remove_file(&link), &link)?;
    }
    gone(std::fs::remove_dir(&links), &links)?;
    let of_group = |path: &PathBuf| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| is_of_group(name, group))
    };
    for node in inside(&machine.roots.dev.join("mapper")).filter(of_group) {
        gone(std::fs::remove_file(&node), &node)?;
    }
    Ok(())
}

fn inside(dir: &Path) -> impl Iterator<Item = PathBuf> {
    std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path())
}

fn gone(result: io::Result<()>, path: &Path) -> Result<(), ActError> {
    match result {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(ActError::io("remove", path)(error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{elsewhere, of_group, remove_all, remove_group};
    use crate::act::Undoing;
    use crate::error::ActError;
    use crate::machine::{Machine, NoHooks};
    use host::{CommandFailure, Invocation, Output, Runner};
    use record::id::RunId;
    use std::collections::BTreeSet;
    use std::path::Path;

    fn device(sys: &Path, kernel: &str, name: &str, uuid: &str, below: &[&str]) {
        let dir = sys.join("block").join(kernel);
        std::fs::create_dir_all(dir.join("dm")).unwrap();
        std::fs::write(dir.join("dm/name"), format!("{name}\n")).unwrap();
        std::fs::write(dir.join("dm/uuid"), format!("{uuid}\n")).unwrap();
        below.iter().for_each(|name| std::fs::create_dir_all(dir.join("slaves").join(name)).unwrap());
    }

    #[test]
    fn only_the_groups_own_devices_are_found_top_first() {
        let dir = tempfile::tempdir().unwrap();
        let sys = dir.path();
        device(sys, "dm-0", "diskproof--r--1-data_rimage_0", "LVM-a", &["loop1000"]);
        device(sys, "dm-1", "diskproof--r--1-data", "LVM-b", &["dm-0", "dm-5"]);
        device(sys, "dm-2", "diskproof--r--12-data", "LVM-c", &[]);
        device(sys, "dm-3", "diskproof--r--1--x-data", "LVM-d", &[]);
        device(sys, "dm-4", "diskproof--r--1-crypt", "CRYPT-e", &[]);
        device(sys, "dm-5", "diskproof--r--1-data_corig", "LVM-f", &["dm-0"]);
        device(sys, "dm-6", "vg-root", "LVM-g", &[]);
        let kernel: Vec<String> = of_group(sys, "diskproof-r-1").into_iter().map(|d| d.kernel).collect();
        assert_eq!(kernel, ["dm-1", "dm-5", "dm-0"]);
    }

    fn numbered(sys: &Path, name: &str, number: &str) {
        let dir = sys.join("class/block").join(name);
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("dev"), format!("{number}\n")).unwrap();
    }

    /// Fails the test if any program is run.
    struct Nobody;

    impl Runner for Nobody {
        fn run(&self, cmd: &Invocation) -> Result<Output, CommandFailure> {
            panic!("{cmd:?}")
        }
    }

    #[test]
    fn what_rests_on_others_devices_is_seen_however_deep() {
        let dir = tempfile::tempdir().unwrap();
        let sys = dir.path();
        for (name, number) in [("loop1000", "7:1000"), ("sda2", "8:2"), ("dm-0", "253:0"), ("dm-1", "253:1")]
        {
            numbered(sys, name, number);
        }
        device(sys, "dm-0", "diskproof--r--1-data_rimage_0", "LVM-a", &["loop1000"]);
        device(sys, "dm-1", "diskproof--r--1-data_rimage_1", "LVM-b", &["sda2"]);
        device(sys, "dm-2", "diskproof--r--1-data", "LVM-c", &["dm-0", "dm-1"]);
        device(sys, "dm-3", "diskproof--r--1-half_made", "LVM-d", &[]);
        let ours = BTreeSet::from([(7, 1000)]);
        assert_eq!(elsewhere(sys, "dm-0", &ours), None);
        assert_eq!(elsewhere(sys, "dm-2", &ours).as_deref(), Some("sda2"));
        assert_eq!(elsewhere(sys, "dm-3", &ours), None, "it holds nothing");
    }

    /// Removes what it is told to from a tree, and keeps its arguments.
    struct Dmsetup<'a>(&'a Path, std::sync::Mutex<Vec<String>>);

    impl Runner for Dmsetup<'_> {
        fn run(&self, cmd: &Invocation) -> Result<Output, CommandFailure> {
            let argv = cmd.argv();
            self.1.lock().unwrap().push(argv.join(" "));
            for device in of_group(self.0, "diskproof-r-1") {
                assert!(argv.contains(&device.name), "{argv:?}");
                std::fs::remove_dir_all(self.0.join("block").join(device.kernel)).unwrap();
            }
            Ok(Output { stdout: String::new(), stderr: String::new(), argv, status: 0 })
        }
    }

    #[test]
    fn a_thin_volume_goes_before_its_pool_and_the_pool_before_its_parts() {
        let dir = tempfile::tempdir().unwrap();
        let roots = device::Roots { sys: dir.path().to_owned(), ..device::Roots::default() };
        let all = [
            ("dm-0", "pool_tmeta", vec!["loop1000"]),
            ("dm-1", "pool_tdata", vec!["loop1000"]),
            ("dm-2", "pool-tpool", vec!["dm-0", "dm-1"]),
            ("dm-3", "pool", vec!["dm-2"]),
            ("dm-4", "data", vec!["dm-2"]),
        ];
        // all of it, and what a command that was killed left
        for (count, names) in [
            (5, "pool data pool-tpool pool_tmeta pool_tdata"),
            (3, "pool-tpool pool_tmeta pool_tdata"),
            (1, "pool_tmeta"),
        ] {
            for (kernel, name, below) in &all[..count] {
                device(dir.path(), kernel, &format!("diskproof--r--1-{name}"), "LVM-a", below);
            }
            let dmsetup = Dmsetup(dir.path(), std::sync::Mutex::default());
            let machine = Machine::local(&dmsetup, &roots, dir.path(), &NoHooks);
            (0..2).for_each(|_| remove_all(&machine, "diskproof-r-1").unwrap());
            let names: Vec<String> = names.split(' ').map(|name| format!("diskproof--r--1-{name}")).collect();
            let expected = format!("dmsetup remove --noudevsync --noudevrules {}", names.join(" "));
            assert_eq!(*dmsetup.1.lock().unwrap(), [expected], "once, and then there is nothing");
        }
    }

    #[test]
    fn a_group_of_another_run_or_on_others_devices_stays() {
        let dir = tempfile::tempdir().unwrap();
        let roots = device::Roots {
            sys: dir.path().join("sys"),
            dev: dir.path().join("dev"),
            ..device::Roots::default()
        };
        numbered(&roots.sys, "sda2", "8:2");
        device(&roots.sys, "dm-1", "diskproof--r--1-data", "LVM-b", &["sda2"]);
        let machine = Machine::local(&Nobody, &roots, dir.path(), &NoHooks);
        for (run, group) in [("r", "diskproof-r-1"), ("other", "diskproof-r-1"), ("r", "vg")] {
            let run = RunId(run.to_owned());
            let undoing = Undoing { machine: &machine, run: &run, given_up: None, rebooted: false };
            let refused = remove_group(&undoing, group, &[]).unwrap_err();
            assert!(matches!(refused, ActError::NotOurs { .. }), "{refused}");
        }
    }
}
