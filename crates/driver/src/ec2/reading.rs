//! Reads settings, and collects what is wrong with them.

use super::ebs::{Volume, VolumeType};
use super::settings::capabilities;
use crate::protocol::{MachineRequest, Problem, Setting, SettingKind, Settings, VolumeRequest};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

const GIB: u64 = 1 << 30;
/// Device names that EC2 takes for volumes besides the one that a machine boots from: /dev/sdf to /dev/sdz.
const MOST_VOLUMES: usize = 21;

/// Where to ask: settings that reach the account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Account {
    pub(super) region: String,
    pub(super) endpoint: Option<String>,
    pub(super) wait: Duration,
}

/// A machine that is asked for. Those that differ only in their names are launched together.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Wanted {
    pub(super) machine_type: String,
    pub(super) image: String,
    pub(super) zone: Option<String>,
    pub(super) subnet: Option<String>,
    pub(super) security_group: Option<String>,
    pub(super) ssh_from: Option<String>,
    pub(super) ssh_port: u16,
    pub(super) private_address: bool,
    pub(super) user: String,
    pub(super) boot_gib: Option<u64>,
    pub(super) ebs_optimized: Option<bool>,
    pub(super) spot: bool,
    pub(super) prices: BTreeMap<String, String>,
    pub(super) currency: String,
    pub(super) volumes: Vec<Volume>,
}

/// A machine with the names that the request gives.
#[derive(Debug, Clone)]
pub(super) struct Machine {
    pub(super) name: String,
    pub(super) wanted: Wanted,
    pub(super) volume_names: Vec<String>,
}

/// What a request asks for.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) account: Account,
    pub(super) machines: Vec<Machine>,
}

/// Reads the machines of a request.
///
/// # Errors
/// All problems that show without asking EC2.
pub(super) fn request(machines: &[MachineRequest]) -> Result<Request, Vec<Problem>> {
    let mut problems = Vec::new();
    let read: Vec<_> = machines.iter().map(|machine| read_machine(machine, &mut problems)).collect();
    let mut accounts = machines.iter().map(|machine| account_of(&machine.settings));
    let account = accounts.next().flatten();
    for (machine, other) in machines.iter().skip(1).zip(accounts) {
        if other != account {
            let text = "region, endpoint and wait_seconds must be the same for all machines";
            problems.push(problem(&machine.name, None, Some("region"), text));
        }
    }
    match account {
        Some(account) if problems.is_empty() => {
            Ok(Request { account, machines: read.into_iter().flatten().collect() })
        }
        _ if machines.is_empty() => Err(vec![problem("", None, None, "no machine is asked for")]),
        _ => Err(problems),
    }
}

/// Reads the settings that reach the account; `None`: no region is told.
pub(super) fn account_of(settings: &Settings) -> Option<Account> {
    let text =
        |key| settings.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned);
    let wait = settings.get("wait_seconds").and_then(Value::as_u64).unwrap_or(600);
    Some(Account { region: text("region")?, endpoint: text("endpoint"), wait: Duration::from_secs(wait) })
}

fn read_machine(machine: &MachineRequest, problems: &mut Vec<Problem>) -> Option<Machine> {
    let known = capabilities();
    let mut reader = Reader {
        machine: &machine.name,
        volume: None,
        settings: &machine.settings,
        known: &known.settings,
        problems,
    };
    reader.refuse_unknown();
    let wanted =
        (reader.text("machine_type"), reader.text("region"), reader.text("image"), reader.text("user"));
    let boot_gib = reader.size("boot_size", machine.settings.get("boot_size"));
    let ssh_port = reader.port();
    let mut wanted = Wanted {
        machine_type: wanted.0?,
        image: wanted.2?,
        zone: reader.text("zone"),
        subnet: reader.text("subnet"),
        security_group: reader.text("security_group"),
        ssh_from: reader.text("ssh_from"),
        ssh_port,
        private_address: reader.switch("private_address").unwrap_or(false),
        user: wanted.3?,
        boot_gib,
        ebs_optimized: reader.switch("ebs_optimized"),
        spot: reader.switch("spot").unwrap_or(false),
        prices: reader.map("prices"),
        currency: reader.text("currency").unwrap_or_default(),
        volumes: Vec::new(),
    };
    reader.check_words(&wanted);
    reader.check_wait();
    if machine.volumes.len() > MOST_VOLUMES {
        reader.complain(None, format!("EC2 takes at most {MOST_VOLUMES} volumes for a machine"));
    }
    for volume in &machine.volumes {
        let read = read_volume(&machine.name, volume, &known.volume_settings, problems);
        wanted.volumes.extend(read);
    }
    let volume_names = machine.volumes.iter().map(|volume| volume.name.clone()).collect();
    Some(Machine { name: machine.name.clone(), wanted, volume_names })
}

