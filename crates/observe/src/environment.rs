//! The machine at the beginning of a run.

use crate::counter::{cpu, keyed};
use crate::mountinfo::Mounts;
use crate::text::{first_line, required, whole};
use crate::virtualization;
use record::environment::Environment;
use record::roots::Roots;

/// Returns what the kernel and the distribution report about this machine. The caller adds versions of tools.
///
/// It reads nothing secret: no host name, addresses, users or environment variables.
#[must_use]
pub fn environment(roots: &Roots) -> Environment {
    let kernel = |name: &str| first_line(&roots.proc.join("sys/kernel").join(name));
    let device = |name: &str| first_line(&roots.sys.join("devices/system").join(name));
    Environment {
        diskproof: env!("CARGO_PKG_VERSION").to_owned(),
        kernel: kernel("osrelease"),
        architecture: kernel("arch").or_else(architecture),
        distribution: distribution(roots),
        cpu_model: cpu_model(roots),
        cpus: cpus(roots),
        governor: device("cpu/cpu0/cpufreq/scaling_governor"),
        clocksource: device("clocksource/clocksource0/current_clocksource"),
        virtualization: virtualization::detect(roots),
        image: image(roots),
        memory_bytes: memory_bytes(roots),
        boot_id: boot_id(roots),
        root: rustix::process::geteuid().is_root(),
        throttle: throttle(roots).map(str::to_owned),
        tools: std::collections::BTreeMap::new(),
        native_ceiling: None,
        provision: Vec::new(),
        bills: Vec::new(),
        elsewhere: std::collections::BTreeMap::new(),
    }
}

/// Returns the kernel's boot id: it is another one after each boot, and on each machine.
#[must_use]
pub fn boot_id(roots: &Roots) -> Option<String> {
    first_line(&roots.proc.join("sys/kernel/random/boot_id"))
}

/// Returns the image of a guest that diskproof made. QEMU shows it in the guest's SMBIOS: the family names what the SKU holds.
fn image(roots: &Roots) -> Option<String> {
    let of = |name: &str| first_line(&roots.sys.join("class/dmi/id").join(name));
    let digest = of("product_sku").filter(|_| of("product_family").as_deref() == Some("diskproof-image"))?;
    let is_digest = digest.len() == 64 && digest.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    is_digest.then(|| format!("sha256:{digest}"))
}

/// Returns the architecture from uname: kernels before 6.1 have no /proc/sys/kernel/arch.
fn architecture() -> Option<String> {
    rustix::system::uname().machine().to_str().ok().map(str::to_owned)
}

fn distribution(roots: &Roots) -> Option<String> {
    let text = whole(&roots.etc.join("os-release"))?;
    let value = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    let value = value.trim().trim_matches(|quote| quote == '"' || quote == '\'');
    (!value.is_empty()).then(|| value.to_owned())
}

/// Returns the CPU model: `model name` on x86, `Model` on many ARM boards, `cpu` on POWER.
fn cpu_model(roots: &Roots) -> Option<String> {
    let text = whole(&roots.proc.join("cpuinfo"))?;
    let value = |key: &str| {
        text.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            (name.trim() == key && !value.trim().is_empty()).then(|| value.trim().to_owned())
        })
    };
    ["model name", "Model", "cpu"].into_iter().find_map(value)
}

fn cpus(roots: &Roots) -> Option<u32> {
    let path = roots.proc.join("stat");
    let text = required(&path).ok()??;
    let (_, cores) = cpu::parse(&path, &text).ok()?;
    u32::try_from(cores.len()).ok().filter(|&cores| cores > 0)
}

fn memory_bytes(roots: &Roots) -> Option<u64> {
    let path = roots.proc.join("meminfo");
    let text = required(&path).ok()??;
    keyed::memory(&path, &text).ok()?.total_bytes
}

/// Returns the cgroup version that can throttle block devices: v2 if its `io` controller is there, v1 if its `blkio` hierarchy is
/// mounted and has the files of the throttle.
fn throttle(roots: &Roots) -> Option<&'static str> {
    let mounts = Mounts::read(roots).ok()?;
    let of_type = |fs_type: &'static str| mounts.0.iter().filter(move |mount| mount.fs_type == fs_type);
    let v2 = of_type("cgroup2").any(|mount| {
        let controllers = first_line(&roots.in_sys(&mount.point).join("cgroup.controllers"));
        controllers.unwrap_or_default().split_whitespace().any(|controller| controller == "io")
    });
    if v2 {
        return Some("v2");
    }
    let v1 = of_type("cgroup").any(|mount| {
        mount.super_options.split(',').any(|option| option == "blkio")
            && roots.in_sys(&mount.point).join("blkio.throttle.read_iops_device").exists()
    });
    v1.then_some("v1")
}
