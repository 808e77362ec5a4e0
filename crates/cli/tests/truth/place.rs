//! File systems that the harness makes for diskproof to measure in, on stacks that diskproof doesn't build itself.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A directory to measure in: the name of its volume and stack, and what is under it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) mib: u64,
}

/// What is under a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// tmpfs itself.
    Tmpfs,
    /// ext4 on compressed memory.
    Zram,
    /// ext4 on a loop device with direct I/O, over a file on tmpfs.
    LoopOnTmpfs,
    /// ext4 on a loop device with direct I/O, over a file on another ext4 on a loop device with direct I/O.
    LoopOnExt4,
    /// ext4 on a loop device without direct I/O.
    BufferedLoop,
    /// ext4 on a loop device with direct I/O.
    DirectLoop,
    /// An overlay with its upper layer on tmpfs.
    OverlayOnTmpfs,
    /// An overlay with its upper layer on ext4 on a loop device with direct I/O.
    OverlayOnLoop,
    /// A bind mount of a directory on tmpfs.
    BoundTmpfs,
    /// A directory served by bindfs (FUSE).
    Bindfs,
    /// A directory served by sftp over a link of this many Mbit/s.
    Sshfs { mbps: u32 },
}

/// mkfs options of ext4, without initialisation in the background.
const EXT4: [&str; 4] = ["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"];

impl Kind {
    /// The programs that it needs.
    fn programs(self) -> &'static [&'static str] {
        match self {
            Self::Tmpfs => &["mount"],
            Self::Zram => &["mount", "mkfs.ext4"],
            Self::LoopOnTmpfs | Self::BufferedLoop | Self::DirectLoop => &["mount", "mkfs.ext4", "losetup"],
            Self::OverlayOnTmpfs | Self::BoundTmpfs => &["mount"],
            Self::OverlayOnLoop | Self::LoopOnExt4 => &["mount", "mkfs.ext4", "losetup"],
            Self::Bindfs => &["bindfs"],
            Self::Sshfs { .. } => &["ip", "tc", "ethtool", "socat", "sshfs"],
        }
    }
}

impl Place {
    pub(crate) fn mount(&self, lab: &Path) -> PathBuf {
        lab.join(self.name)
    }
}

/// Why a place can't be made.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Lack {
    /// A program that isn't installed.
    Program(&'static str),
    /// Another error of the machine.
    Other(String),
}

impl From<String> for Lack {
    fn from(why: String) -> Self {
        Self::Other(why)
    }
}

/// A made directory; undone in reverse order when dropped.
#[derive(Debug)]
pub(crate) struct Made {
    undo: Vec<Undo>,
}

#[derive(Debug)]
enum Undo {
    Unmount(PathBuf),
    Detach(String),
    Remove(PathBuf),
    RemoveZram(String),
    End(Child),
    RemoveNamespace,
}

impl Made {
    /// Makes the directory. `Err` says what this machine lacks.
    pub(crate) fn new(place: &Place, lab: &Path) -> Result<Self, Lack> {
        if let Some(program) = place.kind.programs().iter().find(|program| !is_installed(program)) {
            return Err(Lack::Program(program));
        }
        let mut made = Self { undo: Vec::new() };
        let mount = place.mount(lab);
        let beside = |suffix: &str| lab.join(format!("{}{suffix}", place.name));
        let device = match place.kind {
            Kind::Tmpfs => {
                made.mount(&["-t", "tmpfs", "tmpfs"], &mount)?;
                return Ok(made);
            }
            Kind::Zram => made.zram(place.mib)?,
            Kind::LoopOnTmpfs => {
                let under = beside("-under");
                made.mount(&["-t", "tmpfs", "tmpfs"], &under)?;
                made.attach(&under.join("backing"), place.mib, "on")?
            }
            Kind::LoopOnExt4 => {
                let (under, lower) = (beside("-under"), made.attach(&beside(".img"), 2 * place.mib, "on")?);
                run("mkfs.ext4", &["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", &lower])?;
                made.mount(&[&lower], &under)?;
                made.attach(&under.join("backing"), place.mib, "on")?
            }
            Kind::BufferedLoop => made.attach(&beside(".img"), place.mib, "off")?,
            Kind::DirectLoop => made.attach(&beside(".img"), place.mib, "on")?,
            Kind::OverlayOnTmpfs => {
                let under = beside("-under");
                made.mount(&["-t", "tmpfs", "tmpfs"], &under)?;
                return made.overlay(&under, &mount).map(|()| made).map_err(Lack::from);
            }
            Kind::OverlayOnLoop => {
                let (device, under) = (made.attach(&beside(".img"), place.mib, "on")?, beside("-under"));
                run("mkfs.ext4", &[&EXT4[..], &[&device]].concat())?;
                made.mount(&[&device], &under)?;
                return made.overlay(&under, &mount).map(|()| made).map_err(Lack::from);
            }
            Kind::BoundTmpfs => {
                let under = beside("-under");
                made.mount(&["-t", "tmpfs", "tmpfs"], &under)?;
                let part = under.join("part").to_string_lossy().into_owned();
                std::fs::create_dir(&part).map_err(|e| format!("{part}: {e}"))?;
                return made.mount(&["--bind", &part], &mount).map(|()| made).map_err(Lack::from);
            }
            Kind::Bindfs => {
                return made.bindfs(&beside("-served"), &mount).map(|()| made).map_err(Lack::from);
            }
            Kind::Sshfs { mbps } => {
                return made.sshfs(mbps, &beside("-served"), &mount).map(|()| made).map_err(Lack::from);
            }
        };
        run("mkfs.ext4", &[&EXT4[..], &[&device]].concat())?;
        made.mount(&[&device], &mount)?;
        Ok(made)
    }

