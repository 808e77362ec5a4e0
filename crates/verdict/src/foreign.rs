//! I/O of other processes (foreign I/O) on any device below the ground.
//!
//! For each device, the I/O is compared with the most that our own load can explain: the I/O of the layers above it, with the extra
//! I/O that partitions, arrays, loop devices and the file systems under backing files add. The rest is foreign. Reads are exact.
//! Writes aren't, since journals and metadata are written as well: a surplus of writes counts only if a process moved as much, or if
//! it is far above the extra I/O of any layer.

use crate::facts::{Facts, copies};
use crate::span::float;
use record::counter::{BlockCounters, OtherProcess};
use record::topology::{BlockKind, BlockNode};
use std::collections::BTreeSet;

/// The least share of a device's bytes or I/Os for foreign I/O to matter.
const LEAST_SHARE: f64 = 0.2;
/// The least share of the time in which the device works for others, however little our own load is.
pub(crate) const LEAST_BUSY: f64 = 0.2;
/// The background I/Os per second of a machine, of logs and the like.
const BACKGROUND_IOS: f64 = 20.0;
const BACKGROUND_BYTES: f64 = (1 << 20) as f64;
/// Reads of data with metadata, e.g. extent trees, per read of data.
const READ_ALONG: f64 = 1.1;
/// Reads with the page cache's read-ahead per requested read: at most as much again.
const READ_AHEAD: f64 = 2.0;
/// Writes with an ordered journal and metadata, per write of data.
const JOURNALLED: f64 = 1.5;
/// Writes with a copy-on-write tree, or with a journal of data, per write of data.
const COPIED: f64 = 4.5;
/// The largest I/O that every device takes as one; larger ones may be split.
const WHOLE_IO: f64 = (128 << 10) as f64;
/// The most bytes that one commit of a journal writes besides the data.
const COMMIT_BYTES: f64 = (128 << 10) as f64;
const COMMIT_IOS: f64 = 6.0;
/// The interval at which journals commit by themselves, in seconds.
const COMMIT_SECONDS: f64 = 5.0;
/// Processes that moved at least this share of a surplus may have caused it.
const PLAUSIBLE: f64 = 0.5;
/// The least share of a surplus for a process to be named.
const NAMED: f64 = 0.1;
/// A surplus above this multiple of what our load can have read (or, next constant, written) needs no visible process.
const GLARING_READS: f64 = 1.25;
const GLARING_WRITES: f64 = 4.0;

/// A device's I/O within the window.
#[derive(Debug, Clone, Copy, Default)]
struct Moved {
    read: f64,
    written: f64,
    reads: f64,
    writes: f64,
    /// Seconds with at least one I/O in flight.
    busy: f64,
}

impl Moved {
    fn bytes(&self) -> f64 {
        self.read + self.written
    }

    fn ios(&self) -> f64 {
        self.reads + self.writes
    }

    fn plus(self, other: Self) -> Self {
        Self {
            read: self.read + other.read,
            written: self.written + other.written,
            reads: self.reads + other.reads,
            writes: self.writes + other.writes,
            busy: self.busy + other.busy,
        }
    }
}

/// The most I/O that our own load can have caused on a device.
#[derive(Debug, Clone, Copy)]
struct Ours {
    most: Moved,
    /// Whether the layers above add a bounded amount of I/O; caches, thin pools, compression and copy on write don't.
    bounded: bool,
}

/// Foreign I/O on one device.
#[derive(Debug, Clone)]
pub(crate) struct Foreign<'a> {
    pub(crate) device: &'a str,
    pub(crate) read: f64,
    pub(crate) written: f64,
    pub(crate) ios: f64,
    /// All bytes and I/Os on the device.
    pub(crate) device_bytes: f64,
    pub(crate) device_ios: f64,
    /// Bytes on the device per byte that the workload requested.
    pub(crate) factor: Option<f64>,
    /// The foreign share of the device's bytes or I/Os, whichever is larger.
    pub(crate) share: f64,
    /// The share of the time in which the device worked; `busy` is that in which it worked for others.
    pub(crate) device_busy: f64,
    pub(crate) busy: f64,
    /// The visible user processes that moved most of it.
    pub(crate) processes: Vec<&'a OtherProcess>,
}

/// The device with the most foreign I/O over the measured time; `None` if there is none that matters.
pub(crate) fn strongest<'a>(facts: &Facts<'a>) -> Option<Foreign<'a>> {
    let open = shared(facts);
    let all = facts.trial.topology.nodes.iter().filter(|n| open.contains(n.name.as_str()));
    let found = all.filter_map(|node| on(facts, &open, node));
    // Of a partition and its disk take the partition, which is nearer to the ground.
    found.reduce(|best, next| if next.busy > best.busy * 1.1 { next } else { best })
}

