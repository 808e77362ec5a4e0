//! Metrics: one number per trial, then an interval over trials. docs/metrics.md describes each.

use record::judged::{Interval, Metric};
use record::latency::LatencyHistogram;
use record::plan::Measure;
use record::trial::{EngineOutput, GeneratorCost, Totals};
use stats::{Estimate, mean_t, trimmed_mean};
use std::collections::BTreeMap;

/// Share of the trials that the trimmed mean leaves out at each end, and how many trials it takes for that to be any.
const TRIMMED: f64 = 0.1;
const LEAST_TRIMMED: usize = 10;

/// Percentiles by the suffix of their metric. A percentile is only given when at least one I/O lies beyond it.
const PERCENTILES: [(&str, f64); 3] = [("p50", 0.50), ("p99", 0.99), ("p999", 0.999)];

/// One trial's metrics by name.
pub(crate) fn of_trial(engine: &EngineOutput) -> BTreeMap<String, f64> {
    let mut values = BTreeMap::new();
    let sides =
        [("read", engine.read.as_ref()), ("write", engine.write.as_ref()), ("trim", engine.trim.as_ref())];
    let active: Vec<(&str, &Totals)> =
        sides.into_iter().filter_map(|(side, totals)| Some((side, totals.filter(|t| t.ios > 0)?))).collect();
    if active.is_empty() {
        return values;
    }
    values.insert("iops".to_owned(), active.iter().map(|(_, t)| t.iops).sum());
    values.insert("bw".to_owned(), active.iter().map(|(_, t)| t.bytes_per_second).sum());
    for (side, totals) in active {
        values.insert(format!("{side}_iops"), totals.iops);
        values.insert(format!("{side}_bw"), totals.bytes_per_second);
        if let Some(mean_ns) = totals.latency_mean_ns.or_else(|| histogram_mean_ns(&totals.latency)) {
            values.insert(format!("{side}_lat_mean"), mean_ns / 1e3);
        }
        for (suffix, q) in PERCENTILES {
            if let Some(us) = percentile_us(&totals.latency, q) {
                values.insert(format!("{side}_lat_{suffix}"), us);
            }
        }
    }
    if let (Some(user), Some(system)) = (engine.cpu_user_share, engine.cpu_system_share) {
        values.insert("engine_cpu".to_owned(), user + system);
    }
    values.extend(engine.generator.iter().flat_map(|cost| of_generator(cost, engine.window.seconds())));
    values.retain(|_, v| v.is_finite());
    values
}

/// What generating the load cost, as far as the engine tells.
fn of_generator(cost: &GeneratorCost, seconds: f64) -> impl Iterator<Item = (String, f64)> {
    let busiest = cost.busiest_thread_seconds.filter(|_| seconds > 0.0).map(|busy| busy / seconds);
    [
        ("engine_cpu_per_io", cost.cpu_ns_per_io),
        ("engine_instructions_per_io", cost.user_instructions_per_io),
        ("engine_busiest_thread", busiest),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name.to_owned(), value?)))
}

/// Metrics over trials: those that every trial has, each with its interval.
pub(crate) fn over_trials(trials: &[BTreeMap<String, f64>], measure: &Measure) -> BTreeMap<String, Metric> {
    let Some(first) = trials.first() else {
        return BTreeMap::new();
    };
    let metric = |name: &String| {
        let values: Vec<f64> = trials.iter().map(|t| t.get(name).copied()).collect::<Option<_>>()?;
        let e = match measure.trim {
            Some(share) => trimmed_mean(&values, share, measure.confidence)?,
            None => mean_t(&values, measure.confidence)?,
        };
        let metric = Metric {
            median: stats::median(&values, measure.confidence).and_then(interval),
            trimmed: trimmed_mean(&values, TRIMMED, measure.confidence)
                .filter(|_| values.len() >= LEAST_TRIMMED)
                .and_then(interval),
            estimate: e.value,
            // No metric can be negative, so that part of an interval excludes nothing that could be.
            low: e.is_bounded().then_some(e.low.max(0.0)),
            high: e.is_bounded().then_some(e.high),
            confidence: e.confidence,
            n: u32::try_from(e.n).unwrap_or(u32::MAX),
            unit: unit(name).to_owned(),
            values,
        };
        Some((name.clone(), metric))
    };
    first.keys().filter_map(metric).collect()
}

/// An estimate that has an interval.
fn interval(e: Estimate) -> Option<Interval> {
    e.is_bounded().then_some(Interval { estimate: e.value, low: e.low.max(0.0), high: e.high })
}

