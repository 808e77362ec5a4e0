//! Settings of machines and volumes: what they are, and how they are read.

use super::names::is_name;
use super::pools;
use crate::libvirt::{Network, Tuning};
use driver::protocol::{MachineRequest, Problem, SettingKind, Settings, VolumeRequest};
use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;

/// A setting: its key, type, whether it must be there, its default for people, and what it is.
pub(super) struct Row {
    pub(super) key: &'static str,
    pub(super) kind: SettingKind,
    pub(super) required: bool,
    pub(super) default: Option<fn() -> Value>,
    pub(super) about: &'static str,
}

const fn row(key: &'static str, kind: SettingKind, about: &'static str) -> Row {
    Row { key, kind, required: false, default: None, about }
}

const fn required(key: &'static str, kind: SettingKind, about: &'static str) -> Row {
    Row { required: true, ..row(key, kind, about) }
}

const fn with_default(
    key: &'static str,
    kind: SettingKind,
    default: fn() -> Value,
    about: &'static str,
) -> Row {
    Row { default: Some(default), ..row(key, kind, about) }
}

/// Settings of a machine.
pub(super) const MACHINE: [Row; 11] = [
    required(
        "host",
        SettingKind::Text,
        "The host whose libvirt makes the guest: a destination of ssh, or `local`",
    ),
    row(
        "hosts",
        SettingKind::Texts,
        "All hosts of the experiment's machines, if there are several: they are searched for what a claim has",
    ),
    required(
        "image",
        SettingKind::Text,
        "The image of the boot disk: a name or digest of `diskproof images list`",
    ),
    with_default("memory", SettingKind::Bytes, || Value::from(1_u64 << 30), "Memory of the guest"),
    with_default("vcpus", SettingKind::Integer, || Value::from(1), "Virtual processors"),
    with_default(
        "network",
        SettingKind::Text,
        || Value::from("default"),
        "A network of libvirt, or bridge:NAME for a bridge of the host",
    ),
    row("disk_size", SettingKind::Bytes, "Size of the boot disk; without it, as the image"),
    row(
        "folder",
        SettingKind::Text,
        "The host's folder for disk files, absolute; without it, below diskproof's state there",
    ),
    with_default(
        "emulate",
        SettingKind::Switch,
        || Value::from(false),
        "Whether QEMU emulates the processors also where the host has KVM",
    ),
    with_default(
        "wait_seconds",
        SettingKind::Integer,
        || Value::from(300),
        "How long to wait for the guest's address and its sshd",
    ),
    row("ssh_config", SettingKind::Text, "The file that ssh reads instead of ~/.ssh/config"),
];

/// The buses that volumes may be on; the first one where nothing is said.
const BUSES: [&str; 2] = ["virtio-blk", "virtio-scsi"];

/// Whether a cache mode of QEMU bypasses the host's page cache.
pub(super) fn is_direct(cache: &str) -> bool {
    matches!(cache, "none" | "directsync")
}

/// Settings of a volume.
pub(super) const VOLUME: [Row; 9] = [
    row(
        "pool",
        SettingKind::Text,
        "A storage pool of the host's libvirt that has the volume, e.g. a volume group; without it, a file in `folder`",
    ),
    with_default("format", SettingKind::Text, || Value::from("raw"), "Format of the file: raw or qcow2"),
    with_default(
        "bus",
        SettingKind::Text,
        || Value::from(BUSES[0]),
        "How the guest sees the volume: virtio-blk or virtio-scsi",
    ),
    with_default(
        "cache",
        SettingKind::Text,
        || Value::from("none"),
        "Cache mode of QEMU: none, directsync, writethrough, writeback",
    ),
    row(
        "aio",
        SettingKind::Text,
        "Who does the I/O in QEMU: threads, native, io_uring; without it, as QEMU chooses",
    ),
    with_default(
        "iothread",
        SettingKind::Switch,
        || Value::from(false),
        "Whether a thread of its own serves the volume",
    ),
    with_default(
        "preallocation",
        SettingKind::Text,
        || Value::from("off"),
        "Whether the file has its blocks from the beginning: off, falloc (reserved), full (written with zeros)",
    ),
    row("iops", SettingKind::Integer, "Most I/Os per second, reads and writes together; libvirt enforces it"),
    row("bps", SettingKind::Bytes, "Most bytes per second, reads and writes together; libvirt enforces it"),
];

