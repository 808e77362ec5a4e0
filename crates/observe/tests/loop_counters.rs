//! Counters of this machine's loop devices, and the devices under them. Needs root.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed, as it should")]

use diskproof_observe::{Config, Roots, Sampler, Subjects, topology};
use record::topology::BlockKind;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::process::Command;
use testkit::{LoopDevice, exclusive, is_root};

/// O_DIRECT of x86-64 and most others.
const O_DIRECT: i32 = 0o40000;

fn skipped() -> bool {
    if !is_root() {
        eprintln!("skipped: needs root");
    }
    !is_root()
}

#[test]
fn loop_reads_and_writes_are_counted_to_the_byte() {
    if skipped() {
        return;
    }
    let _alone = exclusive();
    let device = LoopDevice::new(16 << 20, "observe-count");
    let config = Config {
        subjects: Subjects { devices: vec![device.name()], ..Subjects::default() },
        ..Config::default()
    };
    let sampler = Sampler::start(&config).unwrap();
    let file = OpenOptions::new().read(true).write(true).custom_flags(O_DIRECT).open(device.path()).unwrap();
    // Direct I/O needs memory that is aligned to a block.
    let mut memory = vec![7_u8; (64 << 10) + 4096];
    let begin = memory.as_ptr().align_offset(4096);
    let buffer = &mut memory[begin..begin + (64 << 10)];
    for block in 0..8 {
        file.write_all_at(buffer, block * (64 << 10)).unwrap();
    }
    for block in 0..3 {
        file.read_exact_at(buffer, block * (64 << 10)).unwrap();
    }
    drop(file);
    let evidence = sampler.stop();
    let of = |index: usize| evidence.samples[index].block[&device.name()];
    let (first, last) = (of(0), of(evidence.samples.len() - 1));
    assert_eq!(last.write_bytes - first.write_bytes, 8 * (64 << 10));
    assert_eq!(last.read_bytes - first.read_bytes, 3 * (64 << 10));
    assert_eq!((last.writes - first.writes, last.reads - first.reads), (8, 3));
}

#[test]
fn loop_device_is_followed_to_its_files_own_device() {
    if skipped() {
        return;
    }
    let _alone = exclusive();
    let device = LoopDevice::new(16 << 20, "observe-topology");
    let found = topology(&Roots::default(), &[device.path().to_owned()], None);
    let node = &found.nodes[0];
    assert_eq!(
        (node.name.as_str(), node.depth, node.size_bytes),
        (device.name().as_str(), 0, Some(16 << 20))
    );
    let BlockKind::Loop { backing_file, direct_io, backing_fs, members, guest: false } = &node.kind else {
        panic!("{node:?}")
    };
    assert_eq!(backing_file.as_deref(), Some(device.backing()));
    assert!(direct_io.is_some());
    // The same in another way: what is under the file's directory.
    let below = topology(&Roots::default(), &[], device.backing().parent());
    assert_eq!(backing_fs, &below.fs_type);
    assert_eq!(members, &below.direct().map(|node| node.name.clone()).collect::<Vec<_>>());
    assert_eq!(found.nodes[1..].len(), below.nodes.len());
}

#[test]
fn loop_devices_in_a_btrfs_are_all_found_by_its_mount() {
    if skipped() {
        return;
    }
    let _alone = exclusive();
    let devices =
        [LoopDevice::new(128 << 20, "observe-btrfs-0"), LoopDevice::new(128 << 20, "observe-btrfs-1")];
    let point = testkit::fresh_dir("observe-btrfs");
    run("mkfs.btrfs", &["-q", "-f", "-d", "raid0", "-m", "raid1"], devices.each_ref().map(LoopDevice::path));
    run("mount", &["-t", "btrfs"], [devices[1].path(), &point]);
    // A file in a subvolume has a device number that no mount shows.
    run("btrfs", &["-q", "subvolume", "create"], [point.join("sub").as_path()]);
    File::create(point.join("sub/data")).unwrap();
    let found = topology(&Roots::default(), &[], Some(&point.join("sub/data")));
    run("umount", &[], [point.as_path()]);
    run("btrfs", &["device", "scan", "--forget"], devices.each_ref().map(LoopDevice::path));
    fs::remove_dir(&point).unwrap();
    let mut expected = devices.each_ref().map(LoopDevice::name);
    expected.sort();
    assert_eq!(found.direct().map(|node| node.name.clone()).collect::<Vec<_>>(), expected);
    assert_eq!(found.fs_type.as_deref(), Some("btrfs"));
    assert!(found.mount_options.is_some_and(|options| options.contains("subvol=/")));
}

fn run<const N: usize>(program: &str, args: &[&str], paths: [&Path; N]) {
    let output = Command::new(program).args(args).args(paths).output().unwrap();
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
}
