//! Waits for machines until they can be reached.

use super::aws::Aws;
use super::error::{AwsError, Ec2Error};
use super::found::{address, instances, state};
use super::launch::device_name;
use super::pace::Pace;
use super::reading::{Machine, Wanted};
use super::{ebs::VolumeType, tags};
use crate::protocol::Claim;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::{TcpStream, ToSocketAddrs as _};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The marks between which cloud-init prints the public keys of sshd on the console.
const KEYS_BEGIN: &str = "-----BEGIN SSH HOST KEY KEYS-----";
const KEYS_END: &str = "-----END SSH HOST KEY KEYS-----";

/// Waits until EC2 says of all machines that they run, with their addresses and volumes. One call asks for all of them.
pub(super) fn until_running(
    aws: &Aws<'_>,
    claim: &Claim,
    machines: &[Machine],
    limit: Duration,
) -> Result<BTreeMap<String, Value>, Ec2Error> {
    let begin = Instant::now();
    loop {
        let found = by_name(instances(aws, &tags::filter(&claim.id))?, claim);
        for machine in machines {
            if let Some(instance) = found.get(&machine.name).filter(|instance| has_ended(instance)) {
                return Err(ended(&machine.name, instance));
            }
        }
        let late = machines
            .iter()
            .find(|machine| found.get(&machine.name).is_none_or(|of| !is_ready(of, &machine.wanted)));
        let Some(machine) = late else { return Ok(found) };
        if begin.elapsed() > limit {
            let id = found
                .get(&machine.name)
                .and_then(|of| of["InstanceId"].as_str())
                .unwrap_or("not shown by EC2");
            return Err(late_error(&machine.name, id, "did not run with all its volumes", limit));
        }
        sleep(aws.pace().poll);
    }
}

/// Instances by the name of their machine; one that lives goes before one that has ended.
fn by_name(instances: Vec<Value>, claim: &Claim) -> BTreeMap<String, Value> {
    let mut found: BTreeMap<String, Value> = BTreeMap::new();
    for instance in instances.into_iter().filter(|instance| tags::is_of(instance, &claim.id)) {
        let Some(name) = tags::machine_name(&instance).map(str::to_owned) else { continue };
        if found.get(&name).is_none_or(has_ended) {
            found.insert(name, instance);
        }
    }
    found
}

fn has_ended(instance: &Value) -> bool {
    matches!(state(instance), Some("shutting-down" | "terminated" | "stopping" | "stopped"))
}

fn ended(machine: &str, instance: &Value) -> Ec2Error {
    let why = instance["StateReason"]["Message"]
        .as_str()
        .or_else(|| state(instance))
        .unwrap_or("EC2 gives no reason");
    let id = instance["InstanceId"].as_str().unwrap_or_default();
    Ec2Error::Ended { machine: machine.to_owned(), id: id.to_owned(), why: why.to_owned() }
}

fn late_error(machine: &str, id: &str, what: &'static str, limit: Duration) -> Ec2Error {
    Ec2Error::Late { machine: machine.to_owned(), id: id.to_owned(), what, seconds: limit.as_secs() }
}

fn is_ready(instance: &Value, wanted: &Wanted) -> bool {
    let of_ebs = wanted.volumes.iter().enumerate().filter(|(_, volume)| volume.kind != VolumeType::Ephemeral);
    state(instance) == Some("running")
        && address(instance, wanted.private_address).is_some()
        && of_ebs.map(|(index, _)| index).all(|index| volume_id(instance, index).is_some())
}

/// Returns the id of the volume with that index in the request, if it is attached.
pub(super) fn volume_id(instance: &Value, index: usize) -> Option<&str> {
    let device = device_name(index);
    let mut mappings = instance["BlockDeviceMappings"].as_array()?.iter();
    let ebs = &mappings.find(|mapping| mapping["DeviceName"] == device)?["Ebs"];
    ebs["VolumeId"].as_str().filter(|_| ebs["Status"] == "attached")
}

