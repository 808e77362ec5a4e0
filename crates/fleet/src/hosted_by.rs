//! Targets that are guests of libvirt on another machine (`hosted_by`): their disks are found on that machine, by their serial numbers.

use crate::agent::ssh;
use crate::at::LOCAL;
use crate::command::AS_ROOT_IF_POSSIBLE;
use crate::error::FleetError;
use crate::guest_hosts::{connected, look};
use crate::imposed::OfLibvirt;
use crate::libvirt::{GuestDisk, Source, describe};
use crate::options::Options;
use host::LocalRunner;
use record::plan::Plan;
use record::printable::{chain, printable};
use record::target::{HostedBy, Target, TargetKind};
use record::volume::{Limits, VolumeKind};
use run::controller::volumes_of;
use run::guest_disks::{HostedDisk, Imposed};
use std::path::PathBuf;
use std::sync::Arc;

/// Where a guest's kernel shows the UUID that libvirt gave the guest.
const UUID: &str = "/sys/class/dmi/id/product_uuid";
/// How many characters of a serial number virtio-blk shows.
const VIRTIO_SERIAL: usize = 20;
/// How names in `/dev/disk/by-id` begin, by the buses of QEMU; the serial number follows.
const BUSES: [&str; 5] = [
    "virtio-",
    "scsi-0QEMU_QEMU_HARDDISK_",
    "scsi-SQEMU_QEMU_HARDDISK_",
    "ata-QEMU_HARDDISK_",
    "nvme-QEMU_NVMe_Ctrl_",
];

/// The disks of a target's volumes, with what backs them on the guest's host. Empty if the target isn't `hosted_by` a machine.
///
/// # Errors
/// The host can't be reached, the guest isn't there, or a volume's disk isn't found. What the experiment says of a host is not ignored.
pub(crate) fn disks(plan: &Plan, target: &Target, options: &Options) -> Result<Vec<HostedDisk>, FleetError> {
    let (Some(by), TargetKind::Ssh { destination }) = (&target.hosted_by, &target.kind) else {
        return Ok(Vec::new());
    };
    let refused = |why: String| FleetError::HostedBy { target: target.name.clone(), why };
    let host = destination_of(plan, &by.machine);
    let at = connected(host, options).map_err(|error| refused(chain(&error)))?;
    let guest = describe(&at, &by.guest).map_err(|error| refused(chain(&error)))?;
    let own = uuid(destination, options).map_err(refused)?;
    if !own.eq_ignore_ascii_case(&guest.uuid) {
        return Err(refused(other_machine(by, destination, &own, &guest.uuid)));
    }
    let mut found: Vec<(String, GuestDisk, String)> = Vec::new();
    for volume in volumes_of(plan, &target.name) {
        let VolumeKind::Disk { id } = volume.kind else { continue };
        let (disk, path) = find(&guest.disks, &id, by).map_err(refused)?;
        found.push((id, disk, path));
    }
    if found.is_empty() {
        return Err(refused(
            "none of its volumes is a disk (`disks: [ID]`), so there is nothing to follow on its host"
                .to_owned(),
        ));
    }
    let paths: Vec<&str> = found.iter().map(|(_, _, path)| path.as_str()).collect();
    let looker = look(host, &paths, options)
        .map_err(|error| refused(format!("no agent process starts on {host}: {}", chain(error.as_ref()))))?;
    let at = Arc::new(at);
    let hosted = found.into_iter().map(|(id, disk, path)| {
        let serial = disk.serial.clone().unwrap_or_default();
        let of =
            OfLibvirt { at: Arc::clone(&at), domain: guest.uuid.clone(), serial, asked: Limits::default() };
        HostedDisk {
            id,
            host: Arc::clone(&looker),
            backing: PathBuf::from(path),
            direct_io: disk.direct_io,
            limits: Limits::default(),
            changes: Vec::new(),
            throttle: None,
            host_limits: Some(disk.limits),
            imposed: Some(Arc::new(of) as Arc<dyn Imposed>),
        }
    });
    Ok(hosted.collect())
}

/// What ssh calls a machine: that of a target, or the name itself.
fn destination_of<'p>(plan: &'p Plan, machine: &'p str) -> &'p str {
    match plan.targets.iter().find(|target| target.name == machine).map(|target| &target.kind) {
        Some(TargetKind::Ssh { destination }) => destination,
        Some(TargetKind::Local) => LOCAL,
        _ => machine,
    }
}

/// The UUID of a machine's firmware tables.
fn uuid(destination: &str, options: &Options) -> Result<String, String> {
    let words = ["sh", "-c", AS_ROOT_IF_POSSIBLE, "diskproof", "cat", UUID];
    let said =
        ssh(destination, options).run(&LocalRunner, "read the UUID of its firmware tables", &words, None);
    let why = |error| format!("it can't be checked that both are one guest: {}", chain(&error));
    Ok(said.map_err(why)?.trim().to_owned())
}

fn other_machine(by: &HostedBy, destination: &str, own: &str, guests: &str) -> String {
    format!(
        "the machine behind `ssh: {}` has the UUID {}, and the guest {} on {} has {}: they are two machines",
        printable(destination),
        printable(own),
        printable(&by.guest),
        printable(&by.machine),
        printable(guests)
    )
}

