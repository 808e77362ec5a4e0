//! Moves a running guest to another machine while it runs. The machines need no keys for each other: the destination's libvirt is reached
//! through this machine. Only the guest's memory and disk go directly from one to the other, by TCP, unencrypted.

use super::domain::domains;
use super::error::GuestError;
use super::note::{FILE, Note, note};
use crate::at::{At, AtError, Held, own_connection};
use crate::runtime_dir::RuntimeDir;
use host::{LocalRunner, Ssh};
use std::ffi::OsString;
use std::time::Duration;

/// Prints a line once everything is forwarded, and lives as long as its input.
const READY: [&str; 3] = ["sh", "-c", "echo diskproof; exec cat >/dev/null"];
/// Where libvirt's daemon, or that of its QEMU driver, listens.
const SOCKETS: &str = r#"for s in /run/libvirt/virtqemud-sock /run/libvirt/libvirt-sock; do if [ -S "$s" ]; then echo "$s"; exit 0; fi; done; exit 1"#;
/// Prints the size of a guest's disk.
const SIZE: [&str; 4] = ["qemu-img", "info", "--output=json", "-U"];
/// Time limit of a move.
const PATIENCE: Duration = Duration::from_secs(24 * 3600);

/// Moves a guest. Returns how long it took.
///
/// # Errors
/// It is off, both are one machine, the destination has a guest of its name or lacks its image, or libvirt refuses.
pub fn migrate(at: &At, guest: &str, to: &At) -> Result<Duration, GuestError> {
    let began = std::time::Instant::now();
    let no = |why: &str| GuestError::NoMove {
        machine: at.name().to_owned(),
        guest: guest.to_owned(),
        to: to.name().to_owned(),
        why: why.to_owned(),
    };
    if at.name() == to.name() {
        return Err(no("it is there"));
    }
    let found = domains(at)?.into_iter().find(|domain| domain.name == guest);
    if !found.is_some_and(|domain| domain.state.is_on()) {
        return Err(no("it is off: only running guests are moved; start it first"));
    }
    if domains(to)?.iter().any(|domain| domain.name == guest) {
        return Err(no("there is a guest of this name already"));
    }
    let note = note(at, guest)?;
    let uuid = |at: &At| -> Result<String, GuestError> {
        let said = at.virsh("ask for its identity", &["capabilities"])?;
        let from = said.find("<uuid>").map(|found| &said[found + "<uuid>".len()..]);
        Ok(from.and_then(|rest| rest.split("</uuid>").next()).unwrap_or_default().to_owned())
    };
    if uuid(at)? == uuid(to)? {
        return Err(no(
            "libvirt takes both for one machine: they have the same host UUID (`host_uuid` in libvirtd.conf)",
        ));
    }
    if let Some(note) = &note {
        prepare(at, note, to, &no)?;
    }
    let moved = transfer(at, guest, to, note.is_some(), &no);
    if let Some(note) = &note {
        let (from, why) =
            if moved.is_ok() { (at, "remove what moved away") } else { (to, "remove what was prepared") };
        remove(from, note, why)?;
    }
    moved.map(|()| began.elapsed())
}

/// Makes the guest's folder at the destination: the same layers over the same images, empty, and the same settings.
fn prepare(at: &At, note: &Note, to: &At, no: &dyn Fn(&str) -> GuestError) -> Result<(), GuestError> {
    for image in &note.images {
        let there = crate::images::find(to, image).map_err(|_| {
            no(&format!(
                "it lacks the image {}: `diskproof images import` it there first",
                &image[..12.min(image.len())]
            ))
        })?;
        if there.disk(to) != there.disk(at) {
            return Err(no("its state directory is another one, and a guest's files keep their paths"));
        }
    }
    let make = r#"mkdir -p -m 755 -- "${0%/*}" && mkdir -m 711 -- "$0""#;
    to.run("make the guest's folder", &["sh", "-c", make, &note.folder])?;
    let made = fill(at, note, to);
    if made.is_err() {
        remove(to, note, "remove what was prepared")?;
    }
    made
}

