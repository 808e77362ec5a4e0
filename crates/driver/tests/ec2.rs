//! The driver `ec2` against moto behind a strict door, by Debian's `aws`.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, also in its helpers")]

mod support;

use diskproof_driver::protocol::{
    Answer, Blame, Created, DeviceName, MachineRequest, MachineState, Outcome, ResourceKind, Task,
};
use serde_json::{Value, json};
use support::{Service, claim};

const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAITEST diskproof";

fn gp3(gib: u64, more: &Value) -> Value {
    let mut settings = json!({"type": "gp3"});
    settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"size_bytes": gib << 30, "settings": settings})
}

fn create(service: &Service, number: u64, machines: &[MachineRequest]) -> Vec<Created> {
    let task = Task::Create { claim: claim(number), machines: machines.to_vec(), ssh_public_key: KEY.into() };
    match service.done(task) {
        Answer::Created { machines } => machines,
        other => panic!("{other:?}"),
    }
}

fn calls(service: &Service) -> Vec<String> {
    serde_json::from_value(service.order("calls", &json!({}))).unwrap()
}

fn count(calls: &[String], name: &str) -> usize {
    calls.iter().filter(|call| *call == name).count()
}

/// What a snapshot of the account says of this claim.
fn of_claim(snapshot: &Value, number: u64) -> Vec<String> {
    let tag = format!("[\"diskproof-claim\", \"{}\"]", claim(number).id);
    let all = snapshot.as_object().unwrap().iter();
    all.filter(|(_, text)| text.as_str().unwrap().contains(&tag)).map(|(id, _)| id.clone()).collect()
}

#[test]
fn ten_machines_with_six_volumes_take_nearly_the_fewest_calls_there_are() {
    let service = Service::start();
    let volumes = vec![gp3(20, &json!({"iops": 4000, "throughput": 250})); 6];
    let names: Vec<_> = (0..10).map(|n| format!("machine-{n}-with-a-name-of-forty-characters")).collect();
    let machines: Vec<_> = names.iter().map(|name| service.machine(name, &json!({}), &volumes)).collect();
    service.order("plan", &json!({}));
    let created = create(&service, 1, &machines);
    let calls = calls(&service);

    // One launch, one look at the result, one console for each machine; EC2 has no call that does more at a time.
    let fewest = 1
        + 1
        + 10
        + ["DescribeImages", "DescribeInstanceTypes", "CreateSecurityGroup", "AuthorizeSecurityGroupIngress"]
            .len();
    println!("{} calls, the fewest are {fewest}: {calls:?}", calls.len());
    assert_eq!(count(&calls, "RunInstances"), 1, "{calls:?}");
    assert!(calls.len() * 10 <= fewest * 12, "{} calls, the fewest are {fewest}: {calls:?}", calls.len());

    assert_eq!(created.iter().map(|machine| machine.name.as_str()).collect::<Vec<_>>(), names);
    let mut ids: Vec<_> =
        created.iter().flat_map(|machine| &machine.volumes).map(|volume| volume.id.clone()).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 60, "each volume is another one");
    let one = &created[3].volumes[2];
    assert_eq!(one.device, DeviceName::Serial(one.id.replace("vol-", "vol")));
    assert_eq!(
        (one.rates.iops, one.rates.bytes_per_second, one.size_bytes),
        (Some(4000), Some(250 << 20), 20 << 30)
    );
    assert_eq!(created[0].offer.ceiling.bytes_per_second, Some(81_250_000), "the baseline of m7i.large");
    assert_eq!(created[0].host_keys, ["ssh-ed25519 AAAATESTKEY"]);
    assert_eq!((created[0].offer.price.clone(), one.price.clone()), (None, None), "nobody told prices");

    // Instances, the volumes that they boot from and the others, a group: each has the tag. moto doesn't tag network interfaces.
    let snapshot = service.order("snapshot", &json!({}));
    assert_eq!(of_claim(&snapshot, 1).len(), 10 + 10 + 60 + 1);
    let launch = &service.order("launches", &json!({}))[0];
    assert_eq!(launch["InstanceInitiatedShutdownBehavior"], "terminate");
    assert_eq!(launch["ImageId"], "ami-0aaaaaaaaaaaaaaa2", "the newest of Debian's for this processor");
    assert_eq!(launch["BlockDeviceMappings"][1]["Ebs"]["Throughput"], 250);
    let tagged = launch["TagSpecifications"].as_array().unwrap();
    assert!(
        tagged
            .iter()
            .any(|of| of["ResourceType"] == "network-interface" && of["Tags"][0]["Value"] == claim(1).id)
    );
    let boot = launch["UserData"].as_str().unwrap();
    assert!(
        boot.starts_with("#cloud-config\n") && boot.contains(KEY) && boot.contains("2000000000"),
        "{boot}"
    );
}