/// The names of the devices that others may use too: all below a backing file, and all below an existing directory.
pub(crate) fn shared<'a>(facts: &Facts<'a>) -> BTreeSet<&'a str> {
    let nodes: &'a [BlockNode] = &facts.trial.topology.nodes;
    if !facts.is_exclusive() {
        return nodes.iter().map(|n| n.name.as_str()).collect();
    }
    let mut open = BTreeSet::new();
    // The nodes are sorted by depth, so the layers above a device come before it.
    for node in nodes {
        let over_file = matches!(node.kind, BlockKind::Loop { .. });
        if over_file || open.contains(node.name.as_str()) {
            open.extend(below(node).iter().map(String::as_str));
        }
    }
    open
}

/// The devices directly below a device.
pub(crate) fn below(node: &BlockNode) -> &[String] {
    match &node.kind {
        BlockKind::Loop { members, .. } | BlockKind::Composite { members } => members,
        BlockKind::Partition { of } => std::slice::from_ref(of),
        BlockKind::Disk | BlockKind::Memory => &[],
    }
}

fn on<'a>(facts: &Facts<'a>, open: &BTreeSet<&str>, node: &'a BlockNode) -> Option<Foreign<'a>> {
    let device = counted(facts, node)?;
    let ours = ours(facts, open, node)?;
    let seconds = facts.span.seconds();
    (seconds > 0.0).then_some(())?;
    let (read, processes_read) = surplus(facts, node, &device, &ours, true);
    let (written, processes_wrote) = surplus(facts, node, &device, &ours, false);
    let bytes = read + written;
    // I/Os count only together with bytes that are shown to be foreign.
    let of = |bytes: f64, all: f64, most: f64| if bytes > 0.0 { (all - most).max(0.0) } else { 0.0 };
    let ios = of(read, device.reads, ours.most.reads) + of(written, device.writes, ours.most.writes);
    let share = (bytes / device.bytes().max(1.0)).max(ios / device.ios().max(1.0));
    let device_busy = (device.busy / seconds).min(1.0);
    let alone = ((device.busy - ours.most.busy) / seconds).clamp(0.0, 1.0);
    let busy = if bytes > 0.0 { alone.max(device_busy * share) } else { 0.0 };
    let much = bytes / seconds >= BACKGROUND_BYTES || ios / seconds >= BACKGROUND_IOS;
    (much && share >= LEAST_SHARE && busy >= LEAST_BUSY).then_some(())?;
    let asked = facts.read.asked + facts.write.asked;
    Some(Foreign {
        device: &node.name,
        read,
        written,
        ios,
        device_bytes: device.bytes(),
        device_ios: device.ios(),
        factor: (asked > 0.0).then(|| device.bytes() / asked),
        share,
        device_busy,
        busy,
        processes: if read >= written { processes_read } else { processes_wrote },
    })
}

/// Bytes in one direction that our load can't have caused, with the processes that may have; 0 if a layer above may have caused them.
fn surplus<'a>(
    facts: &Facts<'a>,
    node: &BlockNode,
    device: &Moved,
    ours: &Ours,
    read: bool,
) -> (f64, Vec<&'a OtherProcess>) {
    let (all, most, glaring) = if read {
        (device.read, ours.most.read, GLARING_READS)
    } else {
        (device.written, ours.most.written, GLARING_WRITES)
    };
    let bytes = (all - most).max(0.0);
    let processes = if node.is_elsewhere() { Vec::new() } else { users(facts, bytes, read) };
    let theirs: f64 = processes.iter().map(|p| moved(p, read)).sum();
    let shown = ours.bounded && all >= glaring * most;
    let plausible = !processes.is_empty() && theirs >= PLAUSIBLE * bytes;
    if bytes > 0.0 && (shown || plausible) { (bytes, processes) } else { (0.0, Vec::new()) }
}

/// User processes that moved a large part of these bytes, the largest first. Kernel threads don't count, since they work for others.
fn users<'a>(facts: &Facts<'a>, bytes: f64, read: bool) -> Vec<&'a OtherProcess> {
    let all = facts.trial.evidence.others.iter().filter(|p| p.kernel != Some(true));
    let mut much: Vec<&OtherProcess> = all.filter(|p| moved(p, read) >= NAMED * bytes.max(1.0)).collect();
    much.sort_by(|a, b| moved(b, read).total_cmp(&moved(a, read)));
    much
}

pub(crate) fn moved(process: &OtherProcess, read: bool) -> f64 {
    float(if read { process.read_bytes } else { process.write_bytes })
}

fn counted(facts: &Facts<'_>, node: &BlockNode) -> Option<Moved> {
    let grown =
        |counter: fn(&BlockCounters) -> u64| facts.span.grown(|s| s.block.get(&node.name).map(counter));
    Some(Moved {
        read: grown(|b| b.read_bytes)?,
        written: grown(|b| b.write_bytes)?,
        reads: grown(|b| b.reads)?,
        writes: grown(|b| b.writes)?,
        busy: grown(|b| b.busy_ms)? / 1e3,
    })
}

