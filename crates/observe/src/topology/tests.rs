mod stacked;

use super::topology;
use record::printable::Shown as _;
use record::roots::Roots;
use record::topology::{BlockKind, Topology};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A fake /sys and /proc.
struct Machine {
    dir: TempDir,
    mounts: String,
}

impl Machine {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("proc/self")).unwrap();
        fs::create_dir_all(dir.path().join("sys/class/block")).unwrap();
        fs::create_dir_all(dir.path().join("sys/dev/block")).unwrap();
        Self { dir, mounts: String::new() }
    }

    fn roots(&self) -> Roots {
        Roots::under(self.dir.path())
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Adds a whole disk, or a partition when `place` is `disk/partition`.
    fn device(&self, place: &str, devno: &str) -> &Self {
        let name = place.rsplit('/').next().unwrap();
        self.put(&format!("sys/block/{place}/dev"), &format!("{devno}\n"));
        self.put(&format!("sys/block/{place}/size"), "2048\n");
        if place.contains('/') {
            self.put(&format!("sys/block/{place}/partition"), "1\n");
        } else {
            self.put(&format!("sys/block/{place}/queue/rotational"), "0\n");
            self.put(&format!("sys/block/{place}/queue/scheduler"), "none [mq-deadline] bfq\n");
        }
        let sys = self.dir.path().join("sys");
        symlink(format!("../../block/{place}"), sys.join("class/block").join(name)).unwrap();
        symlink(format!("../../block/{place}"), sys.join("dev/block").join(devno)).unwrap();
        self
    }

    fn slaves(&self, name: &str, members: &[&str]) -> &Self {
        for member in members {
            self.put(&format!("sys/block/{name}/slaves/{member}/dev"), "");
        }
        self
    }

    /// Adds a loop device over an existing file in the test's directory.
    fn looped(&self, name: &str, devno: &str, file: &str) -> PathBuf {
        let backing = self.dir.path().join(file);
        fs::create_dir_all(backing.parent().unwrap()).unwrap();
        fs::write(&backing, "").unwrap();
        self.device(name, devno);
        self.put(&format!("sys/block/{name}/loop/backing_file"), &format!("{}\n", backing.to_string_lossy()));
        self.put(&format!("sys/block/{name}/loop/dio"), "1\n");
        backing
    }

    /// Adds a mount at a directory below the test's; `rest` is `type source super-options`.
    fn mount(&mut self, devno: &str, point: &str, rest: &str) -> PathBuf {
        let point = self.dir.path().join(point);
        fs::create_dir_all(&point).unwrap();
        self.mounts +=
            &format!("999999 1 {devno} / {} rw,noatime shared:9 - {rest}\n", point.to_string_lossy());
        self.put("proc/self/mountinfo", &self.mounts);
        point
    }

    fn of_device(&self, name: &str) -> Topology {
        topology(&self.roots(), &[Path::new("/dev").join(name)], None)
    }
}

fn shape(topology: &Topology) -> Vec<(u32, &str)> {
    topology.nodes.iter().map(|node| (node.depth, node.name.as_str())).collect()
}

fn loop_members(topology: &Topology, name: &str) -> (Option<String>, Vec<String>) {
    let node = topology.nodes.iter().find(|node| node.name == name).unwrap();
    match &node.kind {
        BlockKind::Loop { backing_fs, members, .. } => (backing_fs.clone(), members.clone()),
        other => panic!("{name} is {other:?}"),
    }
}

#[test]
fn a_partition_rests_on_its_disk_and_shares_its_queue() {
    let machine = Machine::new();
    machine.device("xyz", "259:0").device("xyz/xyz1", "259:1");
    let found = machine.of_device("xyz1");
    assert_eq!(shape(&found), [(0, "xyz1"), (1, "xyz")]);
    let part = &found.nodes[0];
    assert_eq!(part.kind, BlockKind::Partition { of: "xyz".to_owned() });
    assert_eq!(part.devno, (259, 1));
    assert_eq!((part.rotational, part.scheduler.as_deref()), (Some(false), Some("mq-deadline")));
    assert_eq!(part.size_bytes, Some(1 << 20));
    assert_eq!(found.nodes[1].kind, BlockKind::Disk);
    assert!(found.unknown.is_empty() && found.fs_type.is_none());
}

