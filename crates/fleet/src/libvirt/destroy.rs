//! Removes a guest that diskproof made, with the files that it made for it, and no others.

use super::error::GuestError;
use super::note::{FILE, note};
use super::power::{Stop, stop};
use crate::at::At;

/// Prints the note in a guest's folder.
const READ: &str = r#"if [ -f "$0/$1" ] && ! [ -L "$0" ]; then cat "$0/$1"; fi"#;
/// Removes files of a folder, and the folder if it is empty then. Prints what is left.
const REMOVE: &str =
    r#"d=$0; cd "$d" || exit 1; rm -f -- "$@" && cd / && { rmdir -- "$d" 2>/dev/null || ls -A -- "$d"; }"#;

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
        let mut words = vec!["sh", "-c", REMOVE, note.folder.as_str()];
        words.extend(note.files.iter().map(String::as_str));
        // The note goes last, with the folder.
        words.push(FILE);
        let said = at.run("remove its files", &words)?;
        let others: Vec<String> = said.lines().map(str::to_owned).collect();
        left = (!others.is_empty()).then(|| (note.folder.clone(), others));
    }
    at.virsh("remove the guest", &["undefine", "--domain", guest, "--managed-save", "--nvram"])?;
    Ok(Destroyed { left })
}
