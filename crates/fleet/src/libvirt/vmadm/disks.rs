//! The disks of a description.

use super::fields::Fields;
use crate::libvirt::request::NewDisk;

const NOT_HERE: [(&str, &str); 7] = [
    ("image_name", "is not looked at: say the image's `image_uuid`"),
    ("block_size", "is of ZFS, which isn't below a guest's disk here"),
    ("compression", "is of ZFS, which isn't below a guest's disk here"),
    ("refreservation", "is of ZFS, which isn't below a guest's disk here"),
    ("zpool", "is of ZFS; disks are files in diskproof's state directory"),
    ("path", "is not taken: a guest gets new disks only, never one that is there"),
    ("nocreate", "is not taken: a guest gets new disks only, never one that is there"),
];

/// Reads the disks; the first one boots, so it has an image.
pub(super) fn disks(fields: &mut Fields) -> Vec<NewDisk> {
    if !fields.has("disks") {
        fields.wrong("disks", "is missing: the first disk has the image that the guest boots from");
    }
    let mut disks = Vec::new();
    for (number, mut part) in fields.objects("disks").into_iter().enumerate() {
        disks.push(disk(&mut part, number));
        part.refuse(&NOT_HERE);
        fields.take_wrong(part);
    }
    if disks.len() > 9 {
        fields.wrong("disks", "are more than 9");
    }
    disks
}

fn disk(part: &mut Fields, number: usize) -> NewDisk {
    let image = part.text("image_uuid");
    let boot = part.flag("boot");
    match number {
        0 if image.is_none() => part.wrong("image_uuid", "is missing: the guest boots from the first disk"),
        0 if boot == Some(false) => part.wrong("boot", "is false, and the guest boots from the first disk"),
        0 => {}
        _ if boot == Some(true) => part.wrong("boot", "is true, and the guest boots from the first disk"),
        _ => {}
    }
    let image_size = part.number("image_size");
    let mib = part.number("size").or(image_size);
    let size_bytes = mib.and_then(|mib| mib.checked_mul(1 << 20));
    if (size_bytes.is_none() && mib.is_some()) || mib == Some(0) {
        part.wrong("size", "is no size in MiB");
    }
    if mib.is_none() && image.is_none() {
        part.wrong("size", "is missing: a disk without an image has a size in MiB");
    }
    match part.text("media").as_deref() {
        None | Some("disk") => {}
        Some(other) => part.wrong("media", &format!("`{other}` can't be had: `disk`")),
    }
    let bus = match part.text("model").as_deref() {
        None | Some("virtio") => "virtio",
        Some("ahci" | "ide") => "sata",
        Some("scsi") => "scsi",
        Some(other) => {
            part.wrong("model", &format!("`{other}` can't be had: virtio, ahci, ide (as sata), scsi"));
            "virtio"
        }
    };
    NewDisk { image, size_bytes, bus }
}
