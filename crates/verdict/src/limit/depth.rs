//! The queue depth, or the devices themselves, as the limit.
//!
//! A single trial can't always distinguish them: devices that serve many I/Os at once are busy long before they are full. Another
//! depth on the same stack can: if more I/Os in flight bring more IOPS, the limit was the depth; if they only wait longer, it was
//! the device.

use super::figures::Figures;
use super::held;
use crate::figures::{percent, rate, with_unit};
use crate::span::number;
use crate::usage::queue;
use record::judged::{CellView, Limit, LimitKind, Metric};
use record::plan::{Cell, Plan};
use record::workload::Workload;

/// From this share of all I/Os on, the load had them all in flight.
const FULL: f64 = 0.8;
/// If the devices hold this share of the I/Os, most of them wait there.
const MOSTLY: f64 = 0.5;
/// A device that is busy for less than this share of the time has time left.
const BUSY: f64 = 0.9;
/// Without a cell to compare with: solid-state drives need about this many I/Os in flight for their full rate, disks fewer.
const DEEP: f64 = 16.0;
/// The least ratio of two depths for a comparison.
const OTHER_DEPTH: f64 = 1.5;
/// The least factor of the rate by which a deeper queue brings more.
const MORE: f64 = 1.1;
/// If the rate grows by this share of the growth of the depth, it grows in proportion.
const IN_PROPORTION: f64 = 0.8;
/// If I/Os take this many times as long as with a shallower queue, they wait for each other for longer than they are served.
const WAITING: f64 = 2.0;

pub(super) fn limit(figures: &Figures<'_>) -> Option<Limit> {
    let Some(depth) = figures.depth else { return busy(figures) };
    let cached_writes = figures.facts.direct() != Some(true) && figures.facts.write.asked > 0.0;
    if cached_writes {
        // Write-back fills the devices' queues by itself.
        return busy(figures);
    }
    let at_devices = figures.at_devices();
    let mostly = at_devices.is_some_and(|share| share >= MOSTLY);
    if depth <= 1.0 {
        let always = figures.in_engine().or(at_devices).is_some_and(|share| share >= FULL);
        // A single I/O doesn't wait for others.
        return always.then(|| told(figures, depth, LimitKind::QueueDepth, mostly));
    }
    let rotates = figures.facts.trial.topology.nodes.iter().any(|n| n.rotational == Some(true));
    let by = if depth >= DEEP || rotates { LimitKind::Device } else { LimitKind::QueueDepth };
    if by == LimitKind::Device
        && let Some(lacking) = held::lacking(figures, mostly)
    {
        return Some(lacking);
    }
    mostly.then(|| told(figures, depth, by, false))
}

/// The limit of a load over NFS whose I/Os wait at the server's threads as well, so that its devices hold fewer of them.
pub(super) fn behind_server(figures: &Figures<'_>) -> Option<Limit> {
    figures.facts.cell.stack.nfs()?;
    busy(figures)
}

/// The limit if devices are busy, and it isn't known how many I/Os they should hold.
fn busy(figures: &Figures<'_>) -> Option<Limit> {
    let busy = figures.busy.filter(|b| *b >= BUSY)?;
    Some(Limit {
        by: LimitKind::Device,
        shown: false,
        evidence: figures.pick(&["busiest_device_busy_share", "device_queue_ios"]),
        against: figures.pick(&["nearest_limit_share", "busiest_thread_cores"]),
        text: format!("A device was busy {} of the time, and no limit was met.", percent(busy)),
    })
}

fn told(figures: &Figures<'_>, depth: f64, by: LimitKind, shown: bool) -> Limit {
    let evidence = figures.pick(&[
        "asked_queue_ios",
        "engine_queue_ios",
        "device_queue_ios",
        "busiest_device_busy_share",
    ]);
    let held = figures
        .queue
        .map_or(String::new(), |q| format!("The devices held {} of {} I/Os", rate(q), rate(depth)));
    let text = match by {
        LimitKind::Device => format!(
            "{held}, and no limit was met: they gave all they can. A measurement with a shallower queue would show it."
        ),
        _ => format!("{}; {}.", by_littles_law(depth, figures.iops), more(figures)),
    };
    let against = figures.pick(&["nearest_limit_share", "busiest_thread_cores", "machine_busy_share"]);
    Limit { by, shown, evidence, against, text }
}

