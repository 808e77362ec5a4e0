//! The model from a cell of the same run that measured a single volume.

use super::forecast::Forecast;
use super::load::Load;
use super::provisioned::ios_per_request;
use super::rates::Demand;
use super::stacking::Stacking;
use crate::answer::headline;
use crate::figures::rate;
use crate::input::Input;
use record::judged::{CellView, Metric, ModelSource, RatioView};
use record::plan::Cell;
use record::stack::{BtrfsProfile, Layer, Stack};
use record::volume::VolumeKind;
use record::workload::Workload;
use std::collections::BTreeMap;
use std::mem::discriminant;

/// The measured rate of a single volume.
#[derive(Debug)]
pub(crate) struct Measured<'a> {
    cell: &'a Cell,
    view: &'a CellView,
    metric: &'a Metric,
    /// With the same workload.
    pub(crate) requests_per_second: f64,
    /// With the same workload and one I/O in flight; `None` if no cell measured that, or if a throttle delayed it.
    one_in_flight: Option<f64>,
}

impl<'a> Measured<'a> {
    /// Finds the cell with the same workload over one of the same volumes: preferably under the same top layer, else raw. `None` if volumes
    /// may share the devices below: emulated ones without limits, directories.
    pub(crate) fn of(planned: &Cell, input: &Input<'a>, cells: &'a [CellView]) -> Option<Self> {
        let volumes = &planned.stack.volumes;
        let limited = |kind: &VolumeKind| matches!(kind, VolumeKind::Emulate { limits, .. } | VolumeKind::Guest { limits, .. } if !limits.is_unlimited());
        let disk = |kind: &VolumeKind| matches!(kind, VolumeKind::Disk { .. });
        if !volumes.iter().all(|v| limited(&v.kind) || disk(&v.kind)) {
            return None;
        }
        let singles = |workload: &dyn Fn(&Workload) -> bool| {
            let fits = |c: &Cell| {
                c.target == planned.target
                    && c.id != planned.id
                    && workload(&c.workload)
                    && is_single(&c.stack, &planned.stack)
            };
            let mut found: Vec<(&'a Cell, &'a CellView)> =
                input.plan.cells.iter().zip(cells).filter(|(c, view)| fits(c) && !view.void).collect();
            found.sort_by_key(|(c, _)| c.stack.layers.is_empty());
            found
                .into_iter()
                .find_map(|(cell, view)| Some((cell, view, view.metrics.get(headline(input.plan, view))?)))
        };
        let (cell, view, metric) = singles(&|w| alike(w, &planned.workload))?;
        let unit = |cell: &Cell, metric: &Metric| {
            let bytes = Load::of(&cell.workload).map(|l| l.mean_bytes());
            if metric.unit == "B/s" { bytes } else { Some(1.0) }
        };
        let alone =
            singles(&|w| is_alone(w, &planned.workload)).filter(|_| volumes.iter().all(|v| disk(&v.kind)));
        Some(Self {
            cell,
            view,
            metric,
            requests_per_second: metric.estimate / unit(cell, metric)?,
            one_in_flight: alone.and_then(|(cell, _, metric)| Some(metric.estimate / unit(cell, metric)?)),
        })
    }

    /// The ratio of measured over expected; expected is `times` the rate of the single volume in the same round.
    pub(crate) fn ratio(&self, view: &CellView, metric: &Metric, times: f64) -> Option<RatioView> {
        let (own, single) = (by_round(view, metric), by_round(self.view, self.metric));
        let pairs: Vec<(f64, f64)> =
            own.iter().filter_map(|(round, value)| Some((*value, single.get(round)? * times))).collect();
        let ratio = stats::paired_ratio(&pairs, metric.confidence)?;
        Some(RatioView {
            ratio: ratio.ratio,
            low: ratio.is_bounded().then_some(ratio.low),
            high: ratio.is_bounded().then_some(ratio.high),
            confidence: ratio.confidence,
            n: u32::try_from(ratio.n).unwrap_or(u32::MAX),
        })
    }
}

