//! The journal or flushes as the limit of writes.

use super::figures::Figures;
use crate::detected::evidence;
use crate::facts::{Facts, copies};
use crate::figures::{percent, rate as number};
use crate::usage::rate;
use crate::usage::throttle::{LIMIT_MET, Near, limited_writes};
use record::counter::Sample;
use record::judged::{Limit, LimitKind};
use record::volume::LimitName;
use record::workload::{Options, SyncMode};

/// From this many device writes per write of the workload on, most are the file system's own.
const MOSTLY_OTHERS: f64 = 2.0;
/// From this share of the time on, most of it went into flushes or fsync.
const MOST: f64 = 0.5;
/// The largest block that is one I/O on a device; larger ones are several.
const ONE_IO: u64 = 128 << 10;
/// A thread that runs for this share of the time isn't waiting for fsync.
const COMPUTING: f64 = 0.5;

/// The cost of durable writes.
#[derive(Debug, Clone, Copy, Default)]
struct Cost {
    /// Writes on the devices per write of the workload, whoever wrote them.
    device_writes: Option<f64>,
    /// The same, but only writes that count against a limit of writes.
    limited_writes: Option<f64>,
    flushes: Option<f64>,
    commits: Option<f64>,
    /// The mean number of flushes in flight.
    flushing: Option<f64>,
    /// The share of the time in which jobs had no I/O in flight, since they were in fsync.
    syncing: Option<f64>,
}

/// The options, only if the job makes writes durable regularly within the measured time.
pub(crate) fn asked<'a>(facts: &Facts<'a>) -> Option<&'a Options> {
    let syncs = |o: &&Options| o.fsync > 0 || o.fdatasync > 0 || o.sync != SyncMode::None;
    facts.options().filter(|o| o.rw.writes()).filter(syncs)
}

fn cost(figures: &Figures<'_>) -> Option<Cost> {
    let facts = figures.facts;
    let options = asked(facts)?;
    let (writes, seconds) = (facts.write.ios, facts.span.seconds());
    if writes <= 0.0 || seconds <= 0.0 {
        return None;
    }
    let one_io = options.bs_bytes <= ONE_IO && options.bsrange.is_none() && options.bssplit.is_empty();
    let per_write = |count: f64| count / writes / copies(facts.cell);
    let busy = figures.thread.is_none_or(|t| t >= COMPUTING);
    let waits = options.sync == SyncMode::None && !busy && rate::rates(facts).is_none();
    Some(Cost {
        device_writes: on_devices(facts, |s, d| Some(s.block.get(d)?.writes))
            .map(per_write)
            .filter(|_| one_io),
        limited_writes: limited_writes(figures.scene)
            .map(|made| per_write(made * seconds))
            .filter(|_| one_io),
        flushes: on_devices(facts, |s, d| s.block.get(d)?.flushes).map(per_write),
        commits: on_devices(facts, |s, d| s.journal_commits.get(d).copied()).map(|n| n / writes),
        flushing: flushing(facts),
        syncing: figures
            .in_engine()
            .map(|share| (1.0 - share).max(0.0))
            .filter(|_| waits && options.thinktime_us == 0),
    })
}

/// A counter's growth on all direct devices; `None` if one of them doesn't have it.
fn on_devices(facts: &Facts<'_>, counter: impl Fn(&Sample, &str) -> Option<u64>) -> Option<f64> {
    let grown = facts.trial.topology.direct().map(|node| facts.span.grown(|s| counter(s, &node.name)));
    grown.reduce(|a, b| Some(a? + b?))?
}

/// I/Os in the devices' queues besides reads and writes: flushes, if nothing was discarded.
fn flushing(facts: &Facts<'_>) -> Option<f64> {
    on_devices(facts, |s, d| s.block.get(d)?.discards).filter(|discards| *discards <= 0.0)?;
    on_devices(facts, |s, d| s.block.get(d)?.flushes).filter(|flushes| *flushes > 0.0)?;
    let all = on_devices(facts, |s, d| Some(s.block.get(d)?.weighted_ms))?;
    let data =
        on_devices(facts, |s, d| s.block.get(d).map(|b| b.read_wait_ms.saturating_add(b.write_wait_ms)))?;
    Some((all - data).max(0.0) / 1e3 / facts.span.seconds())
}

pub(super) fn limit(figures: &Figures<'_>) -> Option<Limit> {
    let cost = cost(figures)?;
    let at_limit = figures.near.as_ref().filter(|n| n.share() >= LIMIT_MET);
    let text = match at_limit {
        Some(near) => at_a_limit(near, &cost)?,
        None => waiting(&cost)?,
    };
    Some(Limit {
        by: LimitKind::Journal,
        shown: true,
        evidence: evidence([
            ("device_writes_per_write", cost.device_writes),
            ("limited_writes_per_write", cost.limited_writes),
            ("flushes_per_write", cost.flushes),
            ("journal_commits_per_write", cost.commits),
            ("flushes_in_flight_ios", cost.flushing),
            ("in_fsync_share", cost.syncing),
        ]),
        against: figures.pick(&["nearest_limit_share", "device_queue_ios", "asked_queue_ios"]),
        text,
    })
}

/// The volume's limit is met, mostly by the file system's own writes.
fn at_a_limit(near: &Near, cost: &Cost) -> Option<String> {
    let writes = cost.limited_writes.filter(|w| *w >= MOSTLY_OTHERS && near.name == LimitName::WriteIops)?;
    Some(format!(
        "{} is at its limit with {} writes for each write of the workload: the file system makes the others, for durability.",
        near.device,
        number(writes)
    ))
}

/// No limit is met, and the time goes into durable writes.
fn waiting(cost: &Cost) -> Option<String> {
    let syncing = cost.syncing.filter(|share| *share >= MOST);
    let flushing = cost.flushing.filter(|share| *share >= MOST);
    let writes = cost.device_writes.filter(|w| *w >= MOSTLY_OTHERS);
    let mut parts = Vec::new();
    parts.extend(syncing.map(|share| format!("jobs spent {} of their time in fsync", percent(share))));
    parts.extend(flushing.map(|share| format!("{} flushes were in flight on average", number(share))));
    parts.extend(writes.map(|w| format!("each write cost {} writes on the device", number(w))));
    parts.extend(
        cost.flushes
            .filter(|_| !parts.is_empty())
            .map(|f| format!("there were {} flushes per write", number(f))),
    );
    (!parts.is_empty()).then(|| format!("Writes waited until they were durable: {}.", parts.join(", ")))
}
