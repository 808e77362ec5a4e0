//! Makes a guest: disks, settings, libvirt's description; starts it, and waits until it answers ssh.

use super::error::GuestError;
use super::first_boot::{self, HostKey};
use super::guest_ssh::{GuestSsh, Try, address};
use super::note::{FILE, Note};
use super::request::{Network, NewDisk, NewGuest};
use super::starting::Starting;
use super::xml::{Boot, Cpu, DiskFile, Host, Tuning, domain};
use super::{domain::domains, filter, guest_name, leftover};
use crate::at::{At, AtError};
use crate::images::{CMDLINE, DiskFormat, Image, find};
use crate::runtime_dir::RuntimeDir;
use host::{Invocation, LocalRunner, Runner as _, Tool};
use record::machine::Mac;
use std::io::Read as _;
use std::time::{Duration, Instant};

/// The disk with the settings of the first boot.
const SEED: &str = "seed.iso";
/// Makes the guest's folder; it fails if there is one, since two builds would share it.
const FOLDER: &str = r#"mkdir -p -m 755 -- "${0%/*}" && mkdir -m 711 -- "$0""#;
/// Writes a file that only root and QEMU may read.
const WRITE: &str = r#"umask 077; cat >"$0.tmp" && mv -f -- "$0.tmp" "$0""#;
/// How long sshd may refuse our key before somebody else's key is the explanation.
const REFUSALS: Duration = Duration::from_secs(20);
/// Between two tries.
const LOOK: Duration = Duration::from_millis(300);
/// Time limit for a full copy of an image.
const COPY: Duration = Duration::from_secs(3600);

/// A guest that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Built {
    /// Its address.
    pub address: String,
    /// Whether a key of ours gets in; `false`: sshd answers, and takes other keys.
    pub logged_in: bool,
    /// From the beginning until it answered ssh.
    pub took: Duration,
    /// Whether it runs on KVM; else QEMU emulates its processors.
    pub kvm: bool,
}

/// What `build` tells, and how long it waits.
#[derive(Clone, Copy)]
pub struct Steps<'a> {
    /// Gets a line for each step.
    pub tell: &'a dyn Fn(&str),
    /// How long to wait for ssh.
    pub wait: Duration,
}

/// Makes a guest on a machine, and waits until it answers ssh.
///
/// # Errors
/// Its name is taken or none, its image is missing, a step fails (then what was made is removed), or it doesn't answer ssh in time (then it
/// stays).
pub fn build(at: &At, wanted: &NewGuest, steps: Steps<'_>) -> Result<Built, GuestError> {
    let began = Instant::now();
    at.needs("virsh", "libvirt-clients")?;
    at.needs("qemu-img", "qemu-utils")?;
    guest_name::check(&wanted.name)?;
    guest_name::check(&wanted.hostname)?;
    guest_name::check_for_virsh(at, &wanted.name)?;
    filter::check(at, wanted)?;
    networks(at, wanted)?;
    let disks = planned(at, &wanted.disks)?;
    if domains(at)?.iter().any(|domain| domain.name == wanted.name) {
        return Err(GuestError::Exists { machine: at.name().to_owned(), name: wanted.name.clone() });
    }
    let folder = at.state(&format!("guests/{}", wanted.name));
    if leftover::sweep(at, &folder)? {
        (steps.tell)(&format!("{folder} was left by a build that was interrupted; it is made anew"));
    }
    let id: String = random::<8>()?.iter().map(|byte| format!("{byte:02x}")).collect();
    let making = Making { at, wanted, disks: &disks, folder: &folder, id: &id };
    let (note, kvm) = match making.make(steps.tell) {
        Ok(made) => made,
        Err(error) => {
            leftover::undo(at, &wanted.name, &folder, &id);
            return Err(error);
        }
    };
    (steps.tell)("started; waiting for ssh");
    let deadline = Instant::now() + steps.wait;
    let address = wait_for_address(at, wanted, &note, deadline, steps.wait)?;
    let logged_in = wait_for_ssh(at, wanted, &address, &note.host_key, deadline, steps.wait)?;
    Ok(Built { address, logged_in, took: began.elapsed(), kvm })
}