/// Volumes of a machine, at most: each takes a slot of the guest's bus and a letter of the alphabet.
const MOST_VOLUMES: usize = 20;

/// A machine to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) name: String,
    pub(super) host: String,
    pub(super) image: String,
    pub(super) memory_mib: u64,
    pub(super) vcpus: u32,
    pub(super) network: Network,
    pub(super) disk_size: Option<u64>,
    pub(super) folder: Option<String>,
    pub(super) emulate: bool,
    pub(super) wait: Duration,
    pub(super) ssh_config: Option<PathBuf>,
    pub(super) volumes: Vec<WantedVolume>,
}

/// A volume to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WantedVolume {
    pub(super) name: String,
    pub(super) size_bytes: u64,
    /// The bus in libvirt's words.
    pub(super) bus: &'static str,
    pub(super) format: &'static str,
    pub(super) preallocation: &'static str,
    pub(super) pool: Option<String>,
    /// Without a serial number.
    pub(super) tuning: Tuning,
}

/// Reads machines.
///
/// # Errors
/// All that is wrong.
pub(super) fn read(machines: &[MachineRequest]) -> Result<Vec<Wanted>, Vec<Problem>> {
    let mut problems = Vec::new();
    let wanted: Vec<Wanted> =
        machines.iter().filter_map(|machine| read_one(machine, &mut problems)).collect();
    across_hosts(machines, &wanted, &mut problems);
    if problems.is_empty() { Ok(wanted) } else { Err(problems) }
}

/// `status`, `destroy` and `list` get the settings that all machines agree on, so these must name all hosts.
fn across_hosts(machines: &[MachineRequest], wanted: &[Wanted], problems: &mut Vec<Problem>) {
    let Some(first) = wanted.first() else { return };
    if wanted.iter().all(|other| other.host == first.host) {
        return;
    }
    for machine in machines {
        let listed = texts(&machine.settings, "hosts");
        let agrees = machine.settings.get("hosts") == machines[0].settings.get("hosts");
        if let Some(missing) = wanted.iter().find(|other| !agrees || !listed.contains(&other.host)) {
            problems.push(Problem {
                machine: machine.name.clone(),
                volume: None,
                key: Some("hosts".to_owned()),
                text: format!("doesn't name {}, where a machine is", missing.host),
                help: Some("machines on several hosts need the same `hosts` with all of them".to_owned()),
            });
        }
    }
}

