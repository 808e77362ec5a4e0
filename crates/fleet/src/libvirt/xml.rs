//! libvirt's description of a guest.

use super::escape::escaped;
use super::request::{Network, NewGuest, Nic};
use record::machine::Mac;
use std::fmt::Write as _;

/// A disk of the description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DiskFile {
    /// Its path, or its name in the pool.
    pub(crate) path: String,
    /// The storage pool of libvirt that has it; `None`: it is a file.
    pub(crate) pool: Option<String>,
    pub(crate) format: &'static str,
    pub(crate) bus: &'static str,
    pub(crate) read_only: bool,
    pub(crate) tuning: Tuning,
}

/// How a disk is known and driven; the default is a disk that QEMU loads without the page cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tuning {
    /// What the guest sees as its serial number; `None`: it has none.
    pub(crate) serial: Option<String>,
    /// QEMU's cache mode.
    pub(crate) cache: &'static str,
    /// Who does its I/O: `native`, `threads`, `io_uring`; `None`: as QEMU chooses.
    pub(crate) io: Option<&'static str>,
    /// Whether a thread of its own serves it.
    pub(crate) iothread: bool,
    /// Most I/Os per second, reads and writes together.
    pub(crate) iops: Option<u64>,
    /// Most bytes per second, reads and writes together.
    pub(crate) bytes_per_second: Option<u64>,
}

impl Default for Tuning {
    fn default() -> Self {
        Self { serial: None, cache: "none", io: None, iothread: false, iops: None, bytes_per_second: None }
    }
}

/// A kernel that QEMU starts itself, for images without a boot loader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Boot {
    pub(crate) kernel: String,
    pub(crate) initrd: String,
    pub(crate) cmdline: String,
}

/// The processors of a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cpu {
    /// Those of the machine, by KVM. libvirt writes their features down, so that it can tell whether another machine has them.
    Kvm,
    /// The same without the register of known flaws (IA32_ARCH_CAPABILITIES), which KVM in a guest may refuse to set.
    KvmWithoutFlaws,
    /// Emulated by QEMU.
    Emulated,
}

/// What the guest runs on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Host {
    pub(crate) arch: String,
    pub(crate) cpu: Cpu,
}

/// The family in the SMBIOS of a guest whose SKU is the digest of its image; the agent process reads both.
const IMAGE_FAMILY: &str = "diskproof-image";

/// Returns the description. `metadata` are elements of namespaces of our own, `image` is the digest of the image under the first disk.
pub(crate) fn domain(
    wanted: &NewGuest,
    macs: &[Mac],
    disks: &[DiskFile],
    boot: Option<&Boot>,
    host: &Host,
    metadata: &str,
    image: Option<&str>,
) -> String {
    let mut xml = format!("<domain type='{}'>\n", if host.cpu == Cpu::Emulated { "qemu" } else { "kvm" });
    let _ = writeln!(xml, "  <name>{}</name>", escaped(&wanted.name));
    if let Some(uuid) = &wanted.uuid {
        let _ = writeln!(xml, "  <uuid>{}</uuid>", escaped(uuid));
    }
    let _ = writeln!(xml, "  <metadata>{metadata}</metadata>");
    let _ = writeln!(xml, "  <memory unit='MiB'>{}</memory>", wanted.memory_mib);
    let _ = match (host.cpu, wanted.vcpus) {
        // QEMU before 8.1 emulates a machine that can't have a second processor without memory barriers: its disks lose interrupts and hang.
        (Cpu::Emulated, 1) => writeln!(xml, "  <vcpu current='1'>2</vcpu>"),
        (_, cpus) => writeln!(xml, "  <vcpu>{cpus}</vcpu>"),
    };
    let threads = disks.iter().filter(|disk| disk.tuning.iothread).count();
    if threads > 0 {
        let _ = writeln!(xml, "  <iothreads>{threads}</iothreads>");
    }
    if let Some(digest) = image {
        let _ = writeln!(
            xml,
            "  <sysinfo type='smbios'>\n    <system><entry name='sku'>{}</entry><entry name='family'>{IMAGE_FAMILY}</entry></system>\n  \
             </sysinfo>",
            escaped(digest)
        );
    }
    let _ = writeln!(xml, "  <os>\n    <type arch='{}' machine='q35'>hvm</type>", escaped(&host.arch));
    match boot {
        Some(boot) => {
            let _ = writeln!(
                xml,
                "    <kernel>{}</kernel>\n    <initrd>{}</initrd>\n    <cmdline>{}</cmdline>",
                escaped(&boot.kernel),
                escaped(&boot.initrd),
                escaped(&boot.cmdline)
            );
        }
        None => xml.push_str("    <boot dev='hd'/>\n"),
    }
    if image.is_some() {
        xml.push_str("    <smbios mode='sysinfo'/>\n");
    }
    xml.push_str("  </os>\n  <features><acpi/><apic/></features>\n");
    xml.push_str(match host.cpu {
        Cpu::Kvm => "  <cpu mode='host-model'/>\n",
        Cpu::KvmWithoutFlaws => {
            "  <cpu mode='host-model'><feature policy='disable' name='arch-capabilities'/></cpu>\n"
        }
        Cpu::Emulated => "",
    });
    xml.push_str(
        "  <clock offset='utc'/>\n  <on_poweroff>destroy</on_poweroff>\n  <on_reboot>restart</on_reboot>\n",
    );
    xml.push_str("  <on_crash>preserve</on_crash>\n  <devices>\n");
    disk_elements(&mut xml, disks);
    if disks.iter().any(|disk| disk.bus == "scsi") {
        xml.push_str("    <controller type='scsi' model='virtio-scsi'/>\n");
    }
    for (nic, mac) in wanted.nics.iter().zip(macs) {
        interface(&mut xml, nic, *mac);
    }
    xml.push_str(
        "    <serial type='pty'><target port='0'/></serial>\n    <console type='pty'><target type='serial' port='0'/></console>\n    \
         <graphics type='vnc' autoport='yes' listen='127.0.0.1'/>\n    <video><model type='vga'/></video>\n    \
         <rng model='virtio'><backend model='random'>/dev/urandom</backend></rng>\n    <memballoon model='virtio'/>\n  </devices>\n</domain>\n",
    );
    xml
}

