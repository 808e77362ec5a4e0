//! bcache: a superblock on each of two devices, and the device that the kernel makes of them.

use super::device_ref::{DeviceRef, RefState, Title, devno_of};
use super::doing::{Doing, Reversible, Undoing, Undone};
use super::knob::selected;
use super::retry::{is_taken, until_closed, until_ok};
use super::wipe::{self, Written};
use crate::error::ActError;
use crate::machine::Machine;
use crate::{holders, kernel_file};
use host::{Invocation, Tool};
use record::printable::{Shown as _, printable};
use record::stack::Bcache;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Write as _};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The files of the set from whose values on requests bypass the cache, in the directory of the backing device.
const READ_THRESHOLD: &str = "cache/congested_read_threshold_us";
const WRITE_THRESHOLD: &str = "cache/congested_write_threshold_us";
/// How long the kernel may take to make a device on a slow machine, or to close one without a read or a write of it.
const KERNEL_TAKES: Duration = Duration::from_secs(20);
/// How often a device may come back after we stop it. udev registers it once for each of its events.
const COMES_BACK: usize = 20;
/// How long the kernel may take to close a device that still reads or writes.
const CLOSING_TAKES: Duration = Duration::from_secs(600);
/// How long a write-back may make no progress.
const STALLED: Duration = Duration::from_secs(60);
/// The time between two checks of a write-back.
const LOOK: Duration = Duration::from_millis(20);

/// Writes the superblock of a backing device and that of its cache. Both carry the UUID of their set, which is our choice. Their own
/// UUIDs are make-bcache's choice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormatBcache {
    /// The device that is cached.
    pub backing: DeviceRef,
    /// The device of the cache.
    pub cache: DeviceRef,
    /// UUID of the set.
    pub set: String,
    /// Sizes of block and bucket.
    pub layer: Bcache,
}

/// Registers both devices with the kernel, unless udev was faster, and sets the mode. The undo flushes and detaches the cache, stops both
/// devices and removes their superblocks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartBcache {
    /// The device that is cached.
    pub backing: Member,
    /// The device of the cache.
    pub cache: Member,
    /// UUID of the set.
    pub set: String,
    /// What must be in force.
    pub layer: Bcache,
}

/// A device with a superblock of ours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// The device.
    pub device: DeviceRef,
    /// The superblock's own UUID: the kernel clears that of the set when it detaches the cache.
    pub uuid: String,
}

impl fmt::Display for FormatBcache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (backing, cache) = (self.backing.path.shown(), self.cache.path.shown());
        write!(f, "write the superblocks of bcache on {backing} and its cache {cache}")
    }
}

impl fmt::Display for StartBcache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (backing, cache) = (self.backing.device.path.shown(), self.cache.device.path.shown());
        write!(f, "start bcache on {backing} with its cache {cache}")
    }
}

impl Reversible for FormatBcache {
    fn perform(&self, doing: &mut Doing<'_>) -> Result<(), ActError> {
        if !register_file(doing.machine).exists() {
            let load = Invocation::new(Tool::Modprobe).arg("bcache");
            doing.run("load the kernel's module bcache", &load)?;
        }
        let block = self.layer.block_bytes.map(|bytes| ["--block".to_owned(), bytes.to_string()]);
        let make = Invocation::new(Tool::MakeBcache)
            .args(["--cset-uuid", &self.set, "--bucket", &self.layer.bucket_bytes.to_string()])
            .args(block.into_iter().flatten())
            .arg("--cache")
            .arg(&self.cache.path)
            .arg("--bdev")
            .arg(&self.backing.path);
        doing.run("write the superblocks of bcache", &make).map(|_| ())
    }

    /// Nothing was written to the device yet, so there is nothing to flush.
    fn undo(&self, undoing: &Undoing<'_>) -> Result<Undone, ActError> {
        take_down(undoing, &self.set, [(&self.backing, None), (&self.cache, None)])
    }
}