#[test]
fn a_mount_on_lvm_over_md_over_partitions_is_followed_to_the_disks() {
    let mut machine = Machine::new();
    machine.device("xa", "8:0").device("xa/xa1", "8:1").device("xb", "8:16").device("xb/xb1", "8:17");
    machine.device("md7", "9:7").slaves("md7", &["xa1", "xb1"]);
    machine.device("dm-3", "253:3").slaves("dm-3", &["md7"]);
    let point = machine.mount("253:3", "mnt", "xfs /dev/mapper/vg-lv rw,sunit=128");
    let found = topology(&machine.roots(), &[], Some(&point.join("not/there/yet")));
    assert_eq!(shape(&found), [(0, "dm-3"), (1, "md7"), (2, "xa1"), (2, "xb1"), (3, "xa"), (3, "xb")]);
    assert_eq!(found.fs_type.as_deref(), Some("xfs"));
    assert_eq!(found.mount_options.as_deref(), Some("rw,noatime,sunit=128"));
    let members = vec!["xa1".to_owned(), "xb1".to_owned()];
    assert_eq!(found.nodes[1].kind, BlockKind::Composite { members });
    // The plan's claimed disks are already below; an unrelated one is direct.
    machine.device("xc", "8:32");
    let claimed = ["xb", "xc"].map(|name| Path::new("/dev").join(name));
    let found = topology(&machine.roots(), &claimed, Some(&point));
    assert_eq!(
        shape(&found),
        [(0, "dm-3"), (0, "xc"), (1, "md7"), (2, "xa1"), (2, "xb1"), (3, "xa"), (3, "xb")]
    );
}

#[test]
fn btrfs_with_its_anonymous_number_shows_all_its_members() {
    let mut machine = Machine::new();
    for (name, devno) in [("loopx", "7:70"), ("xb", "8:16"), ("xc", "8:32"), ("xd", "8:48")] {
        machine.device(name, devno);
    }
    for (uuid, member) in [("1111", "xd"), ("2222", "xb"), ("2222", "xc"), ("2222", "loopx")] {
        machine.put(&format!("sys/fs/btrfs/{uuid}/devices/{member}/dev"), "");
    }
    machine.put("sys/fs/btrfs/features/raid56", "0");
    let point = machine.mount("0:41", "pool", "btrfs /dev/xc rw,subvolid=5,subvol=/");
    let found = topology(&machine.roots(), &[], Some(&point));
    assert_eq!(shape(&found), [(0, "loopx"), (0, "xb"), (0, "xc")]);
    assert_eq!(found.fs_type.as_deref(), Some("btrfs"));
}

#[test]
fn a_loop_device_is_followed_through_its_file_to_the_disk() {
    let mut machine = Machine::new();
    machine.device("xa", "8:0");
    machine.mount("8:0", "host", "ext4 /dev/xa rw");
    let backing = machine.looped("loop7", "7:7", "host/vol.img");
    let found = machine.of_device("loop7");
    assert_eq!(shape(&found), [(0, "loop7"), (1, "xa")]);
    let expected = BlockKind::Loop {
        backing_file: Some(backing),
        direct_io: Some(true),
        backing_fs: Some("ext4".to_owned()),
        members: vec!["xa".to_owned()],
        guest: false,
    };
    assert_eq!(found.nodes[0].kind, expected);
}

#[test]
fn a_loop_device_in_memory_has_no_members_and_nothing_unknown() {
    let mut machine = Machine::new();
    machine.mount("0:33", "shm", "tmpfs tmpfs rw,size=1g");
    machine.looped("loop7", "7:7", "shm/vol.img");
    let found = machine.of_device("loop7");
    assert_eq!(loop_members(&found, "loop7"), (Some("tmpfs".to_owned()), Vec::new()));
    assert_eq!(shape(&found), [(0, "loop7")]);
    assert!(found.unknown.is_empty());
}

