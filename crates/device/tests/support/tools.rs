//! Manual changes to a device.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs a program that must succeed; returns its stdout.
pub fn run(program: &str, args: &[&str]) -> String {
    let path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    let output = Command::new(program).args(args).env("LC_ALL", "C").env("PATH", path).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {args:?}: {stderr}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Makes a file system that needs no later background writes.
pub fn mkfs(kind: &str, device: &Path) {
    let device = device.to_str().unwrap();
    match kind {
        "ext4" => run("mkfs.ext4", &["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", device]),
        "ext3" => run("mkfs.ext3", &["-q", "-F", "-E", "lazy_itable_init=0", device]),
        "xfs" => run("mkfs.xfs", &["-q", "-f", device]),
        "btrfs" => run("mkfs.btrfs", &["-q", "-f", device]),
        other => panic!("{other}"),
    };
}

/// Writes bytes to a device, through its own page cache, and flushes them.
pub fn write_at(device: &Path, offset: u64, bytes: &[u8]) {
    let file = OpenOptions::new().write(true).open(device).unwrap();
    file.write_all_at(bytes, offset).unwrap();
    file.sync_all().unwrap();
}

/// A mount; unmounted on drop.
pub struct Mounted(PathBuf);

impl Mounted {
    pub fn new(args: &[&str], target: &Path) -> Self {
        std::fs::create_dir_all(target).unwrap();
        let mut all = args.to_vec();
        all.push(target.to_str().unwrap());
        run("mount", &all);
        Self(target.to_path_buf())
    }

    /// Makes it read-only: file systems write by themselves, and this must not look like the guard's doing.
    pub fn quiet(self) -> Self {
        run("mount", &["-o", "remount,ro", self.0.to_str().unwrap()]);
        self
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).output();
    }
}

/// A partition made by hand (the kernel may support no partition tables); deleted on drop, because a detached loop device keeps
/// its partitions.
pub struct Partition {
    disk: PathBuf,
    path: PathBuf,
}

impl Partition {
    /// Creates it at 1 MiB, with a size of `mib` MiB.
    pub fn new(disk: &Path, mib: u64) -> Self {
        run("addpart", &[disk.to_str().unwrap(), "1", "2048", &(mib * 2048).to_string()]);
        Self { disk: disk.to_path_buf(), path: PathBuf::from(format!("{}p1", disk.to_string_lossy())) }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Partition {
    fn drop(&mut self) {
        let _ = Command::new("delpart").arg(&self.disk).arg("1").output();
    }
}

/// Maps the first page of a device, closes its descriptor, prints a line, and sleeps. `how`: `shared` (for reading and writing),
/// `protected` (the same, then made read-only), `reader` (shared, with a read-only descriptor), `private` (copy on write).
pub fn map_and_stay(device: &str, how: &str) -> ! {
    use std::os::fd::AsRawFd as _;
    let writes = how != "reader";
    let file = OpenOptions::new().read(true).write(writes).open(device).unwrap();
    let access = if writes { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
    let kind = if how == "private" { libc::MAP_PRIVATE } else { libc::MAP_SHARED };
    // SAFETY: a new mapping at an address that the kernel chooses; nothing else refers to it.
    #[expect(unsafe_code, reason = "mapping a device is what is tested")]
    unsafe {
        let at = libc::mmap(std::ptr::null_mut(), 4096, access, kind, file.as_raw_fd(), 0);
        assert_ne!(at, libc::MAP_FAILED);
        if how == "protected" {
            assert_eq!(libc::mprotect(at, 4096, libc::PROT_READ), 0);
        }
    }
    drop(file);
    println!("ready");
    std::thread::sleep(std::time::Duration::from_secs(600));
    std::process::exit(1)
}