impl FormatBcache {
    /// The next act, which knows what this one wrote.
    pub(crate) fn start(&self) -> Result<StartBcache, ActError> {
        let member = |device: &DeviceRef| -> Result<Member, ActError> {
            let found = Superblock::read(&device.path)?;
            let found = found.filter(|found| found.set == self.set).ok_or_else(|| ActError::Unverified {
                what: device.path.shown().to_string(),
                expected: format!("a superblock of bcache with the set's UUID {}", self.set),
                saw: "none".to_owned(),
            })?;
            Ok(Member { device: device.clone(), uuid: found.uuid })
        };
        let (set, layer) = (self.set.clone(), self.layer.clone());
        Ok(StartBcache { backing: member(&self.backing)?, cache: member(&self.cache)?, set, layer })
    }
}

impl Reversible for StartBcache {
    fn perform(&self, doing: &mut Doing<'_>) -> Result<(), ActError> {
        let machine = doing.machine;
        until_ok(KERNEL_TAKES, || self.register(machine))?;
        let dir = self.dir(machine);
        let asked = [
            ("cache_mode", Some(self.layer.mode.name().to_owned())),
            ("sequential_cutoff", self.layer.sequential_cutoff_bytes.map(|bytes| bytes.to_string())),
            ("writeback_percent", self.layer.writeback_percent.map(|percent| percent.to_string())),
            (READ_THRESHOLD, self.layer.congested_read_threshold_us.map(|us| us.to_string())),
            (WRITE_THRESHOLD, self.layer.congested_write_threshold_us.map(|us| us.to_string())),
        ];
        for (name, value) in asked {
            value.map_or(Ok(()), |value| kernel_file::write(machine, &dir.join(name), &value))?;
        }
        self.verify(&dir)
    }

    fn undo(&self, undoing: &Undoing<'_>) -> Result<Undone, ActError> {
        let parts = [&self.backing, &self.cache].map(|member| (&member.device, Some(member.uuid.as_str())));
        take_down(undoing, &self.set, parts)
    }
}

impl StartBcache {
    /// The device's node; `None` before it is there.
    pub(crate) fn node(&self, machine: &Machine<'_>) -> Option<PathBuf> {
        node(machine, &self.dir(machine))
    }

    /// The directory in sysfs of the backing device, and so of the device on it.
    pub(crate) fn dir(&self, machine: &Machine<'_>) -> PathBuf {
        registered(machine, self.backing.device.devno)
    }

    /// Registers what isn't registered yet. The kernel joins the two by the set's UUID.
    fn register(&self, machine: &Machine<'_>) -> Result<(), ActError> {
        for Member { device, .. } in [&self.cache, &self.backing] {
            if !registered(machine, device.devno).exists() {
                let path = device.path.to_string_lossy();
                // refused also where udev is at it just now
                let refused = kernel_file::write(machine, &register_file(machine), &path);
                if !registered(machine, device.devno).exists() {
                    refused?;
                }
            }
        }
        let dir = self.dir(machine);
        let saw = match (attached(&dir), self.node(machine)) {
            (Some(set), Some(_)) if set == self.set => return Ok(()),
            (Some(set), Some(_)) => format!("that of the set {}", printable(&set)),
            (Some(_), None) => "no device".to_owned(),
            (None, _) => read(&dir.join("state")).unwrap_or_else(|_| "nothing".to_owned()),
        };
        Err(ActError::Unverified {
            what: format!("cache of {}", self.backing.device.path.shown()),
            expected: format!("that of the set {}", self.set),
            saw,
        })
    }

    /// Compares what the kernel has in force with what was asked.
    fn verify(&self, dir: &Path) -> Result<(), ActError> {
        let Bcache { mode, block_bytes, bucket_bytes, sequential_cutoff_bytes, .. } = &self.layer;
        let all = [
            ("cache_mode", Some(mode.name().to_owned())),
            ("sequential_cutoff", sequential_cutoff_bytes.map(readable)),
            ("writeback_percent", self.layer.writeback_percent.map(|percent| percent.to_string())),
            (READ_THRESHOLD, self.layer.congested_read_threshold_us.map(|us| us.to_string())),
            (WRITE_THRESHOLD, self.layer.congested_write_threshold_us.map(|us| us.to_string())),
            ("cache/bucket_size", Some(readable(*bucket_bytes))),
            ("dev/queue/logical_block_size", block_bytes.map(|bytes| bytes.to_string())),
        ];
        for (name, asked) in all {
            let Some(expected) = asked else { continue };
            let path = dir.join(name);
            let said = read(&path).map_err(ActError::io("read", &path))?;
            if selected(&said) != expected {
                let what = format!("{name} of bcache on {}", self.backing.device.path.shown());
                return Err(ActError::Unverified { what, expected, saw: said });
            }
        }
        Ok(())
    }
}

