//! Driver `lab`: guests of diskproof's own lab on this machine, as `diskproof lab` makes them. A note of each guest with its claim is
//! written before the guest is made, so whatever is interrupted is found again.

use crate::at::LOCAL;
use driver::protocol::{
    Answer, Backing, Blame, Capabilities, Claim, Created, CreatedOffer, CreatedVolume, DeviceName, Failure,
    Left, Listed, MachineRequest, MachineState, MachineStatus, Offer, Problem, Rates, Resource, ResourceKind,
    Setting, SettingKind, Settings, Task, VERSION, Valid, VolumeOffer, VolumeRequest,
};
use driver::serve::{Driver, Teller};
use driver::settings::{Source, merge};
use host::{StateAccess, TrustedDir, open_trusted};
use lab::{DiskSpec, Lab, LabError, Shape, State, StepEvent, Throttle};
use record::printable::chain;
use record::target::{Bus, DiskCache, LabDisk};
use record::volume::Limits;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::io::{self, Read as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long a command in a guest may take.
const COMMAND: Duration = Duration::from_secs(120);
/// The longest part of a machine's name that its guest's name keeps: a guest's folder has sockets, whose paths are short.
const KEPT: usize = 16;

/// The driver.
#[derive(Debug)]
pub struct LabDriver {
    state_dir: PathBuf,
}

/// The note of a guest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Note {
    claim: Claim,
    /// The machine's name in the request.
    machine: String,
    /// The guest's name.
    guest: String,
    made: u64,
}

impl LabDriver {
    /// The driver for guests below a state directory.
    #[must_use]
    pub fn new(state_dir: PathBuf) -> Self {
        Self { state_dir }
    }
}

impl Driver for LabDriver {
    fn perform(&self, task: Task, tell: &Teller<'_>) -> Result<Answer, Failure> {
        match task {
            Task::Capabilities => Ok(Answer::Capabilities(capabilities())),
            Task::Validate { machines } => Ok(Answer::Valid(validate(&machines))),
            Task::Create { claim, machines, ssh_public_key } => {
                if let Some(problem) = validate(&machines).problems.into_iter().next() {
                    return Err(Failure { blame: Blame::User, text: problem.text, help: problem.help });
                }
                tell.account(self.account());
                let made = machines.iter().map(|machine| self.create(&claim, machine, &ssh_public_key, tell));
                Ok(Answer::Created { machines: made.collect::<Result<_, _>>()? })
            }
            Task::Status { claim, .. } => self.status(&claim),
            Task::Destroy { claim, .. } => {
                tell.account(self.account());
                self.destroy(&claim, tell)
            }
            Task::List { .. } => {
                let notes = self.notes()?;
                Ok(Answer::Listed { resources: notes.iter().map(Note::listed).collect() })
            }
        }
    }
}

fn setting(kind: SettingKind, about: &str, default: serde_json::Value) -> Setting {
    Setting {
        kind,
        about: about.to_owned(),
        required: false,
        default: (!default.is_null()).then_some(default),
        environment: Vec::new(),
        from_metadata: false,
        metadata: None,
        renamed: Vec::new(),
    }
}

fn machine_settings() -> BTreeMap<String, Setting> {
    let shape = Shape::default();
    [
        ("memory", setting(SettingKind::Bytes, "its memory", (u64::from(shape.memory_mib) << 20).into())),
        ("cpus", setting(SettingKind::Integer, "its number of processors", shape.cpus.into())),
        ("zfs", setting(SettingKind::Switch, "whether it has ZFS modules", shape.zfs.into())),
    ]
    .map(|(name, setting)| (name.to_owned(), setting))
    .into()
}

fn volume_settings() -> BTreeMap<String, Setting> {
    [
        (
            "iops",
            setting(SettingKind::Integer, "reads and writes per second together", serde_json::Value::Null),
        ),
        (
            "bps",
            setting(
                SettingKind::Bytes,
                "bytes read and written per second together",
                serde_json::Value::Null,
            ),
        ),
        ("bus", setting(SettingKind::Text, "virtio-blk, virtio-scsi or nvme", "virtio-blk".into())),
    ]
    .map(|(name, setting)| (name.to_owned(), setting))
    .into()
}

fn capabilities() -> Capabilities {
    Capabilities {
        protocol: VERSION.to_owned(),
        name: "lab".to_owned(),
        about: "guests of QEMU on this machine with emulated disks, as `diskproof lab` makes them".to_owned(),
        settings: machine_settings(),
        volume_settings: volume_settings(),
        secrets: Vec::new(),
        enforces_deadline: false,
    }
}

