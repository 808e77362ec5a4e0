//! The model: the rate that a stack should have by its volumes, computed beforehand and compared with the measured one. docs/model.md has
//! every formula.

mod beforehand;
mod ceiling;
mod finding;
mod forecast;
mod geometry;
mod load;
mod measured;
mod occupancy;
mod provisioned;
mod rates;
mod stacking;
#[cfg(test)]
mod tests;

pub(crate) use beforehand::{Foreseen, foresee};
pub(crate) use ceiling::name_limits;

use crate::answer::headline;
use crate::input::Input;
use load::Load;
use measured::Measured;
use record::finding::Finding;
use record::judged::{CellView, Metric, ModelView, RatioView};
use record::plan::Cell;
use record::volume::VolumeFacts;
use stacking::Stacking;

/// Adds the model to every cell that has one, and returns findings about cells that differ from it. `found`: the other findings.
pub(crate) fn apply(input: &Input<'_>, cells: &mut [CellView], found: &[Finding]) -> Vec<Finding> {
    let models: Vec<Option<ModelView>> = input
        .plan
        .cells
        .iter()
        .zip(cells.iter())
        .map(|(planned, cell)| model(planned, cell, input, cells))
        .collect();
    let mut findings = Vec::new();
    for ((planned, cell), model) in input.plan.cells.iter().zip(cells).zip(models) {
        let Some(mut model) = model else { continue };
        let own: Vec<&Finding> = found.iter().filter(|f| f.cell == cell.id).collect();
        let seconds = seconds(planned, input);
        findings.extend(finding::judge(&mut model, cell, &own, seconds));
        cell.model = Some(model);
    }
    findings
}

fn model(planned: &Cell, cell: &CellView, input: &Input<'_>, cells: &[CellView]) -> Option<ModelView> {
    // A search is limited by its latency, not by what the volumes deliver.
    let load = Load::of(&planned.workload).filter(|_| planned.find().is_none())?;
    let stacking = Stacking::of(&planned.stack, &load)?;
    let passed = ceiling::ceiling(input.plan, planned, &stacking, &load);
    let of = headline(input.plan, cell);
    let metric = cell.metrics.get(of)?;
    let unit = if of == "bw" { load.mean_bytes() } else { 1.0 };
    let is_own = |facts: &&VolumeFacts| {
        facts.target == planned.target && planned.stack.volumes.iter().any(|own| own.name == facts.name)
    };
    let found: Vec<&VolumeFacts> = input.volumes.iter().filter(is_own).collect();
    let (forecast, ratio) = match provisioned::forecast(&planned.stack.volumes, &found, &stacking, &load) {
        Some(forecast) => {
            let forecast = ceiling::lowered(forecast, passed);
            let ratio = against(metric, forecast.expected * unit);
            (forecast, ratio)
        }
        None => {
            let single = Measured::of(planned, input, cells)?;
            let forecast = ceiling::lowered(measured::forecast(&single, &stacking, &load)?, passed);
            let ratio = single.ratio(cell, metric, forecast.expected / single.requests_per_second);
            (forecast, ratio)
        }
    };
    Some(ModelView {
        of: of.to_owned(),
        expected: forecast.expected * unit,
        at_least: forecast.at_least * unit,
        at_most: forecast.at_most * unit,
        from: forecast.from,
        device_ios_per_request: Some(forecast.ios_per_request),
        ratio,
        steps: forecast.steps,
        reason: None,
    })
}

/// The ratio of the measured metric over an exact figure.
fn against(metric: &Metric, expected: f64) -> Option<RatioView> {
    (expected > 0.0).then(|| RatioView {
        ratio: metric.estimate / expected,
        low: metric.low.map(|low| low / expected),
        high: metric.high.map(|high| high / expected),
        confidence: metric.confidence,
        n: metric.n,
    })
}

/// The measured time of a trial, in seconds.
fn seconds(planned: &Cell, input: &Input<'_>) -> f64 {
    load::runtime_seconds(&planned.workload).unwrap_or(input.plan.measure.trial_seconds)
}