fn read_volume(
    machine: &str,
    volume: &VolumeRequest,
    known: &BTreeMap<String, Setting>,
    problems: &mut Vec<Problem>,
) -> Option<Volume> {
    let mut reader =
        Reader { machine, volume: Some(&volume.name), settings: &volume.settings, known, problems };
    reader.refuse_unknown();
    let name = reader.text("type")?;
    let Some(kind) = VolumeType::ALL.into_iter().find(|kind| kind.name() == name) else {
        reader.complain(Some("type"), format!("there is no type {name}"));
        return None;
    };
    let size = volume.size_bytes.map(Value::from);
    let gib = reader.size("size", size.as_ref());
    let read = Volume { kind, gib, iops: reader.integer("iops"), throughput: reader.integer("throughput") };
    for (key, text) in read.wrong() {
        reader.complain(Some(key), text);
    }
    Some(read)
}

/// Reads the settings of one machine or volume.
struct Reader<'a> {
    machine: &'a str,
    volume: Option<&'a str>,
    settings: &'a Settings,
    known: &'a BTreeMap<String, Setting>,
    problems: &'a mut Vec<Problem>,
}

impl Reader<'_> {
    fn refuse_unknown(&mut self) {
        for key in self.settings.keys().filter(|key| !self.known.contains_key(*key)) {
            let names: Vec<_> = self.known.keys().map(String::as_str).collect();
            let mut problem =
                problem(self.machine, self.volume, Some(key), "the driver ec2 has no such setting");
            problem.help = Some(format!("it takes {}", names.join(", ")));
            self.problems.push(problem);
        }
    }

    /// The value that the request or the table of settings gives.
    fn value(&mut self, key: &str) -> Option<Value> {
        let setting = self.known.get(key)?;
        let value = self
            .settings
            .get(key)
            .cloned()
            .filter(|value| !value.is_null())
            .or_else(|| setting.default.clone());
        if value.is_none() && setting.required {
            self.complain(Some(key), "it is missing".to_owned());
        }
        value
    }

    fn read<T>(&mut self, key: &str, what: &str, read: impl Fn(&Value) -> Option<T>) -> Option<T> {
        let value = self.value(key)?;
        let read = read(&value);
        if read.is_none() {
            self.complain(Some(key), format!("{value} is not {what}"));
        }
        read
    }

    fn text(&mut self, key: &str) -> Option<String> {
        self.read(key, "a text", |value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned))
    }

    fn integer(&mut self, key: &str) -> Option<u64> {
        self.read(key, "a whole number", Value::as_u64)
    }

    fn switch(&mut self, key: &str) -> Option<bool> {
        self.read(key, "true or false", Value::as_bool)
    }

    fn port(&mut self) -> u16 {
        let port =
            self.read("ssh_port", "a port", |value| value.as_u64().and_then(|port| u16::try_from(port).ok()));
        port.filter(|port| *port > 0).unwrap_or(22)
    }

    /// What [`account_of`] reads without a word.
    fn check_wait(&mut self) {
        if self.integer("wait_seconds") == Some(0) {
            self.complain(Some("wait_seconds"), "it is at least 1".to_owned());
        }
    }

    fn size(&mut self, key: &'static str, bytes: Option<&Value>) -> Option<u64> {
        let bytes = bytes?;
        let gib =
            bytes.as_u64().filter(|bytes| bytes.is_multiple_of(GIB) && *bytes > 0).map(|bytes| bytes / GIB);
        if gib.is_none() {
            self.complain(
                Some(key),
                format!("{bytes} bytes are not a whole number of GiB; EBS has no other sizes"),
            );
        }
        gib
    }

    fn map(&mut self, key: &str) -> BTreeMap<String, String> {
        debug_assert_eq!(self.known.get(key).map(|setting| setting.kind), Some(SettingKind::Map));
        let as_text = |value: &Value| match value {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        };
        let read = |value: &Value| {
            value
                .as_object()?
                .iter()
                .map(|(key, value)| Some((key.clone(), as_text(value)?)))
                .collect::<Option<_>>()
        };
        self.read(key, "a map", read).unwrap_or_default()
    }

    /// What EC2 would refuse later, or take for something else.
    fn check_words(&mut self, wanted: &Wanted) {
        let is_user = |user: &str| {
            let mut bytes = user.bytes();
            bytes.next().is_some_and(|b| b.is_ascii_lowercase() || b == b'_')
                && bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-')
        };
        if !is_user(&wanted.user) || wanted.user.len() > 32 {
            self.complain(Some("user"), format!("{} is no name of a user", wanted.user));
        }
        if let Some(from) = wanted.ssh_from.as_deref().filter(|from| !super::address::is_network(from)) {
            self.complain(Some("ssh_from"), format!("{from} is no network such as 192.0.2.7/32"));
        }
        if wanted.private_address && wanted.security_group.is_none() && wanted.ssh_from.is_none() {
            let text = "it is missing: connections to a private address don't come from this machine's address on the internet";
            self.complain(Some("ssh_from"), text.to_owned());
        }
        for (key, price) in &wanted.prices {
            if !price.parse::<f64>().is_ok_and(|price| price >= 0.0 && price.is_finite()) {
                self.complain(Some("prices"), format!("{key}: {price} is no price"));
            }
        }
    }

    fn complain(&mut self, key: Option<&str>, text: String) {
        self.problems.push(problem(self.machine, self.volume, key, &text));
    }
}

