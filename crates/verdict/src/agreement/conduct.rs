//! Counters of an engine that may explain a difference, as means over the compared rounds.

use super::total::{document, jobs};
use crate::attribute::attribute;
use crate::facts::Facts;
use crate::span::float;
use record::agreement::Conduct;
use record::counter::BlockCounters;
use record::latency::LatencyHistogram;
use serde_json::Value;
use std::collections::BTreeMap;

/// The compared percentiles, with a rank below and one above each: at a distance of a tenth of what lies beyond the percentile.
const RANKS: [(&str, f64, f64); 2] = [("p50", 0.45, 0.55), ("p99", 0.989, 0.991)];

pub(super) fn of(rounds: &[Facts<'_>]) -> Conduct {
    let mean = |of: fn(&Facts<'_>) -> Option<f64>| {
        let all: Option<Vec<f64>> = rounds.iter().map(of).collect();
        all.filter(|v| !v.is_empty()).map(|v| v.iter().sum::<f64>() / float(v.len() as u64))
    };
    Conduct {
        device_ios_per_io: mean(|f| Some(device_ios(f)? / ios(f)?)),
        device_io_bytes: mean(|f| Some(on_device(f, |b| b.read_bytes + b.write_bytes)? / device_ios(f)?)),
        device_depth: mean(|f| Some(on_device(f, |b| b.weighted_ms)? / 1e3 / f.span.seconds())),
        engine_depth: mean(engine_depth),
        cpu_ns_per_io: mean(|f| {
            let cores = f.engine.cpu_user_share? + f.engine.cpu_system_share?;
            Some(cores * f.span.seconds() * 1e9 / ios(f)?)
        }),
        busiest_thread: mean(|f| {
            let ticks = f.span.grown(|s| s.engine?.busiest_thread_ticks)?;
            Some(ticks / float(f.trial.evidence.ticks_per_second.max(1)) / f.span.seconds())
        }),
        page_cache: mean(|f| Some(attribute(f).both.page_cache)),
        submission_us: mean(|f| submission_us(&f.engine.raw)),
        spread: spread(rounds),
        issued_by: rounds.first().and_then(|f| issued_by(f)),
    }
}

fn ios(facts: &Facts<'_>) -> Option<f64> {
    Some(facts.read.ios + facts.write.ios).filter(|n| *n > 0.0)
}

fn device_ios(facts: &Facts<'_>) -> Option<f64> {
    on_device(facts, |b| b.reads + b.writes).filter(|n| *n > 0.0)
}

/// The growth of a counter, summed over the ground's direct devices; `None` if one wasn't counted.
fn on_device(facts: &Facts<'_>, counter: fn(&BlockCounters) -> u64) -> Option<f64> {
    let mut sum = None;
    for node in facts.trial.topology.direct() {
        let grown = facts.span.grown(|s| s.block.get(&node.name).map(counter))?;
        sum = Some(sum.unwrap_or(0.0) + grown);
    }
    sum
}

/// Little's law: the mean number in flight is the rate times the mean time.
fn engine_depth(facts: &Facts<'_>) -> Option<f64> {
    let sides = [facts.engine.read.as_ref(), facts.engine.write.as_ref()];
    let each = sides.into_iter().flatten().filter(|t| t.ios > 0);
    let all: Option<Vec<f64>> = each.map(|t| Some(t.iops * t.latency_mean_ns? / 1e9)).collect();
    all.filter(|v| !v.is_empty()).map(|v| v.iter().sum())
}

/// fio's mean submission latency over jobs and directions, from its own document; `None` for other engines.
fn submission_us(raw: &str) -> Option<f64> {
    let document = document(raw)?;
    let (mut sum, mut count) = (0.0, 0.0);
    for slat in
        jobs(&document).flat_map(|job| ["read", "write", "trim"].map(|side| job.get(side)?.get("slat_ns")))
    {
        let number = |name: &str| slat.and_then(|s| s.get(name)).and_then(Value::as_f64).unwrap_or(0.0);
        sum += number("mean") * number("N");
        count += number("N");
    }
    (count > 0.0).then(|| sum / count / 1e3)
}

/// How I/Os were issued: as native reports it, or the I/O engine in fio's job file.
fn issued_by(facts: &Facts<'_>) -> Option<String> {
    let said = document(&facts.engine.raw);
    if let Some(by) = said.as_ref().and_then(|d| d.get("issued_by")).and_then(Value::as_str) {
        return Some(by.to_owned());
    }
    let value = |line: &str| {
        line.split_once('=').filter(|(k, _)| k.trim() == "ioengine").map(|(_, v)| v.trim().to_owned())
    };
    facts.engine.input.lines().find_map(value)
}

/// How steep the latency distribution is around each percentile, from the histograms of all rounds together.
fn spread(rounds: &[Facts<'_>]) -> BTreeMap<String, f64> {
    let mut spread = BTreeMap::new();
    for (name, side) in [("read", false), ("write", true)] {
        let mut merged = LatencyHistogram::default();
        for facts in rounds {
            let totals = if side { &facts.engine.write } else { &facts.engine.read };
            totals.iter().for_each(|t| merged.merge(&t.latency));
        }
        for (rank, low, high) in RANKS {
            let at = |q| merged.percentile_ns(q).map(float).filter(|ns| *ns > 0.0);
            if let (Some(low), Some(high)) = (at(low), at(high)) {
                spread.insert(format!("{name}_lat_{rank}"), high / low - 1.0);
            }
        }
    }
    spread
}

#[cfg(test)]
mod tests {
    use super::submission_us;

    #[test]
    fn the_submission_latency_is_read_from_fios_document_only() {
        let raw = r#"fio: a word before
{ "jobs": [ { "read": { "slat_ns": { "mean": 4000.0, "N": 300 } }, "write": { "slat_ns": { "mean": 8000.0, "N": 100 } } } ] }"#;
        assert_eq!(submission_us(raw), Some(5.0));
        assert_eq!(submission_us(r#"{"issued_by":"io_uring"}"#), None);
        assert_eq!(submission_us(r#"{"jobs":[{"read":{"slat_ns":{"mean":0,"N":0}}}]}"#), None);
        assert_eq!(submission_us(""), None);
    }
}
