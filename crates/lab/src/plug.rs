//! Attaches, limits and detaches disks of a running guest through its QEMU monitor.

use crate::disk::{DiskSpec, Throttle};
use crate::error::LabError;
use crate::prerequisite::need_space;
use crate::qmp::{Monitor, QmpError};
use crate::ssh::Door;
use crate::steps::remove;
use host::{CommandFailure, Invocation, LocalRunner, Runner as _, Tool};
use record::target::{Bus, DiskCache, ImageFormat};
use record::volume::Limits;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::time::Duration;

/// How long the guest may take to release a disk or to show a new one.
const PATIENCE: Duration = Duration::from_secs(60);

/// The device's name in QEMU.
fn device(name: &str) -> String {
    format!("disk-{name}")
}

/// The block node's name in QEMU.
fn node(name: &str) -> String {
    format!("node-{name}")
}

/// The name in QEMU of the thread that serves the disk alone.
fn thread(name: &str) -> String {
    format!("thread-{name}")
}

fn refused(doing: String) -> impl FnOnce(QmpError) -> LabError {
    move |source| LabError::Monitor { doing, source }
}

/// Creates a disk's file and attaches it to the guest.
pub(crate) fn plug(
    monitor: &mut Monitor,
    disk: &DiskSpec,
    slot: Option<usize>,
    file: &Path,
) -> Result<(), LabError> {
    remove(file)?;
    make_file(disk, file)?;
    let doing = || format!("attaching the disk {}", disk.name);
    let outcome = add(monitor, disk, slot, file)
        .map_err(refused(doing()))
        .and_then(|()| limit(monitor, &disk.name, disk.bus, &disk.throttle));
    if outcome.is_err() {
        // The first error is the one to report; these calls also fail if there is nothing to undo.
        if unplug(monitor, &disk.name, disk.iothread).is_err() {
            let _ = release(monitor, &disk.name, disk.iothread);
        }
        let _ = remove(file);
    }
    outcome
}

fn add(monitor: &mut Monitor, disk: &DiskSpec, slot: Option<usize>, file: &Path) -> Result<(), QmpError> {
    monitor.ask("blockdev-add", block_node(disk, file))?;
    if disk.iothread {
        monitor.ask("object-add", json!({ "qom-type": "iothread", "id": thread(&disk.name) }))?;
    }
    monitor.ask("device_add", front(disk, slot)).map(|_| ())
}

fn make_file(disk: &DiskSpec, path: &Path) -> Result<(), LabError> {
    match disk.format {
        ImageFormat::Raw => make_raw(disk, path),
        ImageFormat::Qcow2 => make_qcow2(disk, path),
    }
}

/// Makes an empty image, or one in which every block is written: qemu-img copies a raw file for that.
fn make_qcow2(disk: &DiskSpec, path: &Path) -> Result<(), LabError> {
    let img = Invocation::new(Tool::QemuImg).timeout(PATIENCE * 10);
    if !disk.written {
        let size = disk.size_bytes.to_string();
        return run(img.args(["create", "-q", "-f", "qcow2"]).arg(path).arg(size));
    }
    let raw = path.with_extension("raw");
    remove(&raw)?;
    let made = make_raw(disk, &raw)
        .and_then(|()| run(img.args(["convert", "-q", "-f", "raw", "-O", "qcow2"]).arg(&raw).arg(path)));
    remove(&raw)?;
    made
}

fn run(img: Invocation) -> Result<(), LabError> {
    LocalRunner.run(&img).map(|_| ()).map_err(LabError::command("making the file of a disk"))
}

fn make_raw(disk: &DiskSpec, path: &Path) -> Result<(), LabError> {
    let mut file = File::create_new(path).map_err(LabError::file("make", path))?;
    if !disk.written {
        return file.set_len(disk.size_bytes).map_err(LabError::file("size", path));
    }
    need_space(path, "a written disk", (disk.size_bytes >> 20) + 64)?;
    // One incompressible block, repeated: what matters is that every block is written.
    let mut block = vec![0; 1 << 20];
    File::open("/dev/urandom")
        .and_then(|mut random| random.read_exact(&mut block))
        .map_err(LabError::file("read", "/dev/urandom"))?;
    fill(&mut file, &block, disk.size_bytes)
        .and_then(|()| file.sync_all())
        .map_err(LabError::file("write", path))
}

