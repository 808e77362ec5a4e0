//! Machines as they are asked for, read from a request and checked.

use super::name;
use super::settings::Reader;
use super::table::{self, IMAGE, SSH_PORT, USER};
use super::volume::{self, Volume};
use crate::protocol::{MachineRequest, Problem};
use std::collections::{BTreeMap, BTreeSet};

/// The device name of the disk that a machine boots from.
pub(super) const BOOT: &str = "diskproof-boot";

/// Where machines are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// In this zone.
    Zone(String),
    /// In one zone of this region, which GCE picks.
    Region(String),
}

/// A machine that is asked for.
pub(super) struct Machine {
    pub(super) name: String,
    pub(super) place: Option<Place>,
    pub(super) machine_type: String,
    pub(super) image: String,
    pub(super) boot_gib: Option<u64>,
    pub(super) boot_type: Option<String>,
    pub(super) network: Option<String>,
    pub(super) subnet: Option<String>,
    pub(super) tags: Vec<String>,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) service_account: Option<String>,
    pub(super) use_private_ip: bool,
    pub(super) preemptible: bool,
    pub(super) user: String,
    pub(super) ssh_port: u16,
    pub(super) volumes: Vec<Volume>,
}

/// The machines of a request, with what is wrong and what a person should know.
#[derive(Default)]
pub(super) struct Asked {
    pub(super) machines: Vec<Machine>,
    pub(super) problems: Vec<Problem>,
    pub(super) warnings: Vec<String>,
}

/// Reads the machines of a request.
pub(super) fn read(requests: &[MachineRequest]) -> Asked {
    let mut asked = Asked::default();
    let mut names = BTreeSet::new();
    for request in requests {
        let is_twice = !names.insert(&request.name);
        read_one(request, is_twice, &mut asked);
    }
    asked
}

fn read_one(request: &MachineRequest, is_twice: bool, asked: &mut Asked) {
    let mut reader = Reader::new(&request.name, None, &request.settings, &table::machine());
    if is_twice {
        reader.problem(None, "two machines have this name", None);
    }
    if !name::is_usable(&request.name) {
        reader.problem(
            None,
            "GCE can't use the machine's name",
            Some("it ends with a letter or a digit, e.g. web-1".to_owned()),
        );
    }
    // The metadata server may tell it.
    if reader.text("project").is_none() && !reader.is_on("metadata") {
        let help = "the id of the project that pays; GOOGLE_CLOUD_PROJECT may name it, too";
        reader.problem(Some("project"), "is missing", Some(help.to_owned()));
    }
    let mut volumes = Vec::new();
    let mut names = BTreeSet::new();
    for wanted in &request.volumes {
        let (volume, mut read) = volume::read(&request.name, wanted);
        if !names.insert(&wanted.name) || wanted.name == BOOT {
            read.problem(None, "the name of this volume is taken", None);
        }
        asked.problems.append(&mut read.problems);
        asked.warnings.append(&mut read.warnings);
        volumes.extend(volume);
    }
    let machine = Machine {
        name: request.name.clone(),
        place: place(&mut reader),
        machine_type: reader.text("machine_type").unwrap_or_default(),
        image: reader.text("image").unwrap_or_else(|| IMAGE.to_owned()),
        boot_gib: reader.number("boot_size").map(|bytes| bytes.div_ceil(1 << 30)),
        boot_type: reader.text("boot_type"),
        network: reader.text("network"),
        subnet: reader.text("subnet"),
        tags: reader.texts("tags"),
        labels: reader.map("labels"),
        service_account: reader.text("service_account"),
        use_private_ip: reader.is_on("use_private_ip"),
        preemptible: reader.is_on("preemptible"),
        user: reader.text("user").unwrap_or_else(|| USER.to_owned()),
        ssh_port: port(&mut reader),
        volumes,
    };
    check(&machine, &mut reader);
    asked.problems.append(&mut reader.problems);
    asked.warnings.append(&mut reader.warnings);
    asked.machines.push(machine);
}

fn port(reader: &mut Reader<'_>) -> u16 {
    let Some(given) = reader.number("ssh_port") else { return SSH_PORT };
    u16::try_from(given).ok().filter(|port| *port > 0).unwrap_or_else(|| {
        reader.problem(Some("ssh_port"), "is not a port", Some("1 to 65535".to_owned()));
        SSH_PORT
    })
}

fn place(reader: &mut Reader<'_>) -> Option<Place> {
    match (reader.text("zone").map(|zone| super::operation::last(&zone).to_owned()), reader.text("region")) {
        (Some(zone), Some(region)) if region_of(&zone) != region => {
            reader.problem(
                Some("zone"),
                format!("is not in the region {region}"),
                Some("leave out one of them".to_owned()),
            );
            None
        }
        (Some(zone), _) => Some(Place::Zone(zone)),
        (None, Some(region)) => Some(Place::Region(region)),
        // The metadata server may tell it.
        (None, None) if reader.is_on("metadata") => None,
        (None, None) => {
            reader.problem(
                Some("region"),
                "is missing",
                Some("e.g. region: europe-west1, or a zone".to_owned()),
            );
            None
        }
    }
}

fn check(machine: &Machine, reader: &mut Reader<'_>) {
    for (key, text) in
        [("machine_type", &machine.machine_type), ("image", &machine.image), ("user", &machine.user)]
    {
        if text.bytes().any(|byte| !byte.is_ascii_graphic()) || key != "image" && text.contains(['/', ':']) {
            reader.problem(Some(key), "has characters that no name at GCE has", None);
        }
    }
    if machine.user == "root" {
        reader.problem(
            Some("user"),
            "can't be root: images refuse it",
            Some(format!("leave it out for {USER}")),
        );
    }
    for key in machine.labels.keys().filter(|key| key.starts_with("diskproof-")) {
        let help = "labels that begin with diskproof- are its own".to_owned();
        reader.problem(Some("labels"), format!("can't have the key {key}"), Some(help));
    }
}

/// The region of a zone: `europe-west1` of `europe-west1-b`.
pub(super) fn region_of(zone: &str) -> &str {
    zone.rsplit_once('-').map_or(zone, |(region, _)| region)
}

#[cfg(test)]
mod tests;