/// A disk that is to be made.
struct Planned {
    image: Option<Image>,
    size_bytes: u64,
    bus: &'static str,
}

fn planned(at: &At, disks: &[NewDisk]) -> Result<Vec<Planned>, GuestError> {
    let mut planned = Vec::new();
    for disk in disks {
        let image = disk.image.as_deref().map(|name| find(at, name)).transpose()?;
        let needed = image.as_ref().map_or(0, |image| image.virtual_bytes);
        let size_bytes = disk.size_bytes.unwrap_or(needed);
        if size_bytes < needed || size_bytes == 0 {
            let image = image.map(|image| image.name).unwrap_or_default();
            return Err(GuestError::Small { image, asked: size_bytes, needed: needed.max(1) });
        }
        planned.push(Planned { image, size_bytes, bus: disk.bus });
    }
    Ok(planned)
}

fn networks(at: &At, wanted: &NewGuest) -> Result<(), GuestError> {
    wanted.nics.iter().try_for_each(|nic| check_network(at, &nic.network))
}

/// Checks that a network of libvirt is active. A bridge is left to libvirt.
pub(crate) fn check_network(at: &At, network: &Network) -> Result<(), GuestError> {
    let Network::Libvirt(network) = network else { return Ok(()) };
    let inactive = || GuestError::Network { machine: at.name().to_owned(), network: network.clone() };
    match at.virsh("look at its networks", &["net-info", "--network", network]) {
        Ok(said) => {
            let is_active = |line: &str| line.starts_with("Active:") && line.ends_with("yes");
            said.lines().any(is_active).then_some(()).ok_or_else(inactive)
        }
        Err(AtError::Failed { .. }) => Err(inactive()),
        Err(error) => Err(error.into()),
    }
}

/// A guest while it is made.
struct Making<'a> {
    at: &'a At,
    wanted: &'a NewGuest,
    disks: &'a [Planned],
    folder: &'a str,
    /// The id of the note: what has another one is not of this build.
    id: &'a str,
}

