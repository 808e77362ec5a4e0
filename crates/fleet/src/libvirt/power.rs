//! Starts, stops and reboots guests.

use super::error::GuestError;
use super::guest_name::check_for_virsh;
use crate::at::At;
use std::time::{Duration, Instant};

/// How often the state of a guest that is to stop is looked at.
const LOOK: Duration = Duration::from_millis(500);
/// A guest that is still booting doesn't hear the first request.
const AGAIN: Duration = Duration::from_secs(10);

/// How to stop a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Ask it, and wait this long.
    Ask(Duration),
    /// Switch it off at once.
    SwitchOff,
}

/// Starts a guest. One that runs already goes on.
///
/// # Errors
/// libvirt can't start it.
pub fn start(at: &At, guest: &str) -> Result<(), GuestError> {
    if state(at, guest)? == "running" {
        return Ok(());
    }
    at.virsh("start the guest", &["start", "--domain", guest])?;
    Ok(())
}

/// Reboots a guest, which it does by itself; this doesn't wait for it.
///
/// # Errors
/// It doesn't run, or virsh would take its name for another guest's number.
pub fn reboot(at: &At, guest: &str) -> Result<(), GuestError> {
    check_for_virsh(at, guest)?;
    at.virsh("reboot the guest", &["reboot", "--domain", guest])?;
    Ok(())
}

/// Stops a guest. One that is off stays off.
///
/// # Errors
/// It is still on after the time.
pub fn stop(at: &At, guest: &str, how: Stop) -> Result<(), GuestError> {
    if is_off(at, guest)? {
        return Ok(());
    }
    let Stop::Ask(patience) = how else {
        at.virsh("switch the guest off", &["destroy", "--domain", guest])?;
        return Ok(());
    };
    let began = Instant::now();
    let mut asked: Option<Instant> = None;
    while began.elapsed() < patience {
        if asked.is_none_or(|asked| asked.elapsed() > AGAIN) {
            let said = at.virsh("ask the guest to stop", &["shutdown", "--domain", guest]);
            if said.is_err() && !is_off(at, guest)? {
                said?;
            }
            asked = Some(Instant::now());
        }
        if is_off(at, guest)? {
            return Ok(());
        }
        std::thread::sleep(LOOK);
    }
    Err(GuestError::StillOn {
        machine: at.name().to_owned(),
        guest: guest.to_owned(),
        seconds: patience.as_secs(),
    })
}

/// Whether a guest is off.
pub(super) fn is_off(at: &At, guest: &str) -> Result<bool, GuestError> {
    // A crashed guest is listed so only while its QEMU still runs (`on_crash` is `preserve`), and has its disks open.
    Ok(state(at, guest)? == "shut off")
}

fn state(at: &At, guest: &str) -> Result<String, GuestError> {
    check_for_virsh(at, guest)?;
    Ok(at.virsh("look at the guest", &["domstate", "--domain", guest])?.trim().to_owned())
}
