//! Loop devices of our own: a device is added for a volume and removed with it.
//!
//! A volume can't use one of the machine's loop devices: it must refuse discards and write-zeroes (the loop driver turns both
//! into holes or unwritten extents of the backing file), and `queue/discard_max_bytes`, once 0, can't be set back.

#![expect(unsafe_code, reason = "rustix and libc offer these ioctls only as unsafe")]

use std::fs::OpenOptions;
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::Path;

/// `LOOP_CTL_ADD` of linux/loop.h.
const LOOP_CTL_ADD: libc::Ioctl = 0x4C80;
/// `LOOP_CTL_REMOVE` of linux/loop.h.
const LOOP_CTL_REMOVE: libc::Ioctl = 0x4C81;

/// Adds the loop device with this number.
///
/// # Errors
/// `EEXIST` when there is one already; other errors when the control device can't be used.
pub fn add(dev: &Path, number: u32) -> io::Result<()> {
    control(dev, LOOP_CTL_ADD, number)
}

/// Removes the loop device with this number.
///
/// # Errors
/// `EBUSY` when it has a backing file or is open; `ENODEV` when there is none.
pub fn remove(dev: &Path, number: u32) -> io::Result<()> {
    control(dev, LOOP_CTL_REMOVE, number)
}

fn control(dev: &Path, request: libc::Ioctl, number: u32) -> io::Result<()> {
    let file = OpenOptions::new().read(true).write(true).open(dev.join("loop-control"))?;
    let number = libc::c_int::try_from(number).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    // SAFETY: the descriptor is open during the call; both requests take an int by value and access no memory.
    let answer = unsafe { libc::ioctl(file.as_raw_fd(), request, number) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
