//! LVM: the arguments of its commands.

use crate::act::lvm_command::{LvmCommand, Pv};
use record::lvm::{CacheForm, CacheKind, Lvm, LvmCache, LvmLayout, Resync, Thin};
use std::path::Path;

/// The name of the logical volume.
pub(crate) const DATA: &str = "data";
/// The name of its thin pool.
pub(crate) const POOL: &str = "pool";
/// The name of its cache.
pub(crate) const CACHE: &str = "cache";

const UNCACHE: &str = "--uncache";

/// The name that LVM gives to the volume below a cache.
pub(crate) const ORIGIN: &str = "data_corig";

/// One step of a build: a command, and its arguments after those that all commands get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) command: LvmCommand,
    pub(crate) args: Vec<String>,
}

impl Step {
    fn new<S: Into<String>>(command: LvmCommand, args: impl IntoIterator<Item = S>) -> Self {
        Self { command, args: args.into_iter().map(Into::into).collect() }
    }
}

/// Settings for our commands only. They see only the devices that they are given, whatever the machine's settings say, and leave
/// no backups, hints or devices file behind. No monitoring daemon acts on what they create, and they neither use udev's rules nor
/// wait for udev, so a machine without udevd works as well.
pub(crate) fn settings(devices: &[&Path]) -> String {
    let ours: String = devices.iter().map(|device| format!("\"a|^{}$|\",", plain(device))).collect();
    format!(
        "devices {{ use_devicesfile=0 filter=[{ours}\"r|.*|\"] global_filter=[{ours}\"r|.*|\"] scan_lvs=0 hints=\"none\" \
         multipath_component_detection=0 allow_mixed_block_sizes=1 obtain_device_list_from_udev=0 \
         external_device_info_source=\"none\" }} \
         activation {{ monitoring=0 udev_sync=0 udev_rules=0 verify_udev_operations=0 auto_set_activation_skip=0 \
         activation_mode=\"complete\" }} \
         backup {{ backup=0 archive=0 }} global {{ notify_dbus=0 event_activation=0 use_lvmlockd=0 system_id_source=\"none\" }}"
    )
}

/// A path in LVM's pattern: a character that isn't a letter, a digit, `/`, `_` or `-` matches any character.
fn plain(device: &Path) -> String {
    let kept = |c: char| if c.is_ascii_alphanumeric() || "/_-".contains(c) { c } else { '.' };
    device.to_string_lossy().chars().map(kept).collect()
}

/// The device-mapper name of a logical volume.
pub(crate) fn mapper_name(group: &str, volume: &str) -> String {
    format!("{}-{}", escaped(group), escaped(volume))
}

/// Doubles the dashes: in device-mapper names a single dash separates group and volume.
pub(crate) fn escaped(name: &str) -> String {
    name.replace('-', "--")
}

/// Converts a UUID from the kernel's spelling to LVM's.
pub(crate) fn uuid(kernels: &str) -> String {
    let digits: Vec<char> = kernels.chars().filter(char::is_ascii_hexdigit).collect();
    let mut rest = digits.as_slice();
    let groups = [6, 4, 4, 4, 4, 4, 6].map(|length| {
        let (group, behind) = rest.split_at(length.min(rest.len()));
        rest = behind;
        group.iter().collect::<String>()
    });
    groups.join("-")
}

/// The steps that create the physical volumes of a group, in any order.
pub(crate) fn pv_steps(pvs: &[Pv]) -> Vec<Step> {
    let step = |pv: &Pv| {
        let path = pv.device.path.to_string_lossy().into_owned();
        Step::new(LvmCommand::Pvcreate, ["--uuid", &pv.uuid, "--norestorefile", &path])
    };
    pvs.iter().map(step).collect()
}