#[test]
fn a_repeated_create_returns_the_same_machines_and_adds_only_new_ones() {
    let service = Service::start();
    let machine = |name: &str| service.machine(name, &json!({}), &[gp3(1, &json!({}))]);
    // What was made is not shown at once.
    service.order("plan", &json!({"lag": 0.3}));
    let first = create(&service, 1, &[machine("a"), machine("b")]);
    let again = create(&service, 1, &[machine("a"), machine("b"), machine("c")]);
    assert_eq!(first[..], again[..2]);
    assert_ne!(again[2].id, again[0].id);
    let other_user = service.machine("d", &json!({"user": "other", "spot": true, "zone": "eu-west-1b"}), &[]);
    let last = create(&service, 1, &[machine("a"), other_user]);
    assert_eq!((last[0].id.as_str(), last[1].user.as_str()), (again[0].id.as_str(), "other"));
    let Answer::Status { machines } =
        service.done(Task::Status { claim: claim(1), settings: service.settings() })
    else {
        panic!("another answer")
    };
    assert_eq!(machines.len(), 4);
    assert!(machines.iter().all(|machine| machine.state == MachineState::Running));
}

#[test]
fn destroy_removes_what_carries_the_claim_and_nothing_that_looks_like_it() {
    let service = Service::start();
    let neighbours = service.order("neighbours", &json!({"claim": claim(1).id}));
    let before = service.order("snapshot", &json!({}));
    service.order("plan", &json!({"lag": 0.2}));
    create(&service, 1, &[service.machine("a", &json!({}), &[gp3(1, &json!({})), gp3(2, &json!({}))])]);
    create(&service, 2, &[service.machine("a", &json!({}), &[])]);

    let Answer::Listed { resources } = service.done(Task::List { settings: service.settings() }) else {
        panic!("another answer")
    };
    let machines: Vec<_> =
        resources.iter().filter(|one| one.resource.kind == ResourceKind::Machine).collect();
    // One neighbour has a claim of its own; the others' tags are no claims.
    assert_eq!(machines.len(), 3);
    assert!(machines.iter().all(|one| one.made.is_some() && one.claim.id.len() == 32));

    let destroy = |number| service.done(Task::Destroy { claim: claim(number), settings: service.settings() });
    let Answer::Destroyed { removed, left } = destroy(1) else { panic!("another answer") };
    assert_eq!(left, []);
    assert_eq!(removed.len(), 1 + 3 + 1, "a machine, its volumes, its group: {removed:?}");
    let Answer::Destroyed { removed, .. } = destroy(1) else { panic!("another answer") };
    assert_eq!(removed, [], "gone already is no error");
    assert_eq!(
        of_claim(&service.order("snapshot", &json!({})), 2).len(),
        1 + 1 + 1,
        "another claim stays whole"
    );
    destroy(2);
    assert_eq!(service.order("snapshot", &json!({})), before);
    assert_eq!(neighbours.as_array().unwrap().len(), 30);
}

