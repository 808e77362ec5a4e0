use super::*;
use crate::gce::body::{Common, bulk, properties, termination};
use crate::protocol::{Claim, VolumeRequest};
use serde_json::{Value, json};

fn request(settings: Value, volumes: Value) -> MachineRequest {
    MachineRequest {
        name: "big".to_owned(),
        settings: settings.as_object().unwrap().clone(),
        volumes: serde_json::from_value::<Vec<VolumeRequest>>(volumes).unwrap(),
    }
}

fn made(settings: Value, volumes: Value) -> Value {
    let mut asked = read(&[request(settings, volumes)]);
    assert_eq!(asked.problems, []);
    let machine = asked.machines.remove(0);
    let claim = Claim {
        id: "0123456789abcdef0123456789abcdef".to_owned(),
        run: "r".to_owned(),
        deadline: 1_800_000_000,
    };
    let termination = termination(&claim).unwrap();
    let common = Common { project: "p", claim: &claim, ssh_public_key: "ssh-ed25519 AAAA", termination };
    properties(&machine, machine.place.as_ref().unwrap(), &common)
}

fn least() -> Value {
    json!({"project": "p", "zone": "europe-west1-b", "machine_type": "n2-standard-4"})
}

#[test]
fn the_provider_ends_a_machine_at_the_deadline() {
    let scheduling = &made(least(), json!([]))["scheduling"];
    assert_eq!(scheduling["terminationTime"], "2027-01-15T08:00:00Z");
    assert_eq!(scheduling["instanceTerminationAction"], "DELETE");
}

#[test]
fn the_least_settings_give_no_account_and_the_default_network() {
    let made = made(least(), json!([]));
    assert_eq!(made.get("serviceAccounts"), None);
    assert_eq!(made["networkInterfaces"][0]["network"], "projects/p/global/networks/default");
    assert_eq!(
        made["disks"][0]["initializeParams"]["sourceImage"],
        "projects/debian-cloud/global/images/family/debian-12"
    );
    assert_eq!(made["metadata"]["items"][0]["value"], "diskproof:ssh-ed25519 AAAA");
}

#[test]
fn every_setting_reaches_the_request() {
    let mut settings = least();
    let more = json!({
        "image": "mine-1", "boot_size": 30_u64 << 30, "boot_type": "pd-ssd", "subnet": "inner", "tags": ["a"],
        "labels": {"team": "storage"}, "service_account": "me@p.iam.gserviceaccount.com", "use_private_ip": true,
        "preemptible": true, "user": "me",
    });
    settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let made = made(
        settings,
        json!([{"name": "v", "size_bytes": 600_u64 << 30, "settings": {"type": "pd-extreme", "iops": 9000}}]),
    );
    let interface = &made["networkInterfaces"][0];
    assert_eq!(interface, &json!({"subnetwork": "projects/p/regions/europe-west1/subnetworks/inner"}));
    assert_eq!(made["disks"][0]["initializeParams"]["sourceImage"], "projects/p/global/images/mine-1");
    assert_eq!(made["disks"][0]["initializeParams"]["diskSizeGb"], "30");
    assert_eq!(made["disks"][1]["initializeParams"]["provisionedIops"], "9000");
    assert_eq!(made["disks"][1]["initializeParams"]["labels"]["team"], "storage");
    assert_eq!(
        made["disks"][1]["initializeParams"]["labels"]["diskproof-claim"],
        "0123456789abcdef0123456789abcdef"
    );
    assert_eq!(
        (&made["tags"]["items"][0], &made["scheduling"]["provisioningModel"]),
        (&json!("a"), &json!("SPOT"))
    );
    assert_eq!(made["serviceAccounts"][0]["email"], "me@p.iam.gserviceaccount.com");
}

#[test]
fn equal_machines_have_equal_properties_and_share_a_call() {
    let (one, other) = (made(least(), json!([])), made(least(), json!([])));
    assert_eq!(one, other);
    let body = bulk(&["a".to_owned(), "b".to_owned()], &one);
    assert_eq!((&body["count"], &body["perInstanceProperties"]), (&json!("2"), &json!({"a": {}, "b": {}})));
}

fn problems(settings: Value, volumes: Value) -> Vec<String> {
    read(&[request(settings, volumes)]).problems.into_iter().map(|problem| problem.text).collect()
}

#[test]
fn what_gce_would_refuse_is_a_problem() {
    let volume =
        |size: Value, kind: &str| json!([{"name": "v", "size_bytes": size, "settings": {"type": kind}}]);
    assert_eq!(problems(least(), volume(Value::Null, "pd-ssd")), ["the volume has no size"]);
    assert_eq!(problems(least(), volume(json!(1), "pd-ssd")), ["GCE makes no pd-ssd of 1 GiB"]);
    assert_eq!(problems(least(), volume(json!(1), "local-ssd")), ["a local-ssd has no size of its own"]);
    assert_eq!(problems(least(), volume(json!(1), "gp3")), ["type is no disk type that the driver knows"]);
    let mut both = least();
    both["region"] = json!("us-central1");
    assert_eq!(problems(both, json!([])), ["zone is not in the region us-central1"]);
    let mut owned = least();
    owned["labels"] = json!({"diskproof-claim": "x"});
    assert_eq!(problems(owned, json!([])), ["labels can't have the key diskproof-claim"]);
    let mut deaf = least();
    deaf["ssh_port"] = json!(65536);
    assert_eq!(problems(deaf, json!([])), ["ssh_port is not a port"]);
    let none = json!({"project": "p", "machine_type": "a b"});
    assert_eq!(
        problems(none, json!([])),
        ["region is missing", "machine_type has characters that no name at GCE has"]
    );
}
