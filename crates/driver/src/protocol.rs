//! The driver protocol: what is asked of a driver, and what it answers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The protocol's version. A driver refuses a request with another major version, and ignores keys that it doesn't know.
pub const VERSION: &str = "1.0";

/// Settings by key, in the driver's own words.
pub type Settings = Map<String, Value>;

/// One request. The driver reads it from stdin, up to the end of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Request {
    /// The protocol's version, [`VERSION`].
    pub protocol: String,
    /// What to do.
    #[serde(flatten)]
    pub task: Task,
}

/// What a driver is asked to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Task {
    /// Describe the driver. It contacts nobody. The answer is [`Answer::Capabilities`].
    Capabilities,
    /// Check settings and tell prices, without a change. The answer is [`Answer::Valid`].
    Validate {
        /// The machines that a later `create` would ask for.
        machines: Vec<MachineRequest>,
    },
    /// Create machines and their volumes, all at the same time. The answer, [`Answer::Created`], comes once each machine can be reached
    /// over the network. The same claim and name again return the same machine: an interrupted `create` is repeated safely.
    Create {
        /// Whose they are.
        claim: Claim,
        /// The machines.
        machines: Vec<MachineRequest>,
        /// The public key that may log in to them, as in `authorized_keys`.
        ssh_public_key: String,
    },
    /// Tell the state of what a claim has. The answer is [`Answer::Status`].
    Status {
        /// Whose.
        claim: Claim,
        /// Settings that reach the account: those of the machines, as far as they agree.
        settings: Settings,
    },
    /// Remove everything that carries the claim's id, also what an interrupted `create` left, and nothing else. The answer is
    /// [`Answer::Destroyed`]. What is gone already is no error.
    Destroy {
        /// Whose.
        claim: Claim,
        /// As of [`Task::Status`].
        settings: Settings,
    },
    /// List what any claim of diskproof has in the account. The answer is [`Answer::Listed`].
    List {
        /// As of [`Task::Status`].
        settings: Settings,
    },
}

/// The owner of what is created. Every resource carries the id, the run and the deadline as tags, from the moment at which it exists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    /// 32 hexadecimal digits, drawn at random for this claim. Nothing else tells whether a resource is ours.
    pub id: String,
    /// The run, for people.
    pub run: String,
    /// When everything may be removed by anybody, in seconds since 1970 (UTC). The provider enforces it where it can.
    pub deadline: u64,
}

/// A machine to create.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MachineRequest {
    /// Its name, unique in the claim: lower-case letters, digits and hyphens. It begins with a letter and has at most 40 characters. The
    /// driver adds to it what makes it unique in the account.
    pub name: String,
    /// Settings of the machine.
    pub settings: Settings,
    /// Its volumes besides the one that it boots from.
    pub volumes: Vec<VolumeRequest>,
}

/// A volume to create and to attach.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VolumeRequest {
    /// Its name, unique in the machine; as of a machine.
    pub name: String,
    /// Its size; `None`: the machine brings it along, e.g. an ephemeral disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// Settings of the volume.
    pub settings: Settings,
}

/// One line of a driver's output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The driver begins a step.
    Step {
        /// What it does, in one line.
        text: String,
        /// The machine it is for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        machine: Option<String>,
    },
    /// Something that a person should know.
    Warning {
        /// What, in one line.
        text: String,
    },
    /// The account in which the driver works. `create` tells it before it makes anything, and `destroy` before it removes anything, so that
    /// other credentials, which find nothing of a claim, aren't taken for its end.
    Account {
        /// The provider's name or number of it. It is kept, so it is no secret.
        id: String,
    },
    /// A resource now exists or is gone. The driver says so at once.
    Resource {
        /// Which.
        #[serde(flatten)]
        resource: Resource,
        /// Whether it exists now.
        exists: bool,
    },
    /// The result: exactly one, and the last line.
    Result {
        /// The answer or the failure.
        #[serde(flatten)]
        outcome: Outcome,
    },
}

/// How a request ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It was done.
    Done(Answer),
    /// It was not done. What `create` made before it failed stays, and `destroy` removes it.
    Failed(Failure),
}

/// Why a request was not done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// Who can mend it.
    pub blame: Blame,
    /// What happened. Names the key, the machine or the resource.
    pub text: String,
    /// The way out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

