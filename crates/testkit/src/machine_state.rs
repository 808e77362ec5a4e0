//! The parts of a machine that tests may change, as a value to compare.

use crate::PREFIX;
use crate::ownership::{FIRST_OWN_LOOP, is_our_export, is_our_mapping, is_ours, our_pool_servers, our_pools};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// What to read.
#[derive(Debug, Clone, Default)]
pub struct Watch {
    /// Directories whose files are listed, recursively, with their sizes.
    pub dirs: Vec<PathBuf>,
    /// Files under /sys or /proc; their text is read.
    pub knobs: Vec<PathBuf>,
    /// Whether everything on the machine counts, or only things with [`PREFIX`](crate::PREFIX) (other programs may run at the same time).
    pub everything: bool,
}

/// Loop devices, mounts, cgroups, files, settings, exports, the tests' pools and mounted btrfs file systems.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MachineState {
    lines: BTreeSet<String>,
}

impl MachineState {
    /// Reads the machine's state.
    #[must_use]
    pub fn capture(watch: &Watch) -> Self {
        let mut lines = BTreeSet::new();
        let counts = |path: &Path| watch.everything || is_ours(path);
        let devices = loops();
        for (device, backing) in devices.iter().filter(|(_, file)| counts(file)) {
            lines.insert(format!("loop {device} over {}", backing.to_string_lossy()));
        }
        for mount in mounts() {
            let on_ours = devices.get(&mount.source).is_some_and(|file| counts(file));
            if on_ours || counts(&mount.target) {
                lines.insert(format!(
                    "mount {} of {} as {}",
                    mount.target.to_string_lossy(),
                    mount.source,
                    mount.kind
                ));
            }
        }
        for device in forgotten_loops() {
            lines.insert(format!("loop {device} over nothing"));
        }
        cgroups(Path::new("/sys/fs/cgroup"), 0, watch.everything, &mut lines);
        for dir in &watch.dirs {
            files(dir, &mut lines);
        }
        for knob in &watch.knobs {
            let text = std::fs::read_to_string(knob).unwrap_or_else(|error| format!("({error})"));
            lines.insert(format!("knob {} = {}", knob.to_string_lossy(), text.trim_end()));
        }
        mounted_btrfs(&devices, &counts, &mut lines);
        stacked(&devices, watch.everything, &mut lines);
        lines.extend(our_pools().into_iter().map(|pool| format!("pool {pool}")));
        if !our_pool_servers().is_empty() {
            lines.insert("zfs-fuse for pools of ours".to_owned());
        }
        for export in exports() {
            if watch.everything || is_our_export(&export) {
                lines.insert(format!("export {export}"));
            }
        }
        Self { lines }
    }

    /// Returns the differences, one per line: `- ` was there before, `+ ` is there now. Empty when equal.
    #[must_use]
    pub fn diff(&self, now: &Self) -> String {
        let mut text = String::new();
        for line in self.lines.difference(&now.lines) {
            let _ = writeln!(text, "- {line}");
        }
        for line in now.lines.difference(&self.lines) {
            let _ = writeln!(text, "+ {line}");
        }
        text
    }

    /// Returns everything that was read, one item per line.
    #[must_use]
    pub fn lines(&self) -> &BTreeSet<String> {
        &self.lines
    }
}

/// One line of mountinfo.
pub(crate) struct Mount {
    pub(crate) source: String,
    pub(crate) target: PathBuf,
    pub(crate) kind: String,
}

/// Returns attached loop devices and their backing files.
pub(crate) fn loops() -> BTreeMap<String, PathBuf> {
    let Ok(entries) = std::fs::read_dir("/sys/block") else { return BTreeMap::new() };
    let mut found = BTreeMap::new();
    for entry in entries.flatten() {
        if let Ok(backing) = std::fs::read_to_string(entry.path().join("loop/backing_file")) {
            let device = format!("/dev/{}", entry.file_name().to_string_lossy());
            found
                .insert(device, PathBuf::from(backing.trim_end_matches('\n').trim_end_matches(" (deleted)")));
        }
    }
    found
}

/// Returns unused loop devices that diskproof added. A running diskproof has such devices only for an instant, so devices that
/// are gone or attached a moment later don't count.
pub(crate) fn forgotten_loops() -> BTreeSet<String> {
    let first = unbound_loops();
    if first.is_empty() {
        return first;
    }
    std::thread::sleep(std::time::Duration::from_millis(200));
    first.intersection(&unbound_loops()).cloned().collect()
}

