//! Removing the signature of a file system that we made.

use super::device_ref::{DeviceRef, Standing, Title};
use super::kind::{Undoing, Undone};
use super::retry::{PATIENCE, until_ok};
use crate::error::ActError;
use crate::machine::Machine;
use host::{Invocation, Tool};
use std::path::Path;
use std::time::Duration;

/// blkid's status when it finds nothing.
const NOTHING_FOUND: i32 = 2;

/// Makes a device free again: one over our own file whatever is on it, any other only while it carries the UUID that we
/// chose. `None` for the UUID: only our own files' devices.
pub(super) fn wipe(
    undoing: &Undoing<'_>,
    device: &DeviceRef,
    uuid: Option<&str>,
) -> Result<Undone, ActError> {
    wipe_within(PATIENCE, undoing, device, uuid)
}

/// The same without waiting for others to let go.
pub(super) fn wipe_once(
    undoing: &Undoing<'_>,
    device: &DeviceRef,
    uuid: Option<&str>,
) -> Result<Undone, ActError> {
    wipe_within(Duration::ZERO, undoing, device, uuid)
}

fn wipe_within(
    patience: Duration,
    undoing: &Undoing<'_>,
    device: &DeviceRef,
    uuid: Option<&str>,
) -> Result<Undone, ActError> {
    let machine = undoing.machine;
    let path = match device.standing(undoing) {
        Standing::Ours(path) => path,
        Standing::Gone => return Ok(Undone::Nothing),
        Standing::Foreign(saw) => return Ok(Undone::Left(saw)),
    };
    let found = signature(machine, &path)?;
    if found.is_none() {
        return Ok(Undone::Nothing);
    }
    let whole = matches!(device.title, Title::Backing(_));
    let found = found.as_ref().and_then(|found| found.uuid.as_deref());
    if !whole && (uuid.is_none() || found != uuid) {
        return Ok(Undone::Left(format!(
            "{} carries a signature that is not the one we wrote (UUID {})",
            path.display(),
            found.unwrap_or("none"),
        )));
    }
    let erase = Invocation::new(Tool::Wipefs).args(["--all", "--quiet"]).arg(&path);
    until_ok(patience, || machine.runner.run(&erase).map(|_| ()))
        .map_err(ActError::tool(format!("remove the signature on {}", path.display())))?;
    match signature(machine, &path)? {
        None => Ok(Undone::Done),
        Some(left) => Err(ActError::Unverified {
            what: format!("signatures on {}", path.display()),
            expected: "none".to_owned(),
            saw: left.kind,
        }),
    }
}

struct Signature {
    kind: String,
    uuid: Option<String>,
}

/// What libblkid finds on the device itself, not in its cache.
fn signature(machine: &Machine<'_>, path: &Path) -> Result<Option<Signature>, ActError> {
    let probe = Invocation::new(Tool::Blkid)
        .args(["--probe", "--output", "export"])
        .arg(path)
        .accept([0, NOTHING_FOUND]);
    let doing = || ActError::tool(format!("look for signatures on {}", path.display()));
    let output = machine.runner.run(&probe).map_err(doing())?;
    if output.status == NOTHING_FOUND {
        return Ok(None);
    }
    let value = |key: &str| output.stdout.lines().find_map(|line| line.strip_prefix(key)).map(str::to_owned);
    Ok(Some(Signature { kind: value("TYPE=").unwrap_or_else(|| "unknown".to_owned()), uuid: value("UUID=") }))
}

/// Several undos as one.
pub(super) fn join(all: impl IntoIterator<Item = Result<Undone, ActError>>) -> Result<Undone, ActError> {
    let mut joined = Undone::Nothing;
    let mut failed = None;
    for one in all {
        match (one, &joined) {
            (Err(error), _) => failed = failed.or(Some(error)),
            (Ok(Undone::Left(why)), _) => joined = Undone::Left(why),
            (Ok(Undone::Done), Undone::Nothing) => joined = Undone::Done,
            (Ok(_), _) => {}
        }
    }
    failed.map_or(Ok(joined), Err)
}