fn fill(file: &mut File, block: &[u8], mut left: u64) -> io::Result<()> {
    while left > 0 {
        let now = usize::try_from(left).map_or(block.len(), |left| left.min(block.len()));
        file.write_all(&block[..now])?;
        left -= now as u64;
    }
    Ok(())
}

/// The chain of block nodes from the device to the file.
fn block_node(disk: &DiskSpec, file: &Path) -> Value {
    let (direct, no_flush) = match disk.cache {
        DiskCache::None | DiskCache::Directsync => (true, false),
        DiskCache::Writeback | DiskCache::Writethrough => (false, false),
        DiskCache::Unsafe => (false, true),
    };
    let cache = json!({ "direct": direct, "no-flush": no_flush });
    json!({
        "driver": disk.format.name(), "node-name": node(&disk.name), "cache": cache, "discard": "unmap",
        "file": {
            "driver": "file", "filename": file, "aio": disk.aio.name(), "cache": cache, "discard": "unmap",
        },
    })
}

/// The device that the guest sees.
fn front(disk: &DiskSpec, slot: Option<usize>) -> Value {
    let through = matches!(disk.cache, DiskCache::Writethrough | DiskCache::Directsync);
    let write_cache = if through { "off" } else { "on" };
    let mut device = json!({
        "id": device(&disk.name), "drive": node(&disk.name), "serial": disk.name, "write-cache": write_cache,
    });
    let pci_slot = json!(format!("slot{}", slot.unwrap_or_default()));
    match disk.bus {
        Bus::VirtioBlk => {
            device["driver"] = json!("virtio-blk-pci");
            device["bus"] = pci_slot;
        }
        Bus::Nvme => {
            device["driver"] = json!("nvme");
            device["bus"] = pci_slot;
        }
        Bus::VirtioScsi => {
            device["driver"] = json!("scsi-hd");
            device["bus"] = json!("scsi.0");
        }
    }
    if disk.iothread {
        device["iothread"] = json!(thread(&disk.name));
    }
    device
}

/// Sets a disk's limits.
pub(crate) fn limit(
    monitor: &mut Monitor,
    name: &str,
    bus: Bus,
    throttle: &Throttle,
) -> Result<(), LabError> {
    let doing = format!("limiting the disk {name}");
    monitor.ask("block_set_io_throttle", asked(name, bus, throttle)).map(|_| ()).map_err(refused(doing))
}

fn asked(name: &str, bus: Bus, throttle: &Throttle) -> Value {
    // QEMU takes 0 for no limit
    let Limits { read_iops, write_iops, read_bps, write_bps, total_iops, total_bps } = throttle.limits;
    let rate = |rate: Option<u64>| rate.unwrap_or(0);
    // A virtio-blk disk is a PCI device with the block device inside.
    let inside = match bus {
        Bus::VirtioBlk => "/virtio-backend",
        Bus::VirtioScsi | Bus::Nvme => "",
    };
    let mut all = json!({
        "id": format!("/machine/peripheral/{}{inside}", device(name)),
        "iops": rate(total_iops), "iops_rd": rate(read_iops), "iops_wr": rate(write_iops),
        "bps": rate(total_bps), "bps_rd": rate(read_bps), "bps_wr": rate(write_bps),
    });
    if let Some(burst) = throttle.burst {
        for (limit, burst_name) in
            [(total_iops, "iops_max"), (read_iops, "iops_rd_max"), (write_iops, "iops_wr_max")]
        {
            if limit.is_some() {
                all[burst_name] = json!(burst.iops);
                all[format!("{burst_name}_length")] = json!(burst.seconds);
            }
        }
    }
    all
}

/// Detaches a disk from the guest. `iothread`: it has a thread of its own.
pub(crate) fn unplug(monitor: &mut Monitor, name: &str, iothread: bool) -> Result<(), LabError> {
    let doing = || format!("detaching the disk {name}");
    let id = device(name);
    monitor.ask("device_del", json!({ "id": id })).map_err(refused(doing()))?;
    monitor
        .wait("DEVICE_DELETED", PATIENCE, |data| data["device"] == id.as_str())
        .map_err(refused(doing()))?;
    release(monitor, name, iothread).map_err(refused(doing()))
}

/// Removes the block node and the thread of a disk without a device.
fn release(monitor: &mut Monitor, name: &str, iothread: bool) -> Result<(), QmpError> {
    let node = monitor.ask("blockdev-del", json!({ "node-name": node(name) }));
    if iothread {
        monitor.ask("object-del", json!({ "id": thread(name) }))?;
    }
    node.map(|_| ())
}

