//! The limits that throttle the devices, and how near the load came to them.
//!
//! The I/Os that count against a limit are those that the kernel charged to the engine's cgroup. It charges an I/O after splitting it
//! to the size that a device takes and before merging it with its neighbours, while the device's own counters count merged I/Os.
//! The device's counters are used if nothing was charged to the cgroup.
//!
//! The host of a guest may limit the guest's disk, too. It counts the I/Os of the device.

use crate::facts::Facts;
use crate::scene::Scene;
use crate::span::float;
use record::counter::{BlockCounters, CgroupIo};
use record::topology::BlockNode;
use record::volume::{HostLimits, LimitName, VolumeFacts, VolumeKind};

/// From this share on, a limit is met. The rest is the error of the window's ends, and of the time slices in which the kernel grants
/// I/Os.
pub(crate) const LIMIT_MET: f64 = 0.95;
/// A limit that differs by less than this share from that of the experiment is the same one.
const SAME: f64 = 0.01;

/// One direction of a limit: its name, and the counter for it.
struct LimitDirection {
    name: LimitName,
    unit: &'static str,
    charged: fn(&CgroupIo) -> Option<u64>,
    counted: fn(&BlockCounters) -> u64,
    asked: fn(&Facts<'_>) -> f64,
}

const DIRECTIONS: [LimitDirection; 6] = [
    LimitDirection {
        name: LimitName::ReadIops,
        unit: "1/s",
        charged: |io| io.reads,
        counted: |b| b.reads,
        asked: |f| f.read.ios,
    },
    LimitDirection {
        name: LimitName::WriteIops,
        unit: "1/s",
        charged: |io| io.writes,
        counted: |b| b.writes,
        asked: |f| f.write.ios,
    },
    LimitDirection {
        name: LimitName::ReadBps,
        unit: "B/s",
        charged: |io| io.read_bytes,
        counted: |b| b.read_bytes,
        asked: |f| f.read.asked,
    },
    LimitDirection {
        name: LimitName::WriteBps,
        unit: "B/s",
        charged: |io| io.write_bytes,
        counted: |b| b.write_bytes,
        asked: |f| f.write.asked,
    },
    LimitDirection {
        name: LimitName::TotalIops,
        unit: "1/s",
        charged: |io| Some(io.reads? + io.writes?),
        counted: |b| b.reads + b.writes,
        asked: |f| f.read.ios + f.write.ios,
    },
    LimitDirection {
        name: LimitName::TotalBps,
        unit: "B/s",
        charged: |io| Some(io.read_bytes? + io.write_bytes?),
        counted: |b| b.read_bytes + b.write_bytes,
        asked: |f| f.read.asked + f.write.asked,
    },
];

/// One limit of one device, and the load's share of it.
#[derive(Debug, Clone)]
pub(crate) struct Near {
    pub(crate) device: String,
    pub(crate) name: LimitName,
    pub(crate) unit: &'static str,
    /// The mean over the measured time.
    pub(crate) limit: f64,
    /// Whether it was constant.
    pub(crate) steady: bool,
    pub(crate) made: f64,
    /// The limit that the experiment sets.
    pub(crate) declared: Option<f64>,
    /// Whether the host of a guest sets it.
    pub(crate) by_host: bool,
}

impl Near {
    pub(crate) fn share(&self) -> f64 {
        self.made / self.limit
    }

    /// Whether the experiment sets this limit or a lower one.
    pub(crate) fn is_declared(&self) -> bool {
        self.declared.is_some_and(|d| self.limit >= d * (1.0 - SAME))
    }
}

/// The nearest limit; `None` if there is none with counters.
pub(crate) fn nearest(scene: &Scene<'_>) -> Option<Near> {
    let nodes = scene.facts.trial.topology.nodes.iter();
    let all = nodes.flat_map(|node| {
        DIRECTIONS
            .iter()
            .flat_map(move |d| [near(scene, node, d), by_host(scene, node, d)].into_iter().flatten())
    });
    all.max_by(|a, b| a.share().total_cmp(&b.share()))
}

fn near(scene: &Scene<'_>, node: &BlockNode, direction: &LimitDirection) -> Option<Near> {
    let facts = scene.facts;
    // a device number of another machine means another device here
    (!node.is_elsewhere()).then_some(())?;
    let declared = declared(scene, node, direction);
    let (limit, steady) = if is_known(facts) { in_force(facts, node, direction)? } else { (declared?, true) };
    let seconds = facts.span.seconds();
    (limit > 0.0 && seconds > 0.0).then_some(())?;
    Some(Near {
        device: node.name.clone(),
        name: direction.name,
        unit: direction.unit,
        limit,
        steady,
        made: charged(scene, node, direction)? / seconds,
        declared,
        by_host: false,
    })
}

/// The limit that the host of a guest sets on the guest's disk, and the I/Os of all disks of the trial that share it.
fn by_host(scene: &Scene<'_>, node: &BlockNode, direction: &LimitDirection) -> Option<Near> {
    let facts = scene.facts;
    let limits = host_limits(scene, node)?;
    if node.is_elsewhere() || !limits.is_firm(direction.name) {
        return None;
    }
    let now = facts.trial.evidence.host.iter().map(|s| s.throttles.as_ref()?.get(&node.name));
    let (limit, steady) = match now.collect::<Option<Vec<_>>>().as_deref() {
        Some([begin, end]) => {
            let (begin, end) = (direction.name.of(begin)?, direction.name.of(end)?);
            (f64::midpoint(float(begin), float(end)), begin == end)
        }
        // The host didn't tell during the trial; this is what it told at the beginning of the run.
        _ => (float(direction.name.of(&limits.limits)?), true),
    };
    let seconds = facts.span.seconds();
    (limit > 0.0 && seconds > 0.0).then_some(())?;
    let is_member = |other: &&BlockNode| {
        let shares = || host_limits(scene, other).is_some_and(|of| of.group == limits.group);
        other.name == node.name || (limits.group.is_some() && shares())
    };
    let members = facts.trial.topology.nodes.iter().filter(is_member);
    let counted = members.map(|node| counted(facts, node, direction)).collect::<Option<Vec<_>>>()?;
    Some(Near {
        device: node.name.clone(),
        name: direction.name,
        unit: direction.unit,
        limit,
        steady,
        made: counted.iter().sum::<f64>() / seconds,
        declared: direction.name.of(&limits.asked).map(float),
        by_host: true,
    })
}

fn host_limits<'s>(scene: &Scene<'s>, node: &BlockNode) -> Option<&'s HostLimits> {
    volume(scene, node)?.host_limits.as_ref()
}