impl Making<'_> {
    fn make(&self, tell: &dyn Fn(&str)) -> Result<(Note, bool), GuestError> {
        let (at, wanted) = (self.at, self.wanted);
        let key = host_key(&wanted.hostname)?;
        let files: Vec<DiskFile> =
            self.disks.iter().enumerate().map(|(number, disk)| self.file(number, disk)).collect();
        let name_of = |file: &DiskFile| file.path.rsplit('/').next().unwrap_or_default().to_owned();
        let note = Note {
            id: self.id.to_owned(),
            folder: self.folder.to_owned(),
            files: files.iter().map(name_of).chain([SEED.to_owned()]).collect(),
            images: self.disks.iter().filter_map(|disk| Some(disk.image.as_ref()?.digest.clone())).collect(),
            address: wanted.nics.first().and_then(|nic| nic.address()).map(str::to_owned),
            host_key: key.public.clone(),
            made: false,
        };
        if !note.is_plain(&wanted.name) {
            return Err(GuestError::Record {
                machine: at.name().to_owned(),
                guest: wanted.name.clone(),
                why: format!(
                    "the folder {} or the address {} has a form that diskproof doesn't read back",
                    self.folder,
                    note.address.unwrap_or_default()
                ),
            });
        }
        let macs =
            wanted.nics.iter().map(|nic| nic.mac.map_or_else(mac, Ok)).collect::<Result<Vec<Mac>, _>>()?;
        at.run("make the guest's folder", &["sh", "-c", FOLDER, self.folder])?;
        self.write_note(&note)?;
        for (disk, file) in self.disks.iter().zip(&files) {
            self.make_disk(disk, file)?;
        }
        self.write(SEED, first_boot::disk(wanted, &macs, &key, &note.id))?;
        tell(&format!("{} in {}", note.files.join(", "), self.folder));
        let seed = DiskFile {
            path: format!("{}/{SEED}", self.folder),
            pool: None,
            format: "raw",
            bus: "virtio",
            read_only: true,
            tuning: Tuning::default(),
        };
        let all: Vec<DiskFile> = files.into_iter().chain([seed]).collect();
        let boot = self
            .disks
            .first()
            .and_then(|disk| disk.image.as_ref()?.kernel(at))
            .map(|(kernel, initrd)| Boot { kernel, initrd, cmdline: CMDLINE.to_owned() });
        let image =
            self.disks.first().and_then(|disk| disk.image.as_ref()).map(|image| image.digest.as_str());
        let metadata = note.element().map_err(|error| self.wrong(&error))?;
        let description = |cpu| {
            let host = Host { arch: at.arch().to_owned(), cpu };
            domain(wanted, &macs, &all, boot.as_ref(), &host, &metadata, image)
        };
        let starting = Starting { at, domain: &wanted.name, emulated: wanted.emulated, before: &[] };
        let cpu = starting.start(&description, tell)?;
        if wanted.autostart {
            at.virsh("have the guest start with its machine", &["autostart", "--domain", &wanted.name])?;
        }
        let note = Note { made: true, ..note };
        self.write_note(&note)?;
        Ok((note, cpu != Cpu::Emulated))
    }

    fn write_note(&self, note: &Note) -> Result<(), GuestError> {
        self.write(FILE, serde_json::to_vec(note).map_err(|error| self.wrong(&error))?)
    }

    /// The file of a disk: a layer over its image, or a copy, or blank.
    fn file(&self, number: usize, disk: &Planned) -> DiskFile {
        let format = match &disk.image {
            Some(image) if self.wanted.full_copy && image.disk_format == DiskFormat::Raw => "raw",
            _ => "qcow2",
        };
        let path = format!("{}/disk{number}.{format}", self.folder);
        DiskFile { path, pool: None, format, bus: disk.bus, read_only: false, tuning: Tuning::default() }
    }

    fn make_disk(&self, disk: &Planned, file: &DiskFile) -> Result<(), GuestError> {
        let (at, size) = (self.at, disk.size_bytes.to_string());
        match &disk.image {
            Some(image) if self.wanted.full_copy => {
                let from = image.disk(at);
                let words = [
                    "qemu-img",
                    "convert",
                    "-f",
                    image.disk_format.name(),
                    "-O",
                    file.format,
                    "--",
                    &from,
                    &file.path,
                ];
                at.run_long("copy the image", &words, COPY)?;
                at.run(
                    "size the disk",
                    &["qemu-img", "resize", "-q", "-f", file.format, "--", &file.path, &size],
                )?;
            }
            Some(image) => {
                let from = image.disk(at);
                let format = image.disk_format.name();
                let words = [
                    "qemu-img", "create", "-q", "-f", "qcow2", "-F", format, "-b", &from, "--", &file.path,
                    &size,
                ];
                at.run("make the disk", &words)?;
            }
            None => {
                at.run(
                    "make the disk",
                    &["qemu-img", "create", "-q", "-f", "qcow2", "--", &file.path, &size],
                )?;
            }
        }
        Ok(())
    }

    fn write(&self, name: &str, bytes: Vec<u8>) -> Result<(), GuestError> {
        let path = format!("{}/{name}", self.folder);
        self.at.feed("write the guest's settings", &["sh", "-c", WRITE, &path], bytes)?;
        Ok(())
    }

    fn wrong(&self, error: &serde_json::Error) -> GuestError {
        GuestError::Record {
            machine: self.at.name().to_owned(),
            guest: self.wanted.name.clone(),
            why: error.to_string(),
        }
    }
}

pub(crate) fn random<const N: usize>() -> Result<[u8; N], GuestError> {
    let mut bytes = [0; N];
    let read = std::fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(|source| GuestError::Here { what: "can't read /dev/urandom".to_owned(), source })?;
    Ok(bytes)
}

