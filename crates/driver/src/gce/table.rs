//! The settings that the driver takes, for `capabilities` and for checks.

use super::api::ENDPOINT;
use super::credentials::{METADATA, VARIABLE};
use crate::protocol::{Capabilities, Renamed, Setting, SettingKind, VERSION};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The image that a machine boots from where nobody says one.
pub(super) const IMAGE: &str = "debian-cloud/debian-12";
/// The user that the key logs in as where nobody says one.
pub(super) const USER: &str = "diskproof";

/// The port of its sshd where nobody says one.
pub(super) const SSH_PORT: u16 = 22;

/// What the driver is and takes.
pub(super) fn capabilities() -> Capabilities {
    Capabilities {
        protocol: VERSION.to_owned(),
        name: "gce".to_owned(),
        about: "Machines and disks of Google Compute Engine, through its REST API".to_owned(),
        settings: machine(),
        volume_settings: volume(),
        // gcloud finds the user's login by the second.
        secrets: vec![VARIABLE.to_owned(), "CLOUDSDK_CONFIG".to_owned()],
        enforces_deadline: true,
    }
}

fn setting(kind: SettingKind, about: &str) -> Setting {
    Setting {
        kind,
        about: about.to_owned(),
        required: false,
        default: None,
        environment: Vec::new(),
        from_metadata: false,
        metadata: None,
        renamed: Vec::new(),
    }
}

fn with_default(kind: SettingKind, about: &str, default: Value) -> Setting {
    Setting { default: Some(default), ..setting(kind, about) }
}

fn named<const N: usize>(rows: [(&str, Setting); N]) -> BTreeMap<String, Setting> {
    rows.into_iter().map(|(name, setting)| (name.to_owned(), setting)).collect()
}

/// The settings of a machine.
pub(super) fn machine() -> BTreeMap<String, Setting> {
    use SettingKind::{Bytes, Integer, Map, Switch, Text, Texts};
    let variables = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    named([
        (
            "project",
            Setting {
                required: true,
                environment: variables(&["GOOGLE_CLOUD_PROJECT", "CLOUDSDK_CORE_PROJECT"]),
                from_metadata: true,
                metadata: Some("gce:project/project-id".to_owned()),
                ..setting(Text, "The id of the project that pays")
            },
        ),
        (
            "zone",
            Setting {
                environment: variables(&["CLOUDSDK_COMPUTE_ZONE"]),
                from_metadata: true,
                metadata: Some("gce:instance/zone".to_owned()),
                ..setting(Text, "The zone, e.g. europe-west1-b; either this or region")
            },
        ),
        (
            "region",
            Setting {
                environment: variables(&["CLOUDSDK_COMPUTE_REGION"]),
                renamed: vec![area()],
                ..setting(
                    Text,
                    "The region, e.g. europe-west1: GCE picks a zone that has room, one for all equal machines",
                )
            },
        ),
        (
            "machine_type",
            Setting {
                required: true,
                metadata: Some("gce:instance/machine-type".to_owned()),
                ..setting(Text, "The machine type, e.g. n2-standard-4")
            },
        ),
        (
            "image",
            with_default(
                Text,
                "The image to boot from: PROJECT/FAMILY, the name of an own image, or projects/...",
                json!(IMAGE),
            ),
        ),
        ("boot_size", setting(Bytes, "The size of the disk that it boots from; the image's without it")),
        (
            "boot_type",
            setting(Text, "The type of the disk that it boots from; the machine type decides without it"),
        ),
        (
            "network",
            setting(Text, "The network; the project's network default without it and without subnet"),
        ),
        ("subnet", setting(Text, "The subnetwork, in the machine's region")),
        ("tags", setting(Texts, "Network tags: rules of firewalls apply by them")),
        ("labels", setting(Map, "Labels of the machine and its disks besides diskproof's own")),
        (
            "service_account",
            setting(Text, "The e-mail address of the account that programs on it act as; none without it"),
        ),
        (
            "use_private_ip",
            with_default(
                Switch,
                "Whether it has no public address and is reached by its private one",
                json!(false),
            ),
        ),
        (
            "preemptible",
            with_default(
                Switch,
                "Whether it is a Spot machine, which GCE may delete at any time",
                json!(false),
            ),
        ),
        (
            "user",
            with_default(
                Text,
                "The user that logs in; the image's guest agent makes it, with sudo",
                json!(USER),
            ),
        ),
        ("ssh_port", with_default(Integer, "The port of the image's sshd", json!(SSH_PORT))),
        (
            "metadata",
            with_default(
                Switch,
                "Whether to ask the metadata server of the machine that diskproof runs on for token, project and zone",
                json!(false),
            ),
        ),
        ("endpoint", with_default(Text, "Where the API is; another one is for tests", json!(ENDPOINT))),
        (
            "metadata_endpoint",
            with_default(Text, "Where the metadata server is; another one is for tests", json!(METADATA)),
        ),
    ])
}

/// The key of kitchen-gce, whose areas were parts of the world.
fn area() -> Renamed {
    let values = [("us", "us-central1"), ("europe", "europe-west1"), ("asia", "asia-east1")];
    Renamed {
        from: "area".to_owned(),
        refused_in: "1.0.0".to_owned(),
        values: values.map(|(old, new)| (old.to_owned(), new.to_owned())).into(),
    }
}

/// The settings of a volume.
pub(super) fn volume() -> BTreeMap<String, Setting> {
    use SettingKind::{Integer, Text};
    named([
        (
            "type",
            Setting {
                required: true,
                ..setting(
                    Text,
                    "The disk type: pd-standard, pd-balanced, pd-ssd, pd-extreme, hyperdisk-balanced, hyperdisk-extreme, \
                     hyperdisk-throughput, hyperdisk-ml, or local-ssd, which lasts as long as the machine",
                )
            },
        ),
        ("iops", setting(Integer, "Provisioned I/Os per second, where the type takes them")),
        ("throughput", setting(Integer, "Provisioned throughput in MiB/s, where the type takes it")),
    ])
}
