//! The disks of a guest, as libvirt describes them: what backs each on its host, and the limits that libvirt sets (`iotune`).

use crate::at::{At, AtError};
use record::printable::printable;
use record::volume::{HostBurst, HostLimits, LimitName};
use roxmltree::{Document, Node};

/// A disk of a guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GuestDisk {
    /// libvirt's name of it. The guest's kernel may have another one.
    pub(crate) target: String,
    /// The serial number that the guest sees; `None`: it sees none.
    pub(crate) serial: Option<String>,
    /// What backs it.
    pub(crate) source: Source,
    /// Whether its I/O bypasses the host's page cache.
    pub(crate) direct_io: bool,
    /// Whether blocks that were never written come from another file.
    pub(crate) has_base: bool,
    /// The limits that libvirt sets.
    pub(crate) limits: HostLimits,
}

/// What backs a disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// A file or block device of the host.
    Path(String),
    /// A volume of a storage pool, until libvirt has told its path.
    Volume {
        /// The pool.
        pool: String,
        /// The volume.
        volume: String,
    },
    /// Anything else, by libvirt's word for it, e.g. `network`.
    Other(String),
}

/// The limits, by libvirt's names without their ends.
const LIMITS: [(&str, LimitName); 6] = [
    ("read_iops_sec", LimitName::ReadIops),
    ("write_iops_sec", LimitName::WriteIops),
    ("total_iops_sec", LimitName::TotalIops),
    ("read_bytes_sec", LimitName::ReadBps),
    ("write_bytes_sec", LimitName::WriteBps),
    ("total_bytes_sec", LimitName::TotalBps),
];

/// A guest with its disks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Described {
    /// libvirt's UUID of it, which its firmware tables show to it as well.
    pub(crate) uuid: String,
    /// Its disks.
    pub(crate) disks: Vec<GuestDisk>,
}

/// Asks libvirt for a guest, by its name or UUID.
///
/// # Errors
/// There is no such guest, the host has no `virsh`, or libvirt doesn't answer.
pub(crate) fn describe(at: &At, guest: &str) -> Result<Described, AtError> {
    let said = at.virsh("ask libvirt for the guest's disks", &["dumpxml", "--domain", guest])?;
    let mut described = read(&said).ok_or_else(|| at.garbled(&said))?;
    for disk in &mut described.disks {
        if let Source::Volume { pool, volume } = &disk.source {
            let words = ["vol-path", "--pool", pool, "--vol", volume];
            disk.source = Source::Path(at.virsh("find the volume", &words)?.trim().to_owned());
        }
    }
    Ok(described)
}

/// Reads a description; `None`: it is no description of a guest.
fn read(xml: &str) -> Option<Described> {
    let document = Document::parse(xml).ok()?;
    let domain = Some(document.root_element()).filter(|root| root.has_tag_name("domain"))?;
    let disks = child(domain, "devices")?.children().filter(|node| node.has_tag_name("disk"));
    let disks = disks.filter(|disk| disk.attribute("device").is_none_or(|kind| kind == "disk"));
    Some(Described { uuid: text(domain, "uuid")?.to_owned(), disks: disks.filter_map(one).collect() })
}

fn one(disk: Node<'_, '_>) -> Option<GuestDisk> {
    let cache = child(disk, "driver").and_then(|driver| driver.attribute("cache"));
    Some(GuestDisk {
        target: child(disk, "target")?.attribute("dev")?.to_owned(),
        serial: text(disk, "serial").map(str::to_owned),
        source: source(disk),
        // Without a word QEMU uses the page cache (`writeback`).
        direct_io: cache.is_some_and(|cache| matches!(cache, "none" | "directsync")),
        has_base: child(disk, "backingStore").is_some_and(|base| child(base, "source").is_some()),
        limits: child(disk, "iotune").map(limits).unwrap_or_default(),
    })
}

fn source(disk: Node<'_, '_>) -> Source {
    let kind = disk.attribute("type").unwrap_or("file");
    let attribute = |name| child(disk, "source").and_then(|source| source.attribute(name)).map(str::to_owned);
    match (attribute("file").or(attribute("dev")), attribute("pool").zip(attribute("volume"))) {
        (Some(path), _) => Source::Path(path),
        (None, Some((pool, volume))) => Source::Volume { pool, volume },
        (None, None) => Source::Other(kind.to_owned()),
    }
}

/// Reads limits. libvirt writes 0 where there is none.
fn limits(iotune: Node<'_, '_>) -> HostLimits {
    let number = |name: &str| text(iotune, name)?.parse::<u64>().ok().filter(|number| *number > 0);
    let mut limits = HostLimits {
        group: text(iotune, "group_name").map(|name| printable(name).into_owned()),
        io_bytes: number("size_iops_sec"),
        ..HostLimits::default()
    };
    for (name, limit) in LIMITS {
        limit.set(&mut limits.limits, number(name));
        if let Some(rate) = number(&format!("{name}_max")) {
            // QEMU's own default is a second.
            let seconds = number(&format!("{name}_max_length")).unwrap_or(1);
            limits.bursts.push(HostBurst { limit, rate, seconds });
        }
    }
    limits
}

fn child<'a, 'i>(node: Node<'a, 'i>, name: &str) -> Option<Node<'a, 'i>> {
    node.children().find(|child| child.has_tag_name(name))
}