/// A number of bytes as bcache's files in sysfs show it (`bch_hprint`, drivers/md/bcache/util.c): `512.0k`, `4.0M`.
fn readable(bytes: u64) -> String {
    let (mut whole, mut rest, mut unit) = (bytes >> 10, bytes & 1023, 0);
    while whole >= 1000 {
        (whole, rest, unit) = (whole >> 10, whole & 1023, unit + 1);
    }
    format!("{whole}.{}{}", rest * 10 / 1024, ["k", "M", "G", "T", "P", "E"][unit])
}

/// What a superblock says (`struct cache_sb_disk`, drivers/md/bcache/bcache_ondisk.h), in libblkid's spelling.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Superblock {
    uuid: String,
    set: String,
}

impl Superblock {
    const OFFSET: u64 = 4096;
    const MAGIC: [u8; 16] = *b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81";

    /// `None`: the device has none.
    fn read(path: &Path) -> Result<Option<Self>, ActError> {
        let mut block = [0; 72];
        let device = File::open(path).map_err(ActError::io("open", path))?;
        match device.read_exact_at(&mut block, Self::OFFSET) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            read => read.map_err(ActError::io("read the superblock of", path))?,
        }
        let found = || Self { uuid: spelled(&block[40..56]), set: spelled(&block[56..72]) };
        Ok((block[24..40] == Self::MAGIC).then(found))
    }
}

fn spelled(uuid: &[u8]) -> String {
    uuid.iter().enumerate().fold(String::new(), |mut text, (at, byte)| {
        let dash = if [4, 6, 8, 10].contains(&at) { "-" } else { "" };
        let _ = write!(text, "{dash}{byte:02x}");
        text
    })
}

/// A device of ours that is there.
struct Spot {
    path: PathBuf,
    number: (u32, u32),
    /// UUID of the superblock that we wrote; `None`: there is none.
    uuid: Option<String>,
}

impl Spot {
    /// Looks for a device, and for the superblock with its own UUID, or else with that of the set.
    fn of(
        undoing: &Undoing<'_>,
        device: &DeviceRef,
        uuid: Option<&str>,
        set: &str,
    ) -> Result<Option<Self>, ActError> {
        let RefState::Ours(path) = device.standing(undoing)? else { return Ok(None) };
        let Some(number) = devno_of(&path) else { return Ok(None) };
        let is_ours = |found: &Superblock| {
            // All contents of our own file are ours.
            let on_file = matches!(device.title, Title::Backing(_));
            on_file || uuid.map_or(found.set == set, |uuid| found.uuid == uuid)
        };
        let uuid = Superblock::read(&path)?.filter(is_ours).map(|found| found.uuid);
        Ok(Some(Self { path, number, uuid }))
    }

    /// The directory in sysfs of what the kernel has registered, if that is ours.
    fn dir(&self, machine: &Machine<'_>) -> Option<PathBuf> {
        Some(registered(machine, self.number)).filter(|dir| self.uuid.is_some() && dir.exists())
    }
}

