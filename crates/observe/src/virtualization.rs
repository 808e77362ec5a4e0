//! Finds the hypervisor or container that this process runs in, with the names of `systemd-detect-virt`.

use crate::text::{first_line, whole};
use record::roots::Roots;

/// Vendor or product strings of DMI and their meaning; the order is systemd's.
const DMI: [(&str, &str); 14] = [
    ("KVM", "kvm"),
    ("OpenStack", "kvm"),
    ("KubeVirt", "kvm"),
    ("Amazon EC2", "amazon"),
    ("QEMU", "qemu"),
    ("VMware", "vmware"),
    ("VMW", "vmware"),
    ("innotek GmbH", "oracle"),
    ("VirtualBox", "oracle"),
    ("Xen", "xen"),
    ("Bochs", "bochs"),
    ("Parallels", "parallels"),
    ("BHYVE", "bhyve"),
    ("Hyper-V", "microsoft"),
];

/// Returns the name. `None` when nothing shows one: bare metal, or a machine that hides it.
pub(crate) fn detect(roots: &Roots) -> Option<String> {
    container(roots).or_else(|| hypervisor(roots)).map(str::to_owned)
}

fn container(roots: &Roots) -> Option<&'static str> {
    // Only the variable that container managers set for this purpose is read; this needs root.
    let environment = std::fs::read(roots.proc.join("1/environ")).unwrap_or_default();
    let named = environment.split(|&byte| byte == 0).find_map(|entry| entry.strip_prefix(b"container="));
    match named {
        Some(b"lxc") => return Some("lxc"),
        Some(b"docker") => return Some("docker"),
        Some(b"podman") => return Some("podman"),
        Some(b"systemd-nspawn") => return Some("systemd-nspawn"),
        Some(_) => return Some("container-other"),
        None => {}
    }
    let groups = whole(&roots.proc.join("1/cgroup")).unwrap_or_default();
    [("/docker", "docker"), ("/libpod", "podman"), ("/lxc", "lxc"), ("/kubepods", "container-other")]
        .into_iter()
        .find_map(|(mark, name)| groups.contains(mark).then_some(name))
}

fn hypervisor(roots: &Roots) -> Option<&'static str> {
    let kind = first_line(&roots.sys.join("hypervisor/type"));
    if kind.as_deref() == Some("xen") {
        return Some("xen");
    }
    let dmi = roots.sys.join("class/dmi/id");
    for file in ["product_name", "sys_vendor", "board_vendor", "bios_vendor", "product_version"] {
        let Some(text) = first_line(&dmi.join(file)) else { continue };
        if let Some((_, name)) = DMI.into_iter().find(|(mark, _)| text.starts_with(mark)) {
            return Some(name);
        }
    }
    // Small hypervisors have no DMI, but the list of available clocks shows the hypervisor.
    let clocks = roots.sys.join("devices/system/clocksource/clocksource0/available_clocksource");
    let clocks = first_line(&clocks).unwrap_or_default();
    for (mark, name) in [("kvm-clock", "kvm"), ("hyperv_clocksource", "microsoft"), ("xen", "xen")] {
        if clocks.split_whitespace().any(|clock| clock.starts_with(mark)) {
            return Some(name);
        }
    }
    let flags = whole(&roots.proc.join("cpuinfo")).unwrap_or_default();
    let flags = flags.lines().find(|line| line.starts_with("flags"));
    let virtual_cpu = flags.is_some_and(|line| line.split_whitespace().any(|flag| flag == "hypervisor"));
    virtual_cpu.then_some("vm-other")
}
