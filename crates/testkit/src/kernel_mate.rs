//! Several machines on one kernel: each is an sshd whose sessions see another machine.

use crate::ownership::HOLDER;
use crate::sshd::Sshd;
use crate::{PREFIX, tool};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A machine that shares this one's kernel, but has its own boot id, machine id, block cgroups, state directory and cache.
///
/// An sshd on loopback, in a mount namespace of its own, is the way in. The program under test needs no switch: what it reads and
/// writes is the machine's own. The kernel's names are shared: loop devices, md arrays, volume groups, the network.
#[derive(Debug)]
pub struct KernelMate {
    name: String,
    dir: PathBuf,
    sshd: Sshd,
    holder: Child,
    cgroup: Option<PathBuf>,
}

impl KernelMate {
    /// Starts it with its files in `dir/name`. Needs root.
    ///
    /// # Panics
    /// If a step fails.
    #[must_use]
    pub fn start(dir: &Path, name: &str) -> Self {
        let dir = dir.join(name);
        for part in ["state", "cache", "cgroup"] {
            let made = fs::create_dir_all(dir.join(part));
            assert!(made.is_ok(), "{}: {made:?}", dir.to_string_lossy());
        }
        let boot = fs::read_to_string("/proc/sys/kernel/random/uuid").unwrap_or_default();
        put(&dir.join("boot_id"), &boot);
        put(&dir.join("machine-id"), &boot.replace('-', ""));
        let holder = hold(&dir.join("boot_id"));
        let inside = enter(holder.id());
        let cgroup = own_cgroup(&dir, &inside);
        let mut mounts: Vec<[&Path; 2]> = Vec::new();
        let (boot_id, machine_id) = (dir.join("boot_id"), dir.join("machine-id"));
        mounts.push([&boot_id, Path::new("/proc/sys/kernel/random/boot_id")]);
        mounts.push([&machine_id, Path::new("/etc/machine-id")]);
        for [from, to] in mounts.into_iter().filter(|[_, to]| to.exists()) {
            run(&inside, &["mount".as_ref(), "--bind".as_ref(), from.as_os_str(), to.as_os_str()]);
        }
        let at = dir.to_string_lossy();
        let own = format!("SetEnv DISKPROOF_STATE={at}/state XDG_CACHE_HOME={at}/cache");
        let mut sshd = Sshd::stopped(&dir, &own).within(inside);
        sshd.go_on();
        Self { name: name.to_owned(), dir, sshd, holder, cgroup }
    }

    /// Starts several at once, named as told.
    ///
    /// # Panics
    /// If a step fails.
    #[must_use]
    pub fn several(dir: &Path, names: &[&str]) -> Vec<Self> {
        names.iter().map(|name| Self::start(dir, name)).collect()
    }

    /// Writes a configuration for ssh to `dir/ssh_config`, in which each machine has its own name. `aliases`: further names of
    /// machines, as `(alias, name)`.
    ///
    /// # Panics
    /// If it can't be written, or an alias names no machine.
    #[must_use]
    pub fn client(dir: &Path, machines: &[Self], aliases: &[(&str, &str)]) -> PathBuf {
        let mut text = String::new();
        let own = machines.iter().map(|machine| (machine.name.as_str(), machine));
        let further = aliases.iter().map(|(alias, name)| {
            let machine = machines.iter().find(|machine| machine.name == *name);
            (*alias, machine.unwrap_or_else(|| panic!("no machine {name}")))
        });
        for (name, machine) in own.chain(further) {
            let at = machine.dir.to_string_lossy();
            let key = fs::read_to_string(machine.dir.join("host.pub")).unwrap_or_default();
            put(&machine.dir.join("known"), &format!("* {key}"));
            let _ = write!(
                text,
                "Host {name}\n HostName 127.0.0.1\n Port {}\n User root\n IdentityFile {at}/user\n IdentitiesOnly yes\n \
                 UserKnownHostsFile {at}/known\n GlobalKnownHostsFile none\n StrictHostKeyChecking yes\n",
                machine.sshd.port()
            );
        }
        let path = dir.join("ssh_config");
        put(&path, &text);
        path
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its state directory.
    #[must_use]
    pub fn state(&self) -> PathBuf {
        self.dir.join("state")
    }

    /// Its sshd.
    #[must_use]
    pub fn sshd(&mut self) -> &mut Sshd {
        &mut self.sshd
    }

    /// As if its power had failed and come back: its processes, mounts, loop devices and cgroups are gone, and it has a new boot id. Its
    /// files stay.
    ///
    /// # Panics
    /// If a step fails.
    pub fn reboot(&mut self) {
        let sessions = self.sshd.sessions();
        self.sshd.halt();
        sessions.iter().for_each(|pid| drop(tool::run("kill", &["-9", pid])));
        let state = self.state();
        self.unmount(&state);
        detach(&state);
        let groups = self.cgroup.iter().flat_map(|group| fs::read_dir(group).into_iter().flatten().flatten());
        for group in groups.map(|entry| entry.path()).filter(|path| path.is_dir()) {
            crate::cleanup::remove_cgroup(&group);
        }
        let boot = fs::read_to_string("/proc/sys/kernel/random/uuid").unwrap_or_default();
        put(&self.dir.join("boot_id"), &boot);
        self.sshd.go_on();
    }

    /// Removes the mounts below a directory from the machine's namespace, the last one first.
    fn unmount(&self, below: &Path) {
        let inside = enter(self.holder.id());
        let mounts = || fs::read_to_string(format!("/proc/{}/mounts", self.holder.id())).unwrap_or_default();
        let listed = mounts();
        let points = listed.lines().rev().filter_map(|line| line.split(' ').nth(1));
        for point in points.filter(|point| Path::new(point) != below && Path::new(point).starts_with(below)) {
            let words = ["umount", "--lazy", point].map(OsString::from);
            let unmounted = tool::run("nsenter", &[&inside[1..], &words].concat());
            // A process that was killed while it unmounted may have done so since.
            let is_there = || mounts().lines().any(|line| line.split(' ').nth(1) == Some(point));
            assert!(unmounted.is_ok() || !is_there(), "{unmounted:?}");
        }
    }

    /// What agent processes left there: journals, backing files, mount points and cgroups.
    #[must_use]
    pub fn left(&self) -> Vec<PathBuf> {
        let folders = ["journal", "volumes", "mnt"].map(|folder| self.state().join(folder));
        let inside = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path());
        let cgroups = self.cgroup.clone().into_iter().flat_map(inside).filter(|path| path.is_dir());
        folders.into_iter().flat_map(inside).chain(cgroups).collect()
    }
}

