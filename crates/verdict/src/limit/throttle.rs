//! Throttle limits: those of emulated volumes, and those that others set.
//!
//! The I/Os that count against a limit are those that the kernel charged to the engine's cgroup. It charges an I/O after splitting it
//! to the size that a device takes and before merging it with its neighbours, while the device's own counters count merged I/Os.
//! The device's counters are used if nothing was charged to the cgroup.

use super::detected;
use super::figures::Figures;
use crate::amplified::Amplified;
use crate::detect::{Detected, Scene, evidence};
use crate::facts::Facts;
use crate::figures::{percent, rate, with_unit};
use crate::span::float;
use record::counter::{BlockCounters, CgroupIo};
use record::finding::{Claim, Severity};
use record::judged::{Limit, LimitKind};
use record::topology::BlockNode;
use record::volume::{Limits, VolumeFacts, VolumeKind};

/// From this share on, a limit is met. The rest is the error of the window's ends, and of the time slices in which the kernel grants
/// I/Os.
pub(crate) const LIMIT_MET: f64 = 0.95;
/// From this share on, the limit is likely, if the load has all its I/Os in flight and nothing else explains where they wait.
const LIMIT_NEAR: f64 = 0.8;
/// From this many writes per write of the workload on, the text mentions the others.
const AMPLIFIED: f64 = 1.5;
/// A limit that differs by less than this share from that of the experiment is the same one.
const SAME: f64 = 0.01;

/// One direction of a limit: its name, and the counter for it.
struct LimitDirection {
    name: &'static str,
    unit: &'static str,
    of: fn(&Limits) -> Option<u64>,
    charged: fn(&CgroupIo) -> Option<u64>,
    counted: fn(&BlockCounters) -> u64,
    asked: fn(&Facts<'_>) -> f64,
}

const DIRECTIONS: [LimitDirection; 4] = [
    LimitDirection {
        name: "read_iops",
        unit: "1/s",
        of: |l| l.read_iops,
        charged: |io| io.reads,
        counted: |b| b.reads,
        asked: |f| f.read.ios,
    },
    LimitDirection {
        name: "write_iops",
        unit: "1/s",
        of: |l| l.write_iops,
        charged: |io| io.writes,
        counted: |b| b.writes,
        asked: |f| f.write.ios,
    },
    LimitDirection {
        name: "read_bps",
        unit: "B/s",
        of: |l| l.read_bps,
        charged: |io| io.read_bytes,
        counted: |b| b.read_bytes,
        asked: |f| f.read.asked,
    },
    LimitDirection {
        name: "write_bps",
        unit: "B/s",
        of: |l| l.write_bps,
        charged: |io| io.write_bytes,
        counted: |b| b.write_bytes,
        asked: |f| f.write.asked,
    },
];

/// One limit of one device, and the load's share of it.
#[derive(Debug, Clone)]
pub(crate) struct Near {
    pub(crate) device: String,
    /// `read_iops`, `write_iops`, `read_bps` or `write_bps`.
    pub(crate) name: &'static str,
    pub(crate) unit: &'static str,
    /// The mean over the measured time.
    pub(crate) limit: f64,
    /// Whether it was constant.
    pub(crate) steady: bool,
    pub(crate) made: f64,
    /// The limit that the experiment sets.
    pub(crate) declared: Option<f64>,
}

impl Near {
    pub(crate) fn share(&self) -> f64 {
        self.made / self.limit
    }

    fn is_declared(&self) -> bool {
        self.declared.is_some_and(|d| self.limit >= d * (1.0 - SAME))
    }
}

/// The nearest limit; `None` if there is none with counters.
pub(crate) fn nearest(scene: &Scene<'_>) -> Option<Near> {
    let nodes = scene.facts.trial.topology.nodes.iter();
    let all = nodes.flat_map(|node| DIRECTIONS.iter().filter_map(move |d| near(scene, node, d)));
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
    })
}

/// The limit that the experiment sets: as verified, else as planned.
fn declared(scene: &Scene<'_>, node: &BlockNode, direction: &LimitDirection) -> Option<f64> {
    let is_it = |v: &&&VolumeFacts| {
        v.device.as_ref().and_then(|d| d.file_name()).is_some_and(|name| name == node.name.as_str())
    };
    let volume = scene.volumes.iter().find(is_it)?;
    let planned = scene.facts.cell.stack.all_volumes().find(|v| v.name == volume.name);
    let planned = planned.and_then(|v| match &v.kind {
        VolumeKind::Emulate { limits, .. } => (direction.of)(limits).map(float),
        _ => None,
    });
    volume.verified.iter().find(|v| v.limit.name() == direction.name).map(|v| v.asked).or(planned)
}

/// Whether the limits in force are known: if one sample has them, all have, except those before the engine's start.
pub(super) fn is_known(facts: &Facts<'_>) -> bool {
    facts.span.within().any(|s| s.throttles.is_some())
}

