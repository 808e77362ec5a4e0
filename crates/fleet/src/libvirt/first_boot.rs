//! The settings that a guest reads at its first boot, in the form of cloud-init's data source NoCloud. The disk with them stays in the guest:
//! without it, cloud-init would take the next boot for another machine's first.

use super::iso;
use super::request::{NewGuest, Nic};
use record::machine::Mac;
use serde_json::{Map, Value, json};

/// The label by which cloud-init knows the disk.
const LABEL: &str = "CIDATA";
/// Where the first boot's script is put in the guest.
const SCRIPT: &str = "/var/lib/diskproof-first-boot";

/// The key of a guest's sshd.
#[derive(Debug, Clone)]
pub(crate) struct HostKey {
    pub(crate) private: String,
    pub(crate) public: String,
}

/// Returns the disk with a guest's settings. `id` is the guest's identity: cloud-init applies them once for each.
pub(crate) fn disk(wanted: &NewGuest, macs: &[Mac], key: &HostKey, id: &str) -> Vec<u8> {
    let meta = json!({ "instance-id": format!("diskproof-{id}"), "local-hostname": wanted.hostname });
    // JSON is YAML, and has one way of writing any text.
    let user = format!("#cloud-config\n{}\n", user_data(wanted, key));
    let files = [
        ("meta-data", format!("{meta}\n")),
        ("user-data", user),
        ("network-config", format!("{}\n", network(wanted, macs))),
    ];
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
    iso::image(LABEL, &files)
}

fn user_data(wanted: &NewGuest, key: &HostKey) -> Value {
    let mut data = json!({
        "hostname": wanted.hostname,
        "preserve_hostname": false,
        "disable_root": false,
        "ssh_pwauth": false,
        // The image's own; cloud-init's choice may be one that the image doesn't have.
        "locale": false,
        "users": [{ "name": "root", "ssh_authorized_keys": wanted.keys }],
        "ssh_deletekeys": true,
        "ssh_genkeytypes": [],
        "ssh_keys": { "ed25519_private": key.private, "ed25519_public": key.public },
    });
    if let (Some(script), Value::Object(data)) = (&wanted.first_boot, &mut data) {
        let file =
            json!([{ "path": SCRIPT, "permissions": "0700", "owner": "root:root", "content": script }]);
        data.insert("write_files".to_owned(), file);
        data.insert("runcmd".to_owned(), json!([[SCRIPT]]));
    }
    data
}

/// Settings of the network, version 2.
fn network(wanted: &NewGuest, macs: &[Mac]) -> Value {
    let cards: Map<String, Value> = wanted
        .nics
        .iter()
        .zip(macs)
        .enumerate()
        .map(|(at, (nic, mac))| (format!("nic{at}"), card(wanted, nic, *mac)))
        .collect();
    json!({ "version": 2, "ethernets": cards })
}

fn card(wanted: &NewGuest, nic: &Nic, mac: Mac) -> Value {
    let mut card = json!({ "match": { "macaddress": mac.to_string() } });
    let Value::Object(fields) = &mut card else { return card };
    if nic.addresses.is_empty() {
        fields.insert("dhcp4".to_owned(), json!(true));
    } else {
        fields.insert("addresses".to_owned(), json!(nic.addresses));
    }
    if let Some(gateway) = &nic.gateway {
        fields.insert(if gateway.contains(':') { "gateway6" } else { "gateway4" }.to_owned(), json!(gateway));
    }
    if !wanted.resolvers.is_empty() || wanted.search.is_some() {
        let mut servers = json!({ "addresses": wanted.resolvers });
        if let (Some(search), Value::Object(servers)) = (&wanted.search, &mut servers) {
            servers.insert("search".to_owned(), json!([search]));
        }
        fields.insert("nameservers".to_owned(), servers);
    }
    if let Some(mtu) = nic.mtu {
        fields.insert("mtu".to_owned(), json!(mtu));
    }
    card
}