    fn mount(&mut self, what: &[&str], target: &Path) -> Result<(), String> {
        std::fs::create_dir_all(target).map_err(|e| format!("{}: {e}", target.to_string_lossy()))?;
        let text = target.to_string_lossy().into_owned();
        run("mount", &[what, &[text.as_str()]].concat())?;
        self.undo.push(Undo::Unmount(target.to_owned()));
        Ok(())
    }

    /// Mounts an overlay with its upper layer in a directory.
    fn overlay(&mut self, under: &Path, mount: &Path) -> Result<(), String> {
        let made = ["low", "up", "work"].map(|name| under.join(name));
        for directory in &made {
            std::fs::create_dir_all(directory)
                .map_err(|e| format!("{}: {e}", directory.to_string_lossy()))?;
        }
        let [low, up, work] = made.map(|directory| directory.to_string_lossy().into_owned());
        let options = format!("lowerdir={low},upperdir={up},workdir={work}");
        self.mount(&["-t", "overlay", "overlay", "-o", &options], mount)
    }

    fn bindfs(&mut self, served: &Path, mount: &Path) -> Result<(), String> {
        for directory in [served, mount] {
            std::fs::create_dir_all(directory)
                .map_err(|e| format!("{}: {e}", directory.to_string_lossy()))?;
        }
        run("bindfs", &[&served.to_string_lossy(), &mount.to_string_lossy()])?;
        self.undo.push(Undo::Unmount(mount.to_owned()));
        Ok(())
    }

    /// Attaches a loop device. The backing file is sparse, since a trial writes the data before it reads it.
    fn attach(&mut self, backing: &Path, mib: u64, direct: &str) -> Result<String, String> {
        let text = backing.to_string_lossy().into_owned();
        self.undo.push(Undo::Remove(backing.to_owned()));
        let made = std::fs::File::create(backing).and_then(|file| file.set_len(mib << 20));
        made.map_err(|e| format!("{text}: {e}"))?;
        let device = run("losetup", &["--find", "--show", &format!("--direct-io={direct}"), &text])?;
        self.undo.push(Undo::Detach(device.trim().to_owned()));
        Ok(device.trim().to_owned())
    }

    fn zram(&mut self, mib: u64) -> Result<String, String> {
        let control = "/sys/class/zram-control/hot_add";
        let number = std::fs::read_to_string(control).map_err(|e| format!("{control}: {e}"))?;
        let number = number.trim();
        self.undo.push(Undo::RemoveZram(number.to_owned()));
        let size = format!("/sys/block/zram{number}/disksize");
        std::fs::write(&size, (mib << 20).to_string()).map_err(|e| format!("{size}: {e}"))?;
        Ok(format!("/dev/zram{number}"))
    }
}

/// The server's network namespace, and both ends of the link to it.
const NAMESPACE: &str = "diskproof-test-net";
const NEAR: &str = "dptest-near";
const FAR: &str = "dptest-far";
const SERVER: &str = "10.231.77.2";
const PORT: &str = "2222";

