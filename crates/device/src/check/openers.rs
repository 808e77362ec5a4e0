//! Processes that can write to the disk without an exclusive open: virtual machines, databases, a forgotten dd. They have it, or
//! one of its generic SCSI or NVMe nodes, open for writing, or mapped it before they closed it.

use crate::block::names_in;
use crate::check::generic::{self, Generic};
use crate::check::maps;
use crate::check::processes::{self, comm, gone, tables};
use crate::check::users::Sight;
use crate::node::{Node, node_at};
use crate::refusal::{Check, Dissent};
use record::roots::Roots;
use std::fmt;
use std::fs;
use std::io;

/// How a process uses a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    /// An open file for reading.
    Reads,
    /// A shared mapping that it can write to.
    Maps,
    /// An open file for writing.
    Writes,
}

/// A process that has a device open or mapped.
#[derive(Debug)]
pub(crate) struct Opener {
    pid: String,
    name: String,
    way: Way,
    node: Node,
}

impl fmt::Display for Opener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} ({})", self.pid, self.name)
    }
}

/// The result of examining all processes.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    openers: Vec<Opener>,
    /// Live processes with open files that can't be seen, as text.
    hidden: Vec<String>,
}

/// Processes that may write, and anything that hides processes from us. Readers are allowed: udev, smartd and similar programs
/// read every disk now and then.
pub(crate) fn testify(roots: &Roots, sight: &Sight) -> Vec<Dissent> {
    let mut dissent: Vec<_> = processes::unseen(roots).into_iter().collect();
    let blocks = sight.family.members.iter().map(|m| &m.block);
    let generics: Vec<Generic> = blocks.clone().flat_map(generic::of).collect();
    let mut wanted: Vec<Node> = blocks.map(|block| Node::Block(block.devno)).collect();
    wanted.extend(generics.iter().map(|generic| generic.node));
    let seen = openers(roots, &wanted);
    let own = processes::own(roots);
    for opener in seen.openers.iter().filter(|o| o.way != Way::Reads && o.pid != own) {
        let saw = said(opener, &generics);
        dissent.push(Dissent::new(
            Check::Openers,
            saw,
            format!("end process {}, if nobody needs it", opener.pid),
        ));
    }
    if let Some(first) = seen.hidden.first() {
        let why = match seen.hidden.len() {
            1 => format!("open files of process {first} can't be seen"),
            n => format!("open files of {n} processes can't be seen, process {first} among them"),
        };
        dissent.push(Dissent::unheard(Check::Openers, why, processes::AS_FULL_ROOT));
    }
    dissent
}

fn said(opener: &Opener, generics: &[Generic]) -> String {
    let what = generics.iter().find(|generic| generic.node == opener.node);
    let what = what.map_or_else(|| "it".to_owned(), |generic| format!("its {}", generic.name));
    match opener.way {
        Way::Maps => format!("{opener} has {what} mapped for writing"),
        Way::Reads | Way::Writes => format!("{opener} has {what} open for writing"),
    }
}

/// All processes that have one of these nodes open or mapped.
fn openers(roots: &Roots, wanted: &[Node]) -> Seen {
    let mut seen = Seen::default();
    let pids = names_in(&roots.proc).unwrap_or_default();
    for pid in pids.into_iter().filter(|n| n.bytes().all(|b| b.is_ascii_digit())) {
        match held_by(roots, &pid, wanted) {
            Ok(None) => {}
            Ok(Some((way, node))) => {
                seen.openers.push(Opener { name: comm(roots, &pid), pid, way, node });
            }
            Err(error) if gone(&error) => {}
            Err(_) => seen.hidden.push(format!("{pid} ({})", comm(roots, &pid))),
        }
    }
    seen
}

/// The visible processes that have a block device open, as text.
pub(crate) fn named(roots: &Roots, node: Node) -> Vec<String> {
    openers(roots, &[node]).openers.iter().map(ToString::to_string).collect()
}

/// The most intrusive way in which a process uses one of these nodes.
fn held_by(roots: &Roots, pid: &str, wanted: &[Node]) -> io::Result<Option<(Way, Node)>> {
    let mut strongest = None;
    let mut ended = None;
    for task in tables(roots, pid) {
        match held_by_task(roots, &task, wanted) {
            Ok(way) => strongest = strongest.max(way),
            // A thread that ended doesn't close the files of the others.
            Err(error) if gone(&error) => ended = Some(error),
            Err(error) => return Err(error),
        }
    }
    match ended {
        Some(error) if strongest.is_none() => Err(error),
        _ => Ok(strongest),
    }
}

fn held_by_task(roots: &Roots, task: &str, wanted: &[Node]) -> io::Result<Option<(Way, Node)>> {
    let open = opened(roots, task, wanted)?;
    let mapped = maps::writable(roots, task, wanted)?;
    Ok(open.max(mapped.map(|node| (Way::Maps, node))))
}

fn opened(roots: &Roots, task: &str, wanted: &[Node]) -> io::Result<Option<(Way, Node)>> {
    let dir = roots.proc.join(task);
    let fds = names_in(&dir.join("fd"))?;
    let open = fds.iter().filter_map(|fd| {
        let node = node_at(roots, &dir.join("fd").join(fd)).ok().filter(|node| wanted.contains(node))?;
        let info = fs::read_to_string(dir.join("fdinfo").join(fd)).unwrap_or_default();
        Some((if writes(&info) { Way::Writes } else { Way::Reads }, node))
    });
    Ok(open.max())
}

/// Whether the octal open flags in fdinfo allow writing (proc_pid_fdinfo(5)).
fn writes(fdinfo: &str) -> bool {
    let flags = fdinfo.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|text| u32::from_str_radix(text.trim(), 8).ok());
    // O_WRONLY is 1, O_RDWR is 2; unknown flags count as writing.
    flags.is_none_or(|f| f & 0b11 != 0)
}

#[cfg(test)]
mod tests {
    use super::writes;

    #[test]
    fn open_modes_are_told_apart() {
        assert!(!writes("pos:\t0\nflags:\t0100000\nmnt_id:\t20\n"));
        assert!(writes("pos:\t0\nflags:\t0100001\n"));
        assert!(writes("pos:\t0\nflags:\t02100002\n"));
        assert!(writes(""));
    }
}