/// The most that our own load can have caused on a device; `None` if a counter above it is missing.
fn ours(facts: &Facts<'_>, open: &BTreeSet<&str>, node: &BlockNode) -> Option<Ours> {
    if !open.contains(node.name.as_str()) {
        return Some(Ours { most: counted(facts, node)?, bounded: true });
    }
    let mut sum = (node.depth == 0).then(|| engines(facts, node));
    let above = |n: &&BlockNode| n.depth < node.depth && below(n).contains(&node.name);
    for upper in facts.trial.topology.nodes.iter().filter(above) {
        let passed = passed(facts, upper, ours(facts, open, upper)?);
        sum = Some(match sum {
            Some(sum) => Ours { most: sum.most.plus(passed.most), bounded: sum.bounded && passed.bounded },
            None => passed,
        });
    }
    sum
}

/// The most that the engine can have caused on the device of its directory.
fn engines(facts: &Facts<'_>, node: &BlockNode) -> Ours {
    let (seconds, copies) = (facts.span.seconds(), copies(facts.cell));
    let most = |own: Option<f64>, asked: f64| own.unwrap_or(0.0).max(asked);
    let tree = copies_on_write(facts.fs());
    let data = facts.trial.topology.deciding_options().is_some_and(|o| o.contains("data=journal"));
    let factor = if tree || data { COPIED } else { JOURNALLED };
    let read = most(facts.read.own, facts.read.asked) * READ_ALONG;
    let written = most(facts.write.own, facts.write.asked) * copies * factor;
    let flushes = facts.span.grown(|s| s.block.get(&node.name)?.flushes).unwrap_or(0.0);
    let syncs = if facts.write.asked > 0.0 { flushes.min(facts.write.ios) } else { 0.0 };
    let commits = syncs + seconds / COMMIT_SECONDS + 1.0;
    let slack = crate::foreign_io::in_flight(facts);
    let plain = facts.before.is_some_and(|f| f.encoded == 0.0);
    Ours {
        most: Moved {
            read: read + slack,
            written: written + slack + commits * COMMIT_BYTES,
            reads: facts.read.ios * READ_ALONG + read / WHOLE_IO,
            writes: facts.write.ios * copies * factor + written / WHOLE_IO + commits * COMMIT_IOS,
            busy: seconds,
        },
        bounded: plain && !tree,
    }
}

/// The most I/O that a device's I/O can cause on a device below it.
fn passed(facts: &Facts<'_>, node: &BlockNode, ours: Ours) -> Ours {
    let most = ours.most;
    match &node.kind {
        BlockKind::Partition { .. } | BlockKind::Disk | BlockKind::Memory => ours,
        // A mirror writes everything to each member; an array with parity reads and writes parity for each write. Other layers (caches,
        // thin pools) may move more.
        BlockKind::Composite { .. } => Ours {
            most: Moved {
                read: most.read + most.written,
                written: most.written,
                reads: most.reads + most.writes + most.bytes() / WHOLE_IO,
                writes: most.writes + most.written / WHOLE_IO,
                busy: most.busy,
            },
            bounded: ours.bounded && node.kernel_name().starts_with("md"),
        },
        BlockKind::Loop { direct_io, backing_fs, .. } => {
            let tree = copies_on_write(backing_fs.as_deref());
            let buffered = *direct_io != Some(true);
            let flushes = facts.span.grown(|s| s.block.get(&node.name)?.flushes).unwrap_or(most.writes);
            let commits = flushes + facts.span.seconds() / COMMIT_SECONDS + 1.0;
            let factor = if tree { COPIED } else { JOURNALLED };
            // Pages that were dirty before are written now.
            let earlier = facts.dirty_growth().map_or(0.0, |grown| (-grown).max(0.0));
            let read = most.read * if buffered { READ_AHEAD } else { READ_ALONG };
            let written =
                most.written * factor + commits * COMMIT_BYTES + if buffered { earlier } else { 0.0 };
            Ours {
                most: Moved {
                    read,
                    written,
                    reads: most.reads * READ_ALONG + read / WHOLE_IO,
                    writes: most.writes * factor + written / WHOLE_IO + commits * COMMIT_IOS,
                    busy: if buffered { facts.span.seconds() } else { most.busy },
                },
                bounded: ours.bounded && !tree,
            }
        }
    }
}

fn copies_on_write(fs: Option<&str>) -> bool {
    matches!(fs, Some("btrfs" | "zfs" | "bcachefs" | "f2fs"))
}

/// Foreign I/O in a part of the measured time, from `from` to `to` seconds after its beginning.
pub(crate) fn between<'a>(facts: &Facts<'a>, from: f64, to: f64) -> Option<Foreign<'a>> {
    let whole = facts.span.window();
    let at = |seconds: f64| whole.start_ns.saturating_add(nanoseconds(seconds)).min(whole.end_ns);
    let span = facts.span.part(at(from), at(to));
    strongest(&Facts { span, ..*facts })
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time in a trial; saturates")]
fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}
