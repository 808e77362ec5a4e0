//! Findings about cells that differ from their model.

use crate::detected::evidence;
use crate::figures::{percent, range, with_unit};
use record::finding::{Claim, Finding, Severity};
use record::judged::{CellView, LimitKind, ModelSource, ModelView, RatioView};

/// The tolerance for a lab guest's disks. `run`'s verification accepts a limit that the probe finds 10 % off, so the model can't be more
/// exact.
const PROVISIONED_MARGIN: f64 = 0.10;
/// The tolerance for a model from a measured volume. Members under a stack see other offsets than a single one: a smaller part of each
/// disk, so shorter seeks, and more of the disk's own cache for each byte.
const MEASURED_MARGIN: f64 = 0.25;
/// The kernel's throttle grants I/Os for 100 ms at a time, so a trial may contain that much more or less.
const SLICE_SECONDS: f64 = 0.1;

/// Claims that explain a rate above the model, the surest first.
const MORE: [Claim; 9] = [
    Claim::ServedFromHoles,
    Claim::ServedFromPageCache,
    Claim::Compressed,
    Claim::NotDurable,
    Claim::MemoryBacked,
    Claim::ServedFromOtherCache,
    Claim::ServedFromHostCache,
    Claim::DoubleCaching,
    Claim::ThrottleChanged,
];
/// Claims that explain a rate below the model.
const LESS: [Claim; 13] = [
    Claim::ThrottleChanged,
    Claim::IoErrors,
    Claim::Interference,
    Claim::OthersUsedCpu,
    Claim::CpuQuota,
    Claim::EngineCpuBound,
    Claim::NetworkBound,
    Claim::JournalBound,
    Claim::WriteAmplified,
    Claim::Serialized,
    Claim::BurstExhausted,
    Claim::RampUp,
    Claim::NotSteady,
];

/// Compares a cell with its model, gives the cause if there is evidence, and makes a finding if the whole interval is outside.
pub(crate) fn judge(
    model: &mut ModelView,
    cell: &CellView,
    found: &[&Finding],
    seconds: f64,
) -> Option<Finding> {
    let ratio = model.ratio?;
    let margin = match model.from {
        ModelSource::Provisioned => PROVISIONED_MARGIN + SLICE_SECONDS / seconds.max(SLICE_SECONDS),
        ModelSource::Measured => MEASURED_MARGIN,
    };
    let floor = model.at_least / model.expected * (1.0 - margin);
    let ceiling = model.at_most / model.expected * (1.0 + margin);
    let claim = if ratio.high? < floor {
        Claim::BelowModel
    } else if ratio.low? > ceiling {
        Claim::AboveModel
    } else {
        return None;
    };
    let cause = cause(claim, cell, found);
    model.reason = cause.as_ref().map(|c| c.text.clone());
    let unit = &cell.metrics.get(&model.of)?.unit;
    Some(Finding {
        claim,
        severity: if cause.as_ref().is_some_and(|c| c.found) { Severity::Note } else { Severity::Caveat },
        cell: cell.id.clone(),
        trials: ratio.n,
        rounds: Vec::new(),
        evidence: evidence([
            ("expected", Some(model.expected)),
            ("expected_at_least", Some(model.at_least).filter(|l| *l > 0.0)),
            ("expected_at_most", Some(model.at_most)),
            ("measured_over_expected", Some(ratio.ratio)),
            ("measured_over_expected_low", ratio.low),
            ("measured_over_expected_high", ratio.high),
            ("margin_share", Some(margin)),
            ("device_ios_per_request", model.device_ios_per_request),
        ]),
        text: text(claim, model, &ratio, unit),
        remedy: remedy(claim, cause.as_ref()),
    })
}

fn text(claim: Claim, model: &ModelView, ratio: &RatioView, unit: &str) -> String {
    let (low, high) = (ratio.low.unwrap_or(ratio.ratio), ratio.high.unwrap_or(ratio.ratio));
    let seen = range(low * model.expected, high * model.expected, unit);
    let source = match model.from {
        ModelSource::Provisioned => "By the limits of its volumes",
        ModelSource::Measured => "By the rate of a single volume in this run",
    };
    if claim == Claim::BelowModel {
        let least = with_unit(model.at_least, unit);
        format!(
            "{source} this stack should give {least} at least; it gave {seen}, {} of what is expected.",
            percent(ratio.ratio)
        )
    } else {
        let most = with_unit(model.at_most, unit);
        format!(
            "{source} this stack can give {most} at most; it gave {seen}, {:.2} times what is expected.",
            ratio.ratio
        )
    }
}

/// A cause, and whether another finding says it.
struct Cause {
    text: String,
    found: bool,
}

fn cause(claim: Claim, cell: &CellView, found: &[&Finding]) -> Option<Cause> {
    let order: &[Claim] = if claim == Claim::AboveModel { &MORE } else { &LESS };
    let finding = order.iter().find_map(|c| found.iter().find(|f| f.claim == *c));
    if let Some(finding) = finding {
        return Some(Cause { text: finding.text.clone(), found: true });
    }
    let limit = cell.limited_by.as_ref().filter(|l| claim == Claim::BelowModel && l.shown)?;
    let elsewhere = !matches!(limit.by, LimitKind::Device | LimitKind::Throttle | LimitKind::Unknown);
    elsewhere.then(|| Cause { text: limit.text.clone(), found: false })
}

fn remedy(claim: Claim, cause: Option<&Cause>) -> String {
    match (claim, cause) {
        (_, Some(cause)) if cause.found => "Remove the cause that this cell's other finding names, then run it again.".to_owned(),
        (_, Some(cause)) => format!("The volumes were not the limit: {}", cause.text),
        (Claim::BelowModel, None) => {
            "No counter shows why. Measure one volume alone with the same workload, and look at the steps of the model (--json)."
                .to_owned()
        }
        _ => "Something other than the volumes served a part of the I/O: a cache below the file system, or merged requests. Don't \
              quote the figure as the volumes' speed."
            .to_owned(),
    }
}
