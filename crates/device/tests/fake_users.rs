//! Fake machines: SCSI and NVMe generic nodes, the kernel's storage targets, PID namespaces. No root, no devices.
#![allow(clippy::unwrap_used, reason = "a test that can't set up its scene fails")]

#[path = "support/fake.rs"]
mod fake;

use diskproof_device::Check;
use fake::Machine;
use record::printable::Shown as _;
use std::fs;

const WRITER: &str = "pos:\t0\nflags:\t0100002\n";
const READER: &str = "pos:\t0\nflags:\t0100000\n";

/// A machine with the disks sda and nvme0n1, and all their device nodes.
fn machine() -> Machine {
    let machine = Machine::new();
    machine.disk("sda", "8:0");
    machine.disk("nvme0n1", "259:0");
    let nodes = [
        ("sys/class/block/sda/device/scsi_generic/sg3", "21:3", "dev/sg3"),
        ("sys/class/block/sda/device/bsg/2:0:0:0", "248:1", "dev/bsg/2:0:0:0"),
        ("sys/class/block/nvme0n1/device/ng0n1", "240:7", "dev/ng0n1"),
        ("sys/class/block/nvme0n1/device/nvme0", "241:0", "dev/nvme0"),
    ];
    for (place, number, node) in nodes {
        machine.write(&format!("{place}/dev"), &format!("{number}\n"));
        machine.write(node, &format!("c {number}\n"));
    }
    machine
}

fn opens(machine: &Machine, pid: &str, node: &str, fdinfo: &str) {
    machine.write(&format!("proc/{pid}/comm"), "qemu\n");
    machine.write(&format!("proc/{pid}/maps"), "");
    machine.link(&format!("proc/{pid}/fd/5"), machine.path(node));
    machine.write(&format!("proc/{pid}/fdinfo/5"), fdinfo);
}

#[test]
fn generic_nodes_open_for_writing_are_seen() {
    for (node, disk, words) in [
        ("dev/sda", "sda", "has it open for writing"),
        ("dev/sg3", "sda", "has its SCSI generic node sg3 open for writing"),
        ("dev/bsg/2:0:0:0", "sda", "has its SCSI generic node bsg/2:0:0:0 open for writing"),
        ("dev/ng0n1", "nvme0n1", "has its NVMe generic node ng0n1 open for writing"),
        ("dev/nvme0", "nvme0n1", "has its NVMe controller nvme0 open for writing"),
    ] {
        let machine = machine();
        machine.silent(disk, &[Check::Openers]);
        opens(&machine, "77", node, WRITER);
        machine.objects(disk, Check::Openers, &["process 77 (qemu)", words, "end process 77"]);
        let other = if disk == "sda" { "nvme0n1" } else { "sda" };
        machine.silent(other, &[Check::Openers]);
        // smartd and udev only read.
        machine.write("proc/77/fdinfo/5", READER);
        machine.silent(disk, &[Check::Openers]);
    }
}

#[test]
fn the_controller_of_an_nvme_disk_may_be_the_device_itself() {
    let machine = Machine::new();
    machine.disk("nvme0n1", "259:0");
    fs::remove_file(machine.path("sys/class/block/nvme0n1/device")).unwrap();
    machine.write("sys/devices/pci0/nvme/nvme0/dev", "241:0\n");
    machine.link("sys/class/block/nvme0n1/device", machine.path("sys/devices/pci0/nvme/nvme0"));
    machine.write("dev/nvme0", "c 241:0\n");
    opens(&machine, "77", "dev/nvme0", WRITER);
    machine.objects("nvme0n1", Check::Openers, &["its NVMe controller nvme0"]);
}

#[test]
fn a_mapping_is_seen_by_what_it_leads_to() {
    let machine = machine();
    machine.write("proc/77/comm", "db\n");
    fs::create_dir_all(machine.path("proc/77/fd")).unwrap();
    machine.write("proc/77/maps", "7f00-8f00 rw-s 00000000 00:31 99 /somewhere/else\n");
    machine.link("proc/77/map_files/7f00-8f00", machine.path("dev/sda"));
    machine.objects("sda", Check::Openers, &["process 77 (db) has it mapped for writing"]);
    machine.silent("nvme0n1", &[Check::Openers]);
    machine.write("proc/77/maps", "7f00-8f00 r--s 00000000 00:31 99 /somewhere/else\n");
    machine.write("proc/77/smaps", "7f00-8f00 r--s 0 00:31 99 /x\nVmFlags: rd mr me ms\n");
    machine.silent("sda", &[Check::Openers]);
}

#[test]
fn a_thread_with_files_of_its_own_is_seen() {
    let machine = machine();
    machine.write("proc/77/comm", "db\n");
    machine.write("proc/77/maps", "");
    fs::create_dir_all(machine.path("proc/77/fd")).unwrap();
    // Process ids that don't exist, so that nothing says they share a table.
    fs::create_dir_all(machine.path("proc/77/task/999999998")).unwrap();
    opens(&machine, "999999998/", "dev/sda", WRITER);
    fs::rename(machine.path("proc/999999998"), machine.path("hidden")).unwrap();
    machine.silent("sda", &[Check::Openers]);
    // The real procfs opens a thread by its number although no listing shows it; here a listing does.
    fs::rename(machine.path("hidden"), machine.path("proc/999999998")).unwrap();
    machine.objects("sda", Check::Openers, &["process 77 (db) has it open for writing"]);
}

