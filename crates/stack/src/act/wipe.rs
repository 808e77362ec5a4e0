//! Removes the signatures of a file system that we made.

use super::device_ref::{DeviceRef, RefState, Title, devno_of};
use super::doing::{Undoing, Undone};
use super::retry::{PATIENCE, until_ok};
use crate::error::ActError;
use crate::machine::Machine;
use crate::side_by_side::side_by_side;
use host::{Invocation, Output, Tool};
use record::printable::Shown as _;
use std::fs::File;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// blkid's exit status when it finds nothing.
const NOTHING_FOUND: i32 = 2;

/// The property that identifies a signature as ours.
#[derive(Debug, Clone, Copy)]
pub(super) enum Written<'a> {
    /// The UUID that we chose.
    Uuid(&'a str),
    /// The label, which names one step of one run.
    Label(&'a str),
    /// Nothing is known of it.
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

/// Clears the signatures of devices. On a device over our own file it clears all; on any other only a signature that is
/// identified as ours.
pub(super) fn wipe<'a>(
    undoing: &Undoing<'_>,
    devices: impl IntoIterator<Item = (&'a DeviceRef, Written<'a>)>,
) -> Result<Undone, ActError> {
    wipe_within(PATIENCE, undoing, devices)
}

/// The same without a wait for other users of the device.
pub(super) fn wipe_once<'a>(
    undoing: &Undoing<'_>,
    devices: impl IntoIterator<Item = (&'a DeviceRef, Written<'a>)>,
) -> Result<Undone, ActError> {
    wipe_within(Duration::ZERO, undoing, devices)
}