/// Ends what the kernel makes of a backing device and its cache, and removes the superblocks. A device that comes with its superblock's own
/// UUID may have been written to: its cache is flushed.
fn take_down(
    undoing: &Undoing<'_>,
    set: &str,
    parts: [(&DeviceRef, Option<&str>); 2],
) -> Result<Undone, ActError> {
    let machine = undoing.machine;
    // What is out of reach comes back only by hand. What is there goes in any case.
    let [backing, cache] = parts.map(|(device, uuid)| Spot::of(undoing, device, uuid, set));
    let spots = [&backing, &cache].map(|spot| spot.as_ref().ok().and_then(Option::as_ref));
    let [(_, uuid), _] = parts;
    let dir = spots[0].and_then(|backing| backing.dir(machine));
    let top = dir.as_ref().and_then(|dir| node(machine, dir));
    if let (Some(dir), Some(_), Some(_)) = (dir, spots[1], uuid) {
        top.as_ref().map_or(Ok(()), |top| until_closed(top, || idle(machine, top)))?;
        flush(machine, &dir, STALLED)?;
    }
    let mut undone = Undone::Nothing;
    // Repeated, because udev may register a device again after we stop it and before we remove its superblock.
    until_closed(&top.unwrap_or_default(), || {
        if release(machine, set, spots)? {
            undone = Undone::Done;
        }
        let there = parts.iter().zip([&backing, &cache]).filter(|(_, spot)| spot.is_ok());
        let ours = there.map(|((device, _), spot)| {
            let uuid = spot.as_ref().ok().and_then(|spot| spot.as_ref()?.uuid.as_deref());
            (*device, uuid.map_or(Written::Unknown, Written::Uuid))
        });
        undone = wipe::join([Ok(undone.clone()), wipe::wipe_once(undoing, ours)])?;
        Ok(())
    })?;
    [backing, cache].into_iter().find_map(Result::err).map_or(Ok(undone), Err)
}

/// Has the kernel write all dirty data to the backing device and detach the cache. It takes as long as the device needs, while it makes
/// progress.
fn flush(machine: &Machine<'_>, dir: &Path, patience: Duration) -> Result<(), ActError> {
    if attached(dir).is_none() {
        return Ok(());
    }
    order(machine, &dir.join("detach"))?;
    // The dirty data are shown with two digits, and the disk's own counter moves with every write.
    let progress = || {
        let written = read(&dir.with_file_name("stat")).unwrap_or_default();
        let written = written.split_whitespace().nth(6).map(str::to_owned);
        (written, read(&dir.join("dirty_data")).unwrap_or_default())
    };
    let (mut seen, mut since) = (progress(), Instant::now());
    while attached(dir).is_some() {
        std::thread::sleep(LOOK);
        let now = progress();
        if now != seen {
            (seen, since) = (now, Instant::now());
        } else if since.elapsed() >= patience {
            return Err(ActError::Unverified {
                what: format!("cache of {}", node(machine, dir).unwrap_or_default().shown()),
                expected: "flushed and detached".to_owned(),
                saw: format!(
                    "{} of dirty data, and no write to the backing device for {} s",
                    printable(&seen.1),
                    patience.as_secs()
                ),
            });
        }
    }
    Ok(())
}

/// Stops the device on the backing device, and then its cache; neither is flushed. Returns whether there was one.
fn release(machine: &Machine<'_>, set: &str, spots: [Option<&Spot>; 2]) -> Result<bool, ActError> {
    let [backing, cache] = spots;
    let mut was_there = false;
    if let Some(dir) = backing.and_then(|backing| backing.dir(machine)) {
        let is_free = || node(machine, &dir).map_or(Ok(()), |node| idle(machine, &node));
        stop(machine, &dir, "stop", is_free)?;
        was_there = true;
    }
    if let Some((cache, dir)) = cache.and_then(|cache| Some((cache, cache.dir(machine)?))) {
        stop(machine, &dir, "set/stop", || only_ours(&dir, set, cache, backing))?;
        was_there = true;
    }
    Ok(was_there)
}

/// Stops what the kernel has registered, and waits until it is gone. `may` checks that it may be stopped.
///
/// The superblock is still there, so udev may register the device again before we look: then it is another one, and is stopped, too.
fn stop(
    machine: &Machine<'_>,
    dir: &Path,
    file: &str,
    may: impl Fn() -> Result<(), ActError>,
) -> Result<(), ActError> {
    for _ in 0..COMES_BACK {
        let Some(number) = inode(dir) else { return Ok(()) };
        may()?;
        order(machine, &dir.join(file))?;
        closed(dir, number)?;
    }
    if inode(dir).is_none() {
        return Ok(());
    }
    let (what, expected) = (dir.shown().to_string(), "gone".to_owned());
    Err(ActError::Unverified {
        what,
        expected,
        saw: format!("registered again after each of {COMES_BACK} stops"),
    })
}

