//! Fake machines: device mapper, md, multipath, cciss, namespaces that hide mounts. No root, no devices.
#![allow(clippy::unwrap_used, reason = "a test that can't set up its scene fails")]

#[path = "support/fake.rs"]
mod fake;

use diskproof_device::{Check, ClaimBook, Sample, Strength, Word, disk, inventory};
use fake::{Machine, Nothing, ROOT_ON_NFS, whatever};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

const USE: [Check; 5] = [Check::Mounts, Check::Holders, Check::Swap, Check::Root, Check::Partitions];

#[test]
fn an_unused_disk_has_nobody_against_it_but_its_own_unreality() {
    let machine = Machine::new();
    machine.disk("sda", "8:0");
    machine.silent("sda", &USE);
    machine.silent("sda", &[Check::ReadOnly]);
    // A plain file can't be held as a block device, so no fake machine ever yields a disk to write to.
    let report = machine.report("sda");
    assert!(!report.free, "{report:#?}");
    let state = tempfile::tempdir().unwrap();
    let mut book = ClaimBook::open(state.path()).unwrap();
    let id = machine.path("dev/sda");
    let candidate = diskproof_device::Candidate::by_id(&machine.roots, id.to_str().unwrap()).unwrap();
    book.claim(&candidate, whatever()).unwrap();
    assert!(disk(&machine.roots, &Nothing, &book, id.to_str().unwrap(), 0).is_err());
}

#[test]
fn a_volume_group_on_a_partition_keeps_the_whole_disk() {
    let machine = Machine::new();
    machine.disk("sda", "8:0");
    machine.partition("sda", "sda2", "8:2");
    machine.stacked("dm-0", "253:0", &["sda2"]);
    machine.write("sys/class/block/dm-0/dm/name", "vg-home\n");
    machine.namespace(
        "self",
        "mnt:[1]",
        &format!("{ROOT_ON_NFS}30 22 253:0 / /home rw - ext4 /dev/mapper/vg-home rw\n"),
    );
    machine.objects("sda", Check::Holders, &["sda2 is in use by dm-0 (253:0), vg-home", "lvchange -an"]);
    machine.objects(
        "sda",
        Check::Mounts,
        &["dm-0 (253:0), stacked on sda2, is mounted at /home", "needs that directory"],
    );
    machine.objects("sda", Check::Partitions, &["sda2 (8:2)"]);
    machine.objects("sda2", Check::Holders, &["dm-0"]);
}

#[test]
fn holders_are_followed_to_the_top() {
    let machine = Machine::new();
    for (name, devno) in [("sda", "8:0"), ("sdb", "8:16"), ("sdc", "8:32")] {
        machine.disk(name, devno);
    }
    machine.stacked("md0", "9:0", &["sda", "sdb"]);
    machine.stacked("dm-0", "253:0", &["md0"]);
    machine.stacked("dm-1", "253:1", &["dm-0"]);
    machine.write("proc/swaps", "Filename Type Size Used Priority\n/dev/dm-1 partition 9 0 -2\n");
    for name in ["sda", "sdb"] {
        machine.objects(name, Check::Holders, &["md0", "md0 is in use by dm-0", "dm-0 is in use by dm-1"]);
        machine.objects(name, Check::Swap, &["dm-1 (253:1) holds active swap"]);
    }
    machine.silent("sdc", &USE);
}

#[test]
fn the_root_file_system_is_followed_down_to_its_disks() {
    let machine = Machine::new();
    for (name, devno) in [("sda", "8:0"), ("sdb", "8:16"), ("sdc", "8:32")] {
        machine.disk(name, devno);
    }
    machine.partition("sdb", "sdb1", "8:17");
    machine.stacked("md0", "9:0", &["sda", "sdb1"]);
    machine.stacked("dm-0", "253:0", &["md0"]);
    // We are in a container with another root.
    machine.namespace("1", "mnt:[2]", "1 0 253:0 / / rw - ext4 /dev/mapper/root rw\n");
    machine.objects("sda", Check::Root, &["rests on sda (8:0)", "choose another disk"]);
    machine.objects("sdb", Check::Root, &["rests on sdb (8:16)"]);
    machine.objects("sda", Check::Mounts, &["in the mount namespace of process 1"]);
    machine.silent("sdc", &USE);
}

