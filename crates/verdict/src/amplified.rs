//! Write amplification: how many bytes and I/Os reach the devices for each written one, and what wrote the others.

use crate::facts::{Facts, copies};
use crate::foreign;
use crate::foreign_io;
use crate::span::number;
use record::counter::{BlockCounters, Sample};
use record::stack::Layer;
use record::topology::{BlockKind, BlockNode};
use record::zfs::Vdev;

/// The least number of writes. With fewer, occasional writes (e.g. of the superblock) weigh too much.
const LEAST_WRITES: f64 = 50.0;
/// The largest block that is surely one I/O on a device. A device's limits or a stripe may split a larger one.
const ONE_IO: u64 = 16 << 10;
/// The least factor of a level that is named.
pub(crate) const NAMED: f64 = 1.1;

/// Written bytes and I/Os over requested ones, without declared copies.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Amplified {
    /// Bytes on the ground's devices per requested byte.
    pub(crate) bytes: f64,
    /// I/Os there per requested I/O; `None` if large ones are split.
    pub(crate) ios: Option<f64>,
    /// Bytes on the members of arrays per byte on the arrays; 1 without arrays.
    pub(crate) below: f64,
    /// Commits of the file system's journal per write; `None` if not counted.
    pub(crate) commits: Option<f64>,
    /// What wrote the others on the ground's devices, and below arrays.
    pub(crate) by: Vec<String>,
}

impl Amplified {
    /// Bytes at the deepest devices that only this run uses, per requested byte.
    pub(crate) fn all_bytes(&self) -> f64 {
        self.bytes * self.below
    }

    /// The larger of the two: by bytes or by I/Os.
    pub(crate) fn most(&self) -> f64 {
        self.all_bytes().max(self.ios.unwrap_or(0.0))
    }

    /// `None` if nothing is written, a counter is missing, or other processes may have written.
    pub(crate) fn of(facts: &Facts<'_>) -> Option<Self> {
        let asked = facts.write;
        if asked.ios < LEAST_WRITES || asked.asked <= 0.0 || others_wrote(facts) {
            return None;
        }
        // Only the workload writes to a raw device.
        let fs = facts.fs();
        let written = asked.device? - foreign_io::surplus(facts, false).bytes;
        let bytes = if fs.is_some() { written / asked.asked } else { 1.0 };
        let device_ios = direct(facts, |s, d| Some(s.block.get(d)?.writes));
        let ios =
            device_ios.filter(|_| fs.is_some() && are_whole(facts)).map(|n| n / asked.ios / facts.copies);
        let commits = direct(facts, |s, d| s.journal_commits.get(d).copied()).map(|n| n / asked.ios);
        let below = below_arrays(facts)?;
        let mut by = Vec::new();
        if bytes.max(ios.unwrap_or(0.0)) >= NAMED {
            by.extend(fs.map(|fs| by_fs(facts, fs)));
        }
        if below >= NAMED {
            by.push(by_array(facts).to_owned());
        }
        Some(Self { bytes, ios, below, commits, by })
    }
}

/// Whether some of the writes may be those of other processes: the devices are shared, and a process moved enough.
fn others_wrote(facts: &Facts<'_>) -> bool {
    if foreign_io::surplus(facts, false).bytes > 0.0 {
        return true;
    }
    if facts.is_exclusive() {
        return false;
    }
    let surplus = facts.write.device.unwrap_or(0.0) * facts.copies - facts.write.asked;
    let evidence = &facts.trial.evidence;
    let users = evidence.others.iter().filter(|p| p.kernel != Some(true));
    let theirs: f64 = users.map(|p| foreign::moved(p, false)).sum();
    !evidence.others_complete || theirs >= 0.1 * surplus || foreign::strongest(facts).is_some()
}

/// A counter's growth on all direct devices; `None` if one of them doesn't have it.
fn direct(facts: &Facts<'_>, counter: impl Fn(&Sample, &str) -> Option<u64>) -> Option<f64> {
    let grown = facts.trial.topology.direct().map(|node| facts.span.grown(|s| counter(s, &node.name)));
    grown.reduce(|a, b| Some(a? + b?))?
}

/// Whether each I/O is one on the device as well. The page cache merges buffered ones.
fn are_whole(facts: &Facts<'_>) -> bool {
    let options = facts.options().filter(|o| o.direct && o.bsrange.is_none() && o.bssplit.is_empty());
    options.is_some_and(|o| o.bs_bytes <= ONE_IO)
}