/// Waits until something answers at the port of a machine's sshd.
pub(super) fn until_answers(
    pace: Pace,
    machine: &str,
    id: &str,
    (address, port): (&str, u16),
    limit: Duration,
) -> Result<(), Ec2Error> {
    let begin = Instant::now();
    loop {
        let reached = (address, port).to_socket_addrs().ok().and_then(|mut all| all.next());
        if reached.is_some_and(|socket| TcpStream::connect_timeout(&socket, Duration::from_secs(5)).is_ok()) {
            return Ok(());
        }
        if begin.elapsed() > limit {
            return Err(late_error(machine, id, "did not answer by ssh", limit));
        }
        sleep(pace.poll);
    }
}

/// Returns the public keys of a machine's sshd from its console; empty: it doesn't print them.
///
/// # Errors
/// EC2 doesn't show the console.
pub(super) fn host_keys(aws: &Aws<'_>, instance: &str) -> Result<Vec<String>, AwsError> {
    let begin = Instant::now();
    // Only newer types show the console of this moment; of others EC2 keeps what it had shortly after the boot.
    let mut is_latest = true;
    loop {
        let input = json!({"InstanceId": instance, "Latest": is_latest});
        match aws.call("get-console-output", &input) {
            Ok(reply) => {
                if let Some(keys) = reply["Output"].as_str().and_then(keys_of) {
                    return Ok(keys);
                }
            }
            Err(error) if is_latest && error.code().is_some_and(|code| code != "UnauthorizedOperation") => {
                is_latest = false;
                continue;
            }
            Err(error) => return Err(error),
        }
        if begin.elapsed() > aws.pace().console {
            return Ok(Vec::new());
        }
        sleep(aws.pace().poll);
    }
}

/// The newest keys of a console's text, without the comments behind them.
fn keys_of(console: &str) -> Option<Vec<String>> {
    let (_, rest) = console.rsplit_once(KEYS_BEGIN)?;
    let (keys, _) = rest.split_once(KEYS_END)?;
    let key = |line: &str| {
        // The console may put a time or the name of a service before it.
        let begin = ["ssh-", "ecdsa-"].iter().filter_map(|kind| line.find(kind)).min()?;
        let mut words = line[begin..].split_whitespace();
        Some(format!("{} {}", words.next()?, words.next()?))
    };
    let keys: Vec<_> = keys.lines().filter_map(key).collect();
    (!keys.is_empty()).then_some(keys)
}

#[cfg(test)]
mod tests {
    use super::{by_name, keys_of};
    use crate::ec2::tags::{self, CLAIM};
    use crate::protocol::Claim;
    use serde_json::json;

    #[test]
    fn the_console_tells_the_keys_of_the_last_boot() {
        let console = "boot\r\n-----BEGIN SSH HOST KEY KEYS-----\r\nssh-rsa OLD a@b\r\n-----END SSH HOST KEY KEYS-----\r\n\
            -----BEGIN SSH HOST KEY KEYS-----\r\n[   12.3] cloud-init[400]: ecdsa-sha2-nistp256 AAAAE2 root@ip-10-0-0-1\r\nssh-ed25519 AAAAC3 root@ip-10-0-0-1\r\n-----END SSH HOST KEY KEYS-----\r\nlogin:";
        assert_eq!(keys_of(console).unwrap(), ["ecdsa-sha2-nistp256 AAAAE2", "ssh-ed25519 AAAAC3"]);
        assert!(
            keys_of("-----BEGIN SSH HOST KEY KEYS-----\r\nssh-rsa AAAA").is_none(),
            "not all of it is there yet"
        );
    }

    #[test]
    fn a_living_machine_hides_one_that_ended_and_foreign_ones_are_not_seen() {
        let claim = Claim { id: "0".repeat(32), run: "r".into(), deadline: 0 };
        let instance = |id: &str, state: &str, owner: &str| {
            let mut tags = tags::of_machines(&["a"]);
            tags.push(json!({"Key": CLAIM, "Value": owner}));
            json!({"InstanceId": id, "State": {"Name": state}, "AmiLaunchIndex": 0, "Tags": tags})
        };
        let all = vec![
            instance("i-1", "terminated", &claim.id),
            instance("i-2", "running", &claim.id),
            instance("i-3", "running", &"1".repeat(32)),
        ];
        assert_eq!(by_name(all, &claim)["a"]["InstanceId"], "i-2");
    }
}
