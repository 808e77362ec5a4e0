//! The resolution of figures that come from a histogram's bins or from whole I/Os.

use crate::span::float;
use stats::mean_t;

/// Bins per octave of latency, of both engines (fio's stat.h).
const BINS_PER_OCTAVE: u64 = 64;

/// The difference of two percentiles (in us, trial by trial), as a logarithm, that may come from the bins alone: half a bin's width for
/// each side. If a side's figures spread over more than a bin from round to round, their rounding errors are practically independent and
/// already part of the spread (Widrow 1956, IRE Transactions on Circuit Theory 3:266-276), so they don't count again.
pub(crate) fn resolution(a: &[f64], b: &[f64]) -> f64 {
    of_side(a) + of_side(b)
}

fn of_side(us: &[f64]) -> f64 {
    let widths = us.iter().map(|us| bin_width(us * 1e3)).sum::<f64>() / float(us.len() as u64);
    let logs: Vec<f64> = us.iter().map(|x| x.ln()).collect();
    let spreads = standard_deviation(&logs).is_some_and(|s| s >= widths);
    if spreads { 0.0 } else { widths / 2.0 }
}

/// The width of a latency's bin, relative to the latency. Below two octaves of bins each nanosecond has its own bin.
pub(crate) fn bin_width(ns: f64) -> f64 {
    let octave = ns.max(1.0).log2().floor().exp2();
    (octave / float(BINS_PER_OCTAVE)).max(1.0) / ns.max(1.0)
}

fn standard_deviation(values: &[f64]) -> Option<f64> {
    let n = float(values.len() as u64);
    let mean = mean_t(values, 0.95)?.value;
    (n >= 2.0).then(|| (values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::{bin_width, resolution};

    #[test]
    fn bins_are_not_counted_twice_where_the_rounds_spread_over_several() {
        let (a, b) = ([1.00e3, 1.05e3, 0.95e3, 1.03e3], [1.02e3, 0.97e3, 1.03e3, 0.99e3]);
        assert_eq!(resolution(&a, &b), 0.0);
        let still = resolution(&[1000.0; 4], &[1000.0; 4]);
        assert!((still - bin_width(1e6)).abs() < 1e-12);
    }

    #[test]
    fn widths_of_bins_are_fios() {
        // 2^20 ns: 64 bins up to 2^21.
        assert!((bin_width(1_048_576.0) - 1.0 / 64.0).abs() < 1e-12);
        assert!((bin_width(2_097_151.0) - 1.0 / 128.0).abs() < 1e-6);
        assert_eq!(bin_width(100.0), 0.01);
    }
}
