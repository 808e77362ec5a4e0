//! Machines that share this one's kernel.

#![allow(clippy::unwrap_used, reason = "a test may panic, also in its helpers")]

use diskproof_testkit::{self as testkit, KernelMate, MachineState, Watch};
use std::fs;
use std::process::Command;

#[test]
fn loop_machines_on_one_kernel_have_what_makes_a_machine_of_their_own() {
    if !testkit::is_root() {
        eprintln!("SKIPPED: needs root");
        return;
    }
    let _alone = testkit::exclusive();
    let own = |path: &str| fs::read_to_string(path).unwrap();
    const BOOT: &str = "/proc/sys/kernel/random/boot_id";
    let (before, boot) = (MachineState::capture(&Watch::default()), own(BOOT));
    let dir = testkit::fresh_dir("kernel-mates");
    let machines = KernelMate::several(&dir, &["one", "two"]);
    let config = KernelMate::client(&dir, &machines, &[("second", "two")]);
    let on = |machine: &str, words: &[&str]| {
        let ssh = Command::new("ssh").arg("-F").arg(&config).arg(machine).args(words).output().unwrap();
        assert!(ssh.status.success(), "{}", String::from_utf8_lossy(&ssh.stderr));
        String::from_utf8(ssh.stdout).unwrap()
    };
    let boots = ["one", "two", "second"].map(|machine| on(machine, &["cat", BOOT]));
    assert!(boots[0] != boots[1] && boots[1] == boots[2] && !boots.contains(&boot), "{boots:?} {boot}");
    assert_eq!(own(BOOT), boot, "this machine keeps its own");
    assert_ne!(on("one", &["cat", "/etc/machine-id"]), own("/etc/machine-id"));
    let state = |machine: &KernelMate| format!("{}\n", machine.state().to_string_lossy());
    assert_eq!(on("two", &["printenv", "DISKPROOF_STATE"]), state(&machines[1]));
    if fs::metadata("/sys/fs/cgroup/blkio").is_ok() {
        let group = "/sys/fs/cgroup/blkio/diskproof-r";
        on("one", &["mkdir", group]);
        assert!(!on("two", &["ls", "/sys/fs/cgroup/blkio"]).contains("diskproof"));
        assert!(fs::metadata(group).is_err(), "this machine doesn't see it");
        assert_eq!((machines[0].left().len(), machines[1].left().len()), (1, 0));
    }
    drop(machines);
    fs::remove_dir_all(&dir).unwrap();
    assert_eq!(before.diff(&MachineState::capture(&Watch::default())), "");
}