/// Little's law in words: I/Os in flight divided by their rate are the time of each.
fn by_littles_law(depth: f64, iops: f64) -> String {
    let each = if iops > 0.0 { depth / iops * 1e6 } else { 0.0 };
    format!(
        "With {} in flight and {} for each, {} is the maximum",
        crate::figures::counted(whole(depth), "I/O"),
        with_unit(each, "us"),
        with_unit(iops, "1/s")
    )
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a depth; saturates")]
fn whole(depth: f64) -> u64 {
    depth as u64
}

/// How to get more I/Os in flight, given the present options.
fn more(figures: &Figures<'_>) -> String {
    match figures.facts.options() {
        Some(o) if queue::is_one_by_one(&figures.facts.cell.workload, o) => {
            format!("{} does one I/O at a time: raise numjobs, or use an asynchronous ioengine", o.ioengine)
        }
        Some(o) => format!("raise iodepth ({} now)", o.iodepth),
        None => "raise iodepth".to_owned(),
    }
}

/// A measured cell that differs only in depth.
struct Other {
    depth: f64,
    iops: Metric,
    by: LimitKind,
}

/// Decides between depth and device by cells with other depths on the same stack.
pub(crate) fn resolve(plan: &Plan, cells: &mut [CellView]) {
    let told: Vec<Option<Limit>> =
        plan.cells.iter().zip(cells.iter()).map(|(c, view)| compared(c, view, plan, cells)).collect();
    for (view, limit) in cells.iter_mut().zip(told) {
        if limit.is_some() {
            view.limited_by = limit;
        }
    }
}

/// The limit by comparison with other depths; `None` if they add nothing.
fn compared(cell: &Cell, view: &CellView, plan: &Plan, cells: &[CellView]) -> Option<Limit> {
    let limit = view.limited_by.as_ref().filter(|l| is_open(l.by))?;
    let depth = depth_of(cell)?;
    let iops = view.metrics.get("iops")?;
    let others: Vec<Other> = plan
        .cells
        .iter()
        .zip(cells)
        .filter(|(other, view)| !view.void && differs_in_depth_only(cell, other))
        .filter_map(|(other, view)| {
            let iops = view.metrics.get("iops").filter(|m| m.estimate > 0.0)?.clone();
            Some(Other { depth: depth_of(other)?, iops, by: view.limited_by.as_ref()?.by })
        })
        .collect();
    let (by, other) = verdict(depth, iops, &others)?;
    Some(with(limit, by, depth, iops.estimate, other))
}

/// The I/Os that all machines of a cell together may have in flight.
fn depth_of(cell: &Cell) -> Option<f64> {
    let machines = f64::from(number(cell.loading().len()));
    queue::depth(&cell.workload).map(|depth| depth * machines)
}

fn is_open(by: LimitKind) -> bool {
    matches!(by, LimitKind::Device | LimitKind::QueueDepth)
}

/// Whether two cells are equal but for `iodepth`, `numjobs`, and fio's I/O engine that goes with the depth.
fn differs_in_depth_only(a: &Cell, b: &Cell) -> bool {
    let plain = |workload: &Workload| {
        let mut options = workload.only_options()?.clone();
        (options.iodepth, options.numjobs) = (1, 1);
        options.ioengine.clear();
        Some((workload.engine, workload.layout, workload.cache, options))
    };
    let same = || plain(&a.workload).is_some_and(|options| Some(options) == plain(&b.workload));
    let on_same = a.target == b.target && a.workload.on == b.workload.on;
    a.id != b.id && on_same && a.stack == b.stack && same()
}

fn verdict<'a>(depth: f64, iops: &Metric, others: &'a [Other]) -> Option<(LimitKind, &'a Other)> {
    let best = |a: &'a Other, b: &'a Other| if b.iops.estimate > a.iops.estimate { b } else { a };
    if let Some(deeper) = others.iter().filter(|o| o.depth >= OTHER_DEPTH * depth).reduce(best) {
        if brings_more(iops, &deeper.iops) {
            return Some((LimitKind::QueueDepth, deeper));
        }
        if is_open(deeper.by) && deeper.iops.estimate < MORE * iops.estimate {
            return Some((LimitKind::Device, deeper));
        }
    }
    let shallower = others
        .iter()
        .filter(|o| o.depth * OTHER_DEPTH <= depth)
        .reduce(|a, b| if b.depth < a.depth { b } else { a })?;
    let (deeper_by, faster_by) = (depth / shallower.depth, iops.estimate / shallower.iops.estimate);
    if faster_by >= IN_PROPORTION * deeper_by {
        return Some((LimitKind::QueueDepth, shallower));
    }
    (deeper_by / faster_by >= WAITING || faster_by < MORE).then_some((LimitKind::Device, shallower))
}

/// Whether a rate is clearly higher: by a tenth, and without overlap of the intervals, if there are any.
fn brings_more(iops: &Metric, other: &Metric) -> bool {
    let apart = iops.high.zip(other.low).is_none_or(|(high, low)| low > high);
    apart && other.estimate >= MORE * iops.estimate
}

fn with(limit: &Limit, by: LimitKind, depth: f64, iops: f64, other: &Other) -> Limit {
    let mut evidence = limit.evidence.clone();
    evidence.insert("other_queue_ios".to_owned(), other.depth);
    evidence.insert("iops_of_other_queue".to_owned(), other.iops.estimate);
    let there = format!(
        "with {} in flight the same stack made {}",
        crate::figures::counted(whole(other.depth), "I/O"),
        with_unit(other.iops.estimate, "1/s")
    );
    let text = match by {
        LimitKind::Device => {
            format!(
                "The devices gave all they can: with {} in flight {}, {there}.",
                crate::figures::counted(whole(depth), "I/O"),
                with_unit(iops, "1/s")
            )
        }
        _ => format!("{}; {there}.", by_littles_law(depth, iops)),
    };
    Limit { by, shown: true, evidence, against: limit.against.clone(), text }
}
