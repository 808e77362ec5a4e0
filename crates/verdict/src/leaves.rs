//! The I/O of each device under a cell, down to the leaves.

use crate::facts::Facts;
use crate::foreign::shared;
use crate::usage::queue::busy_share;
use record::counter::{BlockCounters, Sample};
use record::judged::NodeView;
use record::topology::{BlockKind, BlockNode};

/// The most members that are named; the others are counted.
const NAMED: usize = 3;

/// One view per device of the first trial, sorted by depth; means over the trials with the same devices. The counters contain all
/// processes' bytes; the view of a disk that others use too says so.
pub(crate) fn of_cell(trials: &[Facts<'_>]) -> Vec<NodeView> {
    let Some(first) = trials.first() else { return Vec::new() };
    let shape = |facts: &Facts<'_>| -> Vec<(u32, std::mem::Discriminant<BlockKind>)> {
        facts.trial.topology.nodes.iter().map(|n| (n.depth, std::mem::discriminant(&n.kind))).collect()
    };
    let alike: Vec<&Facts<'_>> = trials.iter().filter(|facts| shape(facts) == shape(first)).collect();
    let nodes = &first.trial.topology.nodes;
    let open = shared(first);
    let view = |(index, node): (usize, &BlockNode)| {
        let over = |figure: fn(&Facts<'_>, &BlockNode) -> Option<f64>| {
            mean(alike.iter().filter_map(|facts| figure(facts, facts.trial.topology.nodes.get(index)?)))
        };
        NodeView {
            name: node.name.clone(),
            kind: limited(kind(node, open.contains(node.name.as_str())), first, node),
            depth: node.depth,
            read_per_asked: over(|facts, node| per_asked(facts, node, true)),
            write_per_asked: over(|facts, node| per_asked(facts, node, false)),
            iops: over(|facts, node| per_second(facts, node, |b| Some(b.reads + b.writes))),
            busy_share: over(|facts, node| busy_share(facts, &node.name)),
        }
    };
    nodes.iter().enumerate().map(view).collect()
}

/// What a device is, with the limits that the guest's host sets on it during the whole trial.
fn limited(kind: String, facts: &Facts<'_>, node: &BlockNode) -> String {
    let [begin, end] = &facts.trial.evidence.host[..] else { return kind };
    let of = |sample: &Sample| sample.throttles.as_ref()?.get(&node.name).copied();
    match of(begin) {
        Some(limits) if !limits.is_unlimited() && of(end) == Some(limits) => {
            format!("{kind}, limited there to {}", limits.in_words())
        }
        _ => kind,
    }
}

fn per_asked(facts: &Facts<'_>, node: &BlockNode, read: bool) -> Option<f64> {
    let asked = if read { facts.read.asked } else { facts.write.asked };
    let bytes = |b: &BlockCounters| if read { b.read_bytes } else { b.write_bytes };
    let moved = facts.span.grown(|s| s.block.get(&node.name).map(bytes))?;
    (asked > 0.0).then(|| moved / asked)
}

fn per_second(
    facts: &Facts<'_>,
    node: &BlockNode,
    counter: fn(&BlockCounters) -> Option<u64>,
) -> Option<f64> {
    let grown = facts.span.grown(|s| counter(s.block.get(&node.name)?))?;
    let seconds = facts.span.seconds();
    (seconds > 0.0).then(|| grown / seconds)
}

#[expect(clippy::cast_precision_loss, reason = "a number of trials")]
fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let all: Vec<f64> = values.collect();
    (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
}

fn kind(node: &BlockNode, shared: bool) -> String {
    let over = |members: &[String]| match members.len() {
        0 => String::new(),
        n if n <= NAMED => format!(" over {}", members.join(", ")),
        n => format!(" over {n} devices"),
    };
    let what = match &node.kind {
        BlockKind::Disk if node.turns() => "rotating disk".to_owned(),
        BlockKind::Disk if node.is_virtual() && node.rotational == Some(true) => {
            "virtual disk; the kernel's flag says rotational".to_owned()
        }
        BlockKind::Disk if node.is_virtual() => "virtual disk".to_owned(),
        BlockKind::Disk => "disk".to_owned(),
        BlockKind::Partition { of } => format!("partition of {of}"),
        BlockKind::Loop { backing_fs, direct_io, guest, members, backing_file } => {
            let on = backing_fs.as_ref().map_or(String::new(), |fs| format!(" on {fs}"));
            if *guest {
                let how = if *direct_io == Some(false) { ", through the host's page cache" } else { "" };
                let is_device = backing_file.as_ref().is_some_and(|path| path.starts_with("/dev"));
                return match backing_fs {
                    None if is_device => {
                        format!("disk of a guest, a block device of the host{}{how}", over(members))
                    }
                    _ => format!("disk of a guest, a file{on} of the host{how}"),
                };
            }
            let how = if *direct_io == Some(false) { ", without direct I/O" } else { "" };
            format!("loop device over a file{on}{how}")
        }
        BlockKind::Composite { members } if node.kernel_name().starts_with("dm-") => {
            format!("device mapper{}", over(members))
        }
        BlockKind::Composite { members } if node.kernel_name().starts_with("md") => {
            format!("md array{}", over(members))
        }
        BlockKind::Composite { members } => format!("device{}", over(members)),
        BlockKind::Memory => "memory".to_owned(),
    };
    if shared { format!("{what}; others may use it too") } else { what }
}