fn read_one(machine: &MachineRequest, problems: &mut Vec<Problem>) -> Option<Wanted> {
    let before = problems.len();
    let mut reader = Reader { machine: &machine.name, volume: None, settings: &machine.settings, problems };
    reader.known(&MACHINE);
    if !is_name(&machine.name) {
        reader.wrong(None, "is no name of a machine", "small letters, digits and hyphens, at most 40");
    }
    let host =
        reader.text("host").filter(|host| reader.is(is_host(host), "host", "is no destination of ssh"));
    let image = reader.text("image");
    let memory = reader.number("memory", 64 << 20, 16 << 40);
    let vcpus = reader.number("vcpus", 1, 1024);
    let network = Network::parse(&reader.text("network").unwrap_or_else(|| "default".to_owned()));
    let network = network.map_err(|why| reader.wrong(Some("network"), &why, "")).ok();
    let folder = reader.text("folder");
    if let Some(folder) = &folder {
        let is_plain = folder.starts_with('/')
            && !folder.contains(char::is_control)
            && !folder.split('/').any(|part| matches!(part, "." | ".."));
        reader.is(is_plain, "folder", "is no absolute path without `..`");
    }
    let disk_size = reader.number("disk_size", 1 << 20, 1 << 50);
    let wait = reader.number("wait_seconds", 1, 86_400);
    let emulate = reader.switch("emulate");
    let ssh_config = reader.text("ssh_config").map(PathBuf::from);
    reader.listed("hosts");
    if machine.volumes.len() > MOST_VOLUMES {
        reader.wrong(
            None,
            &format!("has more than {MOST_VOLUMES} volumes"),
            "a virtio disk takes a slot of the guest's bus",
        );
    }
    let volumes: Vec<WantedVolume> =
        machine.volumes.iter().filter_map(|volume| read_volume(&machine.name, volume, problems)).collect();
    for (at, volume) in machine.volumes.iter().enumerate() {
        if machine.volumes[..at].iter().any(|other| other.name == volume.name) {
            let text = format!("has two volumes {}", volume.name);
            problems.push(Problem {
                machine: machine.name.clone(),
                volume: None,
                key: None,
                text,
                help: None,
            });
        }
    }
    if problems.len() > before {
        return None;
    }
    Some(Wanted {
        name: machine.name.clone(),
        host: host?,
        image: image?,
        memory_mib: memory.unwrap_or(1 << 30) >> 20,
        vcpus: u32::try_from(vcpus.unwrap_or(1)).ok()?,
        network: network?,
        disk_size,
        folder,
        emulate: emulate.unwrap_or(false),
        wait: Duration::from_secs(wait.unwrap_or(300)),
        ssh_config,
        volumes,
    })
}

fn read_volume(machine: &str, volume: &VolumeRequest, problems: &mut Vec<Problem>) -> Option<WantedVolume> {
    let before = problems.len();
    let mut reader = Reader { machine, volume: Some(&volume.name), settings: &volume.settings, problems };
    reader.known(&VOLUME);
    if !is_name(&volume.name) {
        reader.wrong(None, "is no name of a volume", "small letters, digits and hyphens, at most 40");
    }
    let size = volume.size_bytes.filter(|bytes| *bytes >= 1 << 20 && bytes % 512 == 0);
    if size.is_none() {
        reader.wrong(None, "has no size of at least 1 MiB, in whole sectors of 512 bytes", "say `size`");
    }
    let format = reader.choice("format", &["raw", "qcow2"]);
    let cache = reader.choice("cache", &["none", "directsync", "writethrough", "writeback"]);
    let io =
        reader.settings.contains_key("aio").then(|| reader.choice("aio", &["threads", "native", "io_uring"]));
    let io = io.flatten();
    let bus = reader.choice("bus", &BUSES);
    let iothread = reader.switch("iothread").unwrap_or(false);
    reader.is(
        io != Some("native") || cache.is_none_or(is_direct),
        "aio",
        "native needs `cache: none` or `directsync`: QEMU refuses it with the page cache",
    );
    reader.is(
        !iothread || bus != Some("virtio-scsi"),
        "iothread",
        "needs `bus: virtio-blk`: disks on another bus share their controller's thread",
    );
    let preallocation = reader.choice("preallocation", &["off", "falloc", "full"]);
    let pool = reader.text("pool");
    if let Some(pool) = &pool {
        reader.is(pools::is_name(pool), "pool", "is no name of a storage pool");
        for key in ["format", "preallocation"] {
            let is_said = reader.settings.contains_key(key);
            reader.is(!is_said, key, "can't be said with `pool`, which decides it");
        }
    }
    let tuning = Tuning {
        serial: None,
        cache: cache.unwrap_or("none"),
        io,
        iothread,
        iops: reader.number("iops", 1, 1 << 32),
        bytes_per_second: reader.number("bps", 1, 1 << 50),
    };
    if problems.len() > before {
        return None;
    }
    Some(WantedVolume {
        name: volume.name.clone(),
        size_bytes: size?,
        bus: if bus? == "virtio-scsi" { "scsi" } else { "virtio" },
        format: format?,
        preallocation: preallocation?,
        pool,
        tuning,
    })
}

