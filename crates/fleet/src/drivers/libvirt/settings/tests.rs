use super::{hosts, read};
use driver::protocol::{MachineRequest, Problem, VolumeRequest};
use serde_json::{Value, json};

fn machine(name: &str, settings: Value, volumes: &[(&str, Option<u64>, Value)]) -> MachineRequest {
    let map = |value: &Value| value.as_object().cloned().unwrap_or_default();
    let volumes = volumes.iter().map(|(name, size_bytes, settings)| VolumeRequest {
        name: (*name).to_owned(),
        size_bytes: *size_bytes,
        settings: map(settings),
    });
    MachineRequest { name: name.to_owned(), settings: map(&settings), volumes: volumes.collect() }
}

fn plain(host: &str) -> Value {
    json!({ "host": host, "image": "debian-12" })
}

fn keys(problems: &[Problem]) -> Vec<(Option<&str>, Option<&str>)> {
    problems.iter().map(|problem| (problem.volume.as_deref(), problem.key.as_deref())).collect()
}

#[test]
fn what_is_not_said_has_a_default() {
    let read = read(&[machine("big", plain("ham0"), &[("gp", Some(1 << 30), json!({}))])]).unwrap();
    let big = &read[0];
    assert_eq!((big.memory_mib, big.vcpus, big.emulate, big.wait.as_secs()), (1024, 1, false, 300));
    let gp = &big.volumes[0];
    assert_eq!((gp.size_bytes, gp.bus, gp.format, gp.preallocation), (1 << 30, "virtio", "raw", "off"));
    assert_eq!((gp.tuning.cache, gp.tuning.io, gp.tuning.iops), ("none", None, None));
}

#[test]
fn limits_and_the_way_of_the_io_are_taken_as_they_are_said() {
    let said = json!({ "format": "qcow2", "cache": "directsync", "aio": "native", "iothread": true, "iops": 80, "bps": 1_048_576 });
    let read = read(&[machine("big", plain("local"), &[("gp", Some(1 << 30), said)])]).unwrap();
    let gp = &read[0].volumes[0];
    assert_eq!(
        (gp.format, gp.tuning.cache, gp.tuning.io, gp.tuning.iothread),
        ("qcow2", "directsync", Some("native"), true)
    );
    assert_eq!((gp.tuning.iops, gp.tuning.bytes_per_second), (Some(80), Some(1 << 20)));
    let scsi = json!({ "bus": "virtio-scsi", "aio": "native" });
    let read = super::read(&[machine("big", plain("local"), &[("gp", Some(1 << 30), scsi)])]).unwrap();
    assert_eq!(read[0].volumes[0].bus, "scsi", "in libvirt's words");
}

#[test]
fn each_wrong_setting_is_named_by_its_key() {
    for (settings, key) in [
        (json!({ "image": "x" }), "host"),
        (json!({ "host": "ham0" }), "image"),
        (json!({ "host": "-oProxyCommand=x", "image": "x" }), "host"),
        (json!({ "host": "ham0", "image": "x", "memroy": 1 }), "memroy"),
        (json!({ "host": "ham0", "image": "x", "memory": "1g" }), "memory"),
        (json!({ "host": "ham0", "image": "x", "vcpus": 0 }), "vcpus"),
        (json!({ "host": "ham0", "image": "x", "network": "a'b" }), "network"),
        (json!({ "host": "ham0", "image": "x", "folder": "/srv/../etc" }), "folder"),
        (json!({ "host": "ham0", "image": "x", "emulate": "yes" }), "emulate"),
        (json!({ "host": "ham0", "image": "x", "hosts": "ham0" }), "hosts"),
    ] {
        let problems = read(&[machine("big", settings.clone(), &[])]).unwrap_err();
        assert_eq!(keys(&problems), [(None, Some(key))], "{settings}");
    }
    for (size, settings, key) in [
        (None, json!({}), None),
        (Some(1 << 10), json!({}), None),
        (Some((1 << 20) + 1), json!({}), None),
        (Some(1 << 30), json!({ "iops": 0 }), Some("iops")),
        (Some(1 << 30), json!({ "format": "vmdk" }), Some("format")),
        (Some(1 << 30), json!({ "cache": "writeback", "aio": "native" }), Some("aio")),
        (Some(1 << 30), json!({ "bus": "nvme" }), Some("bus")),
        (Some(1 << 30), json!({ "bus": "virtio-scsi", "iothread": true }), Some("iothread")),
        (Some(1 << 30), json!({ "type": "gp3" }), Some("type")),
        (Some(1 << 30), json!({ "pool": "--all" }), Some("pool")),
        (Some(1 << 30), json!({ "pool": "vg0", "format": "raw" }), Some("format")),
    ] {
        let problems = read(&[machine("big", plain("ham0"), &[("gp", size, settings.clone())])]).unwrap_err();
        assert_eq!(keys(&problems), [(Some("gp"), key)], "{settings}");
    }
}

#[test]
fn a_guest_has_no_slots_for_any_number_of_volumes() {
    let names: Vec<String> = (0..21).map(|number| format!("v{number}")).collect();
    let volumes: Vec<(&str, Option<u64>, Value)> =
        names.iter().map(|name| (name.as_str(), Some(1 << 20), json!({}))).collect();
    assert_eq!(read(&[machine("big", plain("ham0"), &volumes[..20])]).unwrap()[0].volumes.len(), 20);
    assert_eq!(keys(&read(&[machine("big", plain("ham0"), &volumes)]).unwrap_err()), [(None, None)]);
    let twice = [volumes[0].clone(), volumes[0].clone()];
    assert_eq!(keys(&read(&[machine("big", plain("ham0"), &twice)]).unwrap_err()), [(None, None)]);
}

#[test]
fn machines_on_several_hosts_name_all_of_them_so_that_destroy_finds_them() {
    let on = |host: &str, hosts: Value| json!({ "host": host, "image": "x", "hosts": hosts });
    let both = json!(["ham0", "ham1"]);
    let fine = [machine("a", on("ham0", both.clone()), &[]), machine("b", on("ham1", both.clone()), &[])];
    assert_eq!(read(&fine).unwrap().len(), 2);
    assert_eq!(hosts(&fine[0].settings), ["ham0", "ham1"]);
    let bare = [machine("a", plain("ham0"), &[]), machine("b", plain("ham1"), &[])];
    assert_eq!(keys(&read(&bare).unwrap_err()), [(None, Some("hosts")); 2]);
    let unlike =
        [machine("a", on("ham0", both), &[]), machine("b", on("ham1", json!(["ham1", "ham0"])), &[])];
    assert!(read(&unlike).is_err(), "settings that differ don't reach destroy");
    assert_eq!(hosts(&bare[0].settings), ["ham0"]);
}
