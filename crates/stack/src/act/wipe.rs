//! Removing the signature of a file system that we made.

use super::device_ref::{DeviceRef, Standing, Title, devno_of};
use super::kind::{Undoing, Undone};
use super::retry::{PATIENCE, until_ok};
use crate::error::ActError;
use crate::machine::Machine;
use host::{Invocation, Tool};
use std::fs::File;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// blkid's status when it finds nothing.
const NOTHING_FOUND: i32 = 2;

/// By what a signature is known to be ours.
#[derive(Debug, Clone, Copy)]
pub(super) enum Written<'a> {
    /// The UUID that we chose.
    Uuid(&'a str),
    /// The label, which names one step of one run.
    Label(&'a str),
    /// Nothing.
    Unknown,
}

impl Written<'_> {
    fn is(self, found: &Signature) -> bool {
        match self {
            Self::Uuid(uuid) => found.uuid.as_deref() == Some(uuid),
            Self::Label(label) => found.label.as_deref() == Some(label),
            Self::Unknown => false,
        }
    }
}

/// Makes a device free again: one over our own file whatever is on it, any other only while what is on it is known as ours.
pub(super) fn wipe(
    undoing: &Undoing<'_>,
    device: &DeviceRef,
    written: Written<'_>,
) -> Result<Undone, ActError> {
    wipe_within(PATIENCE, undoing, device, written)
}

/// The same without waiting for others to let go.
pub(super) fn wipe_once(
    undoing: &Undoing<'_>,
    device: &DeviceRef,
    written: Written<'_>,
) -> Result<Undone, ActError> {
    wipe_within(Duration::ZERO, undoing, device, written)
}

fn wipe_within(
    patience: Duration,
    undoing: &Undoing<'_>,
    device: &DeviceRef,
    written: Written<'_>,
) -> Result<Undone, ActError> {
    let machine = undoing.machine;
    let path = match device.standing(undoing) {
        Standing::Ours(path) => path,
        Standing::Gone => return Ok(Undone::Nothing),
        Standing::Foreign(saw) => return Ok(Undone::Left(saw)),
    };
    let Some(found) = signature(machine, &path)? else { return Ok(Undone::Nothing) };
    let whole = matches!(device.title, Title::Backing(_));
    if !whole && !written.is(&found) {
        return Ok(Undone::Left(format!(
            "{} carries a signature that is not the one we wrote (UUID {})",
            path.display(),
            found.uuid.as_deref().unwrap_or("none"),
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
    label: Option<String>,
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
    let kind = value("TYPE=").unwrap_or_else(|| "unknown".to_owned());
    Ok(Some(Signature { kind, uuid: value("UUID="), label: value("LABEL=") }))
}

/// Size of a label of ZFS; there are two at each end of a device.
const LABEL_BYTES: u64 = 256 << 10;

/// Removes what a pool of this name wrote on a device, and says whether it did: nothing else is touched where another name, or
/// none, is found. Whether all went is for the caller to see. Of a whole disk OpenZFS makes two partitions and uses the first; the
/// table then goes too.
pub(super) fn clear_pool_labels(machine: &Machine<'_>, path: &Path, pool: &str) -> Result<bool, ActError> {
    let ours = |path: &Path| -> Result<bool, ActError> {
        let found = signature(machine, path)?;
        Ok(found.is_some_and(|found| found.kind == "zfs_member" && Written::Label(pool).is(&found)))
    };
    if ours(path)? {
        zero_labels(path, &[0, 1, 2, 3])?;
        return Ok(true);
    }
    for (partition, begin) in partitions(machine, path) {
        if !ours(&partition)? {
            continue;
        }
        // The first label last: it tells whose the table is, should we be interrupted.
        zero_labels(&partition, &[1, 2, 3])?;
        let erase = Invocation::new(Tool::Wipefs).args(["--all", "--quiet"]).arg(path);
        until_ok(PATIENCE, || machine.runner.run(&erase).map(|_| ()))
            .map_err(ActError::tool(format!("remove the partitions of {}", path.display())))?;
        let mut disk = open(path)?;
        zero(&mut disk, begin).map_err(ActError::io("clear the label of", path))?;
        disk.sync_all().map_err(ActError::io("sync", path))?;
        return Ok(true);
    }
    Ok(false)
}

/// Partitions of a disk, and where they begin, in bytes.
pub(crate) fn partitions(machine: &Machine<'_>, disk: &Path) -> Vec<(PathBuf, u64)> {
    let Some((major, minor)) = devno_of(disk) else { return Vec::new() };
    let dir = machine.roots.sys.join(format!("dev/block/{major}:{minor}"));
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let partition = |entry: std::fs::DirEntry| {
        let sectors = std::fs::read_to_string(entry.path().join("start")).ok()?;
        let begin = sectors.trim().parse::<u64>().ok()?.checked_mul(512)?;
        entry.path().join("partition").exists().then(|| (machine.roots.dev.join(entry.file_name()), begin))
    };
    entries.filter_map(partition).collect()
}

fn open(path: &Path) -> Result<File, ActError> {
    until_ok(PATIENCE, || File::options().write(true).open(path)).map_err(ActError::io("open", path))
}

/// Writes zeros over these labels: 0 and 1 are at the begin of a device, 2 and 3 at its end.
fn zero_labels(path: &Path, labels: &[u64]) -> Result<(), ActError> {
    let mut device = open(path)?;
    let end = device.seek(SeekFrom::End(0)).map_err(ActError::io("seek in", path))?;
    let last = (end - end % LABEL_BYTES).saturating_sub(2 * LABEL_BYTES);
    for label in labels {
        let at = if *label < 2 { label * LABEL_BYTES } else { last + (label - 2) * LABEL_BYTES };
        zero(&mut device, at).map_err(ActError::io("clear the labels of", path))?;
    }
    device.sync_all().map_err(ActError::io("sync", path))
}

fn zero(device: &mut File, at: u64) -> std::io::Result<()> {
    device.seek(SeekFrom::Start(at))?;
    device.write_all(&vec![0; usize::try_from(LABEL_BYTES).unwrap_or(0)])
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
