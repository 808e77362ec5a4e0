//! Metrics that the experiment derives from others: `factor * over / under`, with intervals.

use crate::metrics::unit;
use crate::pairing::Level;
use record::judged::{Interval, Metric};
use record::plan::{Cell, Derived, Formula, Plan};
use std::collections::BTreeMap;

/// The derived metrics of a cell, from its metrics; without those that need a metric that the cell doesn't have.
pub(crate) fn of(
    plan: &Plan,
    cell: &Cell,
    metrics: &BTreeMap<String, Metric>,
    trials: u32,
) -> BTreeMap<String, Metric> {
    let level = Level::of([(&plan.measure, trials)]);
    let one = |derived: &Derived| {
        let formula = derived.cells.get(&cell.id)?;
        let metric = derive(formula, metrics, &level)?;
        let unit = unit_of(plan, derived, formula);
        Some((derived.name.clone(), Metric { unit, ..metric }))
    };
    plan.derived.iter().filter_map(one).collect()
}

fn derive(formula: &Formula, metrics: &BTreeMap<String, Metric>, level: &Level) -> Option<Metric> {
    let usable = formula.factor.is_finite() && formula.factor > 0.0;
    let metric = |name: &String| metrics.get(name).filter(|_| usable);
    match (&formula.over, &formula.under) {
        (Some(over), None) => Some(scaled(metric(over)?, formula.factor)),
        (None, Some(under)) => inverted(metric(under)?, formula.factor),
        (Some(over), Some(under)) => quotient(metric(over)?, metric(under)?, formula.factor, level),
        (None, None) => None,
    }
}

/// A metric times an exactly known, positive constant, which adds no error.
pub(crate) fn scaled(metric: &Metric, factor: f64) -> Metric {
    let times = |x: f64| x * factor;
    let interval =
        |i: Interval| Interval { estimate: times(i.estimate), low: times(i.low), high: times(i.high) };
    Metric {
        estimate: times(metric.estimate),
        low: metric.low.map(times),
        high: metric.high.map(times),
        values: metric.values.iter().copied().map(times).collect(),
        median: metric.median.map(interval),
        trimmed: metric.trimmed.map(interval),
        ..metric.clone()
    }
}

/// A constant divided by a metric: the interval's ends are swapped. No upper end if the metric may be 0; `None` if it is 0.
pub(crate) fn inverted(metric: &Metric, factor: f64) -> Option<Metric> {
    let over = |x: f64| Some(factor / x).filter(|v| v.is_finite());
    let values = metric.values.iter().map(|x| over(*x)).collect::<Option<_>>()?;
    let interval =
        |i: Interval| Some(Interval { estimate: over(i.estimate)?, low: over(i.high)?, high: over(i.low)? });
    let high = metric.low.and_then(over);
    Some(Metric {
        estimate: over(metric.estimate)?,
        low: high.and(metric.high).and_then(over),
        high,
        values,
        median: metric.median.and_then(interval),
        trimmed: metric.trimmed.and_then(interval),
        ..metric.clone()
    })
}

/// The ratio of the means of two metrics of the same trials, by Fieller's theorem with their covariance.
fn quotient(over: &Metric, under: &Metric, factor: f64, level: &Level) -> Option<Metric> {
    let pairs: Vec<(f64, f64)> = over.values.iter().copied().zip(under.values.iter().copied()).collect();
    let e = stats::paired_quotient(&pairs, level.each)?.scaled(factor)?;
    let values: Vec<f64> = pairs.iter().map(|(a, b)| factor * a / b).collect();
    let bounded = e.is_bounded();
    values.iter().all(|v| v.is_finite()).then(|| Metric {
        estimate: e.value,
        low: bounded.then_some(e.low.max(0.0)),
        high: bounded.then_some(e.high),
        values,
        median: None,
        trimmed: None,
        ..over.clone()
    })
}

/// The units of numerator and denominator, with the currency if the expression has prices.
fn unit_of(plan: &Plan, derived: &Derived, formula: &Formula) -> String {
    let of = |name: &Option<String>| name.as_deref().map_or("1", unit);
    let is_money = derived.expression.contains("price");
    let is_scaled = !is_money && derived.cells.values().any(|formula| (formula.factor - 1.0).abs() > 1e-12);
    let plain = match (of(&formula.over), of(&formula.under)) {
        // A multiple of a rate of I/Os counts something else, e.g. transactions.
        ("1/s", "1") if is_scaled => "per s".to_owned(),
        (over, "1") => over.to_owned(),
        (over, under) if over == under => "1".to_owned(),
        // `1/s` would mean I/Os per second.
        ("1", under) => format!("per {under}"),
        (over, under) if under.contains('/') => format!("{over}/({under})"),
        (over, under) => format!("{over}/{under}"),
    };
    let money = plan.prices.currency.as_deref().unwrap_or("money");
    match derived.expression.split_once("price") {
        None => plain,
        Some((before, _)) if before.contains('/') => format!("{plain} per {money}"),
        Some(_) => format!("{money} {plain}"),
    }
}

