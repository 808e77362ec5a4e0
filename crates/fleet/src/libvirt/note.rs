//! What diskproof notes about a guest that it makes: in the guest's folder before it makes anything else, and in libvirt's own description of
//! the guest. Only what both name is ever removed.

use super::error::GuestError;
use super::escape::{escaped, unescaped};
use crate::at::At;
use serde::{Deserialize, Serialize};

/// The namespace of the note in libvirt's description of a guest.
pub(super) const NAMESPACE: &str = "diskproof:guest:1";
/// The file of the note, in the guest's folder.
pub(super) const FILE: &str = "guest.json";

/// A note about a guest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Note {
    /// The note's own number, random: a folder with another one is of another guest.
    pub(crate) id: String,
    /// The folder of its files.
    pub(crate) folder: String,
    /// Names of the files that were made in it.
    pub(crate) files: Vec<String>,
    /// Digests of the images under its disks.
    pub(crate) images: Vec<String>,
    /// Its address, where it is known beforehand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) address: Option<String>,
    /// The public key of its sshd.
    pub(crate) host_key: String,
    /// Whether the guest is finished, in the note of its folder: nobody but `destroy` removes its disks then.
    #[serde(default)]
    pub(crate) made: bool,
}

impl Note {
    /// The element for libvirt's description.
    pub(super) fn element(&self) -> Result<String, serde_json::Error> {
        let text = escaped(&serde_json::to_string(self)?);
        Ok(format!("<diskproof:guest xmlns:diskproof=\"{NAMESPACE}\">{text}</diskproof:guest>"))
    }

    /// Reads what `virsh metadata` prints.
    fn from_element(said: &str) -> Option<Self> {
        let text = &said[said.find('>')? + 1..];
        serde_json::from_str(&unescaped(&text[..text.rfind("</")?])).ok()
    }

    /// Whether a guest's folder and file names are such as diskproof makes: no path leads out of the folder.
    fn is_plain(&self, guest: &str) -> bool {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
        let is_name =
            |name: &String| !name.is_empty() && !name.starts_with('.') && name.chars().all(is_plain);
        let is_folder = self.folder.starts_with('/')
            && self.folder.ends_with(&format!("/guests/{guest}"))
            && !self.folder.split('/').any(|part| part == "..");
        is_folder && self.files.iter().all(is_name) && !self.id.is_empty()
    }
}

/// Returns the note about a guest; `None`: diskproof didn't make it.
pub(crate) fn note(at: &At, guest: &str) -> Result<Option<Note>, GuestError> {
    let words = ["metadata", "--domain", guest, "--uri", NAMESPACE];
    let said = match at.virsh("read its description", &words) {
        Ok(said) => said,
        Err(crate::at::AtError::Failed { said, .. }) if said.contains("metadata") => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let wrong = |why: &str| GuestError::Record {
        machine: at.name().to_owned(),
        guest: guest.to_owned(),
        why: why.to_owned(),
    };
    let note = Note::from_element(&said).ok_or_else(|| wrong("the note in its description can't be read"))?;
    match note.is_plain(guest) {
        true => Ok(Some(note)),
        false => Err(wrong("the note in its description names files outside of its folder")),
    }
}

#[cfg(test)]
mod tests {
    use super::Note;

    fn note() -> Note {
        Note {
            id: "a1".to_owned(),
            folder: "/var/lib/diskproof/guests/web".to_owned(),
            files: vec!["disk0.qcow2".to_owned(), "seed.iso".to_owned()],
            images: vec!["ab".to_owned()],
            address: None,
            host_key: "ssh-ed25519 AAAA <&>'\"".to_owned(),
            made: false,
        }
    }

    #[test]
    fn libvirt_gives_back_what_it_was_given() {
        let element = note().element().unwrap();
        assert_eq!(Note::from_element(&format!("{element}\n\n")), Some(note()));
        assert!(!element.contains("<&>"), "{element}");
        assert_eq!(Note::from_element("error: x"), None);
    }

    #[test]
    fn a_note_that_somebody_changed_leads_nowhere_else() {
        assert!(note().is_plain("web") && !note().is_plain("other"));
        for folder in ["/etc", "guests/web", "/x/../guests/web"] {
            assert!(!Note { folder: folder.to_owned(), ..note() }.is_plain("web"), "{folder}");
        }
        for file in ["../disk", "/etc/passwd", "", ".", "a b", "-rf/x"] {
            assert!(!Note { files: vec![file.to_owned()], ..note() }.is_plain("web"), "{file}");
        }
    }
}