/// The disk of a name in the guest's `/dev/disk/by-id`, and the path of what backs it.
fn find(disks: &[GuestDisk], id: &str, by: &HostedBy) -> Result<(GuestDisk, String), String> {
    let (id_shown, guest, machine) = (printable(id), printable(&by.guest), printable(&by.machine));
    let mut fitting =
        disks.iter().filter(|disk| disk.serial.as_deref().is_some_and(|serial| is_named(id, serial)));
    let disk = match (fitting.next(), fitting.next()) {
        (Some(disk), None) => disk,
        (Some(_), Some(_)) => {
            return Err(format!(
                "two disks of the guest {guest} on {machine} have the serial number in {id_shown}"
            ));
        }
        (None, _) => {
            let each = disks.iter().map(|disk| match &disk.serial {
                Some(serial) => format!("{} ({})", printable(&disk.target), printable(serial)),
                None => format!("{} (no serial number)", printable(&disk.target)),
            });
            return Err(format!(
                "no disk of the guest {guest} on {machine} has the serial number in {id_shown}; libvirt has {}. \
                 A disk gets one by `<serial>` in its description (`virsh edit`)",
                each.collect::<Vec<_>>().join(", ")
            ));
        }
    };
    if disk.has_base {
        return Err(format!(
            "{id_shown} is a layer over another file on {machine}, and diskproof doesn't follow both: \
             join them by `virsh blockpull`"
        ));
    }
    match &disk.source {
        Source::Path(path) if path.starts_with('/') && !path.contains(char::is_control) => {
            Ok((disk.clone(), path.clone()))
        }
        Source::Other(kind) => Err(format!(
            "what backs {id_shown} on {machine} is of type `{}`, no file or block device",
            printable(kind)
        )),
        _ => Err(format!("what backs {id_shown} on {machine} has no path")),
    }
}

/// Whether a name in `/dev/disk/by-id` is that of a QEMU disk with this serial number.
fn is_named(id: &str, serial: &str) -> bool {
    // udev writes `_` for a space.
    let serial = serial.replace(' ', "_");
    let short: String = serial.chars().take(VIRTIO_SERIAL).collect();
    BUSES.iter().filter_map(|bus| id.strip_prefix(bus)).any(|rest| {
        rest == serial
            || (id.starts_with("virtio-") && rest == short)
            || rest.strip_suffix("_1") == Some(serial.as_str())
    })
}

#[cfg(test)]
mod tests {
    use super::{find, is_named};
    use crate::libvirt::{GuestDisk, Source};
    use record::target::HostedBy;
    use record::volume::HostLimits;

    #[test]
    fn a_serial_number_is_found_in_the_names_of_all_buses() {
        for (id, serial) in [
            ("virtio-dp1", "dp1"),
            ("virtio-12345678901234567890", "123456789012345678901"),
            ("scsi-0QEMU_QEMU_HARDDISK_dp1", "dp1"),
            ("nvme-QEMU_NVMe_Ctrl_dp1", "dp1"),
            ("nvme-QEMU_NVMe_Ctrl_dp1_1", "dp1"),
            ("ata-QEMU_HARDDISK_a_b", "a b"),
        ] {
            assert!(is_named(id, serial), "{id}");
        }
        for (id, serial) in
            [("virtio-dp12", "dp1"), ("virtio-dp1", "dp12"), ("nvme-Samsung_dp1", "dp1"), ("virtio-", "d")]
        {
            assert!(!is_named(id, serial), "{id}");
        }
    }

    #[test]
    fn a_disk_that_can_not_be_followed_is_refused_with_what_is_missing() {
        let by = HostedBy { machine: "ham0".to_owned(), guest: "web".to_owned() };
        let disk = |target: &str, serial: Option<&str>, source| GuestDisk {
            target: target.to_owned(),
            serial: serial.map(str::to_owned),
            source,
            direct_io: true,
            has_base: false,
            limits: HostLimits::default(),
        };
        let file = || Source::Path("/srv/a.raw".to_owned());
        let plain = disk("vdb", Some("dp1"), file());
        let base = GuestDisk { has_base: true, ..disk("vdc", Some("dp2"), file()) };
        let far = disk("vdd", Some("dp3"), Source::Other("network".to_owned()));
        let twin = || disk("vde", Some("dp4"), file());
        let all = [disk("vda", None, file()), plain.clone(), base, far, twin(), twin()];
        assert_eq!(find(&all, "virtio-dp1", &by), Ok((plain, "/srv/a.raw".to_owned())));
        for (id, part) in [
            ("virtio-x", "libvirt has vda (no serial number), vdb (dp1), vdc (dp2)"),
            ("virtio-dp2", "virsh blockpull"),
            ("virtio-dp3", "of type `network`"),
            ("virtio-dp4", "two disks of the guest web on ham0"),
        ] {
            let why = find(&all, id, &by).unwrap_err();
            assert!(why.contains(part), "{why}");
        }
    }
}
