//! Loop devices to load. Needs root.

use device::{Claimed, Roots};
use host::LocalRunner;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use testkit::{Exclusive, LoopDevice};

/// Exclusive use of the machine, or `None` without root.
pub fn machine() -> Option<Exclusive> {
    if !testkit::is_root() {
        println!("skipped: needs root");
        return None;
    }
    Some(testkit::exclusive())
}

pub fn scratch() -> tempfile::TempDir {
    tempfile::Builder::new().prefix("diskproof-engine-test-").tempdir().unwrap()
}

/// A loop device over a file that is written in full.
pub fn written_loop(bytes: u64, name: &str) -> LoopDevice {
    let device = LoopDevice::new(bytes, name);
    let file = File::options().write(true).open(device.backing()).unwrap();
    let block: Vec<u8> = (0..1_u32 << 20).map(|i| i.wrapping_mul(2_654_435_761).to_be_bytes()[1]).collect();
    (0..bytes >> 20).for_each(|i| file.write_all_at(&block, i << 20).unwrap());
    file.sync_all().unwrap();
    device
}

/// The same, with discards enabled.
pub fn discarding_loop(bytes: u64, name: &str) -> LoopDevice {
    let device = written_loop(bytes, name);
    if fs::read_to_string(discard_switch(&device)).unwrap().trim() != "0" {
        return device;
    }
    renew(device);
    written_loop(bytes, name)
}

/// The file that disables discards; they can't be enabled again.
pub fn discard_switch(device: &LoopDevice) -> PathBuf {
    Path::new("/sys/block").join(device.name()).join("queue/discard_max_bytes")
}

/// Detaches a loop device and creates its number anew, with the kernel's own limits.
pub fn renew(device: LoopDevice) {
    let number = device.name().trim_start_matches("loop").parse().unwrap();
    drop(device);
    let dev = Path::new("/dev");
    // A program that probes new devices may still have it open.
    for _ in 0..100 {
        match device::loop_control::remove(dev, number) {
            Err(error) if error.raw_os_error() == Some(16) => {
                std::thread::sleep(std::time::Duration::from_millis(50));
            }
            done => {
                done.unwrap();
                break;
            }
        }
    }
    device::loop_control::add(dev, number).unwrap();
}

pub fn claimed(device: &LoopDevice) -> Claimed {
    device::emulated(&Roots::default(), &LocalRunner, device.path(), device.backing()).unwrap()
}

/// A cgroup that limits one device; removed on drop.
pub struct Throttle(PathBuf);

impl Throttle {
    /// `None` without a cgroup v1 blkio controller.
    pub fn new(device: &LoopDevice, iops: u32) -> Option<Self> {
        let dir = Path::new("/sys/fs/cgroup/blkio/diskproof-test-engine").to_path_buf();
        if !Path::new("/sys/fs/cgroup/blkio/blkio.throttle.read_iops_device").exists() {
            println!("skipped: no cgroup v1 blkio controller");
            return None;
        }
        fs::create_dir_all(&dir).unwrap();
        let devno = fs::read_to_string(format!("/sys/block/{}/dev", device.name())).unwrap();
        for direction in ["read", "write"] {
            let file = dir.join(format!("blkio.throttle.{direction}_iops_device"));
            fs::write(file, format!("{} {iops}", devno.trim())).unwrap();
        }
        Some(Self(dir))
    }

    /// Whether it did no I/O.
    pub fn empty(&self) -> bool {
        let served = fs::read_to_string(self.0.join("blkio.throttle.io_serviced")).unwrap();
        served.trim().lines().last() == Some("Total 0")
    }

    pub fn procs(&self) -> PathBuf {
        self.0.join("cgroup.procs")
    }
}

impl Drop for Throttle {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}