/// A hardware address of QEMU's range.
pub(crate) fn mac() -> Result<Mac, GuestError> {
    let [a, b, c] = random::<3>()?;
    Ok(Mac([0x52, 0x54, 0, a, b, c]))
}

/// Makes the key of the guest's sshd, so that it is known before the first connection.
pub(crate) fn host_key(hostname: &str) -> Result<HostKey, GuestError> {
    let here =
        |source| GuestError::Here { what: "can't make the key of the guest's sshd".to_owned(), source };
    let folder = RuntimeDir::make().map_err(here)?;
    let path = folder.file("host");
    let call = Invocation::new(Tool::SshKeygen)
        .args(["-q", "-t", "ed25519", "-N", "", "-C", hostname, "-f"])
        .arg(&path);
    LocalRunner.run(&call)?;
    let read = |path: &std::path::Path| std::fs::read_to_string(path).map_err(here);
    let public = read(&path.with_extension("pub"))?.trim().to_owned();
    Ok(HostKey { private: read(&path)?, public })
}

fn wait_for_address(
    at: &At,
    wanted: &NewGuest,
    note: &Note,
    deadline: Instant,
    wait: Duration,
) -> Result<String, GuestError> {
    loop {
        if let Some(address) = address(at, &wanted.name, note.address.as_deref())? {
            return Ok(address);
        }
        crashed(at, &wanted.name)?;
        if Instant::now() > deadline {
            let (machine, guest) = (at.name().to_owned(), wanted.name.clone());
            return Err(GuestError::NoAddress { machine, guest, seconds: wait.as_secs() });
        }
        std::thread::sleep(LOOK);
    }
}

fn wait_for_ssh(
    at: &At,
    wanted: &NewGuest,
    address: &str,
    host_key: &str,
    deadline: Instant,
    wait: Duration,
) -> Result<bool, GuestError> {
    let connection = GuestSsh::new(at, &wanted.name, address, host_key, true)?;
    let mut refused: Option<Instant> = None;
    loop {
        let said = match connection.log_in()? {
            Try::In => {
                first_boot_ended(at, wanted, &connection, deadline)?;
                return Ok(true);
            }
            Try::Refused if refused.is_some_and(|since| since.elapsed() > REFUSALS) => return Ok(false),
            Try::Refused => {
                refused.get_or_insert_with(Instant::now);
                "it refuses the key".to_owned()
            }
            Try::Silent(said) => said,
        };
        crashed(at, &wanted.name)?;
        if Instant::now() > deadline {
            return Err(GuestError::NoSsh {
                machine: at.name().to_owned(),
                guest: wanted.name.clone(),
                address: address.to_owned(),
                seconds: wait.as_secs(),
                said,
            });
        }
        std::thread::sleep(LOOK);
    }
}

/// Tells if a guest's processors have stopped by a fault: a KVM in a guest may start one and then fail.
pub(crate) fn crashed(at: &At, guest: &str) -> Result<(), GuestError> {
    let said = at.virsh("look at the guest", &["domstate", "--domain", guest, "--reason"])?;
    let said = said.trim();
    if said.starts_with("crashed") || said.starts_with("paused") {
        let (machine, guest) = (at.name().to_owned(), guest.to_owned());
        let said = record::printable::one_line(said);
        return Err(GuestError::Crashed { machine, guest, said });
    }
    Ok(())
}

/// Waits for the first boot's script, and tells if it failed.
fn first_boot_ended(
    at: &At,
    wanted: &NewGuest,
    connection: &GuestSsh,
    deadline: Instant,
) -> Result<(), GuestError> {
    if wanted.first_boot.is_none() {
        return Ok(());
    }
    let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_secs(10));
    let said = connection.run(&["cloud-init", "status", "--wait", "--long"], left)?;
    match said.lines().any(|line| line.trim().trim_start_matches('.').trim() == "status: done") {
        true => Ok(()),
        false => Err(GuestError::FirstBoot {
            machine: at.name().to_owned(),
            guest: wanted.name.clone(),
            said: record::printable::one_line(said.trim()),
        }),
    }
}