impl Drop for KernelMate {
    fn drop(&mut self) {
        self.sshd.halt();
        let _ = self.holder.kill();
        let _ = self.holder.wait();
        if let Some(cgroup) = &self.cgroup {
            crate::cleanup::remove_cgroup(cgroup);
        }
    }
}

/// Removes the loop devices whose files are below a directory, as a boot does. A device that another machine of this kernel looks at just
/// now is busy, and gone a moment later. One of the system's own is only detached.
fn detach(below: &Path) {
    let listed = tool::run("losetup", &["--list", "--noheadings", "--output", "NAME,BACK-FILE"]);
    for line in listed.unwrap_or_default().lines() {
        let (device, file) = line.split_once(' ').unwrap_or_default();
        if !Path::new(file.trim()).starts_with(below) {
            continue;
        }
        let number = device.strip_prefix("/dev/loop").and_then(|number| number.parse().ok());
        let own = number.filter(|number| *number >= crate::ownership::FIRST_OWN_LOOP);
        let until = Instant::now() + Duration::from_secs(60);
        let mut detached = tool::run("losetup", &["-d", device]).map(drop);
        while let Some(number) = own {
            let removed = device::loop_control::remove(Path::new("/dev"), number);
            if !removed.as_ref().is_err_and(|error| error.kind() == std::io::ErrorKind::ResourceBusy) {
                break;
            }
            assert!(
                Instant::now() < until,
                "{device} stays in use: {detached:?}, {removed:?}; {}",
                users(device)
            );
            std::thread::sleep(Duration::from_millis(20));
            detached = tool::run("losetup", &["-d", device]).map(drop);
        }
    }
}

/// The processes that have a device open, or see a mount of it, with their names and states.
fn users(device: &str) -> String {
    let mut text = String::new();
    for process in fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path()) {
        let mut files = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
        let is_it = |file: fs::DirEntry| fs::read_link(file.path()).is_ok_and(|to| to == Path::new(device));
        let mounts = fs::read_to_string(process.join("mounts")).unwrap_or_default();
        if files.any(is_it) || mounts.contains(&format!("{device} ")) {
            let status = fs::read_to_string(process.join("status")).unwrap_or_default();
            text += &status.lines().take(6).collect::<Vec<_>>().join(" ");
        }
    }
    text
}

/// Starts the process that holds a new mount namespace.
fn hold(file: &Path) -> Child {
    let started = Command::new("unshare")
        .args(["--mount", "--propagation", "private", HOLDER, "-f"])
        .arg(file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn();
    let holder = started.unwrap_or_else(|error| panic!("unshare: {error}"));
    let pid = holder.id().to_string();
    let mounts = |of: &str| fs::read_link(format!("/proc/{of}/ns/mnt")).ok();
    let comm = || fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let until = Instant::now() + Duration::from_secs(60);
    while mounts(&pid) == mounts("self") || comm().trim_end() != HOLDER {
        assert!(Instant::now() < until, "no mount namespace");
        std::thread::sleep(Duration::from_millis(10));
    }
    holder
}

fn enter(holder: u32) -> Vec<OsString> {
    ["nsenter", "--mount", "--target", &holder.to_string()].map(OsString::from).to_vec()
}

/// Gives the machine a part of the block cgroups as its whole; `None` where this machine has none.
fn own_cgroup(dir: &Path, inside: &[OsString]) -> Option<PathBuf> {
    let v1 = Path::new("/sys/fs/cgroup/blkio");
    let root = if v1.is_dir() { v1 } else { Path::new("/sys/fs/cgroup") };
    if root != v1 {
        // Its own part has the controller only then.
        let _ = fs::write(root.join("cgroup.subtree_control"), "+io");
    }
    let own: String = dir.file_name()?.to_string_lossy().into_owned();
    let group = root.join(format!("{PREFIX}{own}"));
    let _ = crate::cleanup::remove_cgroup(&group);
    fs::create_dir(&group).ok()?;
    let aside = dir.join("cgroup");
    for step in [
        &["mount".as_ref(), "--bind".as_ref(), group.as_os_str(), aside.as_os_str()][..],
        &["umount".as_ref(), "--lazy".as_ref(), root.as_os_str()],
        &["mount".as_ref(), "--move".as_ref(), aside.as_os_str(), root.as_os_str()],
    ] {
        run(inside, step);
    }
    Some(group)
}

fn run(inside: &[OsString], words: &[&std::ffi::OsStr]) {
    let all: Vec<OsString> =
        inside.iter().cloned().chain(words.iter().map(|word| (*word).to_owned())).collect();
    if let Err(error) = tool::run("nsenter", &all[1..]) {
        panic!("{error}");
    }
}

fn put(path: &Path, text: &str) {
    if let Err(error) = fs::write(path, text) {
        panic!("{}: {error}", path.to_string_lossy());
    }
}
