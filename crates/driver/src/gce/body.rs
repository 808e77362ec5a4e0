//! The bodies of requests that create machines.

use super::failure::users;
use super::machine::{BOOT, Machine, Place, region_of};
use super::name;
use super::volume::{LOCAL, Volume};
use crate::protocol::{Claim, Failure};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// What all machines of a request share.
pub(super) struct Common<'a> {
    pub(super) project: &'a str,
    pub(super) claim: &'a Claim,
    pub(super) ssh_public_key: &'a str,
    /// The deadline in RFC 3339.
    pub(super) termination: String,
}

/// The deadline as the API takes it. The API refuses less than 30 s from now, and more than 120 days.
pub(super) fn termination(claim: &Claim) -> Result<String, Failure> {
    let second =
        i64::try_from(claim.deadline).ok().and_then(|second| jiff::Timestamp::from_second(second).ok());
    second
        .map(|time| time.to_string())
        .ok_or_else(|| users("the claim's deadline is no time", "ask for a deadline within 120 days"))
}

/// The properties of a machine, without its name: equal ones are created by one call. The same machine has the same properties each time,
/// as the API needs it to recognize a repeated request: the deadline is a time and not a duration.
pub(super) fn properties(machine: &Machine, place: &Place, common: &Common<'_>) -> Value {
    let mut labels = machine.labels.clone();
    labels.append(&mut name::labels(common.claim));
    let described = described(&labels, common.claim);
    let mut disks = vec![boot(machine, described.clone(), common.project)];
    disks.extend(machine.volumes.iter().map(|volume| disk(volume, described.clone())));
    let mut properties = json!({
        "description": name::description(common.claim),
        "machineType": machine.machine_type,
        "labels": labels,
        "disks": disks,
        "networkInterfaces": [interface(machine, place, common.project)],
        "scheduling": scheduling(machine, &common.termination),
        "metadata": {"items": metadata(machine, common.ssh_public_key)},
    });
    if !machine.tags.is_empty() {
        properties["tags"] = json!({"items": machine.tags});
    }
    if let Some(account) = &machine.service_account {
        let scope = "https://www.googleapis.com/auth/cloud-platform";
        properties["serviceAccounts"] = json!([{"email": account, "scopes": [scope]}]);
    }
    properties
}

/// The body of a call that creates machines with these names. Without a least number, it creates all of them or none.
pub(super) fn bulk(names: &[String], properties: &Value) -> Value {
    let each: Map<String, Value> = names.iter().map(|name| (name.clone(), json!({}))).collect();
    json!({
        "count": names.len().to_string(),
        "perInstanceProperties": each,
        "instanceProperties": properties,
    })
}

/// What tells whose a new disk is.
fn described(labels: &BTreeMap<String, String>, claim: &Claim) -> Value {
    json!({"labels": labels, "description": name::description(claim)})
}

fn boot(machine: &Machine, mut made: Value, project: &str) -> Value {
    made["sourceImage"] = json!(image(&machine.image, project));
    if let Some(gib) = machine.boot_gib {
        made["diskSizeGb"] = json!(gib.to_string());
    }
    if let Some(kind) = &machine.boot_type {
        made["diskType"] = json!(kind);
    }
    json!({"boot": true, "autoDelete": true, "type": "PERSISTENT", "deviceName": BOOT, "initializeParams": made})
}

fn disk(volume: &Volume, mut made: Value) -> Value {
    if volume.is_local() {
        return json!({"type": "SCRATCH", "interface": "NVME", "autoDelete": true, "initializeParams": {"diskType": LOCAL}});
    }
    made["diskType"] = json!(volume.kind.name);
    for (key, value) in [
        ("diskSizeGb", volume.gib),
        ("provisionedIops", volume.iops),
        ("provisionedThroughput", volume.throughput),
    ] {
        if let Some(value) = value {
            made[key] = json!(value.to_string());
        }
    }
    json!({
        "autoDelete": true, "type": "PERSISTENT", "mode": "READ_WRITE", "deviceName": volume.name, "initializeParams": made,
    })
}

/// The path of an image: `PROJECT/FAMILY` is the newest one of a family, a name alone is an image of the own project.
fn image(image: &str, project: &str) -> String {
    match image.split_once('/') {
        _ if image.starts_with("projects/") || image.starts_with("https://") => image.to_owned(),
        Some((owner, family)) => format!("projects/{owner}/global/images/family/{family}"),
        None => format!("projects/{project}/global/images/{image}"),
    }
}

fn interface(machine: &Machine, place: &Place, project: &str) -> Value {
    let region = match place {
        Place::Zone(zone) => region_of(zone),
        Place::Region(region) => region,
    };
    let mut interface = Map::new();
    let path = |named: &str, of: String| {
        if named.contains('/') { named.to_owned() } else { format!("projects/{project}/{of}/{named}") }
    };
    if let Some(network) = &machine.network {
        interface.insert("network".to_owned(), json!(path(network, "global/networks".to_owned())));
    } else if machine.subnet.is_none() {
        interface.insert("network".to_owned(), json!(path("default", "global/networks".to_owned())));
    }
    if let Some(subnet) = &machine.subnet {
        interface
            .insert("subnetwork".to_owned(), json!(path(subnet, format!("regions/{region}/subnetworks"))));
    }
    if !machine.use_private_ip {
        interface
            .insert("accessConfigs".to_owned(), json!([{"type": "ONE_TO_ONE_NAT", "name": "External NAT"}]));
    }
    Value::Object(interface)
}

fn scheduling(machine: &Machine, termination: &str) -> Value {
    // A machine that restarts after a failure of its host would be measured as if nothing had happened.
    let mut scheduling = json!({"terminationTime": termination, "instanceTerminationAction": "DELETE", "automaticRestart": false});
    if machine.preemptible {
        scheduling["provisioningModel"] = json!("SPOT");
        scheduling["onHostMaintenance"] = json!("TERMINATE");
    }
    scheduling
}

fn metadata(machine: &Machine, key: &str) -> Value {
    let item = |key: &str, value: &str| json!({"key": key, "value": value});
    json!([
        item("ssh-keys", &format!("{}:{key}", machine.user)),
        item("block-project-ssh-keys", "TRUE"),
        // OS Login, where the project has it, would ignore the key.
        item("enable-oslogin", "FALSE"),
        // The image tells its host keys there.
        item("enable-guest-attributes", "TRUE"),
    ])
}