#[test]
fn every_member_of_a_btrfs_root_is_kept() {
    let machine = Machine::new();
    for (name, devno) in [("sda", "8:0"), ("sdb", "8:16")] {
        machine.disk(name, devno);
    }
    for name in ["sda", "sdb"] {
        machine.write(&format!("sys/fs/btrfs/1234-uuid/devices/{name}"), "");
    }
    machine.namespace("self", "mnt:[1]", "1 0 0:33 /@ / rw - btrfs /dev/sda rw\n");
    for name in ["sda", "sdb"] {
        machine.objects(name, Check::Root, &["(btrfs) rests on"]);
        machine.objects(name, Check::Mounts, &["is mounted at /"]);
    }
}

#[test]
fn swap_that_nobody_can_place_frees_no_disk() {
    let machine = Machine::new();
    machine.disk("sda", "8:0");
    machine.write("proc/swaps", "Filename Type Size Used Priority\n/dev/mapper/elsewhere partition 9 0 -2\n");
    machine.unheard("sda", Check::Swap, "/dev/mapper/elsewhere");
}

#[test]
fn two_paths_to_one_disk_are_not_two_disks() {
    let machine = Machine::new();
    for (name, devno) in [("sda", "8:0"), ("sdb", "8:16"), ("sdc", "8:32")] {
        machine.disk(name, devno);
        machine.write(&format!("sys/class/block/{name}/device/wwid"), "naa.5000c500aaaa0001\n");
    }
    machine.write("sys/class/block/sdc/device/wwid", "naa.5000c500aaaa0002\n");
    machine.objects(
        "sda",
        Check::Identity,
        &["sda (8:0) and sdb (8:16) have the same identity", "multipath"],
    );
    machine.objects("sdb", Check::Identity, &["sdb (8:16) and sda (8:0)"]);
    assert!(!machine.dissent("sdc", Check::Identity).iter().any(|d| d.saw.contains("the same")));
}

#[test]
fn parts_of_one_disk_that_share_its_serial_number_are_not_its_twins() {
    let machine = Machine::new();
    for (name, devno) in
        [("mmcblk0", "179:0"), ("mmcblk0boot0", "179:8"), ("nvme0c0n1", "259:1"), ("nvme0n1", "259:0")]
    {
        machine.disk(name, devno);
        machine.write(&format!("sys/class/block/{name}/device/serial"), &name[..4]);
    }
    machine.write("sys/class/block/mmcblk0boot0/size", "64\n");
    machine.write("sys/class/block/nvme0c0n1/hidden", "1\n");
    for name in ["mmcblk0", "nvme0n1"] {
        let found = machine.dissent(name, Check::Identity);
        assert!(!found.iter().any(|d| d.saw.contains("the same")), "{found:#?}");
    }
}

#[test]
fn namespaces_that_hide_their_mounts_free_no_disk() {
    let machine = Machine::new();
    machine.disk("sda", "8:0");
    machine.namespace("77", "mnt:[7]", "");
    fs::remove_file(machine.path("proc/77/mountinfo")).unwrap();
    // Reading a directory fails, like reading another user's table.
    fs::create_dir(machine.path("proc/77/mountinfo")).unwrap();
    machine.unheard("sda", Check::Mounts, "mounts of 1 or more processes can't be seen");
}

#[test]
fn a_proc_that_hides_other_users_frees_no_disk() {
    let machine = Machine::new();
    machine.disk("sda", "8:0");
    fs::remove_dir_all(machine.path("proc/1")).unwrap();
    machine.unheard("sda", Check::Mounts, "mounts of 1 or more processes can't be seen");
}

#[test]
fn a_namespace_that_hides_its_name_but_not_its_mounts_is_read() {
    let machine = Machine::new();
    machine.disk("sda", "8:0");
    machine.namespace("77", "mnt:[7]", "30 22 8:0 / /data rw - xfs /dev/sda rw\n");
    fs::remove_file(machine.path("proc/77/ns/mnt")).unwrap();
    fs::create_dir(machine.path("proc/77/ns/mnt")).unwrap();
    machine.objects("sda", Check::Mounts, &["in the mount namespace of process 77", "nsenter -t 77"]);
}

#[test]
fn a_process_that_ends_while_we_look_hides_nothing() {
    let machine = Machine::new();
    machine.disk("sda", "8:0");
    fs::create_dir_all(machine.path("proc/78")).unwrap();
    machine.silent("sda", &USE);
}