fn fill(at: &At, note: &Note, to: &At) -> Result<(), GuestError> {
    for name in &note.files {
        let path = format!("{}/{name}", note.folder);
        if name.ends_with(".iso") {
            copy(at, &path, to)?;
            continue;
        }
        let said = at.run("look at its disk", &[&SIZE[..], &["--", &path]].concat())?;
        let info: serde_json::Value = serde_json::from_str(&said).map_err(|_| at.garbled(&said))?;
        let text = |key: &str| info.get(key).and_then(serde_json::Value::as_str);
        let size =
            info.get("virtual-size").and_then(serde_json::Value::as_u64).unwrap_or_default().to_string();
        let format = text("format").unwrap_or("qcow2").to_owned();
        let mut words = vec!["qemu-img", "create", "-q", "-f", &format];
        if let (Some(below), Some(kind)) = (text("backing-filename"), text("backing-filename-format")) {
            words.extend(["-b", below, "-F", kind]);
        }
        words.extend(["--", &path, &size]);
        to.run("make its disk", &words)?;
    }
    copy(at, &format!("{}/{FILE}", note.folder), to)
}

/// Copies a small file. It may hold any bytes, so it travels as text.
fn copy(at: &At, path: &str, to: &At) -> Result<(), GuestError> {
    let said = at.run("read its settings", &["base64", "--", path])?;
    let write = r#"umask 077; base64 -d >"$0""#;
    to.feed("write its settings", &["sh", "-c", write, path], said.into_bytes())?;
    Ok(())
}

fn remove(at: &At, note: &Note, doing: &'static str) -> Result<(), GuestError> {
    let script = r#"d=$0; cd "$d" && rm -f -- "$@" && cd / && rmdir -- "$d""#;
    let mut words = vec!["sh", "-c", script, note.folder.as_str()];
    words.extend(note.files.iter().map(String::as_str));
    words.push(FILE);
    at.run(doing, &words)?;
    Ok(())
}

fn transfer(
    at: &At,
    guest: &str,
    to: &At,
    copies_disks: bool,
    no: &dyn Fn(&str) -> GuestError,
) -> Result<(), GuestError> {
    let bridge = Bridge::open(at, to, no)?;
    let socket = format!("qemu+unix:///system?socket={}", bridge.socket);
    let mut words = vec![
        "migrate",
        "--live",
        "--persistent",
        "--undefinesource",
        "--domain",
        guest,
        "--desturi",
        &socket,
    ];
    let target = format!("tcp://{}", bridge.address);
    words.extend(["--migrateuri", &target]);
    if copies_disks {
        words.push("--copy-storage-inc");
    }
    let words = at.virsh_words(&words);
    let moved = at.run_long("move the guest", &words, PATIENCE);
    if !at.is_here() {
        at.run("remove the socket", &["rm", "-f", "--", &bridge.socket])?;
    }
    match moved {
        Ok(_) => Ok(()),
        Err(AtError::Failed { said, .. }) => Err(no(&said)),
        Err(error) => Err(error.into()),
    }
}

/// The destination's libvirt, as a socket of the machine that the guest leaves.
struct Bridge {
    /// The socket there.
    socket: String,
    /// The destination's address.
    address: String,
    _held: Vec<Held>,
    _folder: RuntimeDir,
}

impl Bridge {
    fn open(at: &At, to: &At, no: &dyn Fn(&str) -> GuestError) -> Result<Self, GuestError> {
        let here = |source| GuestError::Here { what: "can't make a folder for sockets".to_owned(), source };
        let folder = RuntimeDir::make().map_err(here)?;
        let socket = to.run("look for libvirt's socket", &["sh", "-c", SOCKETS])?.trim().to_owned();
        let mut held = Vec::new();
        let mut near = socket.clone();
        let address;
        if let Some(ssh) = to.ssh() {
            near = folder.file("libvirt").to_string_lossy().into_owned();
            let forward = format!("{near}:{socket}");
            held.push(forwarded(to, "-L", forward.into()).map_err(|said| no(&said))?);
            let host = ssh.host(&LocalRunner).map_err(|error| no(&record::printable::chain(&error)))?;
            address = to.machine().address.clone().unwrap_or(host);
        } else if let Some(named) = &to.machine().address {
            address = named.clone();
        } else {
            return Err(no("this machine has no address in the inventory that the other one could reach"));
        }
        if !at.is_here() {
            let far = format!("/tmp/diskproof-{}", folder.name());
            held.push(forwarded(at, "-R", format!("{far}:{near}").into()).map_err(|said| no(&said))?);
            near = far;
        }
        Ok(Self { socket: near, address, _held: held, _folder: folder })
    }
}

fn forwarded(at: &At, option: &str, forward: OsString) -> Result<Held, String> {
    let mut options = own_connection(at.machine(), &at.options().reach);
    options.extend(["-o".into(), "ExitOnForwardFailure=yes".into(), option.into(), forward]);
    Held::start(&Ssh::with(options, &at.machine().ssh).call(&READY))
}