fn text<'a>(node: Node<'a, '_>, name: &str) -> Option<&'a str> {
    child(node, name)?.text().map(str::trim).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::{Described, Source, read};
    use record::volume::{HostBurst, LimitName, Limits};

    /// What `virsh dumpxml` (libvirt 9.0) printed of a running guest after `blkdeviotune` of two disks.
    const REAL: &str = "<domain type='qemu' id='2'>
  <name>probe</name>
  <uuid>3c6ab0ab-7a2c-4b15-9c7f-3a32a3f4d6f1</uuid>
  <devices>
    <emulator>/usr/bin/qemu-system-x86_64</emulator>
    <disk type='file' device='disk'>
      <driver name='qemu' type='raw' cache='none' io='native'/>
      <source file='/root/a.raw' index='4'/>
      <backingStore/>
      <target dev='vda' bus='virtio'/>
      <iotune>
        <read_bytes_sec>1048576</read_bytes_sec>
        <write_bytes_sec>2097152</write_bytes_sec>
        <total_iops_sec>100</total_iops_sec>
        <total_iops_sec_max>400</total_iops_sec_max>
        <size_iops_sec>65536</size_iops_sec>
        <total_iops_sec_max_length>30</total_iops_sec_max_length>
      </iotune>
      <serial>one</serial>
      <alias name='virtio-disk0'/>
      <address type='pci' domain='0x0000' bus='0x03' slot='0x00' function='0x0'/>
    </disk>
    <disk type='file' device='disk'>
      <driver name='qemu' type='raw'/>
      <source file='/root/b.raw' index='3'/>
      <backingStore/>
      <target dev='vdb' bus='virtio'/>
      <iotune>
        <total_bytes_sec>4194304</total_bytes_sec>
        <read_iops_sec>50</read_iops_sec>
        <write_iops_sec>60</write_iops_sec>
        <total_bytes_sec_max>8388608</total_bytes_sec_max>
        <group_name>shared</group_name>
      </iotune>
      <serial>two</serial>
      <alias name='virtio-disk1'/>
    </disk>
    <disk type='file' device='disk'>
      <driver name='qemu' type='qcow2' cache='writeback'/>
      <source file='/root/d.qcow2' index='2'/>
      <backingStore type='file' index='5'>
        <format type='raw'/>
        <source file='/root/c.raw'/>
        <backingStore/>
      </backingStore>
      <target dev='sda' bus='scsi'/>
      <alias name='scsi0-0-0-0'/>
    </disk>
    <disk type='file' device='cdrom'>
      <driver name='qemu'/>
      <target dev='sdb' bus='sata'/>
      <readonly/>
    </disk>
    <controller type='scsi' index='0' model='virtio-scsi'/>
  </devices>
</domain>
";

    #[test]
    fn limits_bursts_and_groups_are_read() {
        let Described { uuid, disks } = read(REAL).unwrap();
        assert_eq!(uuid, "3c6ab0ab-7a2c-4b15-9c7f-3a32a3f4d6f1");
        let names: Vec<(&str, Option<&str>)> =
            disks.iter().map(|disk| (disk.target.as_str(), disk.serial.as_deref())).collect();
        assert_eq!(names, [("vda", Some("one")), ("vdb", Some("two")), ("sda", None)], "no CD-ROM");
        let a = &disks[0];
        assert_eq!(
            (&a.source, a.direct_io, a.has_base),
            (&Source::Path("/root/a.raw".to_owned()), true, false)
        );
        assert_eq!(
            a.limits.limits,
            Limits {
                total_iops: Some(100),
                read_bps: Some(1 << 20),
                write_bps: Some(2 << 20),
                ..Limits::default()
            }
        );
        assert_eq!(a.limits.bursts, [HostBurst { limit: LimitName::TotalIops, rate: 400, seconds: 30 }]);
        assert_eq!((a.limits.io_bytes, &a.limits.group), (Some(65536), &None));
        let b = &disks[1];
        assert!(!b.direct_io, "QEMU's default is writeback");
        assert_eq!(b.limits.group.as_deref(), Some("shared"));
        assert_eq!(b.limits.limits.read_iops, Some(50));
        assert_eq!(b.limits.bursts, [HostBurst { limit: LimitName::TotalBps, rate: 8 << 20, seconds: 1 }]);
        assert!(disks[2].has_base && disks[2].limits.is_unlimited());
    }

    #[test]
    fn what_backs_a_disk_may_be_a_device_a_volume_or_something_else() {
        let of = |disk: &str| {
            let disk = format!("<disk {disk}<target dev='vda'/></disk>");
            let xml = format!("<domain><uuid>u</uuid><devices>{disk}</devices></domain>");
            read(&xml).unwrap().disks.remove(0).source
        };
        assert_eq!(of("type='block'><source dev='/dev/vg0/a'/>"), Source::Path("/dev/vg0/a".to_owned()));
        let volume = Source::Volume { pool: "vg0".to_owned(), volume: "a".to_owned() };
        assert_eq!(of("type='volume'><source pool='vg0' volume='a'/>"), volume);
        assert_eq!(
            of("type='network'><source protocol='rbd' name='a'/>"),
            Source::Other("network".to_owned())
        );
        assert_eq!(of("type='file'>"), Source::Other("file".to_owned()), "nothing is in it");
        for other in ["", "error: no domain", "<pool/>", "<domain/>", "<domain><devices/></domain>"] {
            assert!(read(other).is_none(), "{other}");
        }
    }
}
