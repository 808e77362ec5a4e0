//! Descriptions of guests in the shape of SmartOS's `vmadm create` (vmadm(8)). What can't be had from libvirt is named, never ignored.

mod disks;
mod fields;
mod nics;
mod wrong;

use super::guest_name;
use super::request::{NewGuest, is_public_key};
use fields::Fields;
use serde_json::Value;
pub use wrong::Wrong;

/// Keys of vmadm that libvirt's guests don't have, with the reason.
const NOT_HERE: [(&str, &str); 30] = [
    ("quota", "is of zones; a guest's disks have sizes"),
    ("max_physical_memory", "is of zones; a guest has `ram`"),
    ("max_locked_memory", "is of zones"),
    ("max_swap", "is of zones"),
    ("max_lwps", "is of zones"),
    ("cpu_cap", "is of zones; set it later by `virsh schedinfo`"),
    ("cpu_shares", "is of zones; set it later by `virsh schedinfo`"),
    ("zfs_io_priority", "is of zones; set limits later by `virsh blkdeviotune`"),
    ("zfs_root_compression", "is of ZFS, which isn't below a guest's disk here"),
    ("zfs_root_recsize", "is of ZFS, which isn't below a guest's disk here"),
    ("zfs_data_compression", "is of ZFS, which isn't below a guest's disk here"),
    ("zfs_data_recsize", "is of ZFS, which isn't below a guest's disk here"),
    ("zpool", "is of ZFS; disks are files in diskproof's state directory"),
    ("zonename", "is of zones; say `alias`"),
    ("image_uuid", "is of zones; a guest's image is that of its first disk: disks[0].image_uuid"),
    ("filesystems", "is of zones"),
    ("fs_allowed", "is of zones"),
    ("limit_priv", "is of zones"),
    ("kernel_version", "is of zones of the brand lx"),
    ("delegate_dataset", "is of zones"),
    ("tmpfs", "is of zones"),
    ("archive_on_delete", "is not done: `guests destroy` removes the disks"),
    ("bootrom", "is not chosen here: guests boot by BIOS, or by the image's own kernel"),
    ("boot", "is an order that libvirt takes from the disks: the first one boots"),
    ("qemu_opts", "is not passed on: it could give a guest any file of its machine"),
    ("qemu_extra_opts", "is not passed on: it could give a guest any file of its machine"),
    ("vnc_port", "is chosen by libvirt: `guests viewer` finds it"),
    ("vnc_password", "is not set: the screen is on the machine's loopback only"),
    ("internal_metadata", "has no reader in the guest"),
    (
        "firewall_enabled",
        "has no counterpart: libvirt's filters are per card (allow_ip_spoofing, allow_mac_spoofing)",
    ),
];

/// A description of a guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// The guest.
    pub guest: NewGuest,
}

impl Description {
    /// Reads a description.
    ///
    /// # Errors
    /// All that is wrong in it.
    pub fn read(text: &str) -> Result<Self, Vec<Wrong>> {
        let whole = |why: String| vec![Wrong { at: String::new(), why }];
        let value: Value =
            serde_json::from_str(text).map_err(|error| whole(format!("it is no JSON: {error}")))?;
        let Value::Object(map) = value else { return Err(whole("it is no JSON object".to_owned())) };
        let mut fields = Fields::new("", map);
        let guest = guest(&mut fields);
        fields.refuse(&NOT_HERE);
        match (guest, fields.end()) {
            (Some(guest), wrong) if wrong.is_empty() => Ok(Self { guest }),
            (_, wrong) => Err(wrong),
        }
    }
}

fn guest(fields: &mut Fields) -> Option<NewGuest> {
    brand(fields);
    let alias = fields.text("alias");
    let hostname = fields.text("hostname");
    for (key, name) in [("alias", &alias), ("hostname", &hostname)] {
        match name {
            None if key == "alias" && hostname.is_none() => fields.wrong(key, "is missing: the guest's name"),
            Some(name) => {
                if let Err(error) = guest_name::check(name) {
                    fields.wrong(key, &error.to_string());
                }
            }
            None => {}
        }
    }
    let memory_mib = fields.number("ram").or_else(|| fields.missing("ram", "memory in MiB"));
    if memory_mib.is_some_and(|mib| !(64..=16 << 20).contains(&mib)) {
        fields.wrong("ram", "is outside of 64 to 16777216 MiB");
    }
    let vcpus = fields.number("vcpus").unwrap_or(1);
    if !(1..=1024).contains(&vcpus) {
        fields.wrong("vcpus", "is outside of 1 to 1024");
    }
    let disks = disks::disks(fields);
    let nics = nics::nics(fields);
    let resolvers = fields.texts("resolvers");
    if let Some(bad) = resolvers.iter().find(|text| text.parse::<std::net::IpAddr>().is_err()) {
        fields.wrong("resolvers", &format!("`{bad}` is no address"));
    }
    let uuid = fields.text("uuid");
    if uuid.as_deref().is_some_and(|uuid| !is_uuid(uuid)) {
        fields.wrong("uuid", "is no UUID");
    }
    let (keys, first_boot) = metadata(fields);
    let autostart = fields.flag("autoboot").unwrap_or(true);
    let search = fields.text("dns_domain");
    Some(NewGuest {
        name: alias.clone().or_else(|| hostname.clone())?,
        hostname: hostname.or(alias)?,
        uuid,
        memory_mib: memory_mib?,
        vcpus: u32::try_from(vcpus).ok()?,
        disks,
        nics,
        resolvers,
        search,
        keys,
        first_boot,
        autostart,
        full_copy: false,
        emulated: false,
    })
}

/// Zones share their machine's kernel, so no hypervisor makes one.
fn brand(fields: &mut Fields) {
    match fields.text("brand").as_deref() {
        Some("kvm" | "bhyve") => {}
        Some(zone @ ("joyent" | "joyent-minimal" | "lx" | "builtin")) => {
            fields.wrong("brand", &format!("`{zone}` is a zone, which libvirt can't make: `kvm` or `bhyve`"));
        }
        Some(other) => fields.wrong("brand", &format!("`{other}` isn't known: `kvm` or `bhyve`")),
        None => fields.wrong("brand", "is missing: `kvm` or `bhyve`"),
    }
    match fields.text("cpu_type").as_deref() {
        None | Some("host") => {}
        Some(other) => fields.wrong("cpu_type", &format!("`{other}` can't be had: leave it out, or `host`")),
    }
}

/// Keys that get in as root, and the script of the first boot.
fn metadata(fields: &mut Fields) -> (Vec<String>, Option<String>) {
    let Some(mut data) = fields.object("customer_metadata") else {
        fields.wrong("customer_metadata", "is missing: its root_authorized_keys tell who gets in");
        return (Vec::new(), None);
    };
    let keys: Vec<String> = data
        .text("root_authorized_keys")
        .unwrap_or_default()
        .lines()
        .map(|line| line.trim().to_owned())
        .filter(|line| !line.is_empty())
        .collect();
    if keys.is_empty() {
        data.wrong("root_authorized_keys", "is missing: nobody could get in");
    }
    if keys.iter().any(|line| !is_public_key(line)) {
        data.wrong("root_authorized_keys", "has a line that is no public key of ssh");
    }
    let script = data.text("user-script");
    data.refuse_rest("has no reader in the guest; `root_authorized_keys` and `user-script` have");
    fields.take_wrong(data);
    (keys, script)
}

fn is_uuid(text: &str) -> bool {
    let lengths: Vec<usize> = text.split('-').map(str::len).collect();
    lengths == [8, 4, 4, 4, 12] && text.chars().all(|c| c == '-' || c.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests;
