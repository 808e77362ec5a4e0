//! What the driver notes about a machine: in a file of the host before it makes anything else, and in libvirt's metadata of the guest.

use super::names::{self, is_claim_id, is_name};
use super::pools;
use crate::at::{At, AtError};
use crate::images::is_digest;
use crate::libvirt::{escaped, is_public_key, unescaped};
use driver::protocol::Claim;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The namespace in libvirt's metadata.
pub(super) const NAMESPACE: &str = "diskproof:driver:1";
/// Prints `UUID METADATA` for each guest of the host with metadata of the namespace, `$0`; the other arguments run virsh. A guest that goes
/// meanwhile is none; any other failure is one, since what isn't seen would not be removed.
const GUESTS: &str = r#"all=$("$@" list --all --uuid) || exit 1
for u in $all; do
    if said=$("$@" metadata --domain "$u" --uri "$0" 2>&1); then printf '%s %s\n' "$u" "$(printf %s "$said" | tr '\n' ' ')"
    else case $said in
        *"metadata not found"*|*"failed to get domain"*|*"no domain with matching"*) ;;
        *) printf '%s: %s\n' "$u" "$said" >&2; exit 1 ;;
    esac fi
done"#;
/// Prints `FILE`, a tab and the note for each note below `$0` that matches a name, one a line.
const NOTES: &str = r#"for note in "$0"/$1/*.json; do if [ -f "$note" ]; then
    printf '%s\t' "$note" && tr '\n' ' ' <"$note" && echo || exit 1
fi; done; exit 0"#;

/// A note about a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Note {
    /// Whose it is.
    pub(super) claim: Claim,
    /// The machine's name in the request.
    pub(super) machine: String,
    /// The guest's UUID: metadata that was copied to another guest names the first one.
    pub(super) uuid: String,
    /// The folder of its files.
    pub(super) folder: String,
    /// The digest of the image under its boot disk.
    pub(super) image: String,
    /// Its volumes.
    pub(super) volumes: Vec<NotedVolume>,
    /// The public key of its sshd.
    pub(super) host_key: String,
}

/// A volume of a note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct NotedVolume {
    /// Its name in the request.
    pub(super) name: String,
    /// The name of its file in the folder, or of the volume in the pool.
    pub(super) file: String,
    /// The storage pool that has it; `None`: the folder has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) pool: Option<String>,
    /// Its size.
    pub(super) size_bytes: u64,
}

impl NotedVolume {
    /// Its id for people and for events.
    pub(super) fn id(&self, folder: &str) -> String {
        format!("{}/{}", self.pool.as_deref().unwrap_or(folder), self.file)
    }
}

impl Note {
    /// The element for libvirt's description.
    pub(super) fn element(&self) -> String {
        // A structure of texts and numbers has a form in JSON.
        let text = serde_json::to_string(self).unwrap_or_default();
        format!("<diskproof:machine xmlns:diskproof=\"{NAMESPACE}\">{}</diskproof:machine>", escaped(&text))
    }

    /// Reads what `virsh metadata` prints.
    fn from_element(said: &str) -> Option<Self> {
        let text = &said[said.find('>')? + 1..];
        serde_json::from_str(&unescaped(&text[..text.rfind("</")?])).ok()
    }

    /// The storage pools that have volumes of it.
    pub(super) fn pools(&self) -> BTreeSet<String> {
        self.volumes.iter().filter_map(|volume| volume.pool.clone()).collect()
    }

    /// Whether all fields are such as the driver writes them. Parts of it become paths and words of commands.
    pub(super) fn is_plain(&self) -> bool {
        let is_file = |volume: &NotedVolume| match &volume.pool {
            None => volume.file.starts_with(&self.claim.id) && !volume.file.contains('/'),
            Some(pool) => {
                pools::is_name(pool)
                    && volume.file == names::in_pool(&self.claim.id, &self.machine, &volume.name)
            }
        };
        is_claim_id(&self.claim.id)
            && is_name(&self.machine)
            && self.uuid == names::uuid(&self.claim, &self.machine)
            && self.folder.starts_with('/')
            && self.folder.ends_with(&names::folder("", &self.claim.id, &self.machine))
            && !self.folder.split('/').any(|part| part == "..")
            && !self.folder.contains(char::is_control)
            && self.volumes.iter().all(|volume| is_name(&volume.name) && is_file(volume))
            && is_digest(&self.image)
            && is_public_key(&self.host_key)
    }
}

/// A guest with a note in its metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Guest {
    /// The guest's own UUID.
    pub(super) uuid: String,
    /// The note.
    pub(super) note: Note,
}

impl Guest {
    /// Whether it is the guest that the note was written for, and no copy of it.
    pub(super) fn is_original(&self) -> bool {
        self.uuid == self.note.uuid
    }
}

/// The guests of a host with a note that the driver wrote.
pub(super) fn guests(at: &At) -> Result<Vec<Guest>, AtError> {
    at.needs("virsh", "libvirt-clients")?;
    let words = [&["sh", "-c", GUESTS, NAMESPACE], at.virsh_words(&[]).as_slice()].concat();
    Ok(read_guests(&at.run_long(
        "look for the claim's guests",
        &words,
        std::time::Duration::from_secs(300),
    )?))
}

