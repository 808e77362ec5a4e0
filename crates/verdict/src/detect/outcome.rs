//! Claims about all trials of a cell.

use crate::detected::{Detected, evidence};
use crate::figures::{counted, percent};
use crate::span::number;
use record::finding::{Claim, Finding, Severity};
use record::judged::Metric;
use record::plan::{Cell, Measure, Plan};
use record::trial::{Outcome, TrialRecord};
use std::collections::{BTreeMap, BTreeSet};

/// The name of the evidence with the number of failed trials that the guard refused.
pub const REFUSED_TRIALS: &str = "refused_trials";

/// Trials that failed.
pub(crate) fn failed(cell: &Cell, failed: &[&TrialRecord], measured: usize) -> Option<Finding> {
    let last = failed.last()?;
    let reason = match &last.outcome {
        Outcome::Failed(reason) => reason.as_str(),
        Outcome::Measured => "the engine reported no figures",
    };
    let n = number(failed.len());
    let refused = number(failed.iter().filter(|trial| trial.refused).count());
    let detected = Detected {
        claim: Claim::TrialsFailed,
        severity: if measured == 0 { Severity::Void } else { Severity::Caveat },
        strength: 1.0,
        evidence: evidence([
            ("failed_trials", Some(f64::from(n))),
            ("measured_trials", Some(f64::from(number(measured)))),
            (REFUSED_TRIALS, (refused > 0).then(|| f64::from(refused))),
        ]),
        text: format!(
            "{} failed; the last one{}, in round {}: {reason}",
            counted(u64::from(n), "trial"),
            if last.cut_off { " was cut off" } else { "" },
            last.id.round + 1
        ),
        remedy: "Fix the cause, then `diskproof resume` runs the missing trials.".to_owned(),
    };
    Some(detected.in_rounds(cell, failed.iter().map(|trial| trial.id.round).collect()))
}

/// Trials that were cut off and made again.
pub(crate) fn cut_off(cell: &Cell, made_again: &[&TrialRecord], measured: usize) -> Option<Finding> {
    let last = made_again.last()?;
    let Outcome::Failed(reason) = &last.outcome else { return None };
    let n = number(made_again.len());
    let text = match n {
        1 => format!("1 trial was cut off in round {} and made again: {reason}", last.id.round + 1),
        n => format!(
            "{n} trials were cut off and made again; the last one, in round {}: {reason}",
            last.id.round + 1
        ),
    };
    let detected = Detected {
        claim: Claim::TrialsCutOff,
        severity: Severity::Note,
        strength: 1.0,
        evidence: evidence([
            ("cut_off_trials", Some(f64::from(n))),
            ("measured_trials", Some(f64::from(number(measured)))),
        ]),
        text,
        remedy: "The figures come from the trials that were made in their place; nothing is to be done."
            .to_owned(),
    };
    let rounds: BTreeSet<u32> = made_again.iter().map(|trial| trial.id.round).collect();
    Some(detected.in_rounds(cell, rounds.into_iter().collect()))
}

/// A cell that the user skipped while the run went on.
pub(crate) fn skipped(cell: &Cell, plan: &Plan, measured: usize) -> Option<Finding> {
    let round = plan.skipped.get(&cell.id)? + 1;
    let n = number(measured);
    let so_far = match n {
        0 => "before it had a trial: it has no figure".to_owned(),
        n => format!("after {}: later rounds measured only the other cells", counted(u64::from(n), "trial")),
    };
    let detected = Detected {
        claim: Claim::Skipped,
        severity: Severity::Note,
        strength: 1.0,
        evidence: evidence([
            ("skipped_in_round", Some(f64::from(round))),
            ("measured_trials", Some(f64::from(n))),
        ]),
        text: format!("you skipped this cell in round {round}, {so_far}"),
        remedy: "Measure it in a new run if you need its figure; a resumed run leaves it out, too."
            .to_owned(),
    };
    Some(detected.finding(cell, n))
}

/// An interval of a headline rate that is wider than requested.
pub(crate) fn too_wide(
    cell: &Cell,
    metrics: &BTreeMap<String, Metric>,
    measure: &Measure,
) -> Option<Finding> {
    let target = measure.interval?;
    let headlines =
        ["iops", "read_iops", "write_iops", "trim_iops"].iter().filter_map(|n| Some((*n, metrics.get(*n)?)));
    let relative = |m: &Metric| {
        m.half_width().map_or(f64::INFINITY, |h| if h == 0.0 { 0.0 } else { h / m.estimate.abs() })
    };
    let (name, metric) = headlines.max_by(|a, b| relative(a.1).total_cmp(&relative(b.1)))?;
    let width = relative(metric);
    if width <= target {
        return None;
    }
    let more = stats::trials_for(&metric.values, metric.confidence, target);
    let text = if metric.n < 2 {
        format!("One trial gives no interval; ±{} was asked for.", percent(target))
    } else {
        format!(
            "The interval of {name} is ±{} after {}; ±{} was asked for.",
            percent(width),
            counted(u64::from(metric.n), "round"),
            percent(target)
        )
    };
    let remedy = match more {
        Some(rounds) => format!("About {rounds} rounds would be enough if the spread stays as it is."),
        None => "Measure at least 3 rounds (measure: { rounds: 3 }).".to_owned(),
    };
    let detected = Detected {
        claim: Claim::IntervalTooWide,
        severity: Severity::Note,
        strength: width,
        evidence: evidence([
            ("half_width_share", Some(width)),
            ("asked_half_width_share", Some(target)),
            ("rounds_needed", more.map(f64::from)),
        ]),
        text,
        remedy,
    };
    Some(detected.finding(cell, metric.n))
}