fn disk_elements(xml: &mut String, disks: &[DiskFile]) {
    let mut named: Vec<&str> = Vec::new();
    let mut threads = 0;
    for disk in disks {
        let prefix = if disk.bus == "virtio" { "vd" } else { "sd" };
        let letter = char::from(
            b'a' + u8::try_from(named.iter().filter(|known| **known == prefix).count()).unwrap_or(25).min(25),
        );
        named.push(prefix);
        let tuning = &disk.tuning;
        let source = match &disk.pool {
            None => format!("file='{}'", escaped(&disk.path)),
            Some(pool) => format!("pool='{}' volume='{}'", escaped(pool), escaped(&disk.path)),
        };
        let mut how = format!("name='qemu' type='{}' cache='{}' discard='unmap'", disk.format, tuning.cache);
        if let Some(io) = tuning.io {
            let _ = write!(how, " io='{io}'");
        }
        if tuning.iothread {
            threads += 1;
            let _ = write!(how, " iothread='{threads}'");
        }
        let _ = write!(
            xml,
            "    <disk type='{}' device='disk'>\n      <driver {how}/>\n      <source {source}/>\n      \
             <target dev='{prefix}{letter}' bus='{}'/>",
            if disk.pool.is_some() { "volume" } else { "file" },
            disk.bus,
        );
        if disk.read_only {
            xml.push_str("\n      <readonly/>");
        }
        if let Some(serial) = &tuning.serial {
            let _ = write!(xml, "\n      <serial>{}</serial>", escaped(serial));
        }
        let limits = [("total_bytes_sec", tuning.bytes_per_second), ("total_iops_sec", tuning.iops)];
        let limits: String = limits
            .iter()
            .filter_map(|(name, limit)| Some(format!("<{name}>{}</{name}>", (*limit)?)))
            .collect();
        if !limits.is_empty() {
            let _ = write!(xml, "\n      <iotune>{limits}</iotune>");
        }
        xml.push_str("\n    </disk>\n");
    }
}

fn interface(xml: &mut String, nic: &Nic, mac: Mac) {
    let (kind, key, name) = match &nic.network {
        Network::Libvirt(name) => ("network", "network", name),
        Network::Bridge(name) => ("bridge", "bridge", name),
    };
    let _ = writeln!(
        xml,
        "    <interface type='{kind}'>\n      <mac address='{mac}'/>\n      <source {key}='{}'/>\n      <model type='{}'/>",
        escaped(name),
        nic.model
    );
    if let Some(mtu) = nic.mtu {
        let _ = writeln!(xml, "      <mtu size='{mtu}'/>");
    }
    if let Some(filter) = nic.filter {
        let _ = write!(xml, "      <filterref filter='{filter}'>");
        for address in nic.addresses.iter().filter_map(|address| address.split('/').next()) {
            if !address.contains(':') {
                let _ = write!(xml, "<parameter name='IP' value='{}'/>", escaped(address));
            }
        }
        xml.push_str("</filterref>\n");
    }
    xml.push_str("    </interface>\n");
}

