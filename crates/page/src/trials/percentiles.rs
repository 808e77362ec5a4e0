//! The latencies of a trial by percentile.

use record::latency::LatencyHistogram;
use record::trial::TrialRecord;

/// A curve ends where fewer samples than this lie beyond: a percentile there depends on a handful of requests.
pub(crate) const LEAST_BEYOND: f64 = 10.0;

/// Latencies by percentile: each point has 1/(1-p), from 1, and the latency in microseconds.
pub(crate) type Curve = Vec<(f64, f64)>;

/// The curves of a trial, by the kind of request; a kind without latencies is left out.
pub(crate) fn curves(trial: &TrialRecord) -> Vec<(&'static str, Curve)> {
    let Some(engine) = &trial.engine else { return Vec::new() };
    let totals = [("read", &engine.read), ("write", &engine.write), ("trim", &engine.trim)];
    let waits = [("sync", &engine.sync), ("durable", &engine.durable)];
    let of_totals = totals.into_iter().filter_map(|(kind, totals)| Some((kind, &totals.as_ref()?.latency)));
    let of_waits = waits.into_iter().filter_map(|(kind, waits)| Some((kind, &waits.as_ref()?.histogram)));
    let all = of_totals.chain(of_waits).map(|(kind, histogram)| (kind, curve(histogram)));
    all.filter(|(_, curve)| curve.len() > 1).collect()
}

/// The places on the axis of 1/(1-p): four in each power of ten, of which the second is the median.
fn places() -> impl Iterator<Item = f64> {
    (0..=24_u32).map(|step| match step {
        // 10^(1/4) is 1.78; the median is at 2.
        1 => 2.0,
        step if step.is_multiple_of(4) => (0..step / 4).fold(1.0, |power, _| power * 10.0),
        step => 10_f64.powf(f64::from(step) / 4.0),
    })
}

/// The latencies at all places, in one pass over the bins.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts are far below 2^52 and above 0"
)]
fn curve(histogram: &LatencyHistogram) -> Curve {
    let total = histogram.count();
    let mut bins = histogram.bins_ns.iter();
    let (mut seen, mut ns) = (0, 0);
    let mut curve = Vec::new();
    for place in places() {
        let share = 1.0 - 1.0 / place;
        if (total as f64) / place < LEAST_BEYOND {
            break;
        }
        // The same rank as that of a metric's percentile.
        let rank = ((total as f64 * share).ceil() as u64).max(1);
        while seen < rank {
            let Some((bin, count)) = bins.next() else { return curve };
            (seen, ns) = (seen + count, *bin);
        }
        curve.push((place, ns as f64 / 1e3));
    }
    curve
}

#[cfg(test)]
mod tests {
    use super::{LEAST_BEYOND, curve};
    use record::latency::LatencyHistogram;

    #[test]
    fn a_curve_has_the_percentiles_of_the_metrics_and_ends_where_too_few_samples_lie_beyond() {
        let bins_ns = (1..=3000_u64).map(|i| (i * 1000, 1 + i % 3)).collect();
        let histogram = LatencyHistogram { bins_ns };
        let total = histogram.count() as f64;
        let curve = curve(&histogram);
        for (place, share) in [(2.0, 0.5), (10.0, 0.9), (100.0, 0.99)] {
            let point = curve.iter().find(|point| point.0 == place).unwrap();
            assert_eq!(point.1 * 1e3, histogram.percentile_ns(share).unwrap() as f64, "{share}");
        }
        let last = curve.last().unwrap().0;
        assert!(total / last >= LEAST_BEYOND && total / (last * 1.8) < LEAST_BEYOND, "{last} of {total}");
        assert!(curve.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1));
    }

    #[test]
    fn without_ten_samples_there_is_no_curve() {
        assert!(curve(&LatencyHistogram { bins_ns: [(1000, 9)].into() }).is_empty());
        assert!(curve(&LatencyHistogram::default()).is_empty());
    }
}
