//! md arrays.

use super::device_ref::{DeviceRef, devno_of};
use super::doing::{Doing, Reversible, Undoing, Undone};
use super::retry::until_closed;
use super::wipe;
use crate::error::ActError;
use crate::holders;
use crate::layer::md;
use crate::machine::Machine;
use host::{Invocation, Tool};
use record::printable::Shown as _;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

/// The first number that we use: far from those that mdadm assigns (from 127 down) and those in mdadm.conf (from 0 up).
const FIRST_NUMBER: u32 = 200;

/// Creates an array with a UUID that we choose. The undo stops the array of that UUID that these members are in, even if it was
/// assembled under another name meanwhile, and removes the superblocks that carry it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MakeArray {
    /// The array's number: `/dev/md<number>`.
    pub number: u32,
    /// The UUID that we chose, in libblkid's spelling; `args` contains it too.
    pub uuid: String,
    /// Its members.
    pub members: Vec<DeviceRef>,
    /// All arguments of mdadm.
    pub args: Vec<String>,
}

impl fmt::Display for MakeArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let members: Vec<String> =
            self.members.iter().map(|member| member.path.shown().to_string()).collect();
        write!(f, "make the array md{} on {}", self.number, members.join(" "))
    }
}

impl Reversible for MakeArray {
    fn perform(&self, doing: &mut Doing<'_>) -> Result<(), ActError> {
        let create = Invocation::new(Tool::Mdadm).args(&self.args);
        doing.run("make the array", &create).map(|_| ())
    }

    fn undo(&self, undoing: &Undoing<'_>) -> Result<Undone, ActError> {
        let mut undone = Undone::Nothing;
        // A disk that is out of reach comes back only by hand, so there is nothing to wait for.
        let standings: Vec<_> =
            self.members.iter().map(|member| (member, member.standing(undoing))).collect();
        let (there, away): (Vec<_>, Vec<_>) = standings.into_iter().partition(|(_, found)| found.is_ok());
        // Repeated, because udev may assemble the array again after we stop it and before we remove its superblocks.
        until_closed(&self.node(undoing.machine), || {
            let mut left = None;
            for array in self.arrays(undoing) {
                match self.title(undoing, &array) {
                    None => {
                        stop(undoing.machine, &array)?;
                        undone = Undone::Done;
                    }
                    Some(why) => left = Some(Undone::Left(why)),
                }
            }
            let ours = there.iter().map(|(member, _)| (*member, wipe::Written::Uuid(&self.uuid)));
            let superblocks = wipe::wipe_once(undoing, ours);
            undone = match left {
                Some(left) => left,
                None => wipe::join([Ok(undone.clone()), superblocks])?,
            };
            Ok(())
        })?;
        away.into_iter().find_map(|(_, found)| found.err()).map_or(Ok(undone), Err)
    }
}

impl MakeArray {
    /// The path of the array's node.
    pub(crate) fn node(&self, machine: &Machine<'_>) -> PathBuf {
        machine.roots.dev.join(format!("md{}", self.number))
    }

    /// The kernel names of the arrays that hold any of our members.
    fn arrays(&self, undoing: &Undoing<'_>) -> BTreeSet<String> {
        let held = |member: &DeviceRef| member.ours(undoing).map(|path| linked(undoing, &path, "holders"));
        let all = self.members.iter().filter_map(held).flatten();
        all.filter(|name| name.strip_prefix("md").is_some_and(is_number)).collect()
    }

    /// The reason why an array isn't ours to stop, if there is one: it must rest only on our members and carry our UUID. An array
    /// that a killed mdadm left half made has no UUID yet; then the number that we chose identifies it.
    fn title(&self, undoing: &Undoing<'_>, array: &str) -> Option<String> {
        let node = undoing.machine.roots.dev.join(array);
        let ours: BTreeSet<(u32, u32)> =
            self.members.iter().filter_map(|member| devno_of(&member.ours(undoing)?)).collect();
        let dev = &undoing.machine.roots.dev;
        let members = linked(undoing, &node, "slaves");
        let foreign =
            members.iter().find(|name| devno_of(&dev.join(name)).is_none_or(|no| !ours.contains(&no)));
        if let Some(foreign) = foreign {
            return Some(format!("{array} also holds {foreign}, which diskproof didn't add"));
        }
        let ask = Invocation::new(Tool::Mdadm).args(["--detail", "--export"]).arg(&node);
        let said = undoing.machine.runner.run(&ask).map(|output| output.stdout).unwrap_or_default();
        match md::uuid_of(&said) {
            Some(uuid) if uuid == self.uuid => None,
            None if !undoing.rebooted && array == format!("md{}", self.number) => None,
            Some(uuid) => Some(format!("{array} is another array, of UUID {uuid}")),
            None => Some(format!("{array} does not tell its UUID")),
        }
    }
}

fn stop(machine: &Machine<'_>, array: &str) -> Result<(), ActError> {
    let node = machine.roots.dev.join(array);
    let stop = Invocation::new(Tool::Mdadm).args(["--stop", "--quiet"]).arg(&node);
    let Err(failure) = machine.runner.run(&stop) else { return Ok(()) };
    let holders = holders::of(&machine.roots.proc, &node);
    if holders.is_empty() {
        return Err(ActError::tool(format!("stop {}", node.shown()))(failure));
    }
    Err(ActError::Busy { what: node.shown().to_string(), holders })
}

/// The names in a device's `holders` or `slaves` in sysfs.
fn linked(undoing: &Undoing<'_>, node: &Path, how: &str) -> Vec<String> {
    let Some((major, minor)) = devno_of(node) else { return Vec::new() };
    let dir = undoing.machine.roots.sys.join(format!("dev/block/{major}:{minor}")).join(how);
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The lowest number from [`FIRST_NUMBER`] on that no array has.
pub(crate) fn free_number(machine: &Machine<'_>) -> u32 {
    (FIRST_NUMBER..)
        .find(|number| !machine.roots.sys.join(format!("block/md{number}")).exists())
        .unwrap_or(FIRST_NUMBER)
}

/// Whether the members are in sync and the kernel's resync thread has ended: it runs for a moment after the last block.
pub(crate) fn in_sync(machine: &Machine<'_>, number: u32) -> bool {
    let dir = machine.roots.sys.join(format!("block/md{number}/md"));
    let says = |file: &str, word: &str| {
        std::fs::read_to_string(dir.join(file)).is_ok_and(|text| text.trim() == word)
    };
    says("resync_start", "none") && says("sync_action", "idle")
}

#[cfg(test)]
mod tests {
    use super::in_sync;
    use crate::machine::{Machine, NoHooks};
    use device::Roots;

    #[test]
    fn members_are_in_sync_when_the_kernel_is_done_with_them() {
        let sys = tempfile::tempdir().unwrap();
        let roots = Roots { sys: sys.path().to_owned(), ..Roots::default() };
        let machine = Machine::local(&host::LocalRunner, &roots, sys.path(), &NoHooks);
        assert!(!in_sync(&machine, 7), "nothing is known of it");
        let dir = sys.path().join("block/md7/md");
        std::fs::create_dir_all(&dir).unwrap();
        for (start, action, done) in [
            ("128", "resync", false),
            ("none", "resync", false),
            ("none", "idle", true),
            ("0", "idle", false),
        ] {
            std::fs::write(dir.join("resync_start"), format!("{start}\n")).unwrap();
            std::fs::write(dir.join("sync_action"), format!("{action}\n")).unwrap();
            assert_eq!(in_sync(&machine, 7), done, "{start} {action}");
        }
    }
}