/// The mean of the limit in force over the measured time, and whether it was constant; `None` if there was none for a part of it.
fn in_force(facts: &Facts<'_>, node: &BlockNode, direction: &LimitDirection) -> Option<(f64, bool)> {
    let key = key(node);
    let looks = facts.span.within().filter_map(|s| s.throttles.as_ref());
    let limits: Vec<f64> =
        looks.map(|all| all.get(&key).and_then(direction.of).map(float)).collect::<Option<_>>()?;
    let n = u32::try_from(limits.len()).ok().filter(|n| *n > 0)?;
    let steady = limits.windows(2).all(|pair| pair.first() == pair.last());
    Some((limits.iter().sum::<f64>() / f64::from(n), steady))
}

/// I/Os or bytes that count against the limit. From the counters of a device that others use too, at most the requested amount.
fn charged(scene: &Scene<'_>, node: &BlockNode, direction: &LimitDirection) -> Option<f64> {
    let facts = scene.facts;
    let key = key(node);
    let by_name = facts.span.grown(|s| s.cgroup_io.get(&key).and_then(direction.charged));
    by_name.or_else(|| {
        let counted = facts.span.grown(|s| s.block.get(&node.name).map(direction.counted))?;
        let asked = (direction.asked)(facts);
        Some(if facts.is_exclusive() { counted } else { counted.min(asked) })
    })
}

/// Writes per second that count against limits of writes, on all devices together; `None` without such limits.
pub(super) fn limited_writes(scene: &Scene<'_>) -> Option<f64> {
    let direction = DIRECTIONS.iter().find(|d| d.name == "write_iops")?;
    let nodes = scene.facts.trial.topology.nodes.iter();
    nodes.filter_map(|node| near(scene, node, direction)).map(|n| n.made).reduce(|a, b| a + b)
}

pub(super) fn key(node: &BlockNode) -> String {
    format!("{}:{}", node.devno.0, node.devno.1)
}

/// The limit, if it is met.
pub(super) fn limit(figures: &Figures<'_>) -> Option<Limit> {
    let near = figures.near.as_ref().filter(|n| n.share() >= LIMIT_MET)?;
    let text = format!("{}{}", text(near), mostly_others(figures, near));
    Some(told(figures, near, true, &text))
}

/// A text that a limit of writes is met by more than the workload's own writes.
fn mostly_others(figures: &Figures<'_>, near: &Near) -> String {
    let amplified = Amplified::of(figures.facts);
    let each = match near.name {
        "write_iops" => amplified.and_then(|a| a.ios).map(|n| (n, "write")),
        "write_bps" => amplified.map(|a| (a.all_bytes(), "byte")),
        _ => None,
    };
    each.filter(|(n, _)| *n >= AMPLIFIED).map_or(String::new(), |(n, unit)| {
        format!(" Only one {unit} in {} is the workload's: see the finding write_amplified.", rate(n))
    })
}

/// The limit, if it is nearly met while the load had all its I/Os in flight, which must wait somewhere.
pub(super) fn likely(figures: &Figures<'_>) -> Option<Limit> {
    const FULL: f64 = 0.8;
    let near = figures.near.as_ref().filter(|n| n.share() >= LIMIT_NEAR)?;
    let full = |share: Option<f64>| share.is_some_and(|s| s >= FULL);
    let waits = full(figures.in_engine()) || full(figures.at_devices());
    let text = format!("{} Nothing else explains what its I/Os waited for.", text(near));
    waits.then(|| told(figures, near, false, &text))
}

fn told(figures: &Figures<'_>, near: &Near, shown: bool, text: &str) -> Limit {
    Limit {
        by: LimitKind::Throttle,
        shown,
        evidence: evidence([
            ("nearest_limit_share", Some(near.share())),
            (if near.unit == "B/s" { "limit_bytes_per_second" } else { "limit_iops" }, Some(near.limit)),
            ("asked_queue_ios", figures.depth),
            ("engine_queue_ios", figures.little),
        ]),
        // Throttled I/Os wait above the devices. If the devices hold them, the devices may be the limit.
        against: figures.pick(&["device_queue_ios", "busiest_thread_cores"]),
        text: text.to_owned(),
    }
}

fn text(near: &Near) -> String {
    let whose = match (near.steady, near.is_declared()) {
        (false, _) => " on average: the limit changed",
        (true, false) => ", which the experiment doesn't set",
        (true, true) => "",
    };
    format!(
        "{} reached {} of its limit of {} ({}){whose}.",
        near.device,
        percent(near.share()),
        with_unit(near.limit, near.unit),
        near.name
    )
}

/// A finding: a limit that diskproof didn't set limited the load.
pub(crate) fn finding(scene: &Scene<'_>) -> Option<Detected> {
    // A change of the limit is another finding.
    let near = nearest(scene).filter(|n| n.steady && !n.is_declared())?;
    let limit = super::of_trial(scene);
    if limit.by != LimitKind::Throttle || !limit.shown {
        return None;
    }
    let remedy = match near.declared {
        Some(declared) => format!(
            "The experiment sets {} for it: look for a lower one in the cgroups above the run's.",
            with_unit(declared, near.unit)
        ),
        None => "Run it outside the cgroup that sets the limit, or quote the figure as that of the limit."
            .to_owned(),
    };
    Some(detected(limit, Claim::UndeclaredLimit, Severity::Caveat, near.share(), remedy))
}