/// The hosts that settings name: `hosts` and `host`.
pub(super) fn hosts(settings: &Settings) -> Vec<String> {
    let mut hosts = texts(settings, "hosts");
    if let Some(host) = driver::serve::text(settings, "host")
        && !hosts.iter().any(|known| known == host)
    {
        hosts.push(host.to_owned());
    }
    hosts.retain(|host| is_host(host));
    hosts
}

fn texts(settings: &Settings, key: &str) -> Vec<String> {
    let list = settings.get(key).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Whether ssh takes a word for a destination and for nothing else.
fn is_host(word: &str) -> bool {
    !word.is_empty()
        && !word.starts_with('-')
        && !word.contains(|c: char| c.is_control() || c.is_whitespace())
}

/// Reads settings of one machine or volume.
struct Reader<'a> {
    machine: &'a str,
    volume: Option<&'a str>,
    settings: &'a Settings,
    problems: &'a mut Vec<Problem>,
}

impl Reader<'_> {
    fn wrong(&mut self, key: Option<&str>, text: &str, help: &str) {
        self.problems.push(Problem {
            machine: self.machine.to_owned(),
            volume: self.volume.map(str::to_owned),
            key: key.map(str::to_owned),
            text: text.to_owned(),
            help: (!help.is_empty()).then(|| help.to_owned()),
        });
    }

    fn is(&mut self, fine: bool, key: &str, text: &str) -> bool {
        if !fine {
            self.wrong(Some(key), text, "");
        }
        fine
    }

    /// Names the keys that aren't settings, and those that are missing.
    fn known(&mut self, rows: &[Row]) {
        let keys: Vec<&str> = rows.iter().map(|row| row.key).collect();
        for key in self.settings.keys().filter(|key| !keys.contains(&key.as_str())) {
            self.wrong(
                Some(key),
                "isn't a setting of the driver libvirt",
                &format!("it has {}", keys.join(", ")),
            );
        }
        for row in rows.iter().filter(|row| row.required && !self.settings.contains_key(row.key)) {
            self.wrong(Some(row.key), "is missing", row.about);
        }
    }

    fn text(&mut self, key: &str) -> Option<String> {
        let value = self.settings.get(key)?;
        match value.as_str() {
            Some(text) if !text.is_empty() => Some(text.to_owned()),
            _ => {
                self.wrong(Some(key), "is no text", "");
                None
            }
        }
    }

    fn listed(&mut self, key: &str) {
        let is_fine = |value: &Value| {
            value.as_array().is_some_and(|list| list.iter().all(|one| one.as_str().is_some_and(is_host)))
        };
        if self.settings.get(key).is_some_and(|value| !is_fine(value)) {
            self.wrong(Some(key), "is no list of destinations of ssh", "");
        }
    }

    fn number(&mut self, key: &str, least: u64, most: u64) -> Option<u64> {
        let value = self.settings.get(key)?;
        match value.as_u64() {
            Some(number) if (least..=most).contains(&number) => Some(number),
            _ => {
                self.wrong(Some(key), &format!("is no number from {least} to {most}"), "");
                None
            }
        }
    }

    fn switch(&mut self, key: &str) -> Option<bool> {
        let value = self.settings.get(key)?;
        if value.as_bool().is_none() {
            self.wrong(Some(key), "is neither true nor false", "");
        }
        value.as_bool()
    }

    /// One of some words; the first one where nothing is said.
    fn choice(&mut self, key: &str, words: &[&'static str]) -> Option<&'static str> {
        let Some(value) = self.settings.get(key) else { return words.first().copied() };
        let found = words.iter().find(|word| value.as_str() == Some(word)).copied();
        if found.is_none() {
            self.wrong(Some(key), &format!("is none of {}", words.join(", ")), "");
        }
        found
    }
}

#[cfg(test)]
mod tests;