fn validate(machines: &[MachineRequest]) -> Valid {
    let mut problems = Vec::new();
    for machine in machines {
        let mut add = |volume: Option<&str>, key: Option<&str>, text: String, help: Option<String>| {
            let (machine, volume) = (machine.name.clone(), volume.map(str::to_owned));
            problems.push(Problem { machine, volume, key: key.map(str::to_owned), text, help });
        };
        let none = |_: &str| None;
        for wrong in merge(&machine_settings(), &[], &none, &[own(&machine.settings)]).wrong {
            add(None, Some(&wrong.key), wrong.text, wrong.help);
        }
        if let Err(why) = shape(&machine.settings) {
            add(None, None, why, None);
        }
        for volume in &machine.volumes {
            let wrong = merge(&volume_settings(), &[], &none, &[own(&volume.settings)]).wrong;
            let is_known = wrong.is_empty();
            for wrong in wrong {
                add(Some(&volume.name), Some(&wrong.key), wrong.text, wrong.help);
            }
            if let (true, Err(why)) = (is_known, disk(volume)) {
                add(Some(&volume.name), None, why, None);
            }
        }
    }
    let offer = |machine: &MachineRequest| Offer {
        price: None,
        ceiling: Rates::default(),
        volumes: machine
            .volumes
            .iter()
            .map(|volume| VolumeOffer { price: None, rates: rates(volume) })
            .collect(),
    };
    let offers = if problems.is_empty() { machines.iter().map(offer).collect() } else { Vec::new() };
    Valid { problems, offers }
}

fn own(settings: &Settings) -> Source<'_> {
    Source { name: "the request", settings }
}

fn shape(settings: &Settings) -> Result<Shape, String> {
    let number = |key: &str| settings.get(key).and_then(serde_json::Value::as_u64);
    let mut shape = Shape::default();
    if let Some(bytes) = number("memory") {
        shape.memory_mib =
            u32::try_from(bytes >> 20).map_err(|_| "that much memory is not possible".to_owned())?;
    }
    if let Some(cpus) = number("cpus") {
        shape.cpus = u32::try_from(cpus).map_err(|_| "that many processors are not possible".to_owned())?;
    }
    if let Some(zfs) = settings.get("zfs").and_then(serde_json::Value::as_bool) {
        shape.zfs = zfs;
    }
    shape.check().map_err(|error| error.to_string())?;
    Ok(shape)
}

fn rates(volume: &VolumeRequest) -> Rates {
    let number = |key: &str| volume.settings.get(key).and_then(serde_json::Value::as_u64);
    Rates { iops: number("iops"), bytes_per_second: number("bps") }
}

fn disk(volume: &VolumeRequest) -> Result<DiskSpec, String> {
    let Some(size_bytes) = volume.size_bytes else {
        return Err("`size` is missing: a guest's disk has no default".to_owned());
    };
    if volume.name.len() > LabDisk::MAX_NAME {
        return Err(format!(
            "its name is too long for a serial number; at most {} characters",
            LabDisk::MAX_NAME
        ));
    }
    let Rates { iops, bytes_per_second } = rates(volume);
    let limits = Limits { total_iops: iops, total_bps: bytes_per_second, ..Limits::default() };
    let bus = match volume.settings.get("bus").and_then(serde_json::Value::as_str) {
        Some(name) => Bus::named(name).ok_or_else(|| format!("there is no bus `{name}`"))?,
        None => Bus::default(),
    };
    let throttle = Throttle { limits, burst: None };
    let spec = DiskSpec { throttle, bus, written: true, ..DiskSpec::new(volume.name.clone(), size_bytes) };
    spec.check().map_err(|error| error.to_string())?;
    Ok(spec)
}

impl LabDriver {
    /// Where the guests are.
    fn account(&self) -> String {
        self.state_dir.to_string_lossy().into_owned()
    }

    fn folder(&self) -> PathBuf {
        self.state_dir.join("lab-claims")
    }

    /// All notes, by the guests' names.
    fn notes(&self) -> Result<Vec<Note>, Failure> {
        let files = match fs::read_dir(self.folder()) {
            Ok(files) => files,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(broken("the notes of guests can't be read", &error)),
        };
        let mut notes = Vec::new();
        for file in files {
            let path = file.map_err(|error| broken("the notes of guests can't be read", &error))?.path();
            if path.extension().is_some_and(|end| end == "json") {
                let mut text = String::new();
                let read = open_trusted(&path, StateAccess::Read)
                    .and_then(|mut file| file.read_to_string(&mut text));
                read.map_err(|error| broken("a guest's note can't be read", &error))?;
                notes.push(
                    serde_json::from_str(&text)
                        .map_err(|error| broken("a guest's note is damaged", &error))?,
                );
            }
        }
        notes.sort_by(|a: &Note, b: &Note| a.guest.cmp(&b.guest));
        Ok(notes)
    }