#[cfg(test)]
mod tests {
    use super::derive;
    use crate::metrics::over_trials;
    use crate::pairing::Level;
    use crate::run_tests::{cell, run_with};
    use record::id::CellId;
    use record::judged::Metric;
    use record::plan::{Derived, Formula};
    use std::collections::BTreeMap;

    const LEVEL: Level = Level { confidence: 0.95, each: 0.95, trim: None };

    fn metrics() -> BTreeMap<String, Metric> {
        let trial =
            |iops: f64, cpu: f64| BTreeMap::from([("iops".to_owned(), iops), ("engine_cpu".to_owned(), cpu)]);
        let trials = [trial(100.0, 0.50), trial(110.0, 0.56), trial(90.0, 0.44), trial(104.0, 0.53)];
        over_trials(&trials, &crate::sequential::Means::plain(&crate::testing::measure(4)))
    }

    fn of(factor: f64, over: Option<&str>, under: Option<&str>) -> Option<Metric> {
        let name = |n: &str| n.to_owned();
        derive(&Formula { factor, over: over.map(name), under: under.map(name) }, &metrics(), &LEVEL)
    }

    #[test]
    fn a_constant_scales_all_of_it() {
        let (iops, half) = (&metrics()["iops"], of(0.5, Some("iops"), None).unwrap());
        assert_eq!((half.estimate, half.low), (iops.estimate / 2.0, iops.low.map(|x| x / 2.0)));
        assert_eq!((half.high, half.values[1]), (iops.high.map(|x| x / 2.0), 55.0));
    }

    #[test]
    fn a_constant_over_a_metric_turns_its_interval_around() {
        let (iops, cost) = (&metrics()["iops"], of(1000.0, None, Some("iops")).unwrap());
        assert_eq!(cost.low, iops.high.map(|x| 1000.0 / x));
        assert_eq!(cost.high, iops.low.map(|x| 1000.0 / x));
        assert!(cost.low.unwrap() < cost.estimate && cost.estimate < cost.high.unwrap());
    }

    /// IOPS and CPU vary together, so their ratio is known better than either.
    #[test]
    fn a_quotient_knows_what_both_have_in_common() {
        let per_core = of(1.0, Some("iops"), Some("engine_cpu")).unwrap();
        assert!((per_core.estimate - 404.0 / 2.03).abs() < 1e-9);
        let share = per_core.half_width().unwrap() / per_core.estimate;
        let alone = metrics()["iops"].half_width().unwrap() / 101.0;
        assert!(share < alone / 2.0, "{share} {alone}");
        assert_eq!(per_core.values.len(), 4);
    }

    #[test]
    fn without_its_metric_or_with_a_senseless_factor_there_is_none() {
        assert!(of(1.0, Some("no_such"), None).is_none() && of(1.0, None, None).is_none());
        assert!(of(-1.0, Some("iops"), None).is_none() && of(f64::NAN, None, Some("iops")).is_none());
    }

    #[test]
    fn a_unit_is_read_without_arithmetic_where_it_can_be() {
        let scaled = |factor: f64, over: Option<&str>, under: Option<&str>| {
            let name = |n: &str| n.to_owned();
            let formula = Formula { factor, over: over.map(name), under: under.map(name) };
            let derived = Derived {
                name: "d".to_owned(),
                expression: "as asked".to_owned(),
                cells: BTreeMap::from([(CellId("c".to_owned()), formula)]),
            };
            let view = run_with(&[cell("c", &[100, 101, 102])], |plan| plan.derived = vec![derived]);
            view.cells[0].metrics.get("d").map(|metric| metric.unit.clone())
        };
        let unit = |over: Option<&str>, under: Option<&str>| scaled(1.0, over, under);
        let said = |text: &str| Some(text.to_owned());
        assert_eq!(scaled(64.0, Some("iops"), None), said("per s"), "64 transactions in each I/O");
        assert_eq!(unit(Some("iops"), None), said("1/s"));
        assert_eq!(unit(None, Some("engine_cpu")), said("per cores"));
        assert_eq!(unit(Some("bw"), Some("iops")), said("B/s/(1/s)"));
        assert_eq!(unit(Some("iops"), Some("engine_cpu")), said("1/s/cores"));
    }
}
