//! What diskproof notes about a guest that it makes: in the guest's folder before it makes anything else, and in libvirt's own description of
//! the guest. Only what both name is ever removed.

use super::error::GuestError;
use super::escape::{escaped, unescaped};
use super::guest_name;
use super::request::is_public_key;
use crate::at::At;
use crate::images::is_digest;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

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

    /// Whether all fields are such as diskproof writes them. The note comes from another machine, and parts of it become file names, words
    /// of commands, and lines of the user's configuration of ssh: no path leads out of the folder, and no text has a second meaning.
    pub(super) fn is_plain(&self, guest: &str) -> bool {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
        let is_name =
            |name: &String| !name.is_empty() && !name.starts_with('.') && name.chars().all(is_plain);
        let is_folder = self.folder.starts_with('/')
            && self.folder.ends_with(&format!("/guests/{guest}"))
            && !self.folder.split('/').any(|part| part == "..");
        let is_key_char = |c: char| c.is_ascii_alphanumeric() || " +/=@._-:".contains(c);
        guest_name::check(guest).is_ok()
            && is_folder
            && !self.folder.contains(char::is_control)
            && self.files.iter().all(is_name)
            && self.images.iter().all(|image| is_digest(image))
            && self.address.as_ref().is_none_or(|address| address.parse::<IpAddr>().is_ok())
            && is_public_key(&self.host_key)
            && self.host_key.chars().all(is_key_char)
            && !self.id.is_empty()
            && self.id.chars().all(|c| c.is_ascii_hexdigit())
    }
}

/// Returns the note about a guest; `None`: diskproof didn't make it.
pub(crate) fn note(at: &At, guest: &str) -> Result<Option<Note>, GuestError> {
    guest_name::check_for_virsh(at, guest)?;
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
        false => Err(wrong("the note in its description isn't one that diskproof writes")),
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
            images: vec!["ab".repeat(32)],
            address: None,
            host_key: "ssh-ed25519 AAAAC3Nz+/= web".to_owned(),
            made: false,
        }
    }

    #[test]
    fn libvirt_gives_back_what_it_was_given() {
        let note = Note { host_key: "ssh-ed25519 AAAA <&>'\"".to_owned(), ..note() };
        let element = note.element().unwrap();
        assert_eq!(Note::from_element(&format!("{element}\n\n")), Some(note));
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

    #[test]
    fn a_note_has_nothing_that_the_configuration_of_ssh_would_take_for_a_setting() {
        assert!(Note { address: Some("fe80::1".to_owned()), ..note() }.is_plain("web"));
        let address = "10.0.0.1\n  ProxyCommand touch /tmp/x".to_owned();
        assert!(!Note { address: Some(address), ..note() }.is_plain("web"));
        for end in ["\n  ProxyCommand x", "\" x", "%h", "\\", "$(x)"] {
            let host_key = format!("{}{end}", note().host_key);
            assert!(!Note { host_key, ..note() }.is_plain("web"), "{end}");
        }
        assert!(!Note { host_key: "AAAA".to_owned(), ..note() }.is_plain("web"));
        assert!(!Note { images: vec!["../x".to_owned()], ..note() }.is_plain("web"));
        for guest in ["a b", "*", "a\n"] {
            assert!(!Note { folder: format!("/x/guests/{guest}"), ..note() }.is_plain(guest), "{guest}");
        }
    }
}
