//! What the driver does where nothing goes wrong, and where the user or a neighbour is in the way.

use crate::rig::{Process, Project, perform, server};
use serde_json::{Value, json};

const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIuser me@here";
const CLAIM: &str = "0123456789abcdef0123456789abcdef";

/// A claim with this id.
pub(crate) fn claim(id: &str) -> Value {
    json!({"id": id, "run": "RAID 0 by width, again", "deadline": 4_000_000_000_u64})
}

/// The settings that every machine of a test has.
pub(crate) fn settings(project: &Project) -> Value {
    json!({"project": project.name, "endpoint": server().endpoint, "zone": "europe-west1-b", "machine_type": "n2-standard-4",
        "ssh_port": server().ssh_port})
}

fn disks(count: usize) -> Vec<Value> {
    let disk = |index| json!({"name": format!("gp-{index}"), "size_bytes": 20_u64 << 30, "settings": {"type": "pd-ssd"}});
    (1..=count).map(disk).collect()
}

/// A request to create machines that differ by name only.
pub(crate) fn create(id: &str, settings: &Value, machines: &[&str], volumes: &[Value]) -> Value {
    let machine = |name| json!({"name": name, "settings": settings, "volumes": volumes});
    let machines: Vec<_> = machines.iter().map(machine).collect();
    json!({"do": "create", "claim": claim(id), "machines": machines, "ssh_public_key": KEY})
}

/// A request to destroy what a claim has.
pub(crate) fn destroy(id: &str, settings: &Value) -> Value {
    json!({"do": "destroy", "claim": claim(id), "settings": settings})
}

#[test]
fn a_machine_is_made_with_its_volumes_and_removed_again() {
    let project = Project::new(&json!({"page": 2}));
    let settings = settings(&project);
    let volumes = [
        json!({"name": "data", "size_bytes": (20_u64 << 30) + 1, "settings": {"type": "hyperdisk-balanced", "iops": 4000, "throughput": 200}}),
        json!({"name": "scratch-a", "settings": {"type": "local-ssd"}}),
        json!({"name": "scratch-b", "settings": {"type": "local-ssd"}}),
    ];
    let told = perform(create(CLAIM, &settings, &["big"], &volumes));
    let hour = "the token in GOOGLE_OAUTH_ACCESS_TOKEN lasts an hour at most";
    assert!(told.output.contains(hour), "{}", told.output);
    let machine = &told.answer()["created"]["machines"][0];
    let id = "zones/europe-west1-b/instances/raid-0-0123456789-big";
    assert_eq!(
        (&machine["name"], &machine["id"], &machine["user"]),
        (&json!("big"), &json!(id), &json!("diskproof"))
    );
    assert_eq!(machine["address"], "127.0.0.1");
    assert_eq!(machine["host_keys"], json!(["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAItest"]));
    let seen = |index: usize, key: &str| machine["volumes"][index][key].clone();
    assert_eq!(seen(0, "device"), json!({"link": "/dev/disk/by-id/google-data"}));
    assert_eq!(seen(0, "size_bytes"), json!(21_u64 << 30));
    assert_eq!(seen(0, "rates"), json!({"iops": 4000, "bytes_per_second": 200 << 20}));
    assert_eq!(seen(2, "device"), json!({"link": "/dev/disk/by-id/google-local-nvme-ssd-1"}));
    assert_eq!(seen(2, "rates"), json!({}));
    assert_eq!(
        told.resources(true).len(),
        5,
        "the machine, its boot disk and its three volumes: {}",
        told.output
    );

    let status = perform(json!({"do": "status", "claim": claim(CLAIM), "settings": settings})).answer();
    let expected = json!([{"name": "big", "id": id, "state": "running", "address": "127.0.0.1"}]);
    assert_eq!(status["status"]["machines"], expected);
    let listed = perform(json!({"do": "list", "settings": settings})).answer();
    let listed = listed["listed"]["resources"].as_array().unwrap();
    let ours: Vec<_> = listed.iter().filter(|resource| resource["claim"]["id"] == CLAIM).collect();
    assert_eq!(ours.len(), 5, "{listed:#?}");
    assert!(ours.iter().all(|resource| resource["claim"] == claim(CLAIM)), "{ours:#?}");
    assert_eq!(ours[0]["made"], 1_767_254_400);

    let told = perform(destroy(CLAIM, &settings));
    assert_eq!(told.answer()["destroyed"]["removed"].as_array().unwrap().len(), 5);
    assert_eq!(told.answer()["destroyed"]["left"], json!([]));
    assert_eq!(told.resources(false).len(), 5);
    assert!(project.assert_clean()["neighbours"].as_u64() >= Some(9));
    assert!(!told.output.contains("test-token"));
}