/// The rate of a stack by the single volume. No volume makes more IOPS than alone, and its share of the I/Os in flight isn't served faster
/// than a single I/O (Little's law): Denning and Buzen (1978), ACM Computing Surveys 10:225-261, asymptotic bounds.
pub(crate) fn forecast(single: &Measured<'_>, stacking: &Stacking, load: &Load) -> Option<Forecast> {
    let geometry = &stacking.geometry;
    let demand = Demand::of(geometry, load, geometry.members);
    let touched = load.chunks_touched(geometry);
    let per_member = (demand.read_ios + demand.write_ios) / touched;
    let all = single.requests_per_second / per_member;
    let mut steps = vec![format!(
        "{} gave {} requests/s; {} volumes of them give at most {}",
        single.cell.stack.name,
        rate(single.requests_per_second),
        geometry.members,
        rate(all)
    )];
    let mut at_most = all;
    if let Some(alone) = single.one_in_flight.filter(|_| touched <= 1.0) {
        let little = load.depth * alone;
        if little < at_most {
            steps.push(format!(
                "{} in flight, at {:.2} ms each, give at most {}",
                rate(load.depth),
                1e3 / alone,
                rate(little)
            ));
            at_most = little;
        }
    }
    if let Some(cap) = load.cap.filter(|&cap| cap < at_most) {
        steps.push(format!("the workload asks for {} requests/s", rate(cap)));
        at_most = cap;
    }
    (at_most.is_finite() && at_most > 0.0).then(|| Forecast {
        from: ModelSource::Measured,
        expected: at_most,
        at_least: 0.0,
        at_most,
        ios_per_request: ios_per_request(stacking, load),
        steps,
    })
}

fn is_single(stack: &Stack, of: &Stack) -> bool {
    let ([volume], []) = (stack.volumes.as_slice(), stack.beside.as_slice()) else { return false };
    let same = |layer: &Layer| {
        of.layers.last().is_some_and(|top| discriminant(top) == discriminant(layer) && plain(layer))
    };
    of.volumes.contains(volume)
        && match stack.layers.as_slice() {
            [] => true,
            [layer] => same(layer),
            _ => false,
        }
}

/// Whether a layer keeps one unchanged copy of the data, so that the cell measured the volume itself.
fn plain(layer: &Layer) -> bool {
    match layer {
        Layer::Filesystem(_) => true,
        Layer::Btrfs(b) => {
            b.compress.is_none() && matches!(b.data, BtrfsProfile::Single | BtrfsProfile::Raid0)
        }
        Layer::Bcache(_)
        | Layer::Command(_)
        | Layer::Knobs(_)
        | Layer::Luks(_)
        | Layer::Lvm(_)
        | Layer::Md(_)
        | Layer::Nfs(_)
        | Layer::Zfs(_) => false,
    }
}

/// Whether two workloads are equal but for the name.
fn alike(a: &Workload, b: &Workload) -> bool {
    (a.engine, &a.ask, a.layout, a.cache) == (b.engine, &b.ask, b.layout, b.cache)
}

/// Whether a workload is the same with one I/O in flight.
fn is_alone(a: &Workload, b: &Workload) -> bool {
    let (Some(own), Some(other)) = (a.only_options(), b.only_options()) else { return false };
    let mut deep = own.clone();
    (deep.iodepth, deep.numjobs, deep.ioengine) = (other.iodepth, other.numjobs, other.ioengine.clone());
    (own.iodepth, own.numjobs) == (1, 1) && deep == *other && (a.engine, a.layout) == (b.engine, b.layout)
}

/// A metric's values, by the rounds of their trials.
fn by_round(view: &CellView, metric: &Metric) -> BTreeMap<u32, f64> {
    view.paired_by().iter().copied().zip(metric.values.iter().copied()).collect()
}
