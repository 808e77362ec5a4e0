//! The settings that the driver takes.

use super::aws::VARIABLES;
use super::ebs::VolumeType;
use crate::protocol::{Capabilities, Setting, SettingKind, VERSION};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Key, kind, default, what it is.
type Row = (&'static str, SettingKind, Value, &'static str);

/// Describes the driver.
pub(super) fn capabilities() -> Capabilities {
    let machine = table(machine_rows());
    let mut volume = table(volume_rows());
    let names: Vec<_> = VolumeType::ALL.iter().map(|kind| kind.name()).collect();
    if let Some(kind) = volume.get_mut("type") {
        kind.about = format!("Its type: {}.", names.join(", "));
    }
    Capabilities {
        protocol: VERSION.to_owned(),
        name: "ec2".to_owned(),
        about: "Creates machines of Amazon EC2 with EBS volumes, by the aws program and its credentials."
            .to_owned(),
        settings: machine,
        volume_settings: volume,
        secrets: VARIABLES.map(str::to_owned).to_vec(),
        // cloud-init plans the machine's shutdown: an image without it, or whoever is root there, undoes that.
        enforces_deadline: false,
    }
}

fn machine_rows() -> Vec<Row> {
    vec![
        ("machine_type", SettingKind::Text, Value::Null, "Its instance type, e.g. m7i.large."),
        (
            "region",
            SettingKind::Text,
            Value::Null,
            "The region, e.g. eu-west-1. All machines of an experiment are in one.",
        ),
        (
            "image",
            SettingKind::Text,
            json!("debian-12"),
            "What it boots: an AMI's id, a name of ours (debian-12, debian-13, ubuntu-22.04, ubuntu-24.04, amazon-linux-2023), or OWNER/NAME with * in the name; of several the newest.",
        ),
        (
            "zone",
            SettingKind::Text,
            Value::Null,
            "The availability zone, e.g. eu-west-1a; without: EC2 chooses.",
        ),
        ("subnet", SettingKind::Text, Value::Null, "The subnet's id; without: one of the default VPC."),
        (
            "security_group",
            SettingKind::Text,
            Value::Null,
            "A security group's id that lets ssh in; without: the driver makes one for the claim, open to ssh_from only, and removes it.",
        ),
        (
            "ssh_from",
            SettingKind::Text,
            Value::Null,
            "The addresses that may connect, e.g. 192.0.2.7/32; without: the one that this machine has on the internet, as checkip.amazonaws.com tells it. Needed with private_address, unless security_group is set.",
        ),
        ("ssh_port", SettingKind::Integer, json!(22), "The port of the image's sshd."),
        (
            "private_address",
            SettingKind::Switch,
            json!(false),
            "Connect to the private address, over a VPN or from inside the VPC.",
        ),
        (
            "user",
            SettingKind::Text,
            json!("diskproof"),
            "The user to log in as; cloud-init makes it on the machine.",
        ),
        (
            "boot_size",
            SettingKind::Bytes,
            Value::Null,
            "Size of the volume that it boots from; without: the image's.",
        ),
        (
            "ebs_optimized",
            SettingKind::Switch,
            Value::Null,
            "Dedicated bandwidth to EBS where the type doesn't have it anyway.",
        ),
        (
            "spot",
            SettingKind::Switch,
            json!(false),
            "Ask for spot machines, which EC2 may take back while they run.",
        ),
        (
            "wait_seconds",
            SettingKind::Integer,
            json!(600),
            "How long create waits for the machines, and destroy for their end; at least 1.",
        ),
        (
            "endpoint",
            SettingKind::Text,
            Value::Null,
            "URL of the service, for one that is compatible with EC2; without: Amazon's.",
        ),
        (
            "prices",
            SettingKind::Map,
            Value::Null,
            "Your price list: m7i.large per hour; also for the volume that it boots from: gp3_gib, gp3_iops, gp3_mibps per month of 730 hours; io2_iops_over_32000 and io2_iops_over_64000. Where one that counts is missing, no price is told.",
        ),
        ("currency", SettingKind::Text, json!("USD"), "The currency of prices."),
    ]
}

fn volume_rows() -> Vec<Row> {
    vec![
        ("type", SettingKind::Text, json!("gp3"), "Its type."),
        (
            "iops",
            SettingKind::Integer,
            Value::Null,
            "I/Os per second to provide: gp3 (3000 are free), io1, io2.",
        ),
        ("throughput", SettingKind::Integer, Value::Null, "MiB per second to provide: gp3 (125 are free)."),
    ]
}

fn table(rows: Vec<Row>) -> BTreeMap<String, Setting> {
    let setting = |(key, kind, default, about): Row| {
        let setting = Setting {
            kind,
            about: about.to_owned(),
            required: matches!(key, "machine_type" | "region"),
            default: (!default.is_null()).then_some(default),
            environment: environment(key),
            from_metadata: false,
            metadata: metadata(key).map(str::to_owned),
            renamed: Vec::new(),
        };
        (key.to_owned(), setting)
    };
    rows.into_iter().map(setting).collect()
}

/// What EC2's metadata service tells of the machine that diskproof runs on.
fn metadata(key: &str) -> Option<&'static str> {
    match key {
        "machine_type" => Some("ec2:instance-type"),
        "region" => Some("ec2:placement/region"),
        "zone" => Some("ec2:placement/availability-zone"),
        _ => None,
    }
}

fn environment(key: &str) -> Vec<String> {
    let names: &[&str] = match key {
        "region" => &["AWS_REGION", "AWS_DEFAULT_REGION"],
        "endpoint" => &["AWS_ENDPOINT_URL_EC2", "AWS_ENDPOINT_URL"],
        _ => &[],
    };
    names.iter().map(|name| (*name).to_owned()).collect()
}
