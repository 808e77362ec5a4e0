//! Removes what a build made that came to no end. A folder may hold the only copy of somebody's data, so it is removed only where its note
//! proves that no guest has it: nobody's by the note's `made`, this build's own by the note's id.

use super::domain::domains;
use super::error::GuestError;
use super::note::{FILE, note};
use crate::at::{At, AtError};

/// Removes a folder that a build left which was interrupted: only files that a build makes. It refuses the folder of a finished guest, and
/// one that another build may be writing to. `$1` is the name of the note.
const SWEEP: &str = r#"d=$0
[ -d "$d" ] && ! [ -L "$d" ] || exit 0
if grep -q '"made":true' "$d/$1" 2>/dev/null; then
echo "$d has the disks of a finished guest that libvirt doesn't know any more: define that guest again, move the folder away, or remove it if nobody needs the disks" >&2; exit 1; fi
if [ -n "$(find "$d" -mmin -10)" ]; then
echo "a file in $d changed within the last 10 minutes, so another build may be at work: wait for it, or remove the folder if there is none" >&2; exit 1; fi
cd "$d" && rm -f -- "$1.tmp" seed.iso seed.iso.tmp disk[0-9].qcow2 disk[0-9].raw && rm -f -- "$1" && cd / && rmdir -- "$d" && echo swept"#;
/// Removes the folder of a build if its note has the build's own id, `$2`.
const UNDO: &str = r#"d=$0
! [ -L "$d" ] && grep -qF "\"id\":\"$2\"" "$d/$1" || exit 0
cd "$d" && rm -f -- "$1.tmp" seed.iso seed.iso.tmp disk[0-9].qcow2 disk[0-9].raw && rm -f -- "$1" && cd / && rmdir -- "$d""#;

/// Removes the folder that an interrupted build of a guest left, where libvirt knows no guest of that name. Returns whether there was one.
///
/// # Errors
/// It is the folder of a finished guest, or changed within 10 minutes; the text names it and the way out.
pub(super) fn sweep(at: &At, folder: &str) -> Result<bool, AtError> {
    let said = at.run("make the guest", &["sh", "-c", SWEEP, folder, FILE])?;
    Ok(said.contains("swept"))
}

/// Removes what the build with an id made, as far as it can: neither a guest nor a folder that is somebody else's by now, and no disks of a
/// guest that libvirt still has.
pub(super) fn undo(at: &At, guest: &str, folder: &str, id: &str) {
    if removed_guest(at, guest, id).is_ok() {
        let _ = at.run("remove what was made", &["sh", "-c", UNDO, folder, FILE, id]);
    }
}

/// Removes the guest if it is that of the build.
fn removed_guest(at: &At, guest: &str, id: &str) -> Result<(), GuestError> {
    let is_there = domains(at)?.iter().any(|domain| domain.name == guest);
    if is_there && note(at, guest)?.is_some_and(|note| note.id == id) {
        let _ = at.virsh("switch the guest off", &["destroy", "--domain", guest]);
        at.virsh("remove the guest", &["undefine", "--domain", guest])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{FILE, UNDO, sweep};
    use crate::at::{At, AtOptions, here};
    use crate::link::Reach;
    use std::path::Path;
    use std::time::{Duration, SystemTime};

    fn at() -> At {
        let reach = Reach { ssh_config: None, connect_seconds: 3 };
        At::open(&here(), &AtOptions { reach, state_dir: "/nowhere".into(), sudo: false }).unwrap()
    }

    fn folder(dir: &Path, note: &str, minutes: u64) -> String {
        let folder = dir.join("web");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(FILE), note).unwrap();
        std::fs::write(folder.join("disk0.qcow2"), "data").unwrap();
        let then = SystemTime::now() - Duration::from_secs(60 * minutes);
        for path in [folder.join(FILE), folder.join("disk0.qcow2"), folder.clone()] {
            std::fs::File::open(path).unwrap().set_modified(then).unwrap();
        }
        folder.to_string_lossy().into_owned()
    }

    #[test]
    fn only_what_an_interrupted_build_left_is_swept() {
        let dir = tempfile::tempdir().unwrap();
        let at = at();
        let nothing = dir.path().join("web").to_string_lossy().into_owned();
        assert!(!sweep(&at, &nothing).unwrap());
        for (note, minutes, why) in [
            (r#"{"id":"a1","made":true}"#, 60, "finished guest"),
            (r#"{"id":"a1","made":false}"#, 1, "another build"),
        ] {
            let folder = folder(dir.path(), note, minutes);
            let refused = sweep(&at, &folder).unwrap_err().to_string();
            assert!(refused.contains(why) && refused.contains(&folder), "{refused}");
            assert!(Path::new(&folder).join("disk0.qcow2").exists());
        }
        let folder = folder(dir.path(), r#"{"id":"a1","made":false}"#, 60);
        assert!(sweep(&at, &folder).unwrap());
        assert!(!Path::new(&folder).exists());
    }

    #[test]
    fn a_build_removes_its_own_folder_and_no_other_builds() {
        let dir = tempfile::tempdir().unwrap();
        let at = at();
        let folder = folder(dir.path(), r#"{"id":"a1","made":false}"#, 0);
        let undo = |id: &str| at.run("undo", &["sh", "-c", UNDO, &folder, FILE, id]).unwrap();
        undo("b2");
        assert!(Path::new(&folder).join("disk0.qcow2").exists());
        undo("a1");
        assert!(!Path::new(&folder).exists());
    }
}