    fn write(&self, note: &Note) -> Result<(), Failure> {
        let failed = |error: &dyn std::error::Error| broken("a guest's note can't be written", error);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(self.folder())
            .map_err(|error| failed(&error))?;
        let text = serde_json::to_string(note).map_err(|error| failed(&error))?;
        let dir = TrustedDir::open(&self.folder()).map_err(|error| failed(&error))?;
        dir.replace(&format!("{}.json", note.guest), &format!("{text}\n")).map_err(|error| failed(&error))
    }

    fn lab(&self, guest: &str) -> Result<Lab, Failure> {
        Lab::open(&self.state_dir, guest).map_err(|error| failed(&error))
    }

    /// The note of a machine's guest, written if it is a new one. A guest of this name that is not of this claim is left alone.
    fn noted(&self, lab: &Lab, claim: &Claim, machine: &MachineRequest) -> Result<Note, Failure> {
        let guest = lab.name().to_owned();
        match self.notes()?.into_iter().find(|note| note.guest == guest) {
            Some(note) if note.claim.id == claim.id => return Ok(note),
            Some(_) => return Err(foreign(&guest)),
            None => {}
        }
        // A guest of ours has its note before it has anything else.
        if lab.status().map_err(|error| failed(&error))?.state != State::Down {
            return Err(foreign(&guest));
        }
        let note = Note { claim: claim.clone(), machine: machine.name.clone(), guest, made: now() };
        self.write(&note)?;
        Ok(note)
    }

    fn create(
        &self,
        claim: &Claim,
        machine: &MachineRequest,
        key: &str,
        tell: &Teller<'_>,
    ) -> Result<Created, Failure> {
        let guest = guest_name(claim, &machine.name);
        // It may refuse the guest: a note of one that can't be opened could never be removed.
        let lab = self.lab(&guest)?;
        let note = self.noted(&lab, claim, machine)?;
        tell.made(note.resource());
        let ear = |step: &StepEvent| tell.step(Some(&machine.name), step.to_string());
        let user = |text: String| Failure { blame: Blame::User, text, help: None };
        lab.ensure_up(&shape(&machine.settings).map_err(user)?, &ear).map_err(|error| failed(&error))?;
        let there = lab.status().map_err(|error| failed(&error))?.disks;
        let specs = machine.volumes.iter().map(disk).collect::<Result<Vec<_>, _>>().map_err(user)?;
        let missing: Vec<DiskSpec> =
            specs.into_iter().filter(|spec| !there.iter().any(|disk| disk.spec.name == spec.name)).collect();
        lab.attach(&missing).map_err(|error| failed(&error))?;
        for volume in &machine.volumes {
            tell.made(Resource {
                kind: ResourceKind::Volume,
                id: volume_id(&guest, volume),
                name: volume.name.clone(),
            });
        }
        let script = "mkdir -p /root/.ssh && { grep -qxF -- \"$1\" /root/.ssh/authorized_keys 2>/dev/null || printf '%s\\n' \"$1\" >> /root/.ssh/authorized_keys; } \
                      && cat /etc/ssh/ssh_host_ed25519_key.pub";
        let host_key = lab.run(&["sh", "-c", script, "sh", key], COMMAND).map_err(|error| failed(&error))?;
        let port = lab.status().map_err(|error| failed(&error))?.port;
        Ok(Created {
            name: machine.name.clone(),
            id: guest.clone(),
            address: "127.0.0.1".to_owned(),
            port,
            through: None,
            user: "root".to_owned(),
            host_keys: host_key
                .stdout
                .lines()
                .filter(|line| line.starts_with("ssh-"))
                .map(str::to_owned)
                .collect(),
            offer: CreatedOffer { price: None, ceiling: Rates::default() },
            volumes: machine.volumes.iter().map(|volume| created(&lab, volume)).collect(),
        })
    }

    fn status(&self, claim: &Claim) -> Result<Answer, Failure> {
        let mut machines = Vec::new();
        for note in self.notes()?.into_iter().filter(|note| note.claim.id == claim.id) {
            let state = match self.lab(&note.guest)?.status().map_err(|error| failed(&error))?.state {
                State::Up => MachineState::Running,
                State::Starting => MachineState::Starting,
                State::Left => MachineState::Stopped,
                State::Down => continue,
            };
            let address = Some("127.0.0.1".to_owned());
            machines.push(MachineStatus { name: note.machine, id: note.guest, state, address });
        }
        Ok(Answer::Status { machines })
    }

