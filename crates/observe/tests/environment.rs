//! The description of the machine: exact values from a fake tree, plausible ones from the real one.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed, as it should")]

use diskproof_observe::{Roots, environment};
use std::fs;
use std::path::Path;

fn put(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn machine() -> (tempfile::TempDir, Roots) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    put(root, "proc/sys/kernel/osrelease", "6.1.0-28-amd64\n");
    put(root, "proc/sys/kernel/arch", "x86_64\n");
    put(root, "proc/sys/kernel/random/boot_id", "b0075e1f-0000-4000-8000-000000000000\n");
    put(
        root,
        "etc/os-release",
        "NAME=\"Debian GNU/Linux\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n",
    );
    put(root, "proc/cpuinfo", "processor\t: 0\nmodel name\t: AMD EPYC 7763\nflags\t\t: fpu sse\n");
    put(root, "proc/stat", "cpu 1 1 1 1\ncpu0 1 1 1 1\ncpu3 1 1 1 1\nintr 1\n");
    put(root, "proc/meminfo", "MemTotal:       1024 kB\n");
    put(root, "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
    put(root, "sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
    let roots = Roots::under(root);
    (dir, roots)
}

#[test]
fn everything_known_is_said() {
    let (_dir, roots) = machine();
    let found = environment(&roots);
    assert_eq!(found.diskproof, env!("CARGO_PKG_VERSION"));
    assert_eq!(found.kernel.as_deref(), Some("6.1.0-28-amd64"));
    assert_eq!(found.architecture.as_deref(), Some("x86_64"));
    assert_eq!(found.distribution.as_deref(), Some("Debian GNU/Linux 12 (bookworm)"));
    assert_eq!(found.cpu_model.as_deref(), Some("AMD EPYC 7763"));
    assert_eq!(found.cpus, Some(2));
    assert_eq!(found.governor.as_deref(), Some("powersave"));
    assert_eq!(found.clocksource.as_deref(), Some("tsc"));
    assert_eq!(found.memory_bytes, Some(1 << 20));
    assert_eq!(found.boot_id.as_deref(), Some("b0075e1f-0000-4000-8000-000000000000"));
    assert_eq!(found.virtualization, None);
    assert_eq!(found.throttle, None);
    assert_eq!(found.root, rustix::process::geteuid().is_root());
    assert!(found.tools.is_empty());
}

#[test]
fn what_is_not_known_is_none() {
    let dir = tempfile::tempdir().unwrap();
    let found = environment(&Roots::under(dir.path()));
    assert!(found.architecture.is_some(), "uname always knows it");
    let unknown = [found.kernel, found.distribution, found.cpu_model, found.governor, found.clocksource];
    assert_eq!(unknown, [const { None }; 5]);
    assert_eq!((found.cpus, found.memory_bytes, found.boot_id, found.throttle), (None, None, None, None));
}

#[test]
fn virtualization_by_dmi_clock_or_flag() {
    let kind = |files: &[(&str, &str)]| {
        let (dir, roots) = machine();
        for (path, text) in files {
            put(dir.path(), path, text);
        }
        environment(&roots).virtualization
    };
    let dmi = |name: &str| format!("sys/class/dmi/id/{name}");
    let clocks = "sys/devices/system/clocksource/clocksource0/available_clocksource";
    let flags = ("proc/cpuinfo", "model name : x\nflags : fpu hypervisor\n");
    assert_eq!(kind(&[(&dmi("sys_vendor"), "QEMU\n")]).as_deref(), Some("qemu"));
    assert_eq!(
        kind(&[(&dmi("product_name"), "KVM\n"), (&dmi("sys_vendor"), "QEMU")]).as_deref(),
        Some("kvm")
    );
    assert_eq!(kind(&[(&dmi("sys_vendor"), "Amazon EC2\n")]).as_deref(), Some("amazon"));
    assert_eq!(kind(&[(&dmi("product_name"), "VMware Virtual Platform")]).as_deref(), Some("vmware"));
    assert_eq!(kind(&[(&dmi("sys_vendor"), "Dell Inc.\n")]), None);
    assert_eq!(kind(&[(clocks, "tsc kvm-clock \n")]).as_deref(), Some("kvm"));
    assert_eq!(kind(&[("sys/hypervisor/type", "xen\n")]).as_deref(), Some("xen"));
    assert_eq!(kind(&[flags]).as_deref(), Some("vm-other"));
    assert_eq!(kind(&[("proc/1/environ", "A=b\0container=podman\0"), flags]).as_deref(), Some("podman"));
    assert_eq!(kind(&[("proc/1/environ", "container=other\0")]).as_deref(), Some("container-other"));
    assert_eq!(kind(&[("proc/1/cgroup", "0::/docker/0123\n")]).as_deref(), Some("docker"));
}

#[test]
fn a_guest_of_diskproof_shows_its_image() {
    let image = |family: &str, sku: &str| {
        let (dir, roots) = machine();
        put(dir.path(), "sys/class/dmi/id/product_family", family);
        put(dir.path(), "sys/class/dmi/id/product_sku", sku);
        environment(&roots).image
    };
    let digest = "0123456789abcdef".repeat(4);
    assert_eq!(image("diskproof-image\n", &format!("{digest}\n")), Some(format!("sha256:{digest}")));
    assert_eq!(image("ThinkPad", &digest), None);
    assert_eq!(image("diskproof-image", "LENOVO_MT_20"), None);
}

#[test]
fn the_throttle_is_told_from_what_is_mounted() {
    let v1 = "40 1 0:30 / /sys/fs/cgroup/blkio rw shared:1 - cgroup cgroup rw,blkio\n";
    let v2 = "41 1 0:31 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
    let throttle = |mounts: &str, controllers: &str, file: bool| {
        let (dir, roots) = machine();
        put(dir.path(), "proc/self/mountinfo", mounts);
        put(dir.path(), "sys/fs/cgroup/unified/cgroup.controllers", controllers);
        if file {
            put(dir.path(), "sys/fs/cgroup/blkio/blkio.throttle.read_iops_device", "");
        }
        environment(&roots).throttle
    };
    assert_eq!(throttle(&format!("{v1}{v2}"), "hugetlb\n", true).as_deref(), Some("v1"));
    assert_eq!(throttle(&format!("{v1}{v2}"), "cpu io memory\n", true).as_deref(), Some("v2"));
    assert_eq!(throttle(v2, "cpu iox\n", true), None);
    assert_eq!(throttle(v1, "", false), None);
}

#[test]
fn this_machine_has_a_kernel_cpus_and_memory() {
    let found = environment(&Roots::default());
    let running = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    assert_eq!(found.kernel.as_deref(), Some(running.trim()));
    assert!(found.cpus.is_some_and(|cpus| cpus > 0));
    assert!(found.memory_bytes.is_some_and(|bytes| bytes > 1 << 20));
    assert!(found.boot_id.is_some() && found.clocksource.is_some());
}
