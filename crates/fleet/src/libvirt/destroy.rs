//! Removes a guest that diskproof made, with the files that it made for it, and no others.

use super::error::GuestError;
use super::note::{FILE, note};
use super::power::{Stop, stop};
use crate::at::At;

/// Prints the note in a guest's folder.
const READ: &str = r#"if [ -f "$0/$1" ] && ! [ -L "$0" ]; then cat "$0/$1"; fi"#;
/// Removes files of a folder, then the note (`$1`), without which nobody could remove them later, and the folder if it is empty then. Prints
/// what is left.
const REMOVE: &str = r#"d=$0; note=$1; shift; cd "$d" || exit 1
rm -f -- "$@" && rm -f -- "$note" && cd / && { rmdir -- "$d" 2>/dev/null || ls -A -- "$d"; }"#;

/// A removed guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destroyed {
    /// The folder, if files are left in it that diskproof didn't make, and their names.
    pub left: Option<(String, Vec<String>)>,
}

/// Removes a guest. Its files go first: as long as libvirt knows it, this can be repeated.
///
/// # Errors
/// diskproof didn't make it, its note doesn't fit, or libvirt can't remove it.
pub fn destroy(at: &At, guest: &str) -> Result<Destroyed, GuestError> {
    let (machine, name) = (at.name().to_owned(), guest.to_owned());
    let Some(note) = note(at, guest)? else { return Err(GuestError::NotOurs { machine, guest: name }) };
    let said = at.run("read the note in its folder", &["sh", "-c", READ, &note.folder, FILE])?;
    let has_folder = match said.trim() {
        // An earlier try removed them.
        "" => false,
        said => {
            let found: Option<serde_json::Value> = serde_json::from_str(said).ok();
            let id = found.as_ref().and_then(|found| found.get("id")?.as_str());
            if id != Some(note.id.as_str()) {
                let why = format!("the folder {} is another guest's", note.folder);
                return Err(GuestError::Record { machine, guest: name, why });
            }
            true
        }
    };
    stop(at, guest, Stop::SwitchOff)?;
    let mut left = None;
    if has_folder {
        let mut words = vec!["sh", "-c", REMOVE, note.folder.as_str(), FILE];
        words.extend(note.files.iter().map(String::as_str));
        let said = at.run("remove its files", &words)?;
        let others: Vec<String> = said.lines().map(str::to_owned).collect();
        left = (!others.is_empty()).then(|| (note.folder.clone(), others));
    }
    // Without these options libvirt keeps a guest that has snapshots, while its disks are gone already.
    let all = ["--managed-save", "--nvram", "--snapshots-metadata", "--checkpoints-metadata"];
    at.virsh("remove the guest", &[&["undefine", "--domain", guest][..], &all].concat())?;
    Ok(Destroyed { left })
}

#[cfg(test)]
mod tests {
    use super::{FILE, REMOVE};
    use crate::at::{At, AtOptions, here};
    use crate::link::Reach;

    #[test]
    fn the_note_stays_as_long_as_a_disk_does() {
        let reach = Reach { ssh_config: None, connect_seconds: 3 };
        let at = At::open(&here(), &AtOptions { reach, state_dir: "/nowhere".into(), sudo: false }).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("web");
        // `rm -f` doesn't remove a directory, also as root.
        std::fs::create_dir_all(folder.join("disk0.qcow2")).unwrap();
        for name in [FILE, "seed.iso", "mine"] {
            std::fs::write(folder.join(name), "").unwrap();
        }
        let path = folder.to_string_lossy().into_owned();
        let remove = || at.run("remove", &["sh", "-c", REMOVE, &path, FILE, "disk0.qcow2", "seed.iso"]);
        remove().unwrap_err();
        assert!(folder.join(FILE).exists());
        std::fs::remove_dir(folder.join("disk0.qcow2")).unwrap();
        assert_eq!(remove().unwrap(), "mine\n");
        std::fs::remove_file(folder.join("mine")).unwrap();
        assert_eq!(remove().unwrap(), "");
        assert!(!folder.exists());
    }
}
