//! Limits that the kernel holds the load to: those of emulated volumes, and those that others set.
//!
//! What counts against a limit is what the kernel charged to the engine's cgroup: an I/O is charged after it was split to the
//! size a device takes, and before it is merged with its neighbours, while the device's own counters tell of what was merged.
//! They are believed where nothing was charged by name.

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

/// The share of a limit from which the limit is what held the load back: the rest are the window's ends, and the slices of
/// time by which the kernel hands its grants out.
pub(crate) const LIMIT_MET: f64 = 0.95;
/// From here on it is likely, if the load has all its I/Os in flight and nothing else explains where they wait.
const LIMIT_NEAR: f64 = 0.8;
/// From so many writes for one of the workload's on, the others are worth a word.
const AMPLIFIED: f64 = 1.5;
/// A limit that differs by less from the one that the experiment sets is that one.
const SAME: f64 = 0.01;

/// One direction of a limit: how it is called, what counts against it.
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

/// One limit of one device, and how near the load came.
#[derive(Debug, Clone)]
pub(crate) struct Near {
    pub(crate) device: String,
    /// `read_iops`, `write_iops`, `read_bps` or `write_bps`.
    pub(crate) name: &'static str,
    pub(crate) unit: &'static str,
    /// Mean over the measured time.
    pub(crate) limit: f64,
    /// Whether it was the same all the time.
    pub(crate) steady: bool,
    pub(crate) made: f64,
    /// What the experiment sets.
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

/// The limit that came nearest; `None` when there is none, or none that was counted.
pub(crate) fn nearest(scene: &Scene<'_>) -> Option<Near> {
    let nodes = scene.facts.trial.topology.nodes.iter();
    let all = nodes.flat_map(|node| DIRECTIONS.iter().filter_map(move |d| near(scene, node, d)));
    all.max_by(|a, b| a.share().total_cmp(&b.share()))
}

fn near(scene: &Scene<'_>, node: &BlockNode, direction: &LimitDirection) -> Option<Near> {
    let facts = scene.facts;
    // a number of another machine's device is one of another device here
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

/// What the experiment sets: as it was verified, else as it was planned.
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
    volume.verified.iter().find(|v| v.limit == direction.name).map(|v| v.asked).or(planned)
}

/// Whether somebody could look at the limits in force: who could once, could always, but before the engine was there.
pub(super) fn is_known(facts: &Facts<'_>) -> bool {
    facts.span.within().any(|s| s.throttles.is_some())
}

/// The limit in force, mean over the measured time, and whether it stayed; `None` when there was none for part of it.
fn in_force(facts: &Facts<'_>, node: &BlockNode, direction: &LimitDirection) -> Option<(f64, bool)> {
    let key = key(node);
    let looks = facts.span.within().filter_map(|s| s.throttles.as_ref());
    let limits: Vec<f64> =
        looks.map(|all| all.get(&key).and_then(direction.of).map(float)).collect::<Option<_>>()?;
    let n = u32::try_from(limits.len()).ok().filter(|n| *n > 0)?;
    let steady = limits.windows(2).all(|pair| pair.first() == pair.last());
    Some((limits.iter().sum::<f64>() / f64::from(n), steady))
}

/// I/Os or bytes that count against the limit. Of what a device counted where others are at home, no more than the workload
/// asked for.
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

/// Writes per second that count against limits of writes, on all devices together; `None` when there are no such limits.
pub(super) fn limited_writes(scene: &Scene<'_>) -> Option<f64> {
    let direction = DIRECTIONS.iter().find(|d| d.name == "write_iops")?;
    let nodes = scene.facts.trial.topology.nodes.iter();
    nodes.filter_map(|node| near(scene, node, direction)).map(|n| n.made).reduce(|a, b| a + b)
}

pub(super) fn key(node: &BlockNode) -> String {
    format!("{}:{}", node.devno.0, node.devno.1)
}

/// A limit that is met leaves no room for others.
pub(super) fn limit(figures: &Figures<'_>) -> Option<Limit> {
    let near = figures.near.as_ref().filter(|n| n.share() >= LIMIT_MET)?;
    let text = format!("{}{}", text(near), mostly_others(figures, near));
    Some(told(figures, near, true, &text))
}

/// That a limit of writes is met by more than the workload's own.
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

/// Nearly met while the load had all its I/Os in flight: they wait somewhere.
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
        // A throttle lets I/Os wait above the devices: where these hold them, they may be the limit.
        against: figures.pick(&["device_queue_ios", "busiest_thread_cores"]),
        text: text.to_owned(),
    }
}

fn text(near: &Near) -> String {
    let whose = match (near.steady, near.is_declared()) {
        (false, _) => " on average: it changed",
        (true, false) => ", which the experiment doesn't set",
        (true, true) => "",
    };
    format!(
        "{} came to {} of its limit of {} ({}){whose}.",
        near.device,
        percent(near.share()),
        with_unit(near.limit, near.unit),
        near.name
    )
}

/// A limit that somebody else set held the load back.
pub(crate) fn finding(scene: &Scene<'_>) -> Option<Detected> {
    // That it changed is a finding of its own.
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
        None => "Run it outside the cgroup that sets the limit, or read the figure as that of the limit."
            .to_owned(),
    };
    Some(detected(limit, Claim::UndeclaredLimit, Severity::Caveat, near.share(), remedy))
}