/// Waits until all links exist in the guest, and lead to a device.
pub(crate) fn await_links(door: &Door, links: &[String]) -> Result<(), LabError> {
    await_each(door, links, "-e").map_err(LabError::command("waiting for the disks to appear in the guest"))
}

/// Waits until no link exists in the guest: udev removes the link of a disk some time after the disk.
pub(crate) fn await_no_links(door: &Door, links: &[String]) -> Result<(), LabError> {
    await_each(door, links, "! -L")
        .map_err(LabError::command("waiting for the links of earlier disks to go in the guest"))
}

fn await_each(door: &Door, links: &[String], test: &str) -> Result<(), CommandFailure> {
    if links.is_empty() {
        return Ok(());
    }
    let script = format!(
        "for n in $(seq {}); do for link in \"$@\"; do [ {test} \"$link\" ] || {{ sleep 0.1; continue 2; }}; done; exit 0; done; \
         ls -l /dev/disk/by-id >&2; exit 1",
        PATIENCE.as_secs() * 10
    );
    let mut argv = vec!["sh", "-c", &script, "sh"];
    argv.extend(links.iter().map(String::as_str));
    door.run(&LocalRunner, &argv, PATIENCE * 4).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::{asked, block_node, front};
    use crate::disk::DiskSpec;
    use record::target::Bus;
    use std::path::Path;

    #[test]
    fn bursts_belong_to_the_limit_that_is_set() {
        let together = "total_iops=100,burst_iops=400,burst_seconds=30".parse().unwrap();
        let said = asked("gp", Bus::VirtioBlk, &together);
        assert_eq!(
            (&said["id"], &said["iops"]),
            (&"/machine/peripheral/disk-gp/virtio-backend".into(), &100.into())
        );
        assert_eq!((&said["iops_max"], &said["iops_max_length"]), (&400.into(), &30.into()));
        assert!(said.get("iops_rd_max").is_none());
        let each = "read_iops=100,burst_iops=400,burst_seconds=30".parse().unwrap();
        let said = asked("gp", Bus::VirtioScsi, &each);
        assert_eq!((&said["iops_rd_max"], said.get("iops_max")), (&400.into(), None));
    }

    #[test]
    fn cache_modes_are_qemu_s() {
        let of = |mode: &str| {
            let disk: DiskSpec = format!("d:size=1g,cache={mode}").parse().unwrap();
            let node = block_node(&disk, Path::new("/x"));
            let flags =
                |at: &serde_json::Value| (at["direct"].as_bool().unwrap(), at["no-flush"].as_bool().unwrap());
            assert_eq!(flags(&node["cache"]), flags(&node["file"]["cache"]));
            (flags(&node["cache"]), front(&disk, Some(0))["write-cache"].as_str().unwrap().to_owned())
        };
        assert_eq!(of("none"), ((true, false), "on".to_owned()));
        assert_eq!(of("writeback"), ((false, false), "on".to_owned()));
        assert_eq!(of("writethrough"), ((false, false), "off".to_owned()));
        assert_eq!(of("directsync"), ((true, false), "off".to_owned()));
        assert_eq!(of("unsafe"), ((false, true), "on".to_owned()));
    }

    #[test]
    fn format_submission_and_thread_reach_qemu() {
        let disk: DiskSpec = "d:size=1g,format=qcow2,aio=io_uring,iothread=yes".parse().unwrap();
        let node = block_node(&disk, Path::new("/x"));
        assert_eq!((&node["driver"], &node["file"]["aio"]), (&"qcow2".into(), &"io_uring".into()));
        assert_eq!(front(&disk, Some(0))["iothread"], "thread-d");
        let disk: DiskSpec = "d:size=1g".parse().unwrap();
        let node = block_node(&disk, Path::new("/x"));
        assert_eq!((&node["driver"], &node["file"]["aio"]), (&"raw".into(), &"threads".into()));
        assert!(front(&disk, Some(0)).get("iothread").is_none());
    }

    #[test]
    fn a_disk_s_serial_is_its_name() {
        let disk: DiskSpec = "ssd:size=1g,bus=virtio-scsi".parse().unwrap();
        let device = front(&disk, None);
        assert_eq!(
            (&device["driver"], &device["serial"], &device["bus"]),
            (&"scsi-hd".into(), &"ssd".into(), &"scsi.0".into())
        );
        let disk: DiskSpec = "d1:size=1g".parse().unwrap();
        assert_eq!(front(&disk, Some(7))["bus"], "slot7");
    }
}