#[cfg(test)]
mod tests {
    use super::{Cpu, DiskFile, Host, Tuning, domain};
    use crate::libvirt::request::{Network, NewDisk, NewGuest, Nic};
    use record::machine::Mac;

    fn web(vcpus: u32, nics: Vec<Nic>) -> NewGuest {
        NewGuest {
            name: "web".to_owned(),
            hostname: "web".to_owned(),
            uuid: None,
            memory_mib: 512,
            vcpus,
            disks: vec![NewDisk { image: None, size_bytes: Some(1), bus: "virtio" }],
            nics,
            resolvers: Vec::new(),
            search: None,
            keys: Vec::new(),
            first_boot: None,
            autostart: false,
            full_copy: false,
            emulated: false,
        }
    }

    #[test]
    fn an_emulated_guest_can_have_two_processors() {
        for (vcpus, cpu, said) in [
            (1, Cpu::Emulated, "<vcpu current='1'>2</vcpu>"),
            (2, Cpu::Emulated, "<vcpu>2</vcpu>"),
            (1, Cpu::Kvm, "<vcpu>1</vcpu>"),
        ] {
            let host = Host { arch: "x86_64".to_owned(), cpu };
            let xml = domain(&web(vcpus, Vec::new()), &[], &[], None, &host, "<m/>", None);
            assert!(xml.contains(said), "{xml}");
        }
    }

    #[test]
    fn the_description_has_what_was_asked_for() {
        let mut nic = Nic::plain(Network::Libvirt("default".to_owned()));
        nic.addresses = vec!["10.0.0.5/24".to_owned(), "fd00::5/64".to_owned()];
        nic.filter = Some("clean-traffic");
        let wanted = web(2, vec![nic]);
        let limited = Tuning {
            serial: Some("dp1".to_owned()),
            io: Some("native"),
            iothread: true,
            iops: Some(80),
            bytes_per_second: Some(1 << 20),
            ..Tuning::default()
        };
        let disk = |path: &str, bus, read_only| DiskFile {
            path: path.to_owned(),
            pool: (bus == "scsi").then(|| "vg0".to_owned()),
            format: "raw",
            bus,
            read_only,
            tuning: if read_only { Tuning::default() } else { limited.clone() },
        };
        let disks = [disk("/a'b", "virtio", false), disk("/c", "scsi", false), disk("/d", "virtio", true)];
        let host = Host { arch: "x86_64".to_owned(), cpu: Cpu::Emulated };
        let xml =
            domain(&wanted, &[Mac([0x52, 0x54, 0, 1, 2, 3])], &disks, None, &host, "<m/>", Some("ab12"));
        let parsed = roxmltree::Document::parse(&xml).unwrap();
        let texts = |name: &str, key: &str| -> Vec<String> {
            let found = parsed.descendants().filter(|node| node.has_tag_name(name));
            found.filter_map(|node| node.attribute(key)).map(str::to_owned).collect()
        };
        assert_eq!(texts("domain", "type"), ["qemu"]);
        assert_eq!(texts("source", "file"), ["/a'b", "/d"]);
        assert_eq!(
            (texts("entry", "name"), texts("smbios", "mode")),
            (vec!["sku".to_owned(), "family".to_owned()], vec!["sysinfo".to_owned()])
        );
        assert_eq!(
            (texts("source", "pool"), texts("source", "volume")),
            (vec!["vg0".to_owned()], vec!["/c".to_owned()])
        );
        assert_eq!(texts("target", "dev"), ["vda", "sda", "vdb"]);
        assert_eq!(texts("mac", "address"), ["52:54:00:01:02:03"]);
        assert_eq!(texts("filterref", "filter"), ["clean-traffic"]);
        assert_eq!(texts("parameter", "value"), ["10.0.0.5"]);
        let inner = |name: &str| -> Vec<&str> {
            parsed
                .descendants()
                .filter(|node| node.has_tag_name(name))
                .filter_map(|node| node.text())
                .collect()
        };
        assert_eq!(parsed.descendants().filter(|node| node.has_tag_name("readonly")).count(), 1);
        assert_eq!(texts("driver", "iothread"), ["1", "2"]);
        assert_eq!(texts("driver", "cache"), ["none"; 3]);
        assert_eq!(inner("entry"), ["ab12", "diskproof-image"]);
        assert_eq!((inner("iothreads"), inner("serial")), (vec!["2"], vec!["dp1"; 2]));
        assert_eq!((inner("total_iops_sec"), inner("total_bytes_sec")), (vec!["80"; 2], vec!["1048576"; 2]));
    }
}