#[test]
fn a_backing_file_that_cannot_be_seen_is_said_not_guessed() {
    let mut machine = Machine::new();
    machine.device("xa", "8:0");
    machine.mount("8:0", "host", "ext4 /dev/xa rw");
    let backing = machine.looped("loop7", "7:7", "host/vol.img");
    fs::remove_file(&backing).unwrap();
    machine.put("sys/block/loop7/loop/backing_file", &format!("{} (deleted)\n", backing.to_string_lossy()));
    let found = machine.of_device("loop7");
    assert_eq!(loop_members(&found, "loop7"), (None, Vec::new()));
    assert_eq!(found.unknown.len(), 1);
    assert!(found.unknown[0].contains("deleted or not visible from here"), "{:?}", found.unknown);
    machine.device("loop8", "7:8");
    let found = machine.of_device("loop8");
    assert_eq!(found.unknown, ["loop8: its backing file can't be seen"]);
}

#[test]
fn a_ring_of_loops_ends() {
    let mut machine = Machine::new();
    // loop1's file is on loop2's file system and loop2's on loop1's.
    machine.mount("7:2", "a", "ext4 /dev/loop2 rw");
    machine.mount("7:1", "b", "ext4 /dev/loop1 rw");
    machine.looped("loop1", "7:1", "a/one.img");
    machine.looped("loop2", "7:2", "b/two.img");
    machine.device("dm-0", "253:0").slaves("dm-0", &["dm-0", "loop1"]);
    assert_eq!(shape(&machine.of_device("dm-0")), [(0, "dm-0"), (1, "loop1"), (2, "loop2")]);
}

#[test]
fn memory_devices_are_told_from_disks() {
    let machine = Machine::new();
    for (name, devno) in
        [("zram1", "252:1"), ("ram0", "1:0"), ("nullb0", "251:0"), ("xs", "8:0"), ("ramdisk", "8:1")]
    {
        machine.device(name, devno);
    }
    machine.put("sys/block/xs/device/model", "scsi_debug      \n");
    for (name, kind) in [
        ("zram1", BlockKind::Memory),
        ("ram0", BlockKind::Memory),
        ("nullb0", BlockKind::Memory),
        ("xs", BlockKind::Memory),
        ("ramdisk", BlockKind::Disk),
    ] {
        assert_eq!(machine.of_device(name).nodes[0].kind, kind, "{name}");
    }
}

#[test]
fn grounds_without_devices_say_why() {
    let mut machine = Machine::new();
    let shm = machine.mount("0:33", "shm", "tmpfs tmpfs rw");
    let nfs = machine.mount("0:51", "nfs", "nfs4 server:/export rw,vers=4.2");
    let found = topology(&machine.roots(), &[], Some(&shm));
    assert_eq!((found.fs_type.as_deref(), found.nodes.len(), found.unknown.len()), (Some("tmpfs"), 0, 0));
    let found = topology(&machine.roots(), &[], Some(&nfs));
    let said =
        format!("{}: on nfs4 (`server:/export`), and what lies below can't be seen from here", nfs.shown());
    assert_eq!(found.unknown, [said]);
    let found = topology(&machine.roots(), &["/dev/none-such".into()], Some(Path::new("/elsewhere")));
    assert_eq!(found.unknown, ["/elsewhere: no mount holds it", "/dev/none-such: no such block device"]);
}

#[test]
fn an_external_log_counts_as_a_device_of_the_mount() {
    let mut machine = Machine::new();
    machine.device("xa", "8:0").device("xb", "8:16");
    let point = machine.mount("8:0", "mnt", "xfs /dev/xa rw,logdev=/dev/xb");
    assert_eq!(shape(&topology(&machine.roots(), &[], Some(&point))), [(0, "xa"), (0, "xb")]);
}

#[test]
fn the_machine_we_run_on_has_something_under_its_root() {
    let found = topology(&Roots::default(), &[], Some(Path::new("/")));
    assert!(found.fs_type.is_some() && found.mount_options.is_some(), "{found:?}");
    assert!(
        !found.nodes.is_empty() || !found.unknown.is_empty() || found.fs_type.as_deref() == Some("tmpfs")
    );
    for node in &found.nodes {
        let text = fs::read_to_string(format!("/sys/class/block/{}/dev", node.name)).unwrap();
        assert_eq!(text.trim(), format!("{}:{}", node.devno.0, node.devno.1));
    }
}