/// Bytes on the members of arrays under the ground per byte on the arrays, without declared copies; `None` if one isn't counted.
fn below_arrays(facts: &Facts<'_>) -> Option<f64> {
    let nodes = &facts.trial.topology.nodes;
    let arrays: Vec<&BlockNode> =
        nodes.iter().filter(|n| n.depth == 0 && matches!(n.kind, BlockKind::Composite { .. })).collect();
    if arrays.is_empty() {
        return Some(1.0);
    }
    let over: f64 = arrays.iter().map(|n| written(facts, &n.name)).sum::<Option<f64>>()?;
    let under: f64 = deepest(nodes, &arrays).iter().map(|n| written(facts, n)).sum::<Option<f64>>()?;
    let copies = array_copies(facts);
    Some(if over > 0.0 { under / over / copies } else { 1.0 })
}

/// The lowest members of arrays: if a member is an array itself, its members.
fn deepest<'a>(nodes: &'a [BlockNode], arrays: &[&'a BlockNode]) -> Vec<&'a str> {
    let mut open: Vec<&str> = arrays.iter().flat_map(|n| foreign::below(n)).map(String::as_str).collect();
    let mut found: Vec<&str> = Vec::new();
    // Each step goes through an array, and there are no more arrays than devices.
    for _ in 0..=nodes.len() {
        let Some(name) = open.pop() else { break };
        match nodes.iter().find(|n| n.name == name) {
            Some(BlockNode { kind: BlockKind::Composite { members }, .. }) => {
                open.extend(members.iter().map(String::as_str));
            }
            _ if found.contains(&name) => {}
            _ => found.push(name),
        }
    }
    found
}

fn written(facts: &Facts<'_>, name: &str) -> Option<f64> {
    let bytes = |b: &BlockCounters| b.write_bytes;
    facts.span.grown(|s| s.block.get(name).map(bytes))
}

/// The number of copies that the stack's arrays keep by declaration.
pub(crate) fn array_copies(facts: &Facts<'_>) -> f64 {
    let stack = &facts.cell.stack;
    let members = number(stack.volumes.len());
    let each = stack.transforming().map(|layer| match layer {
        Layer::Md(md) => f64::from(md.copies(members)),
        Layer::Lvm(lvm) => f64::from(lvm.layout.copies()),
        _ => 1.0,
    });
    each.product::<f64>().max(1.0)
}

fn by_fs(facts: &Facts<'_>, fs: &str) -> String {
    let options = facts.trial.topology.deciding_options().unwrap_or_default();
    match fs {
        "zfs" if has_parity(facts) => "parity of raidz, copy on write and metadata (zfs)".to_owned(),
        "btrfs" | "zfs" | "bcachefs" | "f2fs" => format!("copy on write and metadata ({fs})"),
        "ext3" | "ext4" if options.contains("data=journal") => {
            format!("the journal, which takes the data too (data=journal), and metadata ({fs})")
        }
        "ext3" | "ext4" | "xfs" | "jfs" | "reiserfs" => format!("the journal and metadata ({fs})"),
        _ => format!("metadata ({fs})"),
    }
}

fn has_parity(facts: &Facts<'_>) -> bool {
    let raidz = |layer: &Layer| match layer {
        Layer::Zfs(zfs) => matches!(zfs.vdev, Vdev::Raidz | Vdev::Raidz2 | Vdev::Raidz3),
        _ => false,
    };
    facts.cell.stack.transforming().any(raidz)
}

/// What an array writes besides the data: what a thin pool does for a new chunk; parity if it also reads, since a mirror reads
/// nothing for a write.
fn by_array(facts: &Facts<'_>) -> &'static str {
    if !facts.cell.stack.beside.is_empty() {
        return "what the cache writes on its own device, or copies between the devices";
    }
    let is_thin = |layer: &Layer| matches!(layer, Layer::Lvm(lvm) if lvm.thin.is_some());
    if facts.cell.stack.transforming().any(is_thin) {
        return "zeros and metadata of chunks that the thin pool allocated for the first write to them";
    }
    let nodes = &facts.trial.topology.nodes;
    let arrays: Vec<&BlockNode> =
        nodes.iter().filter(|n| n.depth == 0 && matches!(n.kind, BlockKind::Composite { .. })).collect();
    let read = |name: &str| facts.span.grown(|s| s.block.get(name).map(|b| b.read_bytes)).unwrap_or(0.0);
    let over: f64 = arrays.iter().map(|n| read(&n.name)).sum();
    let under: f64 = deepest(nodes, &arrays).iter().map(|n| read(n)).sum();
    if under - over >= 0.1 * facts.write.asked {
        "parity of the array below"
    } else {
        "a mirror below that the experiment doesn't declare, or full stripes with parity"
    }
}

/// The number of declared copies of each written byte, at the ground and below.
pub(crate) fn declared(facts: &Facts<'_>) -> f64 {
    copies(facts.cell) * array_copies(facts)
}
