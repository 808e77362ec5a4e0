//! The nfs layer: the options of the export and of the mount.

use crate::diagnostic::printable;
use crate::fields::Fields;
use crate::frame::{Below, Frame, Given};
use crate::fs_options::mount_options;
use crate::problems::Problems;
use crate::scope::Scope;
use crate::tree::Node;
use crate::value;
use record::allowed::{EXPORTS, Mounted};
use record::nfs::{Nfs, NfsVersion};
use record::quantity::Bytes;
use record::volume::VolumeKind;

/// Pairs of opposite options: an export has one of each pair.
const OPPOSITES: &[[&str; 2]] = &[
    ["sync", "async"],
    ["wdelay", "no_wdelay"],
    ["subtree_check", "no_subtree_check"],
    ["secure_locks", "insecure_locks"],
    ["auth_nlm", "no_auth_nlm"],
    ["acl", "no_acl"],
    ["pnfs", "no_pnfs"],
];
/// Name of this layer, as the maker of a directory.
pub(crate) const MADE_BY: &str = "nfs";

pub(crate) fn read(
    frame: &Frame<'_>,
    fields: &Fields<'_>,
    given: &Given,
    below: &Below<'_>,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<Nfs> {
    check_below(frame, given, below, scope, problems)?;
    let version = match fields.get("version") {
        Some(node) => Some(version(node, scope, problems)?),
        None => None,
    };
    let mut size = |name: &str| match fields.get(name) {
        Some(node) => Some(Some(transfer_size(node, scope, problems)?)),
        None => Some(None),
    };
    let (rsize_bytes, wsize_bytes) = (size("rsize")?, size("wsize")?);
    Some(Nfs {
        version,
        export: export(fields.get("export"), scope, problems)?,
        rsize_bytes,
        wsize_bytes,
        mount_options: mount_options(fields.get("mount_options"), Mounted::Nfs, scope, problems)?,
        client: match fields.get("client") {
            Some(node) => Some(value::text(node, "the name of a target", scope, problems)?),
            None => None,
        },
    })
}

/// Checks the layers below: NFS exports a directory, and a kernel thread does its I/O.
fn check_below(
    frame: &Frame<'_>,
    given: &Given,
    below: &Below<'_>,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<()> {
    match given {
        Given::Devices(_) => {
            problems
                .add(frame.key_span, "`nfs` exports a directory, but what is below is a block device")
                .help("put a file system below it, e.g. `layers: [xfs, nfs]`, or use an existing directory");
            return None;
        }
        Given::Directory { made_by: MADE_BY } => {
            problems
                .add(frame.key_span, "`nfs` on `nfs`: what is mounted by NFS is not exported again")
                .help("leave one of them out");
            return None;
        }
        Given::Directory { .. } | Given::Unknown => {}
    }
    let limited =
        below.volumes.iter().chain(&below.beside).find(
            |volume| matches!(&volume.kind, VolumeKind::Emulate { limits, .. } if !limits.is_unlimited()),
        );
    if let Some(volume) = limited {
        problems
            .add(
                frame.key_span,
                format!("the limits of `{}` would not bind under `nfs`{}", volume.name, scope.levels()),
            )
            .help(
                "the NFS server does I/O in threads of the kernel, which no cgroup reaches; use disks that are limited by \
                 themselves, e.g. a lab guest's, or leave the limits out",
            );
        return None;
    }
    Some(())
}

fn version(node: &Node, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<NfsVersion> {
    const EXPECTED: &str = "3, 4, 4.0, 4.1 or 4.2";
    let typed = value::text(node, EXPECTED, scope, problems)?;
    let found = NfsVersion::ALL.into_iter().find(|version| version.word() == typed);
    if found.is_none() {
        problems
            .add(node.span, format!("`{}` is not a version of NFS{}", printable(&typed, 20), scope.levels()))
            .expected(EXPECTED);
    }
    found
}

fn transfer_size(node: &Node, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<u64> {
    let bytes = value::size(node, scope, problems)?;
    if !bytes.is_power_of_two() || !(1 << 10..=1 << 20).contains(&bytes) {
        problems
            .add(node.span, format!("a transfer size of {}{}", Bytes(bytes), scope.levels()))
            .expected("a power of two from 1k to 1m: the kernel rounds everything else");
        return None;
    }
    Some(bytes)
}

/// Reads words from a list or from a text with commas.
fn words(node: &Node, expected: &str, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<Vec<String>> {
    let given = value::texts(node, expected, &[], scope, problems)?;
    let parts = given.iter().flat_map(|text| text.split(',')).map(str::trim);
    Some(parts.filter(|word| !word.is_empty()).map(str::to_owned).collect())
}

fn export(node: Option<&Node>, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<Vec<String>> {
    let Some(node) = node else { return Some(Vec::new()) };
    let given = words(node, "options of exports(5), e.g. `[async, no_wdelay]`", scope, problems)?;
    if let Some(other) = given.iter().find(|option| !EXPORTS.contains(&option.as_str())) {
        let name = other.split('=').next().unwrap_or("");
        let why = match name {
            "rw" | "ro" | "no_root_squash" | "root_squash" | "all_squash" | "no_all_squash" | "anonuid"
            | "anongid" | "secure" | "insecure" | "sec" => {
                "every export that diskproof makes is read-write, to its one client and root on it only"
            }
            "fsid" | "mountpoint" | "mp" | "crossmnt" | "nohide" | "hide" | "refer" | "replicas" => {
                "an export that diskproof makes has an fsid of its own, and what is mounted below it is not exported"
            }
            _ => "only what changes how the server works can be set",
        };
        problems
            .add(node.span, format!("export option `{}` is refused", printable(other, 40)))
            .expected(format!("some of {}", EXPORTS.join(", ")))
            .help(why);
        return None;
    }
    let has = |word: &str| given.iter().any(|option| option == word);
    if let Some([a, b]) = OPPOSITES.iter().find(|[a, b]| has(a) && has(b)) {
        problems.add(node.span, format!("`{a}` and `{b}` are both given")).help("keep one of them");
        return None;
    }
    Some(given)
}
