//! Intervals that are wider than their figures: what is said of them, and how many more rounds would narrow them.

use crate::figures::{counted, percent, range};
use record::judged::{Metric, RatioView};

/// The half-width to which a forecast of rounds goes.
const WANTED: f64 = 0.10;

/// A figure in words: `too few rounds: 0 to 2,900 IOPS; about 14 more rounds to ±10 %`. `None` if its interval is no wider than it is.
pub(crate) fn of_metric(metric: &Metric) -> Option<String> {
    let (low, high) = metric.low.zip(metric.high).filter(|_| metric.is_too_wide())?;
    let all = rounds(metric.half_width()?, metric.n, metric.confidence, WANTED * metric.estimate);
    Some(format!("too few rounds: {}{}", range(low, high, &metric.unit), more(all, metric.n)))
}

/// What is said behind a ratio: `too few rounds; about 14 more rounds to ±10 %`. `None` if its interval is no wider than it is.
pub(crate) fn of_ratio(view: &RatioView) -> Option<String> {
    let (low, high) = view.low.zip(view.high).filter(|(low, high)| high - low > view.ratio)?;
    // The interval is one of logarithms.
    let half = (high.ln() - low.ln()) / 2.0;
    let all = rounds(half, view.n, view.confidence, WANTED.ln_1p());
    Some(format!("too few rounds{}", more(all, view.n)))
}

fn rounds(half_width: f64, n: u32, confidence: f64, wanted: f64) -> Option<u32> {
    stats::rounds_to_narrow(half_width, usize::try_from(n).ok()?, confidence, wanted)
}

fn more(all: Option<u32>, made: u32) -> String {
    all.map_or_else(String::new, |all| {
        let more = all.saturating_sub(made).max(1);
        format!("; about {} to ±{}", counted(more.into(), "more round"), percent(WANTED))
    })
}

#[cfg(test)]
mod tests {
    use super::{of_metric, of_ratio};
    use crate::metrics::over_trials;
    use crate::sequential::Means;
    use crate::testing;
    use record::judged::RatioView;
    use std::collections::BTreeMap;

    #[test]
    fn a_figure_that_the_rounds_do_not_show_is_an_interval_and_a_forecast() {
        let of = |values: [f64; 2]| {
            let trials = values.map(|x| BTreeMap::from([("iops".to_owned(), x)]));
            of_metric(&over_trials(&trials, &Means::plain(&testing::measure(2)))["iops"])
        };
        // 1,100 ± 1,800: the spread is 200.
        let text = of([1100.0 - 141.67, 1100.0 + 141.67]).unwrap();
        assert_eq!(text, "too few rounds: 0 to 2,900 IOPS; about 14 more rounds to ±10 %");
        assert_eq!(of([1100.0, 1110.0]), None);
    }

    #[test]
    fn a_ratio_likewise_on_its_logarithm() {
        let view = |low, high| RatioView { ratio: 1.0, low, high, confidence: 0.95, n: 3 };
        // t(2) / √3 · s = ln 2; then t(m) · s / √m ≤ ln 1.1 from m = 36 on.
        assert_eq!(
            of_ratio(&view(Some(0.5), Some(2.0))).as_deref(),
            Some("too few rounds; about 33 more rounds to ±10 %")
        );
        assert_eq!(of_ratio(&view(Some(0.8), Some(1.25))), None);
        assert_eq!(of_ratio(&view(None, None)), None, "one round has no interval");
    }
}
