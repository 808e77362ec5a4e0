//! `diskproof guests build`.

use crate::args::{From, GuestsBuild};
use crate::commands::hosts::{guest_failure, one, open};
use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;
use fleet::At;
use fleet::libvirt::{self, Built, GuestError, NewDisk, NewGuest, Nic, Steps};
use record::printable::Shown as _;
use record::quantity::Seconds;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The files of a user's own keys.
const KEYS: [&str; 3] = ["id_ed25519.pub", "id_ecdsa.pub", "id_rsa.pub"];

pub(super) fn build(args: &GuestsBuild, from: &From, settings: &Settings) -> Result<Exit, Failure> {
    let machine = one(&args.start.on, from, settings)?;
    let name = match &args.name {
        Some(name) => name.clone(),
        None => libvirt::generated(&args.image).map_err(Failure::machine)?,
    };
    libvirt::check_name(&name).map_err(guest_failure)?;
    let wanted = NewGuest {
        hostname: name.clone(),
        name,
        uuid: None,
        memory_mib: args.memory,
        vcpus: args.vcpus,
        disks: vec![NewDisk { image: Some(args.image.clone()), size_bytes: args.size, bus: "virtio" }],
        nics: vec![Nic::plain(args.network.clone())],
        resolvers: Vec::new(),
        search: None,
        keys: keys(&args.keys)?,
        first_boot: args.first_boot.as_deref().map(text).transpose()?,
        autostart: args.autostart,
        full_copy: args.full_copy,
        emulated: args.start.emulate,
    };
    make(&open(&machine, settings)?, &wanted, args.start.wait, args.start.json)
}

/// What `--json` prints.
#[derive(Serialize)]
struct Line<'a> {
    machine: &'a str,
    name: &'a str,
    address: &'a str,
    logged_in: bool,
    kvm: bool,
    took_seconds: f64,
}

/// Makes a guest, and tells how long it took until it answered ssh.
pub(super) fn make(at: &At, wanted: &NewGuest, wait: f64, json: bool) -> Result<Exit, Failure> {
    let name = format!("{}:{}", at.name(), wanted.name);
    let tell = |line: &str| output::aside(&format!("{name}: {line}"));
    let wait = Duration::try_from_secs_f64(wait).unwrap_or(Duration::from_secs(300));
    let built = libvirt::build(at, wanted, Steps { tell: &tell, wait }).map_err(guest_failure)?;
    let Built { address, logged_in, took, kvm } = &built;
    if json {
        let line = Line {
            machine: at.name(),
            name: &wanted.name,
            address,
            logged_in: *logged_in,
            kvm: *kvm,
            took_seconds: took.as_secs_f64(),
        };
        output::json(&serde_json::to_string(&line).map_err(Failure::ours)?)?;
        return Ok(Exit::Fine);
    }
    let took = Seconds(took.as_secs_f64());
    output::answer(&format!("{name}: answers ssh at {address} after {took}"))?;
    let hint = match logged_in {
        true => format!("`diskproof guests shell {name}` opens a shell"),
        false => "its sshd answers, and takes none of the keys that ssh offers here".to_owned(),
    };
    output::aside(&hint);
    Ok(Exit::Fine)
}

fn text(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path)
        .map_err(|error| Failure::input(format!("can't read {}: {error}", path.shown())))
}

/// Reads public keys; the user's own if none are named.
fn keys(named: &[PathBuf]) -> Result<Vec<String>, Failure> {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let own = || KEYS.iter().map(|name| home.join(".ssh").join(name)).filter(|path| path.is_file()).collect();
    let files: Vec<PathBuf> = if named.is_empty() { own() } else { named.to_vec() };
    let mut keys = Vec::new();
    for file in &files {
        let lines = text(file)?;
        let lines: Vec<String> = lines
            .lines()
            .map(|line| line.trim().to_owned())
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .collect();
        if lines.is_empty() || !lines.iter().all(|line| libvirt::is_public_key(line)) {
            return Err(guest_failure(GuestError::NotPublic { path: file.shown().to_string() }));
        }
        keys.extend(lines);
    }
    if keys.is_empty() { Err(guest_failure(GuestError::NoKey)) } else { Ok(keys) }
}