#[test]
fn without_proc_or_sys_nothing_is_free() {
    let machine = Machine::new();
    machine.disk("sda", "8:0");
    for file in ["proc/self/mountinfo", "proc/1/mountinfo", "proc/swaps", "sys/class/block/sda/ro"] {
        fs::remove_file(machine.path(file)).unwrap();
    }
    fs::remove_dir_all(machine.path("proc/self")).unwrap();
    machine.unheard("sda", Check::Mounts, "mountinfo");
    machine.unheard("sda", Check::Root, "names no root file system");
    machine.unheard("sda", Check::ReadOnly, "ro doesn't say");
}

#[test]
fn a_holder_that_is_no_block_device_is_reported_too() {
    let machine = Machine::new();
    machine.disk("sda", "8:0");
    machine.write("sys/class/block/sda/holders/mystery", "");
    machine.objects("sda", Check::Holders, &["in use by mystery on sda"]);
}

#[test]
fn a_loop_device_that_says_nothing_frees_no_disk() {
    let machine = Machine::new();
    machine.disk("sda", "8:0");
    machine.block("virtual/block", "loop0", "7:0");
    symlink(machine.path("sys/class/block/loop0"), machine.path("sys/block/loop0")).unwrap();
    machine.write("sys/class/block/loop0/loop/backing_file", "/mnt/elsewhere/image\n");
    machine.unheard("sda", Check::Holders, "it is unknown what loop0 rests on");
}

#[test]
fn names_with_a_slash_find_their_node() {
    let machine = Machine::new();
    machine.disk("cciss!c0d0", "104:0");
    assert_eq!(machine.report("cciss/c0d0").path, machine.path("dev/cciss/c0d0"));
}

#[test]
fn serial_numbers_come_from_where_each_driver_puts_them() {
    let machine = Machine::new();
    for (name, devno) in [("vda", "254:0"), ("vdb", "254:16"), ("sda", "8:0"), ("nvme0n1", "259:0")] {
        machine.disk(name, devno);
    }
    machine.write("sys/class/block/vda/serial", "VIRT-1\n");
    let page = b"\x00\x80\x00\x0a  Z1D0ABC \0\0";
    fs::write(machine.path("sys/class/block/sda/device/vpd_pg80"), page).unwrap();
    machine.write("sys/class/block/sda/device/model", "ST4000DM000-1F21\n");
    machine.write("sys/class/block/nvme0n1/wwid", "eui.0025385b71b00001\n");
    machine.write("sys/class/block/nvme0n1/device/serial", "S4EV     \n");
    assert_eq!(machine.report("vda").serial.as_deref(), Some("VIRT-1"));
    let sda = machine.report("sda");
    assert_eq!((sda.serial.as_deref(), sda.model.as_deref()), (Some("Z1D0ABC"), Some("ST4000DM000-1F21")));
    let nvme = machine.report("nvme0n1");
    assert_eq!((nvme.wwn.as_deref(), nvme.serial.as_deref()), (Some("eui.0025385b71b00001"), Some("S4EV")));
    assert_eq!(nvme.strength, Strength::Strong);
    assert_eq!(machine.report("vdb").strength, Strength::Weak, "nothing but where it is plugged in");
}

#[test]
fn a_weakly_named_disk_is_claimed_with_that_said() {
    let machine = Machine::new();
    machine.disk("vdb", "254:16");
    let state = tempfile::tempdir().unwrap();
    let mut book = ClaimBook::open(state.path()).unwrap();
    let ask = |book: &ClaimBook| inventory(&machine.roots, &Nothing, Some(book)).remove(0);
    assert!(!ask(&book).claimed);
    let path = machine.path("dev/vdb");
    let candidate = diskproof_device::Candidate::by_id(&machine.roots, path.to_str().unwrap()).unwrap();
    let claim = book.claim(&candidate, whatever()).unwrap();
    assert_eq!(claim.strength, Strength::Weak);
    assert!(claim.identity.to_string().contains("at pci0/vdb-port"), "{}", claim.identity);
    assert!(ask(&book).claimed);
    // Plugged in elsewhere, or suddenly with a serial number: not the claimed disk.
    machine.write("sys/class/block/vdb/serial", "NEW\n");
    assert!(!ask(&book).claimed);
}

