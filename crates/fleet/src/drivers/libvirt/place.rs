//! A claim's own folder on a host: a note and a lock for each machine. Every change of `create` holds the machine's lock, also after the
//! driver was killed, since the command itself holds it. So `destroy` can wait until the last one has ended, and none begins later.

use crate::at::{At, AtError};
use std::time::Duration;

/// Makes the claim's folder, `$0`, and puts a machine, `$1`, under a token, `$2`: commands with an older one are refused from now on.
const TAKE: &str = r#"umask 022; mkdir -p -- "$0" || exit 1
exec 9>>"$0/$1.lock"; flock 9 || exit 1
if [ -e "$0/ending" ]; then echo "an earlier destroy of this claim came to no end: destroy it first" >&2; exit 1; fi
printf %s "$2" >"$0/$1.token.tmp" && mv -f -- "$0/$1.token.tmp" "$0/$1.token""#;
/// Runs a command under a machine's lock while its token is current.
const GUARDED: &str = r#"d=$0; m=$1; t=$2; shift 2; exec 9>>"$d/$m.lock"; flock 9 || exit 1
if [ -e "$d/ending" ] || [ "$(cat -- "$d/$m.token")" != "$t" ]; then echo "another create or destroy of the same claim is at work" >&2; exit 1; fi
exec "$@""#;
/// Writes a file whole. What a note names is made after it, so the note must be on the disk before: also for a host that loses power.
pub(super) const WRITE: &str =
    r#"umask 077; cat >"$0.tmp" && sync -- "$0.tmp" && mv -f -- "$0.tmp" "$0" && sync -- "${0%/*}""#;
/// Refuses further changes for a claim, and waits until the last one has ended.
const END: &str = r#"[ -d "$0" ] || exit 0
: >"$0/ending" || exit 1
for lock in "$0"/*.lock; do if [ -e "$lock" ]; then flock "$lock" true || exit 1; fi; done"#;
/// Removes a claim's folder once nothing of the claim is left. Prints what it removed.
const FORGET: &str = r#"[ -d "$0" ] || exit 0
cd "$0" && rm -f -- *.json *.tmp *.token *.lock ending && cd / && rmdir -- "$0" && echo gone"#;
/// Prints the names of a claim's files, `$1-*`, in a folder, `$0`.
const FILES: &str = r#"if [ -L "$0" ] || ! cd "$0" 2>/dev/null; then exit 0; fi
for f in "$1"-*; do if [ -e "$f" ]; then printf '%s\n' "$f"; fi; done"#;
/// Longest wait for the last change, which may be the copy of an image.
const LAST: Duration = Duration::from_secs(3600);

/// The folder of all claims.
pub(super) fn root(at: &At) -> String {
    at.state("driver")
}

/// Where the claims of a host are: another user of the host has another folder.
pub(super) fn account(at: &At) -> String {
    format!("{}:{}", at.name(), root(at))
}

/// A machine of a claim on a host, while it is made.
pub(super) struct Place<'a> {
    pub(super) at: &'a At,
    machine: &'a str,
    folder: String,
    token: String,
}

impl<'a> Place<'a> {
    /// Takes the machine over from an earlier `create` of it.
    pub(super) fn take(at: &'a At, claim: &str, machine: &'a str, token: String) -> Result<Self, AtError> {
        let folder = format!("{}/{claim}", root(at));
        at.run_long("begin the machine", &["sh", "-c", TAKE, &folder, machine, &token], LAST)?;
        Ok(Self { at, machine, folder, token })
    }

    /// The words before a command that changes something.
    pub(super) fn guard(&self) -> [&str; 6] {
        ["sh", "-c", GUARDED, &self.folder, self.machine, &self.token]
    }

    /// Runs a command that changes something.
    pub(super) fn run(&self, doing: &'static str, words: &[&str]) -> Result<String, AtError> {
        self.at.run_long(doing, &[&self.guard(), words].concat(), LAST)
    }

    /// Writes a file.
    pub(super) fn write(&self, doing: &'static str, path: &str, bytes: Vec<u8>) -> Result<(), AtError> {
        self.at.feed(doing, &[&self.guard()[..], &["sh", "-c", WRITE, path]].concat(), bytes)?;
        Ok(())
    }

    /// The file of the note.
    pub(super) fn note(&self) -> String {
        format!("{}/{}.json", self.folder, self.machine)
    }
}

/// Refuses further changes for a claim, and waits until the last one has ended.
pub(super) fn end(at: &At, claim: &str) -> Result<(), AtError> {
    at.run_long("wait for an earlier create", &["sh", "-c", END, &format!("{}/{claim}", root(at))], LAST)?;
    Ok(())
}

/// Removes a claim's folder. Returns whether there was one.
pub(super) fn forget(at: &At, claim: &str) -> Result<bool, AtError> {
    let said =
        at.run("remove the driver's notes", &["sh", "-c", FORGET, &format!("{}/{claim}", root(at))])?;
    Ok(said.contains("gone"))
}

/// The names of a claim's files in a folder.
pub(super) fn files(at: &At, folder: &str, claim: &str) -> Result<Vec<String>, AtError> {
    let said = at.run("look for the claim's files", &["sh", "-c", FILES, folder, claim])?;
    Ok(said.lines().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::{Place, end, forget};
    use crate::drivers::libvirt::note::tests::at;

    #[test]
    fn a_command_of_an_earlier_create_is_refused_and_so_is_one_after_the_end() {
        let dir = tempfile::tempdir().unwrap();
        let at = at(dir.path());
        let first = Place::take(&at, "c", "m", "1".to_owned()).unwrap();
        assert_eq!(first.run("print", &["echo", "a b"]).unwrap(), "a b\n");
        first.write("write", &first.note(), b"x".to_vec()).unwrap();
        let second = Place::take(&at, "c", "m", "2".to_owned()).unwrap();
        assert!(first.run("print", &["echo"]).unwrap_err().to_string().contains("another create"));
        second.run("print", &["echo"]).unwrap();
        end(&at, "c").unwrap();
        assert!(second.run("print", &["echo"]).is_err());
        assert!(Place::take(&at, "c", "m", "3".to_owned()).is_err(), "a claim that ends takes no machine");
        assert!(forget(&at, "c").unwrap() && !forget(&at, "c").unwrap());
        assert!(second.run("print", &["echo"]).is_err(), "nothing makes the folder again");
        assert_eq!(std::fs::read_dir(dir.path().join("driver")).unwrap().count(), 0);
        Place::take(&at, "c", "m", "3".to_owned()).unwrap();
    }

    #[test]
    fn the_end_waits_for_a_command_that_its_driver_left() {
        let dir = tempfile::tempdir().unwrap();
        let at = at(dir.path());
        let place = Place::take(&at, "c", "m", "1".to_owned()).unwrap();
        let file = dir.path().join("late");
        let path = file.to_string_lossy().into_owned();
        std::thread::scope(|scope| {
            let slow = scope.spawn(|| {
                place.run("be slow", &["sh", "-c", r#"echo >"$0.began"; sleep 0.5; echo >"$0""#, &path])
            });
            while !dir.path().join("late.began").exists() {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            end(&at, "c").unwrap();
            assert!(file.exists(), "the end came before the command's");
            slow.join().unwrap().unwrap();
        });
    }
}