/// Who can mend a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Blame {
    /// The user: a wrong setting, a missing credential or permission.
    User,
    /// The provider or a machine: a limit, no capacity, no answer.
    Provider,
    /// The driver.
    Driver,
}

/// What a driver answers; the variant follows from the task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Of [`Task::Capabilities`].
    Capabilities(Capabilities),
    /// Of [`Task::Validate`].
    Valid(Valid),
    /// Of [`Task::Create`]: the machines in the order of the request.
    Created {
        /// The machines.
        machines: Vec<Created>,
    },
    /// Of [`Task::Status`].
    Status {
        /// The machines that exist.
        machines: Vec<MachineStatus>,
    },
    /// Of [`Task::Destroy`].
    Destroyed {
        /// What was removed now.
        removed: Vec<Resource>,
        /// What carries the claim's id and could not be removed.
        left: Vec<Left>,
    },
    /// Of [`Task::List`].
    Listed {
        /// The resources of all claims.
        resources: Vec<Listed>,
    },
}

/// What a driver is and takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Capabilities {
    /// The protocol's version that it speaks.
    pub protocol: String,
    /// Its name, e.g. `ec2`.
    pub name: String,
    /// What it creates machines with, in one sentence.
    pub about: String,
    /// Settings of machines.
    pub settings: BTreeMap<String, Setting>,
    /// Settings of volumes.
    pub volume_settings: BTreeMap<String, Setting>,
    /// Environment variables that it reads for its secrets. No others are passed on besides `PATH`, `HOME` and `LC_ALL`. No setting may take
    /// its value from one of them.
    pub secrets: Vec<String>,
    /// Whether the provider itself removes machines at the deadline.
    pub enforces_deadline: bool,
}

impl Capabilities {
    /// The first setting that takes its value from a variable of a secret, and that variable. Settings are kept in the journal, and secrets
    /// must not be, so a driver can't have such a setting.
    #[must_use]
    pub fn kept_secret(&self) -> Option<(&str, &str)> {
        let all = self.settings.iter().chain(&self.volume_settings);
        let mut named =
            all.flat_map(|(key, setting)| setting.environment.iter().map(move |name| (key, name)));
        let found = named.find(|(_, name)| self.secrets.contains(name));
        found.map(|(key, name)| (key.as_str(), name.as_str()))
    }
}

/// A setting that a driver takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Setting {
    /// The type of its value.
    pub kind: SettingKind,
    /// What it is, in one sentence.
    pub about: String,
    /// Whether `create` needs it.
    #[serde(default)]
    pub required: bool,
    /// The value where nobody says one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// Environment variables that give the value where the experiment doesn't; the first that is set counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub environment: Vec<String>,
    /// Whether the provider's metadata service tells a machine this about itself.
    #[serde(default)]
    pub from_metadata: bool,
    /// What diskproof asks the metadata service of the machine that it runs on, where the value is `metadata`: `ec2:PATH` or `gce:PATH`;
    /// `None`: `metadata` is a value as any other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<String>,
    /// Old names that still work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub renamed: Vec<Renamed>,
}

/// An old name of a setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Renamed {
    /// The old name.
    pub from: String,
    /// The version of diskproof that refuses it.
    pub refused_in: String,
    /// Values that changed with the name, the old ones first: `europe` is `europe-west1`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, String>,
}

/// The type of a setting's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SettingKind {
    /// Text.
    Text,
    /// An integer.
    Integer,
    /// `true` or `false`.
    Switch,
    /// A size in bytes; the experiment writes fio's suffixes.
    Bytes,
    /// A list of texts.
    Texts,
    /// A map of texts.
    Map,
}

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Valid {
    /// What is wrong; empty: `create` may be asked.
    pub problems: Vec<Problem>,
    /// What the machines would cost, and what their volumes promise, in the order of the request; empty if there are problems.
    pub offers: Vec<Offer>,
}

/// Something wrong with a setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// The machine.
    pub machine: String,
    /// The volume, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<String>,
    /// The setting's key, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// What is wrong.
    pub text: String,
    /// The way out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

/// A machine as it is offered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Offer {
    /// Its price; `None`: the driver knows none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// What it passes on to all its volumes together.
    #[serde(default)]
    pub ceiling: Rates,
    /// Its volumes.
    pub volumes: Vec<VolumeOffer>,
}

/// A volume as it is offered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VolumeOffer {
    /// Its price; `None`: the driver knows none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// What it promises.
    #[serde(default)]
    pub rates: Rates,
}

