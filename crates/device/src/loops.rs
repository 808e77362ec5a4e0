//! Loop devices and what they rest on.

use crate::block::{Block, names_in};
use crate::devno::DevNo;
use crate::node::block_at;
use record::roots::Roots;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// LOOP_GET_STATUS64 of linux/loop.h.
const LOOP_GET_STATUS64: libc::c_ulong = 0x4C05;

/// A loop device in use.
#[derive(Debug, Clone)]
pub(crate) struct Loop {
    pub(crate) block: Block,
    /// The path that sysfs reports, with ` (deleted)` at the end when the file is deleted.
    pub(crate) backing: PathBuf,
    /// The backing file: the device number of its file system, and its inode. `None` when unknown.
    pub(crate) file: Option<(DevNo, u64)>,
    /// The block device behind it, if it is one.
    pub(crate) device: Option<DevNo>,
    /// The offset in the file and the size limit (0: none); `None` when unknown.
    pub(crate) span: Option<(u64, u64)>,
}

/// `struct loop_info64` of linux/loop.h.
#[repr(C)]
struct LoopInfo64 {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    sizelimit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

/// All loop devices in use.
pub(crate) fn all(roots: &Roots) -> io::Result<Vec<Loop>> {
    let mut found = Vec::new();
    for name in names_in(&roots.sys("block"))?.into_iter().filter(|n| n.starts_with("loop")) {
        let Ok(block) = Block::by_name(roots, &name) else { continue };
        if let Some(one) = of(roots, block) {
            found.push(one);
        }
    }
    Ok(found)
}

/// The loop device of a block device, if it is one in use.
pub(crate) fn of(roots: &Roots, block: Block) -> Option<Loop> {
    // Not `Block::text`: names may contain any character.
    let backing = std::fs::read_to_string(block.dir.join("loop/backing_file")).ok()?;
    let backing = PathBuf::from(backing.strip_suffix('\n').unwrap_or(&backing));
    if let Some(info) = status(roots, &block) {
        let device = (info.rdevice != 0).then(|| DevNo::from_raw(info.rdevice));
        let file = Some((DevNo::from_raw(info.device), info.inode));
        return Some(Loop { block, backing, file, device, span: Some((info.offset, info.sizelimit)) });
    }
    // Without root there is only the reported name, as seen from here.
    let device = block_at(roots, &roots.in_dev(&backing)).ok();
    let about = std::fs::metadata(&backing).ok();
    let file = about.map(|a| (DevNo::from_raw(a.dev()), a.ino()));
    Some(Loop { block, backing, file, device, span: None })
}

fn status(roots: &Roots, block: &Block) -> Option<LoopInfo64> {
    let node = block.node(roots);
    if block_at(roots, &node).ok()? != block.devno {
        return None;
    }
    let file: File = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(node).ok()?;
    loop_info(&file)
}

fn loop_info(file: &File) -> Option<LoopInfo64> {
    let mut info = LoopInfo64 {
        device: 0,
        inode: 0,
        rdevice: 0,
        offset: 0,
        sizelimit: 0,
        number: 0,
        encrypt_type: 0,
        encrypt_key_size: 0,
        flags: 0,
        file_name: [0; 64],
        crypt_name: [0; 64],
        encrypt_key: [0; 32],
        init: [0; 2],
    };
    // SAFETY: the descriptor is open, and the kernel fills exactly one `struct loop_info64`; `info` has its layout from
    // linux/loop.h. On other devices the call fails and writes nothing.
    #[expect(unsafe_code, reason = "no safe wrapper for this ioctl exists")]
    let result = unsafe { libc::ioctl(file.as_raw_fd(), LOOP_GET_STATUS64 as _, &raw mut info) };
    (result == 0).then_some(info)
}

/// The device number of a path's file system, and its inode.
pub(crate) fn file_at(path: &Path) -> io::Result<(DevNo, u64)> {
    let about = std::fs::metadata(path)?;
    Ok((DevNo::from_raw(about.dev()), about.ino()))
}