#[cfg(test)]
mod tests {
    use super::{kind, of_cell};
    use crate::facts::Facts;
    use crate::testing::{GIB, SECONDS, Truth, filesystem, whole};
    use record::counter::{BlockCounters, Sample};
    use record::stack::FsKind;
    use record::topology::{BlockKind, BlockNode};
    use record::workload::Rw;

    #[test]
    fn a_guests_disk_says_what_backs_it() {
        let of = |path: &str, fs: Option<&str>, direct_io| {
            let mut node = BlockNode {
                name: "vdb".to_owned(),
                devno: (254, 16),
                depth: 0,
                kind: BlockKind::Disk,
                rotational: None,
                scheduler: None,
                size_bytes: None,
            };
            node.kind = BlockKind::Loop {
                backing_file: Some(path.into()),
                direct_io: Some(direct_io),
                backing_fs: fs.map(str::to_owned),
                members: vec!["host:dm-3".to_owned()],
                guest: true,
            };
            kind(&node, false)
        };
        assert_eq!(of("/srv/gp.raw", Some("xfs"), true), "disk of a guest, a file on xfs of the host");
        assert_eq!(of("/srv/gp.raw", None, true), "disk of a guest, a file of the host");
        assert_eq!(
            of("/dev/vg0/gp", None, true),
            "disk of a guest, a block device of the host over host:dm-3"
        );
        let cached = of("/dev/vg0/gp", None, false);
        assert!(cached.ends_with("over host:dm-3, through the host's page cache"), "{cached}");
    }

    #[test]
    fn a_disk_of_a_hypervisor_is_not_called_rotating() {
        let of = |name: &str, rotational| {
            let node = BlockNode {
                name: name.to_owned(),
                devno: (254, 0),
                depth: 0,
                kind: BlockKind::Disk,
                rotational,
                scheduler: None,
                size_bytes: None,
            };
            (kind(&node, false), node.turns())
        };
        let flagged = "virtual disk; the kernel's flag says rotational".to_owned();
        for name in ["vda", "xvdb", "host:vdc"] {
            assert_eq!(of(name, Some(true)), (flagged.clone(), false), "{name}");
        }
        assert_eq!(of("vda", Some(false)).0, "virtual disk");
        assert_eq!(of("sda", Some(true)), ("rotating disk".to_owned(), true));
        assert_eq!(of("vd", Some(true)).0, "rotating disk", "no name of theirs");
        assert_eq!(of("nvme0n1", Some(false)).0, "disk");
    }

    fn block(sample: &mut Sample, done: f64, of: fn(&mut BlockCounters, f64)) {
        sample.block.values_mut().for_each(|counters| of(counters, done * SECONDS as f64));
    }

    #[test]
    fn busy_time_that_the_kernel_did_not_count_is_not_none_of_the_time() {
        let busy = |iops: f64, each: fn(&mut Sample, f64)| {
            let mut t = Truth::new(Rw::Randread, 4096, true, filesystem(FsKind::Ext4), 1);
            t.asked(GIB, 0);
            (t.device_read, t.device_iops, t.each) = (GIB, iops, each);
            let record = t.record();
            of_cell(&[Facts::of(&record, &t.cell).unwrap()])[0].busy_share
        };
        assert_eq!(busy(300.0, |_, _| {}), None, "300 I/Os per second, and never busy");
        assert_eq!(busy(300.0, |s, d| block(s, d, |b, t| b.busy_ms = whole(t))), None, "a tick now and then");
        let half = busy(300.0, |s, d| block(s, d, |b, t| b.busy_ms = whole(t * 500.0))).unwrap();
        assert!((half - 0.5).abs() < 0.01, "{half}");
        assert_eq!(busy(0.0, |_, _| {}), Some(0.0), "it had nothing to do");
    }
}