impl Made {
    /// Makes two TAP devices with a process between them; a token bucket on each enforces the speed that the near device reports.
    fn link(&mut self, mbps: u32) -> Result<(), String> {
        // a leftover of a killed harness
        let _ = run("ip", &["link", "del", NEAR]);
        let _ = run("ip", &["netns", "del", NAMESPACE]);
        run("ip", &["netns", "add", NAMESPACE])?;
        self.undo.push(Undo::RemoveNamespace);
        let tap = |name: &str| format!("TUN,tun-type=tap,tun-name={name},iff-no-pi");
        self.spawn("socat", &[&tap(NEAR), &tap(FAR)])?;
        for name in [NEAR, FAR] {
            patiently(|| run("ip", &["link", "show", name]))?;
        }
        run("ip", &["link", "set", FAR, "netns", NAMESPACE])?;
        run("ethtool", &["-s", NEAR, "speed", &mbps.to_string(), "duplex", "full"])?;
        let rate = format!("{mbps}mbit");
        for (name, address, place) in
            [(NEAR, "10.231.77.1/24", &[][..]), (FAR, "10.231.77.2/24", &["-n", NAMESPACE])]
        {
            let ip = |args: &[&str]| run("ip", &[place, args].concat());
            ip(&["addr", "add", address, "dev", name])?;
            ip(&["link", "set", name, "up"])?;
            let bucket = ["root", "tbf", "rate", &rate, "burst", "16kb", "latency", "100ms"];
            run("tc", &[place, &["qdisc", "add", "dev", name], &bucket].concat())?;
        }
        Ok(())
    }

    fn sshfs(&mut self, mbps: u32, served: &Path, mount: &Path) -> Result<(), String> {
        if !Path::new("/dev/net/tun").exists() {
            return Err("/dev/net/tun is not there".to_owned());
        }
        self.link(mbps)?;
        for directory in [served, mount] {
            std::fs::create_dir_all(directory)
                .map_err(|e| format!("{}: {e}", directory.to_string_lossy()))?;
        }
        let listen = format!("TCP-LISTEN:{PORT},reuseaddr");
        let serve = ["netns", "exec", NAMESPACE, "socat", &listen, "EXEC:/usr/lib/openssh/sftp-server"];
        self.spawn("ip", &serve)?;
        let (port, what) = (format!("directport={PORT}"), format!("{SERVER}:{}", served.to_string_lossy()));
        patiently(|| run("sshfs", &["-o", &port, &what, &mount.to_string_lossy()]))?;
        self.undo.push(Undo::Unmount(mount.to_owned()));
        Ok(())
    }

    fn spawn(&mut self, program: &str, args: &[&str]) -> Result<(), String> {
        let child = Command::new(program).args(args).stdin(Stdio::null()).stderr(Stdio::null()).spawn();
        self.undo.push(Undo::End(child.map_err(|error| format!("{program}: {error}"))?));
        Ok(())
    }
}

/// Repeats an attempt for a moment, for things that take time to appear or to be released.
fn patiently<T>(mut attempt: impl FnMut() -> Result<T, String>) -> Result<(), String> {
    let end = Instant::now() + Duration::from_secs(5);
    loop {
        match attempt() {
            Err(_) if Instant::now() < end => std::thread::sleep(Duration::from_millis(50)),
            result => return result.map(drop),
        }
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        while let Some(mut undo) = self.undo.pop() {
            // the kernel releases unmounted or detached devices a moment later
            if let Err(error) = patiently(|| undo.perform()) {
                eprintln!("left behind: {error}");
            }
        }
    }
}

impl Undo {
    fn perform(&mut self) -> Result<(), String> {
        match self {
            Self::Unmount(target) => run("umount", &[&target.to_string_lossy()]).map(drop),
            Self::Detach(device) => run("losetup", &["-d", device]).map(drop),
            Self::End(child) => {
                child.kill().and_then(|()| child.wait()).map(drop).map_err(|e| format!("{child:?}: {e}"))
            }
            Self::RemoveNamespace => run("ip", &["netns", "del", NAMESPACE]).map(drop),
            Self::Remove(file) => {
                std::fs::remove_file(&*file).map_err(|e| format!("{}: {e}", file.to_string_lossy()))
            }
            Self::RemoveZram(number) => std::fs::write(format!("/sys/block/zram{number}/reset"), "1")
                .and_then(|()| std::fs::write("/sys/class/zram-control/hot_remove", &*number))
                .map_err(|e| format!("zram{number}: {e}")),
        }
    }
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

/// Runs a program and returns its stdout.
pub(super) fn run(program: &str, args: &[&str]) -> Result<String, String> {
    let output = Command::new(program).args(args).env("LC_ALL", "C").output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() {
        Ok(text(&output.stdout))
    } else {
        Err(format!("{program} {args:?}: {}", text(&output.stderr)))
    }
}