#[test]
fn files_that_cannot_be_seen_free_no_disk() {
    let machine = machine();
    // Listing a file fails, like listing another user's descriptors.
    machine.write("proc/77/fd", "");
    machine.unheard("sda", Check::Openers, "open files of process 77 () can't be seen");
    let machine = machine_with_hidden_maps();
    machine.unheard("sda", Check::Openers, "open files of process 77 () can't be seen");
}

fn machine_with_hidden_maps() -> Machine {
    let machine = machine();
    fs::create_dir_all(machine.path("proc/77/fd")).unwrap();
    fs::create_dir_all(machine.path("proc/77/maps")).unwrap();
    machine
}

#[test]
fn a_pid_namespace_that_is_not_the_first_frees_no_disk() {
    let machine = machine();
    machine.link("proc/1/ns/pid", "pid:[4026532222]");
    machine.unheard("sda", Check::Openers, "shows the PID namespace pid:[4026532222] only");
    fs::remove_file(machine.path("proc/1/ns/pid")).unwrap();
    machine.unheard("sda", Check::Openers, "it is unknown whether");
}

#[test]
fn a_proc_that_hides_processes_frees_no_disk() {
    for (option, hides) in
        [("hidepid=2", true), ("hidepid=ptraceable", true), ("hidepid=0", false), ("hidepid=off", false)]
    {
        let machine = machine();
        let proc = machine.path("proc");
        let mounts = format!("{}24 1 0:5 / {} rw - proc proc rw,{option}\n", fake::ROOT_ON_NFS, proc.shown());
        machine.namespace("self", "mnt:[1]", &mounts);
        if hides {
            machine.unheard("sda", Check::Openers, option);
        } else {
            machine.silent("sda", &[Check::Openers]);
        }
        // Root with all capabilities sees everything; root of a user namespace doesn't.
        machine.write("proc/self/status", "Name:\tx\nCapEff:\t000001ffffffffff\n");
        machine.link("proc/self/ns/user", "user:[4026531837]");
        machine.silent("sda", &[Check::Openers]);
        machine.link("proc/self/ns/user", "user:[4026532000]");
        if hides {
            machine.unheard("sda", Check::Openers, option);
        }
    }
}

#[test]
fn an_nvme_target_keeps_its_disk() {
    let machine = machine();
    let namespace = "sys/kernel/config/nvmet/subsystems/nqn.x/namespaces/1";
    machine.write(&format!("{namespace}/device_path"), "/dev/sda\n");
    machine.write(&format!("{namespace}/enable"), "1\n");
    machine.objects(
        "sda",
        Check::Holders,
        &["exported by the NVMe target \"nqn.x\", namespace 1", "/enable"],
    );
    machine.silent("nvme0n1", &[Check::Holders]);
    machine.write(&format!("{namespace}/enable"), "0\n");
    machine.silent("sda", &[Check::Holders]);
    machine.write(&format!("{namespace}/enable"), "1\n");
    machine.write(&format!("{namespace}/device_path"), "/nowhere/to/be/found\n");
    machine.unheard("sda", Check::Holders, "it is unknown what the NVMe target");
}

#[test]
fn a_scsi_target_keeps_its_disk_and_the_disk_of_its_file() {
    let info =
        |rest: &str| format!("Status: ACTIVATED  Max Queue Depth: 0  SectorSize: 512\n        {rest}\n");
    for (hba, told, text) in [
        ("iblock_0", "/dev/sda", info("iBlock device: sda  UDEV PATH: /dev/sda  readonly: 0")),
        ("iblock_1", "", info("Major: 8 Minor: 0  CLAIMED: IBLOCK")),
        ("fileio_2", "", info("TCM FILEIO ID: 0        File: /dev/sda  Size: 1048576  Mode: O_DSYNC")),
        ("pscsi_3", "/dev/sda", info("SCSI Device Bus Location: Channel ID: 0 Target ID: 0 LUN: 0")),
    ] {
        let machine = machine();
        let store = format!("sys/kernel/config/target/core/{hba}/backup");
        machine.write(&format!("{store}/udev_path"), &format!("{told}\n"));
        machine.write(&format!("{store}/info"), &text);
        let named = format!("exported by the SCSI target's back store {hba}/\"backup\"");
        machine.objects("sda", Check::Holders, &[&named, "targetcli"]);
        machine.silent("nvme0n1", &[Check::Holders]);
        machine.write(&format!("{store}/info"), &text.replace("ACTIVATED", "DEACTIVATED"));
        machine.silent("sda", &[Check::Holders]);
    }
}

#[test]
fn targets_that_cannot_be_asked_free_no_disk() {
    for module in ["nvmet", "target_core_mod"] {
        let machine = machine();
        machine.silent("sda", &[Check::Holders]);
        fs::create_dir_all(machine.path("sys/module").join(module)).unwrap();
        machine.unheard("sda", Check::Holders, "can't be read");
    }
}
