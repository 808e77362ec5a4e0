//! Whether a device or file system is served over a network.

use crate::text::first_line;
use crate::topology::block_node::numbered;
use record::roots::Roots;
use record::topology::{BlockKind, Topology};
use std::fs;
use std::path::Path;

/// File systems with their data on other machines, with their names in mountinfo.
const FILE_SYSTEMS: [&str; 12] = [
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "ceph",
    "afs",
    "lustre",
    "beegfs",
    "fuse.sshfs",
    "fuse.glusterfs",
    "fuse.ceph",
    "fuse.s3fs",
];

/// Name prefixes of block devices with their data on other machines.
const DEVICES: [&str; 3] = ["nbd", "rbd", "drbd"];

/// Whether any part of the devices and file systems under the load is served over a network, as far as this kernel shows it: a
/// file system (under test, or under a backing file), or a block device. A provider's volume that looks like a local disk is not
/// recognized.
#[must_use]
pub fn networked(roots: &Roots, topology: &Topology) -> bool {
    let remote = |fs_type: Option<&str>| fs_type.is_some_and(|fs| FILE_SYSTEMS.contains(&fs));
    remote(topology.deciding_fs())
        || topology.nodes.iter().any(|node| match &node.kind {
            BlockKind::Loop { backing_fs, .. } => remote(backing_fs.as_deref()),
            BlockKind::Disk | BlockKind::Composite { .. } => remote_device(roots, &node.name),
            BlockKind::Partition { .. } | BlockKind::Memory => false,
        })
}

fn remote_device(roots: &Roots, name: &str) -> bool {
    let directory = roots.block(name);
    DEVICES.iter().any(|prefix| numbered(name, prefix)) || is_iscsi(&directory) || is_fabric(&directory)
}

/// Whether the device's path in /sys leads through an iSCSI session.
fn is_iscsi(directory: &Path) -> bool {
    let real = fs::canonicalize(directory).unwrap_or_default();
    real.components().any(|part| part.as_os_str().to_str().is_some_and(|part| numbered(part, "session")))
}

/// Whether the device is NVMe over TCP or RDMA: the controller shows it, or with multipath one of the controllers of the subsystem.
fn is_fabric(directory: &Path) -> bool {
    let device = directory.join("device");
    let remote = |controller: &Path| {
        matches!(first_line(&controller.join("transport")).as_deref(), Some("tcp" | "rdma"))
    };
    let controllers = fs::read_dir(&device).into_iter().flatten().flatten();
    remote(&device)
        || controllers
            .filter(|entry| entry.file_name().to_str().is_some_and(|name| numbered(name, "nvme")))
            .any(|entry| remote(&entry.path()))
}

#[cfg(test)]
mod tests {
    use super::networked;
    use record::roots::Roots;
    use record::topology::{BlockKind, BlockNode, Topology};
    use std::fs;
    use std::os::unix::fs::symlink;

    fn over(name: &str, kind: BlockKind) -> Topology {
        let node = BlockNode {
            name: name.to_owned(),
            devno: (8, 0),
            depth: 0,
            kind,
            rotational: None,
            scheduler: None,
            size_bytes: None,
        };
        Topology { nodes: vec![node], fs_type: Some("ext4".to_owned()), ..Topology::default() }
    }

    #[test]
    fn file_systems_backing_files_and_devices_are_told_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots::under(dir.path());
        let served = |topology: &Topology| networked(&roots, topology);
        assert!(served(&Topology { fs_type: Some("nfs4".to_owned()), ..Topology::default() }));
        assert!(!served(&Topology { fs_type: Some("fuse.ntfs".to_owned()), ..Topology::default() }));
        let looped = |fs: &str| BlockKind::Loop {
            backing_file: None,
            direct_io: None,
            backing_fs: Some(fs.to_owned()),
            members: Vec::new(),
            guest: false,
        };
        assert!(served(&over("loop0", looped("cifs"))));
        assert!(!served(&over("loop0", looped("xfs"))));
        assert!(served(&over("nbd3", BlockKind::Disk)) && served(&over("drbd0", BlockKind::Disk)));
        assert!(!served(&over("sda", BlockKind::Disk)));
    }

    #[test]
    fn iscsi_and_nvme_over_fabrics_are_told_by_their_place_in_sys() {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots::under(dir.path());
        let block = roots.sys.join("class/block");
        fs::create_dir_all(&block).unwrap();
        let place = |name: &str, real: &str| {
            let real = roots.sys.join("devices").join(real).join(name);
            fs::create_dir_all(&real).unwrap();
            symlink(&real, block.join(name)).unwrap();
            real
        };
        place("sda", "pci0/ata1/host0/target0/block");
        place("sdb", "platform/host3/session1/target3/block");
        let transport = |directory: std::path::PathBuf, text: &str| {
            fs::create_dir_all(&directory).unwrap();
            fs::write(directory.join("transport"), text).unwrap();
        };
        transport(place("nvme0n1", "pci0/nvme").join("device"), "pcie\n");
        transport(place("nvme1n1", "fabrics/nvme").join("device"), "tcp\n");
        transport(place("nvme2n1", "subsystem/nvme").join("device/nvme7"), "rdma\n");
        let told = |name: &str| networked(&roots, &over(name, BlockKind::Disk));
        assert_eq!(
            ["sda", "sdb", "nvme0n1", "nvme1n1", "nvme2n1"].map(told),
            [false, true, false, true, true]
        );
    }
}
