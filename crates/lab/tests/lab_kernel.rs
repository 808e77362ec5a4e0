//! Runs in the guest: checks that its kernel has the features for which the lab exists.

#![allow(clippy::unwrap_used, reason = "a test may panic, also in its helpers")]

use std::process::Command;

#[test]
fn lab_kernel_has_the_modules_that_stacks_are_made_of() {
    for module in [
        "loop",
        "dm-cache-smq",
        "dm-writecache",
        "dm-raid",
        "dm-thin-pool",
        "raid0",
        "raid1",
        "raid10",
        "bcache",
        "nfsd",
        "nfsv4",
        "xfs",
        "btrfs",
        "zfs",
    ] {
        let output = Command::new("/sbin/modprobe").arg(module).output().unwrap();
        assert!(output.status.success(), "{module}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn lab_guest_has_the_programs_that_stacks_are_made_by() {
    for program in [
        "lvs",
        "mdadm",
        "make-bcache",
        "mkfs.xfs",
        "mkfs.btrfs",
        "exportfs",
        "zpool",
        "fio",
        "bonnie++",
        "rsync",
        "cpio",
        "cache_check",
    ] {
        let found = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"]
            .iter()
            .any(|dir| std::path::Path::new(dir).join(program).exists());
        assert!(found, "{program} is not in the guest");
    }
}