fn unbound_loops() -> BTreeSet<String> {
    let Ok(entries) = std::fs::read_dir("/sys/block") else { return BTreeSet::new() };
    let names = entries.flatten().filter(|entry| !entry.path().join("loop/backing_file").exists());
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    let is_own = |name: &String| {
        let number = name.strip_prefix("loop").and_then(|number| number.parse::<u32>().ok());
        number.is_some_and(|number| number >= FIRST_OWN_LOOP)
    };
    names.filter(is_own).collect()
}

/// Returns the mounts of this namespace, in the order of mounting.
pub(crate) fn mounts() -> Vec<Mount> {
    let text = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    text.lines()
        .filter_map(|line| {
            let (left, right) = line.split_once(" - ")?;
            let target = left.split(' ').nth(4)?;
            let mut right = right.split(' ');
            let kind = right.next()?.to_owned();
            Some(Mount { kind, source: right.next()?.to_owned(), target: PathBuf::from(unescape(target)) })
        })
        .collect()
}

fn unescape(text: &str) -> String {
    text.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
}

fn cgroups(dir: &Path, depth: u32, everything: bool, lines: &mut BTreeSet<String>) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for entry in entries.flatten().filter(|e| e.file_type().is_ok_and(|t| t.is_dir())) {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with(PREFIX) || (everything && name.starts_with("diskproof")) {
            lines.insert(format!("cgroup {}", entry.path().to_string_lossy()));
        }
        if depth < 3 {
            cgroups(&entry.path(), depth + 1, everything, lines);
        }
    }
}

fn files(dir: &Path, lines: &mut BTreeSet<String>) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        let Ok(about) = entry.metadata() else { continue };
        if about.is_dir() {
            lines.insert(format!("dir {}", entry.path().to_string_lossy()));
            files(&entry.path(), lines);
        } else {
            lines.insert(format!("file {} of {} bytes", entry.path().to_string_lossy(), about.len()));
        }
    }
}

/// Lists the file systems that the btrfs driver has open. Those that a scan merely registered show nowhere; a test that mounts
/// another one with the same UUID checks that they are forgotten.
fn mounted_btrfs(
    devices: &BTreeMap<String, PathBuf>,
    counts: &dyn Fn(&Path) -> bool,
    lines: &mut BTreeSet<String>,
) {
    let Ok(entries) = std::fs::read_dir("/sys/fs/btrfs") else { return };
    for entry in entries.flatten() {
        let Ok(members) = std::fs::read_dir(entry.path().join("devices")) else { continue };
        for member in members.flatten() {
            let device = format!("/dev/{}", member.file_name().to_string_lossy());
            if devices.get(&device).is_some_and(|file| counts(file)) {
                lines.insert(format!("btrfs {} on {device}", entry.file_name().to_string_lossy()));
            }
        }
    }
}

/// Lists device-mapper devices and md arrays, LVM's links in /dev, and the signatures on the tests' loop devices.
fn stacked(devices: &BTreeMap<String, PathBuf>, everything: bool, lines: &mut BTreeSet<String>) {
    for name in mapped() {
        if everything || is_our_mapping(&name) {
            lines.insert(format!("device mapper {name}"));
        }
    }
    for (array, members) in arrays() {
        let ours = |member: &String| devices.get(member).is_some_and(|file| is_ours(file));
        // a device without members rests on nothing and disappears by itself
        if members.iter().any(ours) || (everything && !members.is_empty()) {
            lines.insert(format!("array {array} of {}", members.join(" ")));
        }
    }
    for entry in std::fs::read_dir("/dev").into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with(PREFIX) {
            lines.insert(format!("node /dev/{name}"));
        }
    }
    for entry in std::fs::read_dir("/dev/mapper").into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if is_our_mapping(&name) {
            lines.insert(format!("node /dev/mapper/{name}"));
        }
    }
}

/// Returns the NFS server's exports from its table.
pub(crate) fn exports() -> Vec<String> {
    let text = std::fs::read_to_string("/var/lib/nfs/etab").unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Returns the names of device-mapper devices.
pub(crate) fn mapped() -> Vec<String> {
    let entries = std::fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| std::fs::read_to_string(entry.path().join("dm/name")).ok());
    names.map(|name| name.trim_end().to_owned()).collect()
}

/// Returns md arrays and the device nodes of their members.
pub(crate) fn arrays() -> BTreeMap<String, Vec<String>> {
    let entries = std::fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let arrays = entries.filter(|entry| entry.path().join("md").exists());
    let members = |dir: &Path| {
        let slaves = std::fs::read_dir(dir.join("slaves")).into_iter().flatten().flatten();
        slaves.map(|entry| format!("/dev/{}", entry.file_name().to_string_lossy())).collect()
    };
    arrays.map(|entry| (entry.file_name().to_string_lossy().into_owned(), members(&entry.path()))).collect()
}