/// Makes a problem.
pub(super) fn problem(machine: &str, volume: Option<&str>, key: Option<&str>, text: &str) -> Problem {
    Problem {
        machine: machine.to_owned(),
        volume: volume.map(str::to_owned),
        key: key.map(str::to_owned),
        text: text.to_owned(),
        help: None,
    }
}

#[cfg(test)]
mod tests {
    use super::request;
    use crate::protocol::MachineRequest;
    use serde_json::{Value, json};

    fn machine(settings: Value, volumes: Value) -> MachineRequest {
        serde_json::from_value(json!({"name": "a", "settings": settings, "volumes": volumes})).unwrap()
    }

    fn problems(settings: Value, volumes: Value) -> Vec<String> {
        let problems = request(&[machine(settings, volumes)]).unwrap_err();
        problems.iter().map(|p| format!("{}: {}", p.key.as_deref().unwrap_or("-"), p.text)).collect()
    }

    #[test]
    fn defaults_fill_in_what_nobody_said() {
        let volumes = json!([{"name": "v", "size_bytes": 20_u64 << 30, "settings": {}}]);
        let read = request(&[machine(json!({"machine_type": "m7i.large", "region": "eu-west-1"}), volumes)])
            .unwrap();
        let wanted = &read.machines[0].wanted;
        assert_eq!(
            (wanted.image.as_str(), wanted.user.as_str(), wanted.ssh_port),
            ("debian-12", "diskproof", 22)
        );
        assert_eq!(wanted.volumes[0].gib, Some(20));
        assert_eq!(read.account.wait.as_secs(), 600);
    }

    #[test]
    fn each_wrong_setting_is_named() {
        let volumes = json!([
            {"name": "odd", "size_bytes": 1_500_000_000, "settings": {"type": "gp3"}},
            {"name": "none", "size_bytes": 20_u64 << 30, "settings": {"type": "gp9"}},
        ]);
        let found = problems(
            json!({"machine_type": "m7i.large", "region": "r", "machine_typ": "x", "user": "a b"}),
            volumes,
        );
        for words in [
            "machine_typ: the driver ec2 has no such setting",
            "user: a b",
            "size: 1500000000 bytes",
            "type: there is no type gp9",
        ] {
            assert!(found.iter().any(|problem| problem.starts_with(words)), "{words} in {found:?}");
        }
        assert_eq!(problems(json!({"region": "r"}), json!([])), ["machine_type: it is missing"]);
        for wait in [json!(0), json!(-5)] {
            let found = problems(
                json!({"machine_type": "m7i.large", "region": "r", "wait_seconds": wait}),
                json!([]),
            );
            assert!(found[0].starts_with("wait_seconds: "), "{found:?}");
        }
        let mut private = json!({"machine_type": "m7i.large", "region": "r", "private_address": true});
        assert!(problems(private.clone(), json!([]))[0].starts_with("ssh_from: it is missing"));
        for (key, value) in [("security_group", "sg-1"), ("ssh_from", "10.0.0.0/8")] {
            private[key] = json!(value);
            assert!(request(&[machine(private.clone(), json!([]))]).is_ok(), "{key}");
            private.as_object_mut().unwrap().remove(key);
        }
        let no_price = json!({"machine_type": "m7i.large", "region": "r", "prices": {"m7i.large": "cheap"}});
        assert_eq!(problems(no_price, json!([])), ["prices: m7i.large: cheap is no price"]);
    }
}