/// The steps that create the group.
pub(crate) fn group_steps(group: &str, pvs: &[Pv]) -> Vec<Step> {
    let path = |pv: &Pv| pv.device.path.to_string_lossy().into_owned();
    let create = ["--setautoactivation", "n", group].map(str::to_owned);
    let all = create.into_iter().chain(pvs.iter().map(path));
    let mut steps = vec![Step::new(LvmCommand::Vgcreate, all)];
    let mut tags: Vec<&str> = pvs.iter().filter_map(|pv| pv.tag.as_deref()).collect();
    tags.dedup();
    for tag in tags {
        let tagged = pvs.iter().filter(|pv| pv.tag.as_deref() == Some(tag)).map(path);
        let args = ["--addtag", tag].map(str::to_owned).into_iter().chain(tagged);
        steps.push(Step::new(LvmCommand::Pvchange, args));
    }
    steps
}

/// The steps that create the logical volume, or the thin pool in its place, and, if it is there from the beginning, attach its
/// cache.
pub(crate) fn volume_steps(lvm: &Lvm, group: &str, devices: &[&Path], beside: &[&Path]) -> Vec<Step> {
    let plain = [["--name", DATA], ["--zero", "y"], ["--wipesignatures", "y"]].concat();
    let plain = || plain.iter().map(|arg| (*arg).to_owned()).collect();
    let mut args: Vec<String> = lvm.thin.as_ref().map_or_else(plain, pool_args);
    args.extend(match lvm.layout {
        LvmLayout::Linear => Vec::new(),
        LvmLayout::Striped { stripes, stripe_bytes } => striped(stripes, stripe_bytes),
        LvmLayout::Raid1 { copies, resync } => {
            let mirrors = copies.saturating_sub(1).to_string();
            mirrored("raid1", &mirrors, resync)
        }
        LvmLayout::Raid10 { stripes, stripe_bytes, resync } => {
            [mirrored("raid10", "1", resync), striped(stripes, stripe_bytes)].concat()
        }
    });
    args.extend(match lvm.size_bytes {
        Some(bytes) => ["--size".to_owned(), format!("{bytes}b")],
        None => ["--extents", "100%PVS"].map(str::to_owned),
    });
    args.push(group.to_owned());
    args.extend(places(lvm.tag.as_deref(), devices));
    let mut steps = vec![Step::new(LvmCommand::Lvcreate, args)];
    if let Some(cache) = lvm.cache.as_ref().filter(|cache| cache.attach.is_built()) {
        steps.extend(attach_steps(cache, group, beside));
    }
    steps
}

/// The arguments that create the pool, before its layout and size. It has a spare for its metadata, as LVM makes pools.
fn pool_args(thin: &Thin) -> Vec<String> {
    let zero = if thin.zero { "y" } else { "n" };
    let fixed = [["--name", POOL], ["--type", "thin-pool"], ["--poolmetadataspare", "y"], ["--zero", zero]];
    let mut args: Vec<String> = fixed.concat().into_iter().map(str::to_owned).collect();
    args.extend(["--discards", thin.discards.name()].map(str::to_owned));
    if let Some(bytes) = thin.chunk_bytes {
        args.extend(["--chunksize".to_owned(), format!("{}k", bytes / 1024)]);
    }
    if let Some(bytes) = thin.metadata_bytes {
        args.extend(["--poolmetadatasize".to_owned(), format!("{bytes}b")]);
    }
    args
}

/// The step that creates the thin volume in the pool.
pub(crate) fn thin_step(group: &str, bytes: u64) -> Step {
    let size = format!("{bytes}b");
    let args = ["--name", DATA, "--type", "thin", "--virtualsize", &size, "--thinpool", POOL, group];
    Step::new(LvmCommand::Lvcreate, args)
}

