//! Mounts and holders: what uses the disk, its partitions, or anything stacked on them.

use crate::block::Block;
use crate::btrfs_members::open_file_systems;
use crate::family::{Family, Link, Member, sources};
use crate::mountinfo::{self, Mount, Table, Tables};
use crate::node::block_at;
use crate::refusal::{Check, Dissent};
use record::printable::Shown as _;
use record::roots::Roots;
use std::path::Path;

/// Directories without which a machine doesn't work.
const SYSTEM: [&str; 11] =
    ["/", "/boot", "/boot/efi", "/efi", "/etc", "/home", "/nix", "/opt", "/srv", "/usr", "/var"];
const AS_ROOT: &str = "ask again as root";

/// A snapshot of the machine, which several checks share.
pub(crate) struct Sight {
    pub(crate) family: Family,
    pub(crate) tables: Tables,
}

impl Sight {
    /// Takes the snapshot.
    pub(crate) fn of(roots: &Roots, disk: &Block) -> Result<Self, Vec<Dissent>> {
        let tables =
            mountinfo::all(roots).map_err(|e| unheard(Check::Mounts, &e, roots.proc("*/mountinfo")))?;
        let mounts = tables.tables.first().map(|t| t.mounts.as_slice()).unwrap_or_default();
        let family = Family::of(roots, disk, mounts).map_err(|e| unheard(Check::Holders, &e, &disk.dir))?;
        Ok(Self { family, tables })
    }
}

fn unheard(witness: Check, error: &std::io::Error, path: impl AsRef<Path>) -> Vec<Dissent> {
    vec![Dissent::unheard(witness, format!("{}: {error}", path.as_ref().shown()), AS_ROOT)]
}

/// Checks the mount tables, and btrfs.
pub(crate) fn mounts(roots: &Roots, sight: &Sight) -> Vec<Dissent> {
    let mut dissent = Vec::new();
    let mut told = std::collections::BTreeSet::new();
    for table in &sight.tables.tables {
        for mount in &table.mounts {
            let source = sources_seen_by(roots, table, mount);
            let Some(member) = source.iter().find_map(|d| sight.family.member(*d)) else { continue };
            if told.insert((mount.devno, mount.target.clone())) {
                dissent.push(mounted(table, mount, member));
            }
        }
    }
    dissent.extend(btrfs(roots, sight, dissent.is_empty()));
    dissent
}

fn mounted(table: &Table, mount: &Mount, member: &Member) -> Dissent {
    let target = mount.target.shown();
    let mut saw = format!("{}{} is mounted at {target} ({})", member.block.label(), how(member), mount.kind);
    let pid = &table.pid;
    if !table.own {
        saw = format!("{saw} in the mount namespace of process {pid}");
    }
    let needed = SYSTEM.iter().any(|dir| mount.target == Path::new(dir)) && (table.own || pid == "1");
    let remedy = if needed {
        "choose another disk: this machine needs that directory".to_owned()
    } else if table.own {
        format!("umount {target}, if nobody needs it")
    } else {
        format!("nsenter -t {pid} -m umount {target}, or end process {pid}, if nobody needs it")
    };
    Dissent::new(Check::Mounts, saw, remedy)
}

fn how(member: &Member) -> String {
    match &member.link {
        Link::Itself => String::new(),
        Link::Partition => ", a partition of it,".to_owned(),
        Link::Holds(below) => format!(", stacked on {below},"),
        Link::Loops(below) => format!(", a loop device over {below},"),
    }
}

fn sources_seen_by(roots: &Roots, table: &Table, mount: &Mount) -> Vec<crate::devno::DevNo> {
    let mut found = sources(roots, mount);
    if found.is_empty() && !table.own && mount.source.is_absolute() {
        // The name may exist in that namespace only.
        let inside = mount.source.strip_prefix("/").unwrap_or(&mount.source);
        let inside = roots.proc.join(&table.pid).join("root").join(inside);
        found.extend(block_at(roots, &inside));
    }
    found
}

/// Checks btrfs, which holds all members of a mounted file system open, even if no visible namespace has the mount.
fn btrfs(roots: &Roots, sight: &Sight, silent: bool) -> Vec<Dissent> {
    let open = match open_file_systems(roots) {
        Ok(open) => open,
        Err(error) => return unheard(Check::Mounts, &error, roots.sys("fs/btrfs")),
    };
    let mut dissent = Vec::new();
    for (uuid, members) in open.iter().filter(|_| silent) {
        if let Some(member) = members.iter().find_map(|d| sight.family.member(*d)) {
            dissent.push(Dissent::new(
                Check::Mounts,
                format!("{}{} belongs to the mounted btrfs {uuid}", member.block.label(), how(member)),
                "unmount that file system, or take the device out of it, if nobody needs it",
            ));
        }
    }
    dissent
}

/// Mount namespaces that can't be seen. The kernel's exclusive open covers them: every file system opens its device exclusively,
/// in whatever namespace it is mounted.
pub(crate) fn hidden(tables: &Tables) -> Option<Dissent> {
    let why = format!("mounts of {} or more processes can't be seen", tables.hidden);
    (tables.hidden > 0).then(|| Dissent::unheard(Check::Mounts, why, AS_ROOT))
}

/// All devices stacked on the disk or its partitions.
pub(crate) fn holders(sight: &Sight) -> Vec<Dissent> {
    let mut dissent = Vec::new();
    for member in &sight.family.members {
        let name = &member.block.name;
        match &member.link {
            Link::Itself | Link::Partition => {}
            Link::Holds(below) => dissent.push(Dissent::new(
                Check::Holders,
                format!("{below} is in use by {}{}", member.block.label(), named(&member.block)),
                format!("take {name} down (lvchange -an, mdadm --stop, cryptsetup close, multipath -f...), if nobody needs it"),
            )),
            Link::Loops(below) => dissent.push(Dissent::new(
                Check::Holders,
                format!("loop device {} rests on {below} or on a file on it", member.block.label()),
                format!("losetup -d /dev/{name}, if nobody needs it"),
            )),
        }
    }
    for stranger in &sight.family.strangers {
        dissent.push(Dissent::new(
            Check::Holders,
            format!("in use by {stranger}"),
            "take it down, if nobody needs it",
        ));
    }
    if !sight.family.unplaced.is_empty() {
        let names = sight.family.unplaced.join(", ");
        dissent.push(Dissent::unheard(
            Check::Holders,
            format!("it is unknown what {names} rests on"),
            AS_ROOT,
        ));
    }
    dissent
}

/// A device's name in device mapper or md.
fn named(block: &Block) -> String {
    let name = block.text("dm/name").or_else(|| block.text("md/array_state").map(|s| format!("md, {s}")));
    name.map(|n| format!(", {n}")).unwrap_or_default()
}