/// Rates that a provider declares, reads and writes together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rates {
    /// I/Os per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iops: Option<u64>,
    /// Bytes per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_second: Option<u64>,
}

/// A price by time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Price {
    /// Money per hour.
    pub per_hour: f64,
    /// ISO 4217, e.g. `USD`.
    pub currency: String,
    /// The billing unit: a part of it counts as a whole one.
    pub unit_seconds: u64,
    /// The least time that is billed.
    pub least_seconds: u64,
}

/// A machine that was created.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Created {
    /// The name of the request.
    pub name: String,
    /// The provider's id.
    pub id: String,
    /// Where its sshd is: a host name or an address.
    pub address: String,
    /// The sshd's port; `None`: 22.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// The destination of ssh through which the address is reached, as the driver's own settings name it; `None`: it is reached directly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub through: Option<String>,
    /// The user that the key logs in as; may use sudo without a password, or is root.
    pub user: String,
    /// The sshd's public keys, as in `known_hosts` without the host's name, learned through the provider; empty: not told, and the first
    /// connection is trusted.
    #[serde(default)]
    pub host_keys: Vec<String>,
    /// Its offer as it is billed.
    #[serde(flatten)]
    pub offer: CreatedOffer,
    /// Its volumes in the order of the request.
    pub volumes: Vec<CreatedVolume>,
}

/// What a created machine costs and passes on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CreatedOffer {
    /// As of [`Offer::price`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// As of [`Offer::ceiling`].
    #[serde(default)]
    pub ceiling: Rates,
}

/// A volume that was created.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CreatedVolume {
    /// The name of the request.
    pub name: String,
    /// The provider's id.
    pub id: String,
    /// How the machine knows it.
    pub device: DeviceName,
    /// Its size.
    pub size_bytes: u64,
    /// As of [`VolumeOffer::price`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// As of [`VolumeOffer::rates`].
    #[serde(default)]
    pub rates: Rates,
    /// What backs it on the host of a guest; `None`: the provider doesn't show that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backing: Option<Backing>,
}

/// A file or block device of a host that backs a volume of a guest there. diskproof reads counters on the host, and follows the volume's
/// bytes down to the host's devices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Backing {
    /// The host: a destination of ssh as the driver's own settings name it, or `local`, the machine that the driver runs on.
    pub host: String,
    /// The absolute path of the file or block device there.
    pub path: String,
    /// Whether I/O bypasses the host's page cache.
    pub direct_io: bool,
    /// The guest's name or UUID in the host's libvirt: diskproof asks `virsh dumpxml` there for the limits that libvirt sets on the
    /// volume, by its serial number. `None`: libvirt doesn't run the guest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
}

/// How a machine knows a volume.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeviceName {
    /// By its serial number, as `lsblk -o SERIAL` shows it: the only name that can't be mixed up.
    Serial(String),
    /// By a link below /dev that the volume's identity makes, e.g. `/dev/disk/by-id/google-gp-1`.
    Link(String),
}

/// The state of a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MachineStatus {
    /// The name of the request.
    pub name: String,
    /// The provider's id.
    pub id: String,
    /// Its state.
    pub state: MachineState,
    /// Where its sshd is, if it has an address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
}

/// A machine's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MachineState {
    /// On its way up.
    Starting,
    /// Up.
    Running,
    /// Off; its volumes still cost.
    Stopped,
    /// On its way to be gone.
    Ending,
}

/// Something at a provider that costs or stays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Resource {
    /// What it is.
    pub kind: ResourceKind,
    /// The provider's id.
    pub id: String,
    /// Its name.
    pub name: String,
}

/// What a resource is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResourceKind {
    /// A machine.
    Machine,
    /// A volume.
    Volume,
    /// A public address.
    Address,
    /// A key that may log in.
    Key,
    /// A rule of a firewall, or a group of them.
    Rule,
    /// An image that machines boot from.
    Image,
}

/// What could not be removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Left {
    /// Which.
    #[serde(flatten)]
    pub resource: Resource,
    /// Why.
    pub why: String,
}

/// A resource of a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Listed {
    /// Which.
    #[serde(flatten)]
    pub resource: Resource,
    /// Whose.
    pub claim: Claim,
    /// When it was made, in seconds since 1970 (UTC); `None`: the provider doesn't tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<u64>,
    /// Its price; `None`: the driver knows none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
}
