//! The machine's own /sys and /dev with added serial numbers, because loop devices have none.
//!
//! Everything is a link to the original, except the directories of the named devices, which contain links again. The guard needs
//! no switch for this: it gets other roots, as in every test.

use diskproof_device::Roots;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

pub struct Mirror {
    dir: PathBuf,
}

impl Mirror {
    pub fn new(dir: PathBuf) -> Self {
        fs::create_dir_all(dir.join("dev/disk/by-id")).unwrap();
        Self { dir }
    }

    /// Mirrors the present state; `serials` are device name and serial number, `ids` link name and device name.
    pub fn refresh(&self, serials: &[(String, String)], ids: &[(String, String)]) -> Roots {
        let roots = Roots { sys: self.dir.join("sys"), dev: self.dir.join("dev"), ..Roots::default() };
        let _ = fs::remove_dir_all(&roots.sys);
        let _ = fs::remove_dir_all(&roots.dev);
        for dir in ["class/block", "dev/block", "named"] {
            fs::create_dir_all(roots.sys.join(dir)).unwrap();
        }
        fs::create_dir_all(roots.dev.join("disk/by-id")).unwrap();
        for (link, target) in [("block", "/sys/block"), ("fs", "/sys/fs"), ("devices", "/sys/devices")] {
            symlink(target, roots.sys.join(link)).unwrap();
        }
        for entry in fs::read_dir("/sys/class/block").unwrap().flatten() {
            let name = entry.file_name().into_string().unwrap();
            let Ok(devno) = fs::read_to_string(entry.path().join("dev")) else { continue };
            let serial = serials.iter().find(|(n, _)| *n == name).map(|(_, s)| s.as_str());
            let place = match serial {
                Some(serial) => self.named(&roots, &name, &entry.path(), serial),
                None => entry.path(),
            };
            symlink(&place, roots.sys.join("class/block").join(&name)).unwrap();
            symlink(&place, roots.sys.join("dev/block").join(devno.trim())).unwrap();
            symlink(Path::new("/dev").join(&name), roots.dev.join(&name)).unwrap();
        }
        for (id, name) in ids {
            symlink(Path::new("/dev").join(name), roots.dev.join("disk/by-id").join(id)).unwrap();
        }
        roots
    }

    fn named(&self, roots: &Roots, name: &str, real: &Path, serial: &str) -> PathBuf {
        let dir = roots.sys.join("named").join(name);
        fs::create_dir_all(&dir).unwrap();
        for entry in fs::read_dir(real).unwrap().flatten() {
            symlink(fs::canonicalize(entry.path()).unwrap(), dir.join(entry.file_name())).unwrap();
        }
        if !serial.is_empty() {
            fs::write(dir.join("serial"), format!("{serial}\n")).unwrap();
        }
        dir
    }
}
