//! Moves a running guest to another machine while it runs. The machines need no keys for each other: the destination's libvirt is reached
//! through this machine. Only the guest's memory and disk go directly from one to the other, by TCP, unencrypted.

use super::domain::domains;
use super::error::GuestError;
use super::guest_name::check_for_virsh;
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
const SIZE: [&str; 5] = ["qemu-img", "info", "--output=json", "-U", "-f"];
/// Makes the guest's folder. One that is there may have been left by an interrupted move, or be the guest's own where both machines share
/// the directory, so it is never taken over.
const FOLDER: &str = r#"mkdir -p -m 755 -- "${0%/*}" || exit 1
if [ -e "$0" ]; then echo "the folder $0 is there already. If a move that was interrupted left it, remove it there; if both machines share this directory, it is the guest's own, and must stay" >&2; exit 1; fi
mkdir -m 711 -- "$0""#;
/// Removes files of a folder, then the note (`$1`), then the folder.
const REMOVE: &str =
    r#"d=$0; note=$1; shift; cd "$d" && rm -f -- "$@" && rm -f -- "$note" && cd / && rmdir -- "$d""#;
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
    check_for_virsh(at, guest)?;
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
        prepare(at, guest, note, to, &no)?;
    }
    match (transfer(at, guest, to, note.is_some(), &no), &note) {
        (Ok(()), Some(note)) => remove(at, note, "remove what moved away")?,
        (Err(error), Some(note)) => return Err(cleared(to, guest, note, error, &no)),
        (moved, None) => moved?,
    }
    Ok(began.elapsed())
}

/// Removes what was prepared at the destination after an error, and returns the error. A guest that is there all the same keeps its disks.
fn cleared(
    to: &At,
    guest: &str,
    note: &Note,
    error: GuestError,
    no: &dyn Fn(&str) -> GuestError,
) -> GuestError {
    let (machine, folder) = (to.name(), &note.folder);
    let left = match domains(to) {
        Ok(there) if there.iter().any(|domain| domain.name == guest) => format!(
            "{machine} has the guest all the same, so its files there stay: `diskproof guests list` shows where it runs"
        ),
        Ok(_) => match remove(to, note, "remove what was prepared") {
            Ok(()) => return error,
            Err(failed) => format!("{failed}: remove {folder} there"),
        },
        Err(failed) => format!(
            "what was prepared stays, since {machine} doesn't say whether it has the guest ({}): if it hasn't, remove {folder} there",
            record::printable::chain(&failed)
        ),
    };
    let why = match error {
        GuestError::NoMove { why, .. } => why,
        error => record::printable::chain(&error),
    };
    no(&format!("{why}; {left}"))
}

/// Makes the guest's folder at the destination: the same layers over the same images, empty, and the same settings.
fn prepare(
    at: &At,
    guest: &str,
    note: &Note,
    to: &At,
    no: &dyn Fn(&str) -> GuestError,
) -> Result<(), GuestError> {
    for image in &note.images {
        let there = crate::images::find(to, image).map_err(|_| {
            no(&format!(
                "it lacks the image {}: `diskproof images import` it there first",
                image.get(..12).unwrap_or(image)
            ))
        })?;
        if there.disk(to) != there.disk(at) {
            return Err(no("its state directory is another one, and a guest's files keep their paths"));
        }
    }
    to.run("make the guest's folder", &["sh", "-c", FOLDER, &note.folder])?;
    fill(at, note, to).map_err(|error| cleared(to, guest, note, error, no))
}

fn fill(at: &At, note: &Note, to: &At) -> Result<(), GuestError> {
    for name in &note.files {
        let path = format!("{}/{name}", note.folder);
        if name.ends_with(".iso") {
            copy(at, &path, to)?;
            continue;
        }
        // Whoever is in the guest may write the beginning of a raw disk, so its form is never guessed from what is in it.
        let format = if name.ends_with(".raw") { "raw" } else { "qcow2" };
        let said = at.run("look at its disk", &[&SIZE[..], &[format, "--", &path]].concat())?;
        let info: serde_json::Value = serde_json::from_str(&said).map_err(|_| at.garbled(&said))?;
        let text = |key: &str| info.get(key).and_then(serde_json::Value::as_str);
        let size =
            info.get("virtual-size").and_then(serde_json::Value::as_u64).unwrap_or_default().to_string();
        let mut words = vec!["qemu-img", "create", "-q", "-f", format];
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

fn remove(at: &At, note: &Note, doing: &'static str) -> Result<(), AtError> {
    let mut words = vec!["sh", "-c", REMOVE, note.folder.as_str(), FILE];
    words.extend(note.files.iter().map(String::as_str));
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
        // The move itself tells whether it succeeded; a socket that stays does no harm.
        let _ = at.run("remove the socket", &["rm", "-f", "--", &bridge.socket]);
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
