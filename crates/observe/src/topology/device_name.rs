//! The kernel's name of a block device.

use record::roots::Roots;
use rustix::fs::{FileType, major, minor, stat};
use std::fs;
use std::path::Path;

/// Returns the kernel name of a device file by its number. If there is no number, it is the last part of a path below /dev. Any
/// other path may end like a device's name without being one.
pub(crate) fn name_of(roots: &Roots, path: &Path) -> Option<String> {
    if let Ok(found) = stat(path)
        && FileType::from_raw_mode(found.st_mode) == FileType::BlockDevice
        && let Some(name) = name_of_devno(roots, (major(found.st_rdev), minor(found.st_rdev)))
    {
        return Some(name);
    }
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if !real.starts_with("/dev") {
        return None;
    }
    let name = real.file_name()?.to_str()?;
    roots.block(name).exists().then(|| name.to_owned())
}

/// Returns the kernel name of a device number: the last part of the target of /sys/dev/block/M:m.
pub(crate) fn name_of_devno(roots: &Roots, (major, minor): (u32, u32)) -> Option<String> {
    let link = roots.sys.join("dev/block").join(format!("{major}:{minor}"));
    let target = fs::read_link(link).ok()?;
    Some(target.file_name()?.to_str()?.to_owned())
}
