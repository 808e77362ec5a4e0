//! Makes one guest with its files. Each change is made under the machine's lock; what an interrupted `create` left of it goes first.

use super::names;
use super::note::{Note, NotedVolume};
use super::place::Place;
use super::pools;
use super::settings::{Wanted, WantedVolume};
use crate::images::{CMDLINE, Image};
use crate::libvirt::{
    Boot, DiskFile, GuestError, Host, NewGuest, Nic, Starting, Tuning, description, first_boot_disk,
    host_key, mac,
};
use driver::protocol::{Claim, Resource, ResourceKind};
use driver::serve::Teller;
use record::machine::Mac;

/// Removes the files of a claim, `$1`, from a folder, `$0`, that an interrupted `create` left, and makes it. The files of QEMU's user are
/// in it, so others may go through it.
const FOLDER: &str = r#"if [ -L "$0" ]; then echo "$0 is a link" >&2; exit 1; fi
umask 022; mkdir -p -- "${0%/*}" && { [ -d "$0" ] || mkdir -m 711 -- "$0"; } && cd "$0" && rm -f -- "$1"-*"#;
/// The number of a guest's disk with the settings of the first boot.
const SEED: &str = "seed.iso";

/// A machine to make, with what it is made of.
pub(super) struct Making<'a, 't> {
    pub(super) place: &'a Place<'a>,
    pub(super) claim: &'a Claim,
    pub(super) wanted: &'a Wanted,
    pub(super) image: &'a Image,
    pub(super) key: &'a str,
    pub(super) tell: &'a Teller<'t>,
}

impl Making<'_, '_> {
    /// Makes the guest, and starts it.
    pub(super) fn make(&self) -> Result<Note, GuestError> {
        let (place, wanted, claim) = (self.place, self.wanted, self.claim);
        let key = host_key(&wanted.name)?;
        let note = self.note(&key.public);
        let macs = vec![mac()?];
        let guest = self.guest();
        if !note.is_plain() {
            let text = format!("its folder {} has a form that the driver doesn't read back", note.folder);
            return Err(self.record(&text));
        }
        let bytes = serde_json::to_vec(&note).map_err(|error| self.record(&error.to_string()))?;
        place.write("note the machine", &place.note(), bytes)?;
        place.run("make the machine's folder", &["sh", "-c", FOLDER, &note.folder, &claim.id])?;
        self.step("making its disks");
        let boot = self.boot_disk(&note)?;
        for (volume, noted) in wanted.volumes.iter().zip(&note.volumes) {
            self.volume(&note, volume, noted)?;
        }
        let seed = format!("{}/{}-{SEED}", note.folder, claim.id);
        let id = names::uuid(claim, &wanted.name);
        place.write("write the guest's settings", &seed, first_boot_disk(&guest, &macs, &key, &id))?;
        self.start(&note, &guest, &macs, boot, seed)?;
        Ok(note)
    }

    fn note(&self, host_key: &str) -> Note {
        let (wanted, claim) = (self.wanted, self.claim);
        let base = wanted.folder.clone().unwrap_or_else(|| super::place::root(self.place.at));
        let file = |volume: &WantedVolume| match volume.pool {
            None => format!("{}-{}.{}", claim.id, volume.name, volume.format),
            Some(_) => names::in_pool(&claim.id, &wanted.name, &volume.name),
        };
        let volumes = wanted.volumes.iter().map(|volume| NotedVolume {
            name: volume.name.clone(),
            file: file(volume),
            pool: volume.pool.clone(),
            size_bytes: volume.size_bytes,
        });
        Note {
            claim: claim.clone(),
            machine: wanted.name.clone(),
            uuid: names::uuid(claim, &wanted.name),
            folder: names::folder(&base, &claim.id, &wanted.name),
            image: self.image.digest.clone(),
            volumes: volumes.collect(),
            host_key: host_key.to_owned(),
        }
    }

    fn guest(&self) -> NewGuest {
        let wanted = self.wanted;
        NewGuest {
            name: names::domain(self.claim, &wanted.name),
            hostname: wanted.name.trim_end_matches('-').to_owned(),
            uuid: Some(names::uuid(self.claim, &wanted.name)),
            memory_mib: wanted.memory_mib,
            vcpus: wanted.vcpus,
            disks: Vec::new(),
            nics: vec![Nic::plain(wanted.network.clone())],
            resolvers: Vec::new(),
            search: None,
            keys: vec![self.key.trim().to_owned()],
            first_boot: None,
            autostart: false,
            full_copy: false,
            emulated: wanted.emulate,
        }
    }