fn wipe_within<'a>(
    patience: Duration,
    undoing: &Undoing<'_>,
    devices: impl IntoIterator<Item = (&'a DeviceRef, Written<'a>)>,
) -> Result<Undone, ActError> {
    let (mut outcomes, mut ours, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for (device, written) in devices {
        match device.standing(undoing) {
            // All contents of our own file are ours.
            Ok(RefState::Ours(path)) if matches!(device.title, Title::Backing(_)) => ours.push(path),
            Ok(RefState::Ours(path)) => others.push((path, written)),
            Ok(RefState::Gone) => {}
            Ok(RefState::Left(saw)) => outcomes.push(Ok(Undone::Left(saw))),
            Err(error) => outcomes.push(Err(error)),
        }
    }
    let found = side_by_side(&others, |(path, _)| signature(undoing.machine, path));
    for ((path, written), found) in others.into_iter().zip(found) {
        match found {
            Ok(None) => {}
            Ok(Some(found)) if written.is(&found) => ours.push(path),
            Ok(Some(found)) => outcomes.push(Ok(Undone::Left(format!(
                "{} carries a signature that is not the one we wrote (UUID {})",
                path.shown(),
                found.uuid.as_deref().unwrap_or("none"),
            )))),
            Err(error) => outcomes.push(Err(error)),
        }
    }
    outcomes.extend(erase(undoing.machine, &ours, patience));
    join(outcomes)
}

/// Removes all signatures, and says for each device whether there were any.
fn erase(machine: &Machine<'_>, paths: &[PathBuf], patience: Duration) -> Vec<Result<Undone, ActError>> {
    if paths.is_empty() {
        return Vec::new();
    }
    let erased = side_by_side(paths, |path| {
        let erase = Invocation::new(Tool::Wipefs).arg("--all").arg(path);
        until_ok(patience, || machine.runner.run(&erase))
            .map_err(ActError::tool(format!("remove the signature on {}", path.shown())))
    });
    let all_went = are_blank(machine, paths);
    let outcome = |(path, erased): (&PathBuf, Result<Output, ActError>)| {
        // wipefs prints what it removes, and nothing if there is nothing.
        let had_any = !erased?.stdout.trim().is_empty();
        match if all_went { None } else { signature(machine, path)? } {
            None if had_any => Ok(Undone::Done),
            None => Ok(Undone::Nothing),
            Some(left) => Err(ActError::Unverified {
                what: format!("signatures on {}", path.shown()),
                expected: "none".to_owned(),
                saw: left.kind,
            }),
        }
    };
    paths.iter().zip(erased).map(outcome).collect()
}

struct Signature {
    kind: String,
    uuid: Option<String>,
    label: Option<String>,
}

/// Whether none of these devices has a signature. One wipefs for all takes less time than one per device. (blkid on several
/// devices stops at the first one without a signature.) If this is false, each device must be checked by itself.
pub(super) fn are_blank(machine: &Machine<'_>, paths: &[PathBuf]) -> bool {
    let list = Invocation::new(Tool::Wipefs).args(["--noheadings", "--output", "DEVICE"]).args(paths);
    let seen = machine.runner.run(&list);
    seen.is_ok_and(|output| output.stdout.trim().is_empty() && output.stderr.is_empty())
}

/// What libblkid finds on each device itself, without its cache.
fn signatures(machine: &Machine<'_>, paths: &[PathBuf]) -> Vec<Result<Option<Signature>, ActError>> {
    side_by_side(paths, |path| signature(machine, path))
}

fn signature(machine: &Machine<'_>, path: &Path) -> Result<Option<Signature>, ActError> {
    let probe = Invocation::new(Tool::Blkid)
        .args(["--probe", "--output", "export"])
        .arg(path)
        .accept([0, NOTHING_FOUND]);
    let doing = || ActError::tool(format!("look for signatures on {}", path.shown()));
    let output = machine.runner.run(&probe).map_err(doing())?;
    if output.status == NOTHING_FOUND {
        return Ok(None);
    }
    let value = |key: &str| output.stdout.lines().find_map(|line| line.strip_prefix(key)).map(str::to_owned);
    let kind = value("TYPE=").unwrap_or_else(|| "unknown".to_owned());
    Ok(Some(Signature { kind, uuid: value("UUID="), label: value("LABEL=") }))
}

/// Whether a device carries a signature with another UUID or none.
pub(super) fn is_anothers(machine: &Machine<'_>, path: &Path, uuid: &str) -> Result<bool, ActError> {
    Ok(signature(machine, path)?.is_some_and(|found| !Written::Uuid(uuid).is(&found)))
}

/// The size of a ZFS label; there are two at each end of a device.
const LABEL_BYTES: u64 = 256 << 10;

/// Removes the labels of a pool of this name, and says for each device whether there were any. Devices with another name, or
/// none, stay untouched. The caller checks that all labels are gone. OpenZFS makes two partitions on a whole disk and uses the
/// first; then the partition table is removed too.
pub(super) fn clear_pool_labels(
    machine: &Machine<'_>,
    paths: &[PathBuf],
    pool: &str,
) -> Vec<Result<bool, ActError>> {
    let ours = |found: Option<Signature>| {
        found.is_some_and(|found| found.kind == "zfs_member" && Written::Label(pool).is(&found))
    };
    let found = signatures(machine, paths).into_iter().map(|found| found.map(ours));
    let whole: Vec<_> = paths.iter().zip(found).collect();
    let cleared = side_by_side(&whole, |(path, whole)| match whole {
        Ok(true) => zero_labels(path, &[0, 1, 2, 3]).map(|()| true),
        Ok(false) => {
            for (partition, begin) in partitions(machine, path) {
                if ours(signature(machine, &partition)?) {
                    return clear_partition(machine, path, &partition, begin).map(|()| true);
                }
            }
            Ok(false)
        }
        Err(_) => Ok(false),
    });
    whole.into_iter().zip(cleared).map(|((_, whole), cleared)| whole.and(cleared)).collect()
}

fn clear_partition(machine: &Machine<'_>, path: &Path, partition: &Path, begin: u64) -> Result<(), ActError> {
    // The first label goes last: it shows whose table it is, in case of an interruption.
    zero_labels(partition, &[1, 2, 3])?;
    let erase = Invocation::new(Tool::Wipefs).args(["--all", "--quiet"]).arg(path);
    until_ok(PATIENCE, || machine.runner.run(&erase).map(|_| ()))
        .map_err(ActError::tool(format!("remove the partitions of {}", path.shown())))?;
    let mut disk = open(path)?;
    zero(&mut disk, begin).map_err(ActError::io("clear the label of", path))?;
    disk.sync_all().map_err(ActError::io("sync", path))
}

/// The partitions of a disk, with their begin in bytes.
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

/// Overwrites labels with zeros: 0 and 1 are at the beginning of a device, 2 and 3 at its end.
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

/// Combines the results of several undos.
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

#[cfg(test)]
mod tests {
    use super::{are_blank, erase, signatures};
    use crate::act::doing::Undone;
    use crate::machine::{Machine, NoHooks};
    use std::os::unix::fs::FileExt as _;
    use std::path::{Path, PathBuf};
    use std::time::Duration;

    /// A file of 1 MiB with the header of a swap area (`union swap_header`, include/linux/swap.h) of this UUID, or all zeros.
    fn disk(dir: &Path, name: &str, uuid: Option<u8>) -> PathBuf {
        let path = dir.join(name);
        let file = std::fs::File::create(&path).unwrap();
        file.set_len(1 << 20).unwrap();
        if let Some(byte) = uuid {
            file.write_all_at(b"SWAPSPACE2", 4086).unwrap();
            file.write_all_at(&[1, 0, 0, 0, 255, 0, 0, 0], 1024).unwrap();
            file.write_all_at(&[byte; 16], 1024 + 12).unwrap();
        }
        path
    }

    fn uuid(byte: u8) -> Option<String> {
        let two = format!("{byte:02x}{byte:02x}");
        Some(format!("{two}{two}-{two}-{two}-{two}-{two}{two}{two}"))
    }

    fn uuids(machine: &Machine<'_>, paths: &[PathBuf]) -> Vec<Option<String>> {
        let found = signatures(machine, paths).into_iter();
        found.map(|found| found.ok().flatten().and_then(|found| found.uuid)).collect()
    }

    #[test]
    fn several_are_blank_if_each_is() {
        let dir = tempfile::tempdir().unwrap();
        let roots = device::Roots::default();
        let machine = Machine::local(&host::LocalRunner, &roots, dir.path(), &NoHooks);
        let blank = ["a", "b"].map(|name| disk(dir.path(), name, None));
        let signed = disk(dir.path(), "c", Some(0x33));
        assert!(are_blank(&machine, &blank));
        assert!(!are_blank(&machine, &[blank[0].clone(), signed, blank[1].clone()]));
        assert!(!are_blank(&machine, &[blank[0].clone(), dir.path().join("none")]), "nobody looked at one");
    }

    #[test]
    fn one_that_can_not_be_erased_keeps_none_of_the_others() {
        let dir = tempfile::tempdir().unwrap();
        let roots = device::Roots::default();
        let machine = Machine::local(&host::LocalRunner, &roots, dir.path(), &NoHooks);
        let all = [
            disk(dir.path(), "a", Some(0x11)),
            dir.path().join("none"),
            disk(dir.path(), "c", Some(0x33)),
            disk(dir.path(), "d", None),
        ];
        assert_eq!(uuids(&machine, &all), [uuid(0x11), None, uuid(0x33), None]);
        let erased = erase(&machine, &all, Duration::ZERO);
        assert!(
            matches!(erased.as_slice(), [Ok(Undone::Done), Err(_), Ok(Undone::Done), Ok(Undone::Nothing)]),
            "{erased:?}"
        );
        assert_eq!(uuids(&machine, &all), [None, None, None, None]);
    }
}
