//! The hosts of created guests: an agent process on each shows what lies below the guests' volumes, and counts there.

use super::offer::limits_of;
use crate::at::At;
use crate::guest_hosts::{connected, look};
use crate::imposed::OfLibvirt;
use crate::options::Options;
use driver::protocol::{Backing, Created, CreatedVolume, DeviceName};
use record::printable::chain;
use record::volume::{HostLimits, Limits};
use run::guest_disks::{HostedDisk, Imposed};
use run::guest_host::{GuestHost, UnreachedHost};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// A created machine: its target, what the driver told, and its volumes' names in /dev/disk/by-id, by the names that the driver has.
pub(super) type Found<'a> = (&'a str, &'a Created, &'a BTreeMap<String, String>);

/// The volumes of guests whose drivers tell what backs them on their hosts, by target. A host that can't be reached is told to the user,
/// and the records of trials have the reason: the measurement itself doesn't need it.
pub(super) fn disks(machines: &[Found<'_>], options: &Options) -> BTreeMap<String, Vec<HostedDisk>> {
    let mut hosts: BTreeMap<&str, Arc<dyn GuestHost>> = BTreeMap::new();
    let mut all: BTreeMap<String, Vec<HostedDisk>> = BTreeMap::new();
    let mut limits = LimitsOf { options, hosts: BTreeMap::new() };
    let volumes = machines.iter().flat_map(|(_, made, _)| &made.volumes);
    let backings: Vec<&Backing> = volumes.filter_map(|volume| volume.backing.as_ref()).collect();
    for (target, made, ids) in machines {
        for volume in &made.volumes {
            let (Some(backing), Some(id)) = (&volume.backing, ids.get(&volume.name)) else { continue };
            let host = hosts.entry(&backing.host).or_insert_with(|| host(&backing.host, &backings, options));
            let host = Arc::clone(host);
            let imposed = limits.of(volume, backing);
            all.entry((*target).to_owned()).or_default().push(HostedDisk {
                id: id.clone(),
                host,
                backing: PathBuf::from(&backing.path),
                direct_io: backing.direct_io,
                limits: Limits::default(),
                changes: Vec::new(),
                throttle: None,
                host_limits: imposed.as_ref().map(|(limits, _)| limits.clone()),
                imposed: imposed.map(|(_, imposed)| imposed),
            });
        }
    }
    all
}

/// Asks the libvirt of hosts for the limits of disks. It connects once to each host, and reports a failure once.
struct LimitsOf<'a> {
    options: &'a Options,
    hosts: BTreeMap<String, Option<Arc<At>>>,
}

impl LimitsOf<'_> {
    fn of(&mut self, volume: &CreatedVolume, backing: &Backing) -> Option<(HostLimits, Arc<dyn Imposed>)> {
        let DeviceName::Serial(serial) = &volume.device else { return None };
        let (domain, serial) = (backing.domain.clone()?, serial.clone());
        let tell = |why: &str| {
            (self.options.tell)(&format!(
                "warning: the limits that {} sets on volume {} aren't known: {why}",
                backing.host, volume.name
            ));
        };
        let at = self.hosts.entry(backing.host.clone()).or_insert_with(|| {
            let opened = connected(&backing.host, self.options);
            opened.map_err(|error| tell(&chain(&error))).ok().map(Arc::new)
        });
        let asked = limits_of(volume.rates);
        let disk = OfLibvirt { at: Arc::clone(at.as_ref()?), domain, serial, asked };
        let limits = disk.limits().map_err(|why| tell(&why)).ok()?;
        Some((limits, Arc::new(disk)))
    }
}

/// Returns what looks below the volumes of a host's guests. If nothing can look there, the user and the records learn why.
fn host(name: &str, backings: &[&Backing], options: &Options) -> Arc<dyn GuestHost> {
    let own = backings.iter().filter(|backing| backing.host == name);
    let paths: Vec<&str> = own.map(|backing| backing.path.as_str()).collect();
    look(name, &paths, options).unwrap_or_else(|error| {
        let why = chain(error.as_ref());
        (options.tell)(&format!(
            "warning: what lies below the volumes of the guests on {name} is not followed: {why}"
        ));
        Arc::new(UnreachedHost { why })
    })
}

#[cfg(test)]
mod tests {
    use super::disks;
    use crate::options::Options;
    use driver::protocol::Created;
    use serde_json::json;
    use std::path::Path;

    fn made(path: &Path, host: &str) -> Created {
        let volume = |name: &str, backing| json!({ "name": name, "id": name, "device": { "serial": name }, "size_bytes": 4096, "backing": backing });
        let backing = json!({ "host": host, "path": path, "direct_io": true });
        let volumes = [volume("gp", backing), volume("other", serde_json::Value::Null)];
        serde_json::from_value(json!({
            "name": "web", "id": "i", "address": "a", "user": "root", "ceiling": {}, "volumes": volumes,
        }))
        .unwrap()
    }

    fn options() -> Options {
        Options {
            state_dir: "/nowhere".into(),
            state_dir_is_named: false,
            sudo: false,
            ssh_config: Some("/dev/null".into()),
            tells_steps: false,
            tell: |_| {},
        }
    }

    #[test]
    fn volumes_with_a_backing_are_followed_and_a_host_that_is_not_reached_is_no_error() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("gp.raw");
        std::fs::write(&file, [1; 4096]).unwrap();
        let ids = ["gp", "other"].map(|name| (name.to_owned(), format!("virtio-{name}"))).into();
        let local = made(&file, "local");
        let found = disks(&[("web", &local, &ids)], &options());
        let [disk] = &found["web"][..] else { panic!("{found:?}") };
        assert_eq!(
            (disk.id.as_str(), disk.backing.as_path(), disk.direct_io),
            ("virtio-gp", file.as_path(), true)
        );
        assert!(disk.host.below(std::slice::from_ref(&file)).is_ok() && disk.host.boot_id().is_some());
        let far = made(&file, "no-such-host.invalid");
        let found = disks(&[("web", &far, &ids)], &options());
        let why = found["web"][0].host.below(&[file]).unwrap_err().to_string();
        assert!(why.contains("no-such-host.invalid"), "{why}");
    }
}