#[test]
fn validate_names_what_is_wrong_and_tells_prices_by_the_users_list() {
    let service = Service::start();
    let valid = |machine: MachineRequest| match service.done(Task::Validate { machines: vec![machine] }) {
        Answer::Valid(valid) => valid,
        other => panic!("{other:?}"),
    };
    let problems = |more: Value, volumes: &[Value]| {
        let valid = valid(service.machine("a", &more, volumes));
        assert_eq!(valid.offers, []);
        valid
            .problems
            .iter()
            .map(|problem| format!("{}: {}", problem.key.as_deref().unwrap_or("-"), problem.text))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        problems(json!({"machine_type": "m7i.huge"}), &[]),
        ["machine_type: EC2 has no type m7i.huge in this region"]
    );
    assert_eq!(
        problems(json!({"image": "ami-0123456789abcdef0"}), &[]),
        ["image: EC2 has no image ami-0123456789abcdef0 in this region"]
    );
    assert_eq!(
        problems(json!({"image": "ami-0aaaaaaaaaaaaaaa3"}), &[]),
        ["image: no image ami-0aaaaaaaaaaaaaaa3 for m7i.large (x86_64)"]
    );
    let own = json!({"settings": {"type": "ephemeral"}});
    assert_eq!(
        problems(json!({}), std::slice::from_ref(&own)),
        ["machine_type: m7i.large brings 0 ephemeral disks with NVMe along, not 1"]
    );

    let prices = json!({"m5d.large": "0.126", "gp3_gib": "0.08"});
    let offer = valid(service.machine(
        "a",
        &json!({"machine_type": "m5d.large", "prices": prices}),
        &[own, gp3(73, &json!({}))],
    ));
    assert_eq!(offer.problems, []);
    let offer = &offer.offers[0];
    assert!(
        (offer.price.as_ref().unwrap().per_hour - 0.126 - 15.0 * 0.08 / 730.0).abs() < 1e-12,
        "the type, and the image's 15 GiB to boot from: {offer:?}"
    );
    let unpriced = json!({"prices": {"m7i.large": "0.1"}});
    assert_eq!(
        valid(service.machine("a", &unpriced, &[])).offers[0].price,
        None,
        "the boot volume has no price"
    );
    assert_eq!(offer.volumes[0].price.as_ref().unwrap().per_hour, 0.0);
    assert!(
        (offer.volumes[1].price.as_ref().unwrap().per_hour - 0.008).abs() < 1e-12,
        "73 GiB at 0.08 a month of 730 hours"
    );
    assert_eq!(offer.volumes[1].rates.bytes_per_second, Some(125 << 20));
}

#[test]
fn destroy_asks_for_the_removal_although_the_time_is_up() {
    let service = Service::start();
    create(&service, 1, &[service.machine("a", &json!({}), &[])]);
    service.order("plan", &json!({}));
    let mut settings = service.settings();
    settings.insert("wait_seconds".to_owned(), json!(0));
    service.done(Task::Destroy { claim: claim(1), settings: settings.clone() });
    let calls = calls(&service);
    assert_eq!(count(&calls, "TerminateInstances"), 1, "{calls:?}");
    for _ in 0..10 {
        let Answer::Destroyed { left, .. } =
            service.done(Task::Destroy { claim: claim(1), settings: settings.clone() })
        else {
            panic!("another answer")
        };
        if left.is_empty() {
            return;
        }
    }
    panic!("something stays");
}

#[test]
fn a_failure_says_who_can_mend_it() {
    let service = Service::start();
    let task = |more: Value| Task::Create {
        claim: claim(1),
        machines: vec![service.machine("a", &more, &[])],
        ssh_public_key: KEY.into(),
    };
    let failed = |task| match service.perform(task).1 {
        Outcome::Failed(failure) => failure,
        Outcome::Done(answer) => panic!("{answer:?}"),
    };
    // The sixth call is the launch.
    service.order("plan", &json!({"at": 6, "kind": "refuse"}));
    let failure = failed(task(json!({"security_group": ""})));
    assert_eq!(failure.blame, Blame::User, "{failure:?}");
    service.order("plan", &json!({"at": 6, "kind": "refuse"}));
    let failure = failed(task(json!({})));
    assert_eq!(failure.blame, Blame::Provider, "{failure:?}");
    assert!(failure.help.unwrap().contains("another zone"));
    let closed = failed(task(json!({"endpoint": "http://127.0.0.1:9"})));
    assert_eq!(closed.blame, Blame::Provider, "{closed:?}");
}