    fn destroy(&self, claim: &Claim, tell: &Teller<'_>) -> Result<Answer, Failure> {
        let (mut removed, mut left) = (Vec::new(), Vec::new());
        for note in self.notes()?.into_iter().filter(|note| note.claim.id == claim.id) {
            tell.step(Some(&note.machine), format!("stops guest {}", note.guest));
            match self.remove(&note) {
                Ok(()) => {
                    tell.removed(note.resource());
                    removed.push(note.resource());
                }
                Err(failure) => left.push(Left { resource: note.resource(), why: failure.text }),
            }
        }
        Ok(Answer::Destroyed { removed, left })
    }

    /// Removes a guest, and then its note.
    fn remove(&self, note: &Note) -> Result<(), Failure> {
        self.lab(&note.guest)?.down().map_err(|error| failed(&error))?;
        let path = self.folder().join(format!("{}.json", note.guest));
        fs::remove_file(&path).map_err(|error| broken("a guest's note can't be removed", &error))
    }
}

impl Note {
    fn resource(&self) -> Resource {
        Resource { kind: ResourceKind::Machine, id: self.guest.clone(), name: self.machine.clone() }
    }

    fn listed(&self) -> Listed {
        Listed { resource: self.resource(), claim: self.claim.clone(), made: Some(self.made), price: None }
    }
}

/// A guest's name: the beginning of the claim's id and of the machine's name. Two machines of one claim whose names begin alike differ by a
/// digest at the end.
fn guest_name(claim: &Claim, machine: &str) -> String {
    let id = claim.id.get(..8).unwrap_or(&claim.id);
    if machine.len() <= KEPT {
        return format!("{id}-{machine}");
    }
    let digest = host::sha256(machine.as_bytes(), u64::MAX).map(|(hex, _)| hex).unwrap_or_default();
    let kept = machine.get(..KEPT - 7).unwrap_or_default();
    format!("{id}-{}-{}", kept.trim_end_matches('-'), digest.get(..6).unwrap_or_default())
}

fn volume_id(guest: &str, volume: &VolumeRequest) -> String {
    format!("{guest}/{}", volume.name)
}

fn created(lab: &Lab, volume: &VolumeRequest) -> CreatedVolume {
    let file = lab.disk_file(&volume.name);
    CreatedVolume {
        name: volume.name.clone(),
        id: volume_id(lab.name(), volume),
        device: DeviceName::Serial(volume.name.clone()),
        size_bytes: volume.size_bytes.unwrap_or_default(),
        price: None,
        rates: rates(volume),
        backing: file.to_str().map(|path| Backing {
            host: LOCAL.to_owned(),
            path: path.to_owned(),
            direct_io: DiskCache::default().is_direct(),
            domain: None,
        }),
    }
}

fn failed(error: &LabError) -> Failure {
    let blame = if error.is_input() { Blame::User } else { Blame::Provider };
    Failure { blame, text: chain(error), help: None }
}

fn foreign(guest: &str) -> Failure {
    Failure {
        blame: Blame::User,
        text: format!("the guest {guest} exists, and it is not of this claim"),
        help: Some(format!(
            "create under another claim; or `diskproof lab down --name {guest}`, if nobody needs it"
        )),
    }
}