pub(crate) fn unit(name: &str) -> &'static str {
    match name {
        n if n.contains("_lat_") => "us",
        n if n.ends_with("bw") => "B/s",
        "engine_cpu" | "engine_busiest_thread" => "cores",
        "engine_cpu_per_io" => "ns",
        "engine_instructions_per_io" => "1",
        _ => "1/s",
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts and latencies stay far below 2^53")]
fn histogram_mean_ns(histogram: &LatencyHistogram) -> Option<f64> {
    let count = histogram.count();
    let sum: f64 = histogram.bins_ns.iter().map(|(&ns, &n)| ns as f64 * n as f64).sum();
    (count > 0).then(|| sum / count as f64)
}

#[expect(clippy::cast_precision_loss, reason = "counts and latencies stay far below 2^53")]
fn percentile_us(histogram: &LatencyHistogram, q: f64) -> Option<f64> {
    let beyond = histogram.count() as f64 * (1.0 - q);
    (beyond >= 1.0 - 1e-9).then(|| histogram.percentile_ns(q).map(|ns| ns as f64 / 1e3)).flatten()
}

#[cfg(test)]
mod tests {
    use super::{of_trial, over_trials};
    use crate::testing;
    use record::plan::Measure;
    use record::trial::{GeneratorCost, Totals};
    use std::collections::BTreeMap;

    #[test]
    fn names_and_values_of_a_mix() {
        let mut engine = testing::engine();
        engine.read =
            Some(Totals { iops: 80.0, bytes_per_second: 80.0 * 16384.0, ..testing::totals(1600, 16384) });
        engine.write =
            Some(Totals { iops: 79.0, bytes_per_second: 79.0 * 16384.0, ..testing::totals(1580, 16384) });
        let m = of_trial(&engine);
        assert_eq!((m["iops"], m["read_iops"], m["write_iops"]), (159.0, 80.0, 79.0));
        assert_eq!(m["bw"], 159.0 * 16384.0);
        assert_eq!(m["read_lat_p50"], 1000.0);
        assert!(m.contains_key("write_lat_p999"));
    }

    #[test]
    fn trims_are_a_direction_too() {
        let mut engine = testing::engine();
        engine.trim = Some(testing::totals(2000, 65536));
        let m = of_trial(&engine);
        assert_eq!((m["iops"], m["trim_iops"], m["trim_bw"]), (100.0, 100.0, 100.0 * 65536.0));
        assert_eq!(m["trim_lat_p999"], 1000.0);
        assert!(!m.keys().any(|name| name.starts_with("read_") || name.starts_with("write_")));
    }

    #[test]
    fn what_the_generator_cost_is_told_as_far_as_it_is_known() {
        let mut engine = testing::engine();
        engine.read = Some(testing::totals(1000, 4096));
        assert!(!of_trial(&engine).contains_key("engine_cpu_per_io"));
        engine.generator = Some(GeneratorCost {
            cpu_ns_per_io: Some(2100.0),
            busiest_thread_seconds: Some(5.0),
            ..GeneratorCost::default()
        });
        let all = over_trials(&[of_trial(&engine)], &testing::measure(1));
        let shown = |name: &str| (all[name].estimate, all[name].unit.as_str());
        assert_eq!(shown("engine_cpu_per_io"), (2100.0, "ns"));
        assert_eq!(shown("engine_busiest_thread"), (0.25, "cores"));
        assert!(!all.contains_key("engine_instructions_per_io"), "not counted is no figure");
    }

    #[test]
    fn no_percentile_without_an_io_beyond_it() {
        let mut engine = testing::engine();
        engine.read = Some(testing::totals(999, 4096));
        let m = of_trial(&engine);
        assert!(m.contains_key("read_lat_p99") && !m.contains_key("read_lat_p999"));
        engine.read = Some(testing::totals(1000, 4096));
        assert!(of_trial(&engine).contains_key("read_lat_p999"));
    }

    #[test]
    fn no_interval_reaches_below_zero_and_its_half_width_stays() {
        let trial = |x: f64| BTreeMap::from([("iops".to_owned(), x)]);
        let all = over_trials(&[trial(100.0), trial(200.0)], &testing::measure(2));
        let iops = &all["iops"];
        assert_eq!(iops.low, Some(0.0));
        assert_eq!(iops.half_width(), Some(iops.high.unwrap() - 150.0));
    }

    #[test]
    fn a_metric_that_one_trial_lacks_is_left_out() {
        let trial = |names: &[&str]| names.iter().map(|n| ((*n).to_owned(), 1.0)).collect::<BTreeMap<_, _>>();
        let all = over_trials(&[trial(&["iops", "bw"]), trial(&["iops"])], &testing::measure(2));
        assert_eq!(all.keys().collect::<Vec<_>>(), ["iops"]);
        assert_eq!(all["iops"].n, 2);
        assert!(over_trials(&[], &testing::measure(1)).is_empty());
    }

    #[test]
    fn other_centres_where_there_are_trials_enough() {
        let trials = |n: u32| -> Vec<BTreeMap<String, f64>> {
            let value = |i: u32| if i == 0 { 5000.0 } else { 100.0 + f64::from(i) };
            (0..n).map(|i| BTreeMap::from([("iops".to_owned(), value(i))])).collect()
        };
        let of = |n: u32| over_trials(&trials(n), &testing::measure(n)).remove("iops").unwrap();
        assert!(of(5).median.is_none() && of(9).trimmed.is_none());
        let (six, ten) = (of(6), of(10));
        assert_eq!(six.median.map(|m| (m.estimate, m.low, m.high)), Some((103.5, 101.0, 5000.0)));
        let trimmed = ten.trimmed.unwrap();
        assert!(ten.estimate > 500.0 && trimmed.estimate < 106.0 && trimmed.high < 110.0, "{trimmed:?}");
        let measure = Measure { trim: Some(0.1), ..testing::measure(10) };
        let cut = over_trials(&trials(10), &measure).remove("iops").unwrap();
        assert_eq!((cut.estimate, cut.high, cut.n), (trimmed.estimate, Some(trimmed.high), 10));
        assert_eq!(cut.values[0], 5000.0, "outliers are shown");
    }
}
