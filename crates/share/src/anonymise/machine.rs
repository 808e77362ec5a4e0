//! Names of this machine.

use super::kind::NameKind;
use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// User ids of people on Debian and Red Hat.
const PEOPLE: std::ops::Range<u32> = 1000..60_000;

/// The names of this machine that records may hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Machine {
    /// Its names.
    pub hosts: BTreeSet<String>,
    /// Its users.
    pub users: BTreeSet<String>,
    /// Serial numbers and WWNs of its drives, as far as this user can read them.
    pub serials: BTreeSet<String>,
}

impl Machine {
    /// Reads the names of this machine.
    #[must_use]
    pub fn here() -> Self {
        let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let label = name.split('.').next().unwrap_or_default().to_owned();
        Self {
            hosts: [name, label].into(),
            users: users(&fs::read_to_string("/etc/passwd").unwrap_or_default()),
            serials: serials(Path::new("/sys/block")),
        }
    }

    pub(super) fn names(&self, add: &mut dyn FnMut(NameKind, &str)) {
        self.hosts.iter().for_each(|name| add(NameKind::Hosts, name));
        self.users.iter().for_each(|name| add(NameKind::Users, name));
        self.serials.iter().for_each(|name| add(NameKind::Serials, name));
    }
}

/// The people of this machine, and the one who runs diskproof.
fn users(passwd: &str) -> BTreeSet<String> {
    let person = |line: &str| {
        let mut fields = line.split(':');
        let (name, id) = (fields.next()?, fields.nth(1)?);
        PEOPLE.contains(&id.parse::<u32>().ok()?).then(|| name.to_owned())
    };
    let mut users: BTreeSet<String> = passwd.lines().filter_map(person).collect();
    users.extend(["USER", "LOGNAME", "SUDO_USER"].iter().filter_map(|name| env::var(name).ok()));
    users
}

fn serials(block: &Path) -> BTreeSet<String> {
    let devices = fs::read_dir(block).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path());
    let files =
        |device: PathBuf| ["device/serial", "device/wwid", "wwid", "serial"].map(|name| device.join(name));
    let texts = devices.flat_map(files).filter_map(|file| fs::read_to_string(file).ok());
    // An SCSI wwid is `t10.ATA MODEL SERIAL`; the model is no name.
    let names = |text: String| text.split_whitespace().last().map(str::to_owned);
    texts.filter_map(names).collect()
}

#[cfg(test)]
mod tests {
    use super::{serials, users};
    use std::fs;

    #[test]
    fn people_are_users_and_services_are_not() {
        let found = users(
            "root:x:0:0::/root:/bin/sh\nalice:x:1000:1000:A:/home/alice:/bin/sh\nnobody:x:65534:1::/:/x\n",
        );
        assert!(found.contains("alice") && !found.contains("nobody"), "{found:?}");
    }

    #[test]
    fn serial_numbers_come_from_sysfs() {
        let folder = tempfile::tempdir().unwrap();
        let device = folder.path().join("nvme0n1/device");
        fs::create_dir_all(&device).unwrap();
        fs::write(device.join("serial"), "S7KHNJ0W1  \n").unwrap();
        fs::write(folder.path().join("nvme0n1/wwid"), "t10.ATA     MODEL 990    SER99\n").unwrap();
        assert_eq!(serials(folder.path()).into_iter().collect::<Vec<_>>(), ["S7KHNJ0W1", "SER99"]);
    }
}
