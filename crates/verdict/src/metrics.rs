//! Metrics over trials, each with its interval. docs/metrics.md describes them; `record::metric` has those of one trial.

use crate::sequential::Means;
use record::judged::{Interval, Metric};
use stats::{Estimate, trimmed_mean};
use std::collections::BTreeMap;

/// The share of the trials that the trimmed mean leaves out at each end; the next constant is the least number of trials for it.
const TRIMMED: f64 = 0.1;
const LEAST_TRIMMED: usize = 10;

/// The metrics that every trial has, each with its interval over the trials.
pub(crate) fn over_trials(trials: &[BTreeMap<String, f64>], means: &Means) -> BTreeMap<String, Metric> {
    let Some(first) = trials.first() else {
        return BTreeMap::new();
    };
    let metric = |name: &String| {
        let values: Vec<f64> = trials.iter().map(|t| t.get(name).copied()).collect::<Option<_>>()?;
        let e = means.estimate(&values)?;
        let metric = Metric {
            median: stats::median(&values, means.confidence).and_then(interval),
            trimmed: trimmed_mean(&values, TRIMMED, means.confidence)
                .filter(|_| values.len() >= LEAST_TRIMMED)
                .and_then(interval),
            estimate: e.value,
            // No metric can be negative, so an interval begins at 0 at the least.
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

/// An estimate's interval, if it has one.
fn interval(e: Estimate) -> Option<Interval> {
    e.is_bounded().then_some(Interval { estimate: e.value, low: e.low.max(0.0), high: e.high })
}

/// The unit of a metric; `1` where it is none of ours.
pub(crate) fn unit(name: &str) -> &'static str {
    record::metric::info(name).map_or("1", |metric| metric.unit)
}

#[cfg(test)]
mod tests {
    use super::over_trials;
    use crate::sequential::Means;
    use crate::testing;
    use record::plan::Measure;
    use record::trial::GeneratorCost;
    use std::collections::BTreeMap;

    #[test]
    fn what_the_generator_cost_is_told_as_far_as_it_is_known() {
        let mut engine = testing::engine();
        engine.read = Some(testing::totals(1000, 4096));
        assert!(!engine.metrics().contains_key("engine_cpu_per_io"));
        engine.generator = Some(GeneratorCost {
            cpu_ns_per_io: Some(2100.0),
            busiest_thread_seconds: Some(5.0),
            ..GeneratorCost::default()
        });
        let all = over_trials(&[engine.metrics()], &Means::plain(&testing::measure(1)));
        let shown = |name: &str| (all[name].estimate, all[name].unit.as_str());
        assert_eq!(shown("engine_cpu_per_io"), (2100.0, "ns"));
        assert_eq!(shown("engine_busiest_thread"), (0.25, "cores"));
        assert!(!all.contains_key("engine_instructions_per_io"), "not counted is no figure");
    }

    #[test]
    fn no_interval_reaches_below_zero_and_its_half_width_stays() {
        let trial = |x: f64| BTreeMap::from([("iops".to_owned(), x)]);
        let all = over_trials(&[trial(100.0), trial(200.0)], &Means::plain(&testing::measure(2)));
        let iops = &all["iops"];
        assert_eq!(iops.low, Some(0.0));
        assert_eq!(iops.half_width(), Some(iops.high.unwrap() - 150.0));
    }

    #[test]
    fn a_metric_that_one_trial_lacks_is_left_out() {
        let trial = |names: &[&str]| names.iter().map(|n| ((*n).to_owned(), 1.0)).collect::<BTreeMap<_, _>>();
        let all =
            over_trials(&[trial(&["iops", "bw"]), trial(&["iops"])], &Means::plain(&testing::measure(2)));
        assert_eq!(all.keys().collect::<Vec<_>>(), ["iops"]);
        assert_eq!(all["iops"].n, 2);
        assert!(over_trials(&[], &Means::plain(&testing::measure(1))).is_empty());
    }

    #[test]
    fn other_centres_where_there_are_trials_enough() {
        let trials = |n: u32| -> Vec<BTreeMap<String, f64>> {
            let value = |i: u32| if i == 0 { 5000.0 } else { 100.0 + f64::from(i) };
            (0..n).map(|i| BTreeMap::from([("iops".to_owned(), value(i))])).collect()
        };
        let of =
            |n: u32| over_trials(&trials(n), &Means::plain(&testing::measure(n))).remove("iops").unwrap();
        assert!(of(5).median.is_none() && of(9).trimmed.is_none());
        let (six, ten) = (of(6), of(10));
        assert_eq!(six.median.map(|m| (m.estimate, m.low, m.high)), Some((103.5, 101.0, 5000.0)));
        let trimmed = ten.trimmed.unwrap();
        assert!(ten.estimate > 500.0 && trimmed.estimate < 106.0 && trimmed.high < 110.0, "{trimmed:?}");
        let measure = Measure { trim: Some(0.1), ..testing::measure(10) };
        let cut = over_trials(&trials(10), &Means::plain(&measure)).remove("iops").unwrap();
        assert_eq!((cut.estimate, cut.high, cut.n), (trimmed.estimate, Some(trimmed.high), 10));
        assert_eq!(cut.values[0], 5000.0, "outliers are shown");
    }
}