/// The steps that create a cache and attach it.
pub(crate) fn attach_steps(cache: &LvmCache, group: &str, beside: &[&Path]) -> Vec<Step> {
    let origin = format!("{group}/{DATA}");
    let mut make = vec!["--name", CACHE];
    let mut convert = Vec::new();
    let chunk = match &cache.form {
        CacheForm::Cache { chunk_bytes, .. } => chunk_bytes.map(|bytes| format!("{}k", bytes / 1024)),
        CacheForm::Writecache => None,
    };
    match &cache.form {
        CacheForm::Cache { kind, mode, policy, .. } => {
            let flag = match kind {
                CacheKind::Cachepool => {
                    make.extend(["--type", "cache-pool", "--poolmetadataspare", "n"]);
                    "--cachepool"
                }
                CacheKind::Cachevol => "--cachevol",
            };
            convert.extend(["--type", "cache", flag, CACHE, "--cachemode", mode.name()]);
            if let Some(chunk) = &chunk {
                match kind {
                    CacheKind::Cachepool => make.extend(["--chunksize", chunk]),
                    CacheKind::Cachevol => convert.extend(["--chunksize", chunk]),
                }
            }
            if let Some(policy) = policy {
                convert.extend(["--cachepolicy", policy]);
            }
        }
        CacheForm::Writecache => {
            // lvconvert needs it inactive. An inactive volume can't be wiped here, but lvconvert wipes it.
            make.extend(["--activate", "n", "--zero", "n", "--wipesignatures", "n"]);
            convert.extend(["--type", "writecache", "--cachevol", CACHE]);
        }
    }
    make.extend(["--extents", "100%PVS", group]);
    let places = places(cache.tag.as_deref(), beside);
    make.extend(places.iter().map(String::as_str));
    convert.push(&origin);
    vec![Step::new(LvmCommand::Lvcreate, make), Step::new(LvmCommand::Lvconvert, convert)]
}

/// The step that detaches the cache: LVM writes dirty blocks to the origin first, which keeps all data, and removes the cache's
/// volume.
pub(crate) fn detach_step(group: &str) -> Step {
    Step::new(LvmCommand::Lvconvert, [UNCACHE.to_owned(), format!("{group}/{DATA}")])
}

/// Whether a command waits for a cache flush, which may take long.
pub(crate) fn flushes(args: &[String]) -> bool {
    args.iter().any(|arg| arg == UNCACHE)
}

/// The step that enlarges the volume, on its own devices.
pub(crate) fn grow_step(lvm: &Lvm, group: &str, devices: &[&Path], size_bytes: u64) -> Step {
    let size = ["--size".to_owned(), format!("{size_bytes}b"), format!("{group}/{DATA}")];
    Step::new(LvmCommand::Lvextend, size.into_iter().chain(places(lvm.tag.as_deref(), devices)))
}

fn striped(stripes: u32, stripe_bytes: u64) -> Vec<String> {
    // lvcreate warns of a chunk size without stripes.
    if stripes < 2 {
        return Vec::new();
    }
    ["--stripes", &stripes.to_string(), "--stripesize", &format!("{}k", stripe_bytes / 1024)]
        .map(str::to_owned)
        .to_vec()
}

fn mirrored(kind: &str, mirrors: &str, resync: Resync) -> Vec<String> {
    let mut args = ["--type", kind, "--mirrors", mirrors].map(str::to_owned).to_vec();
    if resync == Resync::Skip {
        args.push("--nosync".to_owned());
    }
    args
}

fn places(tag: Option<&str>, devices: &[&Path]) -> Vec<String> {
    match tag {
        Some(tag) => vec![format!("@{tag}")],
        None => devices.iter().map(|device| device.to_string_lossy().into_owned()).collect(),
    }
}

/// The progress of a mirror's initial sync, from its line in `dmsetup status`
/// (Documentation/admin-guide/device-mapper/dm-raid.rst): `0 65536 raid raid1 2 AA 65536/65536 idle 0 0 -`.
pub(crate) fn synced(status: &str) -> Option<(u64, u64)> {
    let words: Vec<&str> = status.split_whitespace().collect();
    let at = words.iter().position(|word| *word == "raid")?;
    let (done, of) = words.get(at + 4)?.split_once('/')?;
    Some((done.parse().ok()?, of.parse().ok()?))
}

#[cfg(test)]
mod tests;