#[test]
fn claims_survive_and_a_newer_book_is_read_but_not_rewritten() {
    let machine = Machine::new();
    machine.disk("vda", "254:0");
    machine.write("sys/class/block/vda/serial", "S1\n");
    symlink("../../vda", machine.path("dev/disk/by-id/virtio-S1")).unwrap();
    let state = tempfile::tempdir().unwrap();
    let mut book = ClaimBook::open(state.path()).unwrap();
    let candidate = diskproof_device::Candidate::by_id(&machine.roots, "virtio-S1").unwrap();
    book.claim(&candidate, whatever()).unwrap();
    let again = ClaimBook::open(state.path()).unwrap();
    assert_eq!(again.claims(), book.claims());
    assert_eq!(again.named("virtio-S1").unwrap().identity.serial.as_deref(), Some("S1"));
    newer(book.path());
    let mut newer = ClaimBook::open(state.path()).unwrap();
    assert!(newer.find(candidate.identity()).is_some());
    let error = newer.unclaim("virtio-S1").unwrap_err();
    assert!(error.to_string().contains("use the newer diskproof"), "{error}");
    assert!(ClaimBook::open(state.path()).unwrap().named("virtio-S1").is_some());
}

fn newer(book: &Path) {
    let text = fs::read_to_string(book).unwrap();
    let text =
        text.replace("\"minor\": 1", "\"minor\": 7").replace("\"names\"", "\"added_later\": 1, \"names\"");
    fs::write(book, text).unwrap();
}

/// A claims file of an earlier build, in a state directory.
fn pinned(name: &str) -> (tempfile::TempDir, ClaimBook) {
    let state = tempfile::tempdir().unwrap();
    let file = state.path().join("claims.json");
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name), &file).unwrap();
    let mut permissions = fs::metadata(&file).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o600);
    fs::set_permissions(&file, permissions).unwrap();
    let book = ClaimBook::open(state.path()).unwrap();
    (state, book)
}

/// Written by 1.0; every later build of major 1 must read it.
#[test]
fn the_first_format_stays_readable() {
    let (_state, book) = pinned("claims-1.0.json");
    let claim = book.named("nvme-Samsung_SSD_990_S1234").unwrap();
    assert_eq!(claim.strength, Strength::Strong);
    assert_eq!(claim.identity.wwn.as_deref(), Some("eui.0025385b71b00001"));
    assert_eq!((claim.identity.size_bytes, claim.claimed_unix_ms), (1_000_204_886_016, 1_795_219_200_000));
    assert_eq!(claim.word, Word::default(), "nobody was asked for more");
}

/// Written by 1.1.
#[test]
fn what_was_on_a_claimed_disk_stays_readable() {
    let (_state, book) = pinned("claims-1.1.json");
    let word = &book.named("nvme-Samsung_SSD_990_S1234").unwrap().word;
    assert!(word.overwrite_data && word.unseen_processes);
    let sample = word.sample.as_ref().unwrap();
    assert_eq!((sample.read_blocks, sample.data_blocks, sample.unreadable_blocks), (4096, 1024, 0));
    assert_eq!(sample.to_string(), "1024 of a sample of 4096 blocks of 4 KiB hold data (25 %)");
    assert_eq!(book.named("nvme-blank").unwrap().word, Word::default());
}

#[test]
fn a_disk_that_nobody_looked_at_or_that_holds_data_needs_a_word_of_its_own() {
    let machine = Machine::new();
    machine.disk("vda", "254:0");
    machine.write("sys/class/block/vda/serial", "S1\n");
    let state = tempfile::tempdir().unwrap();
    let mut book = ClaimBook::open(state.path()).unwrap();
    let path = machine.path("dev/vda");
    let candidate = diskproof_device::Candidate::by_id(&machine.roots, path.to_str().unwrap()).unwrap();
    let sample = |data_blocks, unreadable_blocks| {
        let blocks = (4096, 250, 256);
        let (block_bytes, disk_blocks, read_blocks) = blocks;
        Some(Sample {
            block_bytes,
            disk_blocks,
            read_blocks,
            data_blocks,
            unreadable_blocks,
            taken_unix_ms: 1,
        })
    };
    for (seen, words) in
        [(None, "nobody looked"), (sample(1, 0), "hold data"), (sample(0, 1), "can't be read")]
    {
        let word = Word { sample: seen, ..Word::default() };
        let error = book.claim(&candidate, word.clone()).unwrap_err();
        assert!(error.to_string().contains("look blank") && error.to_string().contains(words), "{error}");
        assert!(ClaimBook::open(state.path()).unwrap().claims().is_empty());
        book.claim(&candidate, Word { overwrite_data: true, ..word }).unwrap();
        book.unclaim("S1").unwrap();
    }
    book.claim(&candidate, Word { sample: sample(0, 0), ..Word::default() }).unwrap();
    let again = ClaimBook::open(state.path()).unwrap();
    assert_eq!(again.claims(), book.claims(), "what was seen is kept");
    assert_eq!(again.claims()[0].word.sample, sample(0, 0));
}