#[test]
fn ten_machines_of_six_volumes_take_few_calls() {
    let project = Project::new(&json!({}));
    let names: Vec<_> = (0..10).map(|index| format!("m-{index}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let made = perform(create(CLAIM, &settings(&project), &names, &disks(6))).answer();
    assert_eq!(made["created"]["machines"].as_array().unwrap().len(), 10);
    let verdict = project.verdict();
    // The fewest: one bulkInsert, one wait, one list, and for each machine the keys of its sshd, which the API tells of one machine only.
    let fewest = 1 + 1 + 1 + 10;
    let calls = verdict["count"].as_u64().unwrap();
    assert!(calls * 10 <= fewest * 12, "{calls} calls: {:#}", verdict["calls"]);
    println!("calls for 10 machines with 6 volumes: {calls}; the fewest: {fewest}");
}

#[test]
fn a_repeated_create_returns_the_same_machines_also_after_destroy() {
    let project = Project::new(&json!({}));
    let mut settings = settings(&project);
    settings.as_object_mut().unwrap().remove("zone");
    settings["region"] = json!("europe-west1");
    let request = create(CLAIM, &settings, &["a", "b"], &disks(1));
    let first = perform(request.clone()).answer();
    assert_eq!(perform(request.clone()).answer(), first);
    // One more machine, as after a change of the experiment: those that are there stay.
    let more = perform(create(CLAIM, &settings, &["a", "b", "c"], &disks(1))).answer();
    let machines = |answer: &Value| answer["created"]["machines"].as_array().unwrap().clone();
    assert_eq!(machines(&more)[..2], machines(&first)[..2]);
    perform(destroy(CLAIM, &settings)).answer();
    project.assert_clean();
    // The API answers the old request id with the old operation.
    let again = perform(request).answer();
    assert_eq!(again["created"]["machines"].as_array().unwrap().len(), 2);
    perform(destroy(CLAIM, &settings)).answer();
    let nothing = perform(destroy(CLAIM, &settings)).answer();
    assert_eq!(nothing["destroyed"], json!({"removed": [], "left": []}));
    project.assert_clean();
}

#[test]
fn a_disk_of_somebody_else_is_neither_used_nor_removed() {
    let project = Project::new(&json!({"taken": true, "loose": true}));
    let told = perform(create(CLAIM, &settings(&project), &["a"], &disks(2)));
    assert!(
        told.failure().contains("raid-0-0123456789-a-1") && told.failure().contains("not of this claim"),
        "{}",
        told.output
    );
    let calls = project.verdict()["calls"].to_string();
    assert!(calls.contains("setDiskAutoDelete"), "it would go with the machine: {calls}");
    perform(destroy(CLAIM, &settings(&project))).answer();
    project.assert_clean();
}

#[test]
fn a_disk_that_has_the_name_of_a_new_one_is_in_the_way_before_anything_is_made() {
    let name = "raid-0-0123456789-a-1";
    // GCE would attach it, and the creation would fail after that: GCE would remove the machine, and the disk with it.
    let fault = json!({"kind": "operation", "at": 1});
    let project = Project::new(&json!({"taken_before": [["europe-west1-b", name]], "fault": fault}));
    let told = perform(create(CLAIM, &settings(&project), &["a"], &disks(2)));
    let disk = format!("the disk zones/europe-west1-b/disks/{name} is not of this claim");
    assert!(told.failure().contains(&disk), "{}", told.output);
    let calls = project.assert_clean()["calls"].as_array().unwrap().clone();
    assert!(calls.iter().all(|call| call.as_str().unwrap().starts_with("GET ")), "{calls:?}");

    // In another zone, it is in nobody's way.
    let project = Project::new(&json!({"taken_before": [["europe-west1-c", name]]}));
    perform(create(CLAIM, &settings(&project), &["a"], &disks(2))).answer();
    perform(destroy(CLAIM, &settings(&project))).answer();
    project.assert_clean();
}

#[test]
fn machines_that_exist_are_told_although_the_call_for_others_fails() {
    let project = Project::new(&json!({"fault": {"kind": "operation", "at": 1}}));
    let mut request = create(CLAIM, &settings(&project), &["a", "b"], &[]);
    request["machines"][1]["settings"]["machine_type"] = json!("n2-standard-8");
    let told = perform(request);
    assert!(told.failure().contains("ZONE_RESOURCE_POOL_EXHAUSTED"), "{}", told.output);
    let made = told.resources(true);
    assert!(made.iter().any(|resource| resource.id.contains("/instances/")), "{}", told.output);
    perform(destroy(CLAIM, &settings(&project))).answer();
    project.assert_clean();
}

#[test]
fn destroy_looks_on_after_the_removal_although_it_took_long() {
    // A removal takes longer than `settle`.
    let project = Project::new(&json!({"operation": 1.5}));
    perform(create(CLAIM, &settings(&project), &["a"], &[])).answer();
    perform(destroy(CLAIM, &settings(&project))).answer();
    let calls = project.assert_clean()["calls"].clone();
    let calls: Vec<_> = calls.as_array().unwrap().iter().map(|call| call.as_str().unwrap()).collect();
    let last = calls.iter().rposition(|call| call.starts_with("DELETE")).unwrap();
    let looks = calls[last..].iter().filter(|call| call.starts_with("GET aggregated/disks")).count();
    assert!(looks >= 2, "one empty look is no quiet time: {calls:#?}");
}

#[test]
fn a_failed_operation_is_told_and_a_later_create_tries_anew() {
    let project = Project::new(&json!({"fault": {"kind": "operation", "at": 1}}));
    let request = create(CLAIM, &settings(&project), &["a"], &disks(2));
    let failure = perform(request.clone()).failure();
    assert!(failure.contains("the zone has no room (ZONE_RESOURCE_POOL_EXHAUSTED)"), "{failure}");
    perform(request).answer();
    perform(destroy(CLAIM, &settings(&project))).answer();
    project.assert_clean();
}

#[test]
fn what_cannot_be_removed_is_told_with_the_reason() {
    let project = Project::new(&json!({"forbidden": true}));
    perform(create(CLAIM, &settings(&project), &["a"], &disks(1))).answer();
    let told = perform(destroy(CLAIM, &settings(&project))).answer();
    let left = told["destroyed"]["left"].as_array().unwrap();
    assert_eq!(left.len(), 3, "the machine, its boot disk and its volume: {left:#?}");
    let machine = left.iter().find(|left| left["kind"] == "machine").unwrap();
    let why = machine["why"].as_str().unwrap();
    assert!(why.contains("the account may not delete instances (HTTP 403, forbidden)"), "{why}");
    assert_eq!(project.verdict()["foreign_changed"], json!([]));
}

#[test]
fn the_metadata_server_is_asked_only_where_the_user_allows_it() {
    let project = Project::new(&json!({}));
    let settings =
        json!({"endpoint": server().endpoint, "metadata_endpoint": server().endpoint, "metadata": false});
    let list =
        |settings: &Value| Process::start(json!({"do": "list", "settings": settings}), false).run(None);
    assert_eq!(list(&settings).failure(), "project is missing");
    let mut allowed = settings.clone();
    allowed["metadata"] = json!(true);
    // The token is the metadata server's, too; there is no project of this name.
    let failure = list(&allowed).failure();
    assert!(failure.contains("the project from-metadata was not found (HTTP 404"), "{failure}");
    allowed["project"] = json!(project.name);
    assert_eq!(list(&allowed).answer()["listed"], json!({"resources": []}));
    allowed["metadata"] = json!(false);
    let told = list(&allowed);
    assert!(told.failure().contains("GOOGLE_OAUTH_ACCESS_TOKEN is not set"), "{}", told.output);
    assert!(!told.output.contains("test-token"));
}

#[test]
fn a_token_never_goes_to_another_machine_without_encryption() {
    let settings = json!({"project": "p", "endpoint": "http://192.0.2.1"});
    let failure = perform(json!({"do": "list", "settings": settings})).failure();
    assert!(failure.contains("without encryption"), "{failure}");
}

#[test]
fn an_old_name_works_with_a_warning_and_mistakes_are_named() {
    let volume = json!({"name": "v", "size_bytes": 20_u64 << 30, "settings": {"type": "pd-ssd", "iops": 5}});
    let machine = json!({"name": "m", "settings": {"project": "p", "area": "europe", "machine_type": "n2-standard-4"}, "volumes": []});
    let told = perform(json!({"do": "validate", "machines": [machine]}));
    assert_eq!(told.answer()["valid"]["problems"], json!([]));
    assert!(
        told.output.contains("area of m is now called region (here region: europe-west1)"),
        "{}",
        told.output
    );
    let bad = json!({"name": "m-", "settings": {"zone": 5, "mashine_type": "x"}, "volumes": [volume]});
    let told = perform(json!({"do": "validate", "machines": [bad]})).answer();
    let texts: Vec<_> =
        told["valid"]["problems"].as_array().unwrap().iter().map(|problem| problem["text"].clone()).collect();
    for text in [
        "iops can't be set for pd-ssd",
        "mashine_type is not known",
        "machine_type is missing",
        "zone must be a text",
        "project is missing",
        "GCE can't use the machine's name",
    ] {
        assert!(texts.contains(&json!(text)), "{text}: {texts:#?}");
    }
    assert_eq!(told["valid"]["offers"], json!([]));
}