    /// Makes the boot disk, a layer over the image. Its name can't be a volume's, which begins with a letter.
    fn boot_disk(&self, note: &Note) -> Result<DiskFile, GuestError> {
        let (at, image) = (self.place.at, self.image);
        let path = format!("{}/{}-0.qcow2", note.folder, note.claim.id);
        let size = self.wanted.disk_size.unwrap_or(image.virtual_bytes);
        if size < image.virtual_bytes {
            let (image, needed) = (image.name.clone(), image.virtual_bytes);
            return Err(GuestError::Small { image, asked: size, needed });
        }
        let (from, format, size) = (image.disk(at), image.disk_format.name(), size.to_string());
        let words =
            ["qemu-img", "create", "-q", "-f", "qcow2", "-F", format, "-b", &from, "--", &path, &size];
        self.place.run("make the boot disk", &words)?;
        Ok(DiskFile {
            path,
            pool: None,
            format: "qcow2",
            bus: "virtio",
            read_only: false,
            tuning: Tuning::default(),
        })
    }

    fn volume(&self, note: &Note, volume: &WantedVolume, noted: &NotedVolume) -> Result<(), GuestError> {
        if let Some(pool) = &volume.pool {
            pools::make(self.place, pool, &noted.file, volume.size_bytes)?;
        } else {
            let path = noted.id(&note.folder);
            let size = volume.size_bytes.to_string();
            let how = format!("preallocation={}", volume.preallocation);
            let words = ["qemu-img", "create", "-q", "-f", volume.format, "-o", &how, "--", &path, &size];
            self.place.run("make the volume", &words)?;
        }
        self.tell.made(resource(ResourceKind::Volume, noted.id(&note.folder), &volume.name));
        Ok(())
    }

    fn start(
        &self,
        note: &Note,
        guest: &NewGuest,
        macs: &[Mac],
        boot: DiskFile,
        seed: String,
    ) -> Result<(), GuestError> {
        let at = self.place.at;
        let volumes = self.wanted.volumes.iter().zip(&note.volumes).map(|(volume, noted)| DiskFile {
            path: match &noted.pool {
                None => noted.id(&note.folder),
                Some(_) => noted.file.clone(),
            },
            pool: noted.pool.clone(),
            format: volume.format,
            bus: volume.bus,
            read_only: false,
            tuning: Tuning {
                serial: Some(names::serial(self.claim, &self.wanted.name, &volume.name)),
                ..volume.tuning.clone()
            },
        });
        let seed = DiskFile {
            path: seed,
            pool: None,
            format: "raw",
            bus: "virtio",
            read_only: true,
            tuning: Tuning::default(),
        };
        let disks: Vec<DiskFile> = std::iter::once(boot).chain(volumes).chain([seed]).collect();
        let kernel = self.image.kernel(at);
        let kernel = kernel.map(|(kernel, initrd)| Boot { kernel, initrd, cmdline: CMDLINE.to_owned() });
        let text = |cpu| {
            let host = Host { arch: at.arch().to_owned(), cpu };
            description(guest, macs, &disks, kernel.as_ref(), &host, &note.element(), Some(&note.image))
        };
        let before = self.place.guard();
        let starting = Starting { at, domain: &note.uuid, emulated: guest.emulated, before: &before };
        starting.start(&text, &|line| self.step(line))?;
        self.tell.made(resource(ResourceKind::Machine, note.uuid.clone(), &guest.name));
        Ok(())
    }

    fn step(&self, text: &str) {
        self.tell.step(Some(&self.wanted.name), text);
    }

    fn record(&self, why: &str) -> GuestError {
        GuestError::Record {
            machine: self.place.at.name().to_owned(),
            guest: self.wanted.name.clone(),
            why: why.to_owned(),
        }
    }
}

/// A resource for the driver's events.
pub(super) fn resource(kind: ResourceKind, id: String, name: &str) -> Resource {
    Resource { kind, id, name: name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::Making;
    use crate::drivers::libvirt::note::tests::{at, note};
    use crate::drivers::libvirt::place::{Place, root};
    use crate::drivers::libvirt::settings::read;
    use driver::protocol::MachineRequest;
    use driver::serve::Teller;
    use serde_json::json;

    #[test]
    fn nothing_is_made_that_destroy_would_not_find() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("a")).unwrap();
        let at = at(&dir.path().join("a/.."));
        let request = json!({"name": "big", "settings": {"host": "local", "image": "x"}, "volumes": []});
        let wanted = read(&[serde_json::from_value::<MachineRequest>(request).unwrap()]).unwrap().remove(0);
        let image = serde_json::from_value(json!({
            "format": 1, "digest": "ab".repeat(32), "name": "x", "disk_format": "qcow2", "virtual_bytes": 1 << 20, "file_bytes": 1,
            "has_kernel": false, "source": "s", "imported": 1,
        }));
        let claim = note().claim;
        let place = Place::take(&at, &claim.id, "big", "1".to_owned()).unwrap();
        let mut output = Vec::new();
        let tell = Teller::new(&mut output);
        let making = Making {
            place: &place,
            claim: &claim,
            wanted: &wanted,
            image: &image.unwrap(),
            key: "ssh-ed25519 AAAA",
            tell: &tell,
        };
        let error = making.make().unwrap_err().to_string();
        assert!(error.contains("doesn't read back"), "{error}");
        assert!(!std::path::Path::new(&place.note()).exists());
        assert!(!std::path::Path::new(&root(&at)).join(format!("diskproof-{}-big", claim.id)).exists());
    }
}