/// Checks that nobody uses a device: the kernel would take it away all the same.
fn idle(machine: &Machine<'_>, node: &Path) -> Result<(), ActError> {
    let holders = holders::of(&machine.roots.proc, node);
    if holders.is_empty() && !is_taken(node) {
        return Ok(());
    }
    Err(ActError::Busy { what: node.shown().to_string(), holders })
}

/// Checks that a cache is in our set, and caches no other device.
fn only_ours(dir: &Path, set: &str, cache: &Spot, backing: Option<&Spot>) -> Result<(), ActError> {
    let refused =
        |saw: String| ActError::NotOurs { what: format!("the cache on {}", cache.path.shown()), saw };
    match linked(&dir.join("set")) {
        Some(name) if name == set => {}
        Some(name) => return Err(refused(format!("it is in the set {}", printable(&name)))),
        None => return Err(refused("it is in no set".to_owned())),
    }
    let entries = fs::read_dir(dir.join("set")).into_iter().flatten().flatten();
    for cached in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("bdev")) {
        let of = fs::canonicalize(cached.path()).unwrap_or_default();
        let number = read(&of.with_file_name("dev")).unwrap_or_default();
        if backing.is_none_or(|ours| number != format!("{}:{}", ours.number.0, ours.number.1)) {
            return Err(refused(format!("it caches the device {}, too", printable(&number))));
        }
    }
    Ok(())
}

/// What the kernel shows of a device that it has registered; missing if it hasn't.
fn registered(machine: &Machine<'_>, (major, minor): (u32, u32)) -> PathBuf {
    machine.roots.sys.join(format!("dev/block/{major}:{minor}/bcache"))
}

/// The file that takes the path of a device to register. It is silent if the device is registered already.
fn register_file(machine: &Machine<'_>) -> PathBuf {
    machine.roots.sys.join("fs/bcache/register_quiet")
}

/// The node of the device that the kernel made on a backing device.
fn node(machine: &Machine<'_>, dir: &Path) -> Option<PathBuf> {
    Some(machine.roots.dev.join(linked(&dir.join("dev"))?))
}

/// The UUID of the set whose cache is attached to a backing device.
fn attached(dir: &Path) -> Option<String> {
    linked(&dir.join("cache"))
}

/// The last part of a link's target.
fn linked(link: &Path) -> Option<String> {
    Some(fs::read_link(link).ok()?.file_name()?.to_string_lossy().into_owned())
}

/// Writes to a file of sysfs that is an order. Where it is gone, so is what it would order.
fn order(machine: &Machine<'_>, file: &Path) -> Result<(), ActError> {
    match kernel_file::write(machine, file, "1") {
        Err(_) if !file.exists() => Ok(()),
        other => other,
    }
}

/// Waits until the kernel has closed the device that has the directory with this inode. It may take up to [`CLOSING_TAKES`] while the device
/// reads or writes.
fn closed(dir: &Path, number: u64) -> Result<(), ActError> {
    let moves = || read(&dir.with_file_name("stat")).unwrap_or_default();
    let begun = Instant::now();
    let (mut seen, mut since) = (moves(), begun);
    while inode(dir) == Some(number) {
        let now = moves();
        let saw = if begun.elapsed() >= CLOSING_TAKES {
            // Others may read and write the disk for ever.
            Some(format!("still there after {} s, and the disk reads or writes", CLOSING_TAKES.as_secs()))
        } else if now != seen {
            (seen, since) = (now, Instant::now());
            None
        } else {
            let is_still = since.elapsed() >= KERNEL_TAKES;
            is_still
                .then(|| format!("still there, and nothing read or written for {} s", KERNEL_TAKES.as_secs()))
        };
        if let Some(saw) = saw {
            let (what, expected) = (dir.shown().to_string(), "gone".to_owned());
            return Err(ActError::Unverified { what, expected, saw });
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}

/// The inode of a directory in sysfs, `None` if there is none. sysfs gives each directory a new one, so it tells a device from another
/// that has its place.
fn inode(dir: &Path) -> Option<u64> {
    fs::metadata(dir).ok().map(|about| about.ino())
}

fn read(path: &Path) -> io::Result<String> {
    Ok(fs::read_to_string(path)?.trim_end().to_owned())
}

#[cfg(test)]
mod tests;