fn read_guests(said: &str) -> Vec<Guest> {
    let guest = |line: &str| {
        let (uuid, element) = line.split_once(' ')?;
        let note = Note::from_element(element).filter(Note::is_plain)?;
        Some(Guest { uuid: uuid.to_owned(), note })
    };
    said.lines().filter_map(guest).collect()
}

/// The notes in the files of a host.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// Those that the driver wrote.
    pub(super) read: Vec<Note>,
    /// Files with anything else in them, e.g. cut short by a loss of power: what they name isn't known.
    pub(super) unread: Vec<String>,
}

/// The notes in the files of a host: of one claim, or of all (`*`).
pub(super) fn notes(at: &At, claim: &str) -> Result<Notes, AtError> {
    let said = at.run("read the driver's notes", &["sh", "-c", NOTES, &super::place::root(at), claim])?;
    let mut notes = Notes::default();
    for line in said.lines() {
        let (file, text) = line.split_once('\t').unwrap_or((line, ""));
        match serde_json::from_str::<Note>(text) {
            Ok(note) if note.is_plain() && (claim == "*" || note.claim.id == claim) => notes.read.push(note),
            _ => notes.unread.push(file.to_owned()),
        }
    }
    Ok(notes)
}

#[cfg(test)]
pub(super) mod tests {
    use super::{Note, NotedVolume, notes, read_guests};
    use crate::at::{At, AtOptions, here};
    use crate::drivers::libvirt::names;
    use crate::link::Reach;
    use driver::protocol::Claim;

    /// This machine as a host, with its notes below `dir`.
    pub(in crate::drivers::libvirt) fn at(dir: &std::path::Path) -> At {
        let reach = Reach { ssh_config: None, connect_seconds: 3 };
        At::open(&here(), &AtOptions { reach, state_dir: dir.to_owned(), sudo: false }).unwrap()
    }

    #[test]
    fn a_file_that_is_no_note_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let note = note();
        let folder = dir.path().join("driver").join(&note.claim.id);
        std::fs::create_dir_all(&folder).unwrap();
        let whole = serde_json::to_string(&note).unwrap();
        for (name, text) in
            [("big", whole.as_str()), ("cut", &whole[..90]), ("empty", ""), ("lines", "a\n\nb")]
        {
            std::fs::write(folder.join(format!("{name}.json")), text).unwrap();
        }
        for claim in ["*", &note.claim.id] {
            let found = notes(&at(dir.path()), claim).unwrap();
            assert_eq!(found.read, std::slice::from_ref(&note), "{claim}");
            let names = ["cut", "empty", "lines"].map(|name| folder.join(format!("{name}.json")));
            assert_eq!(found.unread, names.map(|path| path.to_string_lossy().into_owned()), "{claim}");
        }
    }

    pub(in crate::drivers::libvirt) fn note() -> Note {
        let claim = Claim { id: "ab".repeat(16), run: "it's <r>".to_owned(), deadline: 7 };
        let volume = NotedVolume {
            name: "gp".to_owned(),
            file: format!("{}-gp.raw", claim.id),
            pool: None,
            size_bytes: 1,
        };
        Note {
            machine: "big".to_owned(),
            uuid: names::uuid(&claim, "big"),
            folder: names::folder("/srv", &claim.id, "big"),
            image: "ab".repeat(32),
            volumes: vec![volume],
            host_key: "ssh-ed25519 AAAAC3Nz".to_owned(),
            claim,
        }
    }

    #[test]
    fn metadata_is_read_back_and_a_copy_is_told_from_the_original() {
        let note = note();
        let said = format!("{} {}\n1-2 {}\n3-4 error\n", note.uuid, note.element(), note.element());
        let found = read_guests(&said);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].note, note);
        assert!(found[0].is_original() && !found[1].is_original());
    }

    #[test]
    fn a_note_that_somebody_changed_leads_nowhere_else() {
        assert!(note().is_plain());
        for folder in ["/", "/etc", "srv/diskproof", "/x/../y"] {
            assert!(!Note { folder: folder.to_owned(), ..note() }.is_plain(), "{folder}");
        }
        let up = note().folder.replace("/srv", "/srv/..");
        assert!(!Note { folder: up, ..note() }.is_plain());
        assert!(!Note { machine: "other".to_owned(), ..note() }.is_plain());
        assert!(!Note { uuid: "x".to_owned(), ..note() }.is_plain());
        let claim = Claim { id: "*".repeat(32), ..note().claim };
        assert!(!Note { claim, ..note() }.is_plain());
        let mut moved = note();
        moved.volumes[0].file = format!("{}/../../etc/passwd", moved.claim.id);
        assert!(!moved.is_plain());
        let mut pooled = note();
        pooled.volumes[0].pool = Some("vg0".to_owned());
        assert!(!pooled.is_plain(), "a file's name in a pool");
        pooled.volumes[0].file = names::in_pool(&pooled.claim.id, "big", "gp");
        assert!(pooled.is_plain());
        pooled.volumes[0].pool = Some("--all".to_owned());
        assert!(!pooled.is_plain());
    }
}