/// The volume that a device is.
fn volume<'s>(scene: &Scene<'s>, node: &BlockNode) -> Option<&'s VolumeFacts> {
    let is_it = |v: &&&VolumeFacts| {
        v.device.as_ref().and_then(|d| d.file_name()).is_some_and(|name| name == node.name.as_str())
    };
    scene.volumes.iter().find(is_it).copied()
}

/// The limit that the experiment sets: as verified, else as planned.
fn declared(scene: &Scene<'_>, node: &BlockNode, direction: &LimitDirection) -> Option<f64> {
    let volume = volume(scene, node)?;
    let planned = scene.facts.cell.stack.all_volumes().find(|v| v.name == volume.name);
    let planned = planned.and_then(|v| match &v.kind {
        VolumeKind::Emulate { limits, .. } => direction.name.of(limits).map(float),
        _ => None,
    });
    volume.verified.iter().find(|v| v.limit == direction.name).map(|v| v.asked).or(planned)
}

/// Whether the limits in force are known: if one sample has them, all have, except those before the engine's start.
pub(crate) fn is_known(facts: &Facts<'_>) -> bool {
    facts.span.within().any(|s| s.throttles.is_some())
}

/// The mean of the limit in force over the measured time, and whether it was constant; `None` if there was none for a part of it.
fn in_force(facts: &Facts<'_>, node: &BlockNode, direction: &LimitDirection) -> Option<(f64, bool)> {
    let key = key(node);
    let looks = facts.span.within().filter_map(|s| s.throttles.as_ref());
    let limits: Vec<f64> = looks
        .map(|all| all.get(&key).and_then(|limits| direction.name.of(limits)).map(float))
        .collect::<Option<_>>()?;
    let n = u32::try_from(limits.len()).ok().filter(|n| *n > 0)?;
    let steady = limits.windows(2).all(|pair| pair.first() == pair.last());
    Some((limits.iter().sum::<f64>() / f64::from(n), steady))
}

/// I/Os or bytes that count against the limit. From the counters of a device that others use too, at most the requested amount.
fn charged(scene: &Scene<'_>, node: &BlockNode, direction: &LimitDirection) -> Option<f64> {
    let facts = scene.facts;
    let key = key(node);
    let by_name = facts.span.grown(|s| s.cgroup_io.get(&key).and_then(direction.charged));
    by_name.or_else(|| counted(facts, node, direction))
}

/// I/Os or bytes by the device's counters; from those of a device that others use too, at most the requested amount.
fn counted(facts: &Facts<'_>, node: &BlockNode, direction: &LimitDirection) -> Option<f64> {
    let counted = facts.span.grown(|s| s.block.get(&node.name).map(direction.counted))?;
    Some(if facts.is_exclusive() { counted } else { counted.min((direction.asked)(facts)) })
}

/// Writes per second that count against limits of writes, on all devices together; `None` without such limits.
pub(crate) fn limited_writes(scene: &Scene<'_>) -> Option<f64> {
    let direction = DIRECTIONS.iter().find(|d| d.name == LimitName::WriteIops)?;
    let nodes = scene.facts.trial.topology.nodes.iter();
    nodes.filter_map(|node| near(scene, node, direction)).map(|n| n.made).reduce(|a, b| a + b)
}

pub(crate) fn key(node: &BlockNode) -> String {
    format!("{}:{}", node.devno.0, node.devno.1)
}
