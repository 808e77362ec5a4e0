use super::Description;
use crate::libvirt::request::Network;
use serde_json::{Value, json};

fn description() -> Value {
    json!({
        "brand": "kvm",
        "alias": "web0",
        "hostname": "web0",
        "ram": 512,
        "vcpus": "2",
        "resolvers": ["8.8.8.8"],
        "dns_domain": "example.org",
        "autoboot": false,
        "nics": [{
            "nic_tag": "default", "ip": "192.168.122.50", "netmask": "255.255.255.0",
            "gateway": "192.168.122.1", "model": "virtio", "primary": true
        }],
        "disks": [{ "image_uuid": "01234567-89ab-8def-a123-456789abcdef", "size": 4096, "boot": true, "model": "virtio" }],
        "customer_metadata": { "root_authorized_keys": "ssh-ed25519 AAAAC3 a\nssh-rsa AAAAB3 b\n", "user-script": "#!/bin/sh\n" }
    })
}

/// What is wrong in a description with changed fields.
fn wrong(change: impl FnOnce(&mut Value)) -> Vec<String> {
    let mut value = description();
    change(&mut value);
    match Description::read(&value.to_string()) {
        Ok(_) => Vec::new(),
        Err(wrong) => wrong.iter().map(ToString::to_string).collect(),
    }
}

/// A change of a valid description.
type Change = fn(&mut Value);

#[test]
fn a_description_of_smartos_makes_a_guest() {
    let guest = Description::read(&description().to_string()).unwrap().guest;
    assert_eq!(
        (guest.name.as_str(), guest.memory_mib, guest.vcpus, guest.autostart),
        ("web0", 512, 2, false)
    );
    assert_eq!(guest.disks[0].size_bytes, Some(4 << 30));
    let nic = &guest.nics[0];
    assert_eq!(
        (nic.addresses.as_slice(), nic.gateway.as_deref()),
        (&["192.168.122.50/24".to_owned()][..], Some("192.168.122.1"))
    );
    assert_eq!((&nic.network, nic.filter), (&Network::Libvirt("default".to_owned()), Some("clean-traffic")));
    assert_eq!((guest.keys.len(), guest.first_boot.as_deref()), (2, Some("#!/bin/sh\n")));
}

#[test]
fn spoofing_chooses_the_filter() {
    for (ip, mac, expected) in
        [(true, false, Some("no-mac-spoofing")), (false, true, Some("no-ip-spoofing")), (true, true, None)]
    {
        let mut value = description();
        value["nics"][0]["allow_ip_spoofing"] = json!(ip);
        value["nics"][0]["allow_mac_spoofing"] = json!(mac);
        assert_eq!(Description::read(&value.to_string()).unwrap().guest.nics[0].filter, expected);
    }
}

#[test]
fn what_is_unknown_or_not_to_be_had_is_named_all_at_once() {
    let found = wrong(|value| {
        value["quota"] = json!(10);
        value["rma"] = json!(512);
        value["brand"] = json!("joyent");
        value["nics"][0]["vlan_id"] = json!(7);
        value["nics"][0]["allow_ip_spofing"] = json!(true);
        value["nics"][0]["allow_dhcp_spoofing"] = json!(false);
        value["disks"][0]["compression"] = json!("lz4");
        value["customer_metadata"]["x\u{1b}"] = json!("y");
    });
    for (at, why) in [
        ("quota: ", "zones"),
        ("rma: ", "isn't known"),
        ("brand: ", "zone"),
        ("nics[0].vlan_id: ", "bridge"),
        ("nics[0].allow_ip_spofing: ", "isn't known"),
        ("nics[0].allow_dhcp_spoofing: ", "no filter"),
        ("disks[0].compression: ", "ZFS"),
        ("customer_metadata.x\\x1b: ", "no reader"),
    ] {
        assert!(found.iter().any(|line| line.starts_with(at) && line.contains(why)), "{at} {found:?}");
    }
    assert_eq!(found.len(), 8, "{found:?}");
}

#[test]
fn each_wrong_value_is_named_once() {
    let cases: [(&str, Change); 12] = [
        ("ram: is no whole number", |value| value["ram"] = json!("much")),
        ("ram: is missing", |value| drop(value.as_object_mut().unwrap().remove("ram"))),
        ("vcpus: is outside", |value| value["vcpus"] = json!(0)),
        ("alias: `a b`", |value| value["alias"] = json!("a b")),
        ("resolvers: `x`", |value| value["resolvers"] = json!(["x"])),
        ("uuid: is no UUID", |value| value["uuid"] = json!("1")),
        ("nics: is no list", |value| value["nics"] = json!({})),
        ("nics[0].netmask: is missing", |value| {
            drop(value["nics"][0].as_object_mut().unwrap().remove("netmask"))
        }),
        ("nics[0].ip: is no IPv4", |value| value["nics"][0]["ip"] = json!("1.2.3")),
        ("nics[0].nic_tag: is missing", |value| {
            drop(value["nics"][0].as_object_mut().unwrap().remove("nic_tag"))
        }),
        ("disks[0].image_uuid: is missing", |value| {
            drop(value["disks"][0].as_object_mut().unwrap().remove("image_uuid"))
        }),
        ("customer_metadata.root_authorized_keys: has a line", |value| {
            value["customer_metadata"]["root_authorized_keys"] = json!("-----BEGIN");
        }),
    ];
    for (expected, change) in cases {
        let found = wrong(change);
        assert!(found.len() == 1 && found[0].starts_with(expected), "{expected}: {found:?}");
    }
    assert!(Description::read("[]").unwrap_err()[0].to_string().contains("no JSON object"));
}