fn broken(what: &str, error: &dyn std::error::Error) -> Failure {
    Failure { blame: Blame::Provider, text: format!("{what}: {}", chain(error)), help: None }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use super::{LabDriver, guest_name, validate};
    use driver::protocol::{Answer, Claim, MachineRequest, Task, VolumeRequest};
    use driver::serve::{Driver as _, Teller};
    use serde_json::json;

    fn claim(id: &str) -> Claim {
        Claim { id: id.repeat(4), run: "r".to_owned(), deadline: 9 }
    }

    fn machine(settings: serde_json::Value, volume: serde_json::Value, size: Option<u64>) -> MachineRequest {
        let map = |value: serde_json::Value| value.as_object().cloned().unwrap();
        let volume = VolumeRequest { name: "v".to_owned(), size_bytes: size, settings: map(volume) };
        MachineRequest { name: "m".to_owned(), settings: map(settings), volumes: vec![volume] }
    }

    #[test]
    fn settings_are_checked_before_a_guest_is_made() {
        let said = |m: MachineRequest| {
            validate(&[m]).problems.into_iter().map(|p| p.text).collect::<Vec<_>>().join("; ")
        };
        assert_eq!(said(machine(json!({ "cpus": 1 }), json!({ "iops": 80 }), Some(1 << 20))), "");
        for (settings, volume, size, part) in [
            (json!({ "cpu": 1 }), json!({}), Some(1 << 20), "no setting `cpu`"),
            (json!({}), json!({ "bus": "ide" }), Some(1 << 20), "no bus `ide`"),
            (json!({}), json!({}), None, "`size` is missing"),
            (json!({}), json!({}), Some(1000), "multiple of 4096"),
            (json!({ "memory": "much" }), json!({}), Some(1 << 20), "not a size"),
            (json!({ "memory": 256 << 20 }), json!({}), Some(1 << 20), "512m of memory or more"),
            (json!({ "cpus": 0 }), json!({}), Some(1 << 20), "1 to 64 processors"),
        ] {
            let text = said(machine(settings, volume, size));
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn names_of_guests_are_short_and_differ() {
        let (a, b) = (claim("0123456789abcdef"), claim("f123456789abcdef"));
        let names = [
            guest_name(&a, "m"),
            guest_name(&b, "m"),
            guest_name(&a, "a-long-name-of-a-machine-1"),
            guest_name(&a, "a-long-name-of-a-machine-2"),
        ];
        assert!(names.iter().all(|name| name.len() <= 25), "{names:?}");
        let different: std::collections::BTreeSet<&String> = names.iter().collect();
        assert_eq!(different.len(), names.len());
    }

    #[test]
    fn a_guest_that_cannot_be_leaves_no_note() {
        let dir = tempfile::tempdir().unwrap();
        // Paths of sockets are short.
        let driver = LabDriver::new(dir.path().join("long".repeat(30)));
        let claim = claim("0123456789abcdef");
        let machine = machine(json!({}), json!({}), Some(1 << 20));
        let mut output = Vec::new();
        let tell = Teller::new(&mut output);
        assert!(driver.create(&claim, &machine, "ssh-ed25519 AAAA", &tell).is_err());
        assert_eq!(driver.notes().unwrap(), []);
    }

    #[test]
    fn a_guest_that_is_not_of_the_claim_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let driver = LabDriver::new(dir.path().to_path_buf());
        // The names of guests show eight digits of the claim's id.
        let (ours, other) = (claim("0123456789abcdef"), claim("01234567ffffffff"));
        let guest = guest_name(&ours, "m");
        let mut output = Vec::new();
        let tell = Teller::new(&mut output);
        let refused = || {
            let machine = machine(json!({}), json!({}), Some(1 << 20));
            let failure = driver.create(&ours, &machine, "ssh-ed25519 AAAA", &tell).unwrap_err();
            assert!(failure.text.contains(&format!("the guest {guest} exists")), "{failure:?}");
        };
        let note = super::Note { claim: other, machine: "m".to_owned(), guest: guest.clone(), made: 1 };
        driver.write(&note).unwrap();
        refused();
        assert_eq!(driver.notes().unwrap(), [note]);
        // A guest of `diskproof lab up`, which has no note.
        let folder = driver.folder().join(format!("{guest}.json"));
        std::fs::remove_file(folder).unwrap();
        std::fs::create_dir_all(dir.path().join("lab/guests").join(&guest)).unwrap();
        refused();
        assert_eq!(driver.notes().unwrap(), []);
    }

    #[test]
    fn destroy_knows_its_own_claim_only() {
        let dir = tempfile::tempdir().unwrap();
        let driver = LabDriver::new(dir.path().to_path_buf());
        for id in ["0123456789abcdef", "f123456789abcdef"] {
            let note = super::Note {
                claim: claim(id),
                machine: "m".to_owned(),
                guest: guest_name(&claim(id), "m"),
                made: 1,
            };
            driver.write(&note).unwrap();
        }
        let mut output = Vec::new();
        let tell = Teller::new(&mut output);
        let settings = Default::default();
        let gone =
            driver.perform(Task::Destroy { claim: claim("0123456789abcdef"), settings }, &tell).unwrap();
        assert!(
            matches!(&gone, Answer::Destroyed { removed, left } if removed.len() == 1 && left.is_empty()),
            "{gone:?}"
        );
        let Answer::Listed { resources } =
            driver.perform(Task::List { settings: Default::default() }, &tell).unwrap()
        else {
            panic!()
        };
        assert_eq!(resources.len(), 1);
        assert_eq!(resources[0].claim, claim("f123456789abcdef"));
    }
}
