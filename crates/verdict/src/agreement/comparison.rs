//! Judges pairs of figures. It knows nothing about storage but the width of a histogram's bins.

use crate::bins;
use crate::metrics::unit;
use crate::span::float;
use record::agreement::{AgreementStatus, MetricAgreement};
use stats::{RatioEstimate, holm, paired_ratio};

/// The values of one metric of one workload, by native and by fio, round by round.
#[derive(Debug, Clone)]
pub(crate) struct Pairs {
    pub(crate) workload: String,
    pub(crate) metric: String,
    /// The relative difference that still counts as agreement.
    pub(crate) margin: f64,
    /// Whether the values come from a histogram's bins.
    pub(crate) binned: bool,
    /// The values (native, fio) of each round.
    pub(crate) values: Vec<(f64, f64)>,
}

/// Judges all comparisons of a run together: "differ" takes multiple comparisons into account.
pub(crate) fn judge(all: &[Pairs], confidence: f64) -> Vec<MetricAgreement> {
    let sound: Vec<(&Pairs, RatioEstimate, f64)> =
        all.iter().filter_map(|p| Some((p, paired_ratio(&p.values, confidence)?, resolution(p)))).collect();
    let differ: Vec<f64> = sound.iter().map(|(_, e, bins)| e.p_beyond(*bins)).collect();
    let beyond: Vec<f64> = sound.iter().map(|(p, e, bins)| e.p_beyond(p.margin.ln_1p() + bins)).collect();
    let corrected = 1.0 - (1.0 - confidence) / float(sound.len() as u64).max(1.0);
    let p_values = holm(&differ).into_iter().zip(holm(&beyond));
    sound
        .iter()
        .zip(p_values)
        .map(|((pairs, estimate, bins), (p_differ, p_beyond))| {
            let one = One { pairs, estimate, bins: *bins, corrected, p_differ, p_beyond };
            one.line()
        })
        .collect()
}

/// One comparison.
struct One<'a> {
    pairs: &'a Pairs,
    estimate: &'a RatioEstimate,
    /// The difference that the bins can't resolve, as a logarithm.
    bins: f64,
    /// The confidence of a single comparison with which all together have the requested one.
    corrected: f64,
    p_differ: f64,
    p_beyond: f64,
}

impl One<'_> {
    fn line(&self) -> MetricAgreement {
        let (pairs, estimate) = (self.pairs, self.estimate);
        let alpha = 1.0 - estimate.confidence;
        let margin = pairs.margin.ln_1p();
        let differ = self.p_differ < alpha;
        let standing = if self.p_beyond < alpha {
            AgreementStatus::Beyond
        } else if estimate.is_inside(margin - self.bins) {
            if differ { AgreementStatus::Within } else { AgreementStatus::Agree }
        } else {
            AgreementStatus::Undecided
        };
        let bounded = estimate.is_bounded();
        let mean = |of: fn(&(f64, f64)) -> f64| {
            pairs.values.iter().map(of).sum::<f64>() / float(pairs.values.len() as u64)
        };
        MetricAgreement {
            workload: pairs.workload.clone(),
            metric: pairs.metric.clone(),
            unit: unit(&pairs.metric).to_owned(),
            rounds: u32::try_from(estimate.n).unwrap_or(u32::MAX),
            native: mean(|v| v.0),
            fio: mean(|v| v.1),
            ratio: estimate.ratio,
            low: bounded.then(|| estimate.low * (-self.bins).exp()),
            high: bounded.then(|| estimate.high * self.bins.exp()),
            resolution: self.bins.exp_m1(),
            margin: pairs.margin,
            p_differ: self.p_differ,
            p_beyond: self.p_beyond,
            standing,
            differ,
            rounds_needed: (standing == AgreementStatus::Undecided).then(|| self.rounds_needed()).flatten(),
        }
    }

    /// The number of rounds that would decide, if the true ratio is the measured one; `None` if no number does: the ratio is neither inside
    /// the margin nor far enough beyond it.
    fn rounds_needed(&self) -> Option<u32> {
        let margin = self.pairs.margin.ln_1p();
        let distance = self.estimate.log_mean.abs();
        if distance < margin - self.bins {
            return self.estimate.rounds_to_decide(margin - self.bins);
        }
        if distance > margin + self.bins {
            return paired_ratio(&self.pairs.values, self.corrected)?.rounds_to_decide(margin + self.bins);
        }
        None
    }
}

/// The difference of two figures, as a logarithm, that may come from the bins alone.
fn resolution(pairs: &Pairs) -> f64 {
    if !pairs.binned {
        return 0.0;
    }
    let (native, fio): (Vec<f64>, Vec<f64>) = pairs.values.iter().copied().unzip();
    bins::resolution(&native, &fio)
}

#[cfg(test)]
mod tests {
    use super::{Pairs, judge, resolution};
    use record::agreement::{AgreementStatus, MetricAgreement};

    fn pairs(metric: &str, margin: f64, values: &[(f64, f64)]) -> Pairs {
        Pairs {
            workload: "w".to_owned(),
            metric: metric.to_owned(),
            margin,
            binned: metric.contains("_lat_p"),
            values: values.to_vec(),
        }
    }

    fn one(metric: &str, margin: f64, values: &[(f64, f64)]) -> MetricAgreement {
        judge(&[pairs(metric, margin, values)], 0.95).remove(0)
    }

    fn ratios(ratios: &[f64]) -> Vec<(f64, f64)> {
        // The rounds differ wildly; only pairs show the ratio.
        ratios
            .iter()
            .enumerate()
            .map(|(i, r)| (500.0 * (1.0 + i as f64) * r, 500.0 * (1.0 + i as f64)))
            .collect()
    }

    #[test]
    fn agreeing_differing_within_undecided_beyond() {
        let cases: [(&[f64], AgreementStatus, bool); 5] = [
            (&[1.001, 0.999, 1.0, 1.002, 0.998], AgreementStatus::Agree, false),
            (&[1.004, 1.005, 1.006, 1.005, 1.004], AgreementStatus::Within, true),
            (&[1.03, 0.98, 1.0, 0.97, 1.01], AgreementStatus::Undecided, false),
            (&[1.010, 1.012, 1.009, 1.013, 1.010], AgreementStatus::Undecided, true),
            (&[1.05, 1.06, 1.05, 1.04, 1.05], AgreementStatus::Beyond, true),
        ];
        for (seen, standing, differ) in cases {
            let line = one("read_iops", 0.01, &ratios(seen));
            assert_eq!((line.standing, line.differ), (standing, differ), "{line:?}");
        }
    }

    #[test]
    fn lower_is_as_different_as_higher() {
        for seen in [[1.05, 1.06, 1.05, 1.04, 1.05], [1.001, 0.999, 1.0, 1.002, 0.998]] {
            let up = one("read_iops", 0.01, &ratios(&seen));
            let down = one("read_iops", 0.01, &ratios(&seen.map(|r| 1.0 / r)));
            assert_eq!(up.standing, down.standing);
            assert!((up.p_beyond - down.p_beyond).abs() < 1e-9);
        }
    }

    #[test]
    fn undecided_says_how_many_rounds_would_do() {
        let line = one("read_iops", 0.01, &ratios(&[1.03, 0.98, 1.0, 0.97, 1.021]));
        assert!(line.rounds_needed.is_some_and(|n| n > 5), "{line:?}");
        let clear = one("read_iops", 0.01, &ratios(&[1.0; 5]));
        assert_eq!((clear.standing, clear.rounds_needed), (AgreementStatus::Agree, None));
    }

    #[test]
    fn one_round_decides_nothing() {
        let line = one("read_iops", 0.01, &[(1.0, 1.0)]);
        assert_eq!(
            (line.standing, line.low, line.high, line.rounds_needed),
            (AgreementStatus::Undecided, None, None, None)
        );
    }

    /// The bins at 200 ms are 1.05 % wide: two figures in the same bin may be that far apart, and two in neighbouring bins
    /// may be the same.
    #[test]
    fn a_percentile_is_not_told_apart_more_finely_than_its_bin() {
        let same = one("read_lat_p50", 0.02, &[(200_278.0, 200_278.0); 5]);
        assert_eq!(same.standing, AgreementStatus::Agree, "{same:?}");
        assert!(same.resolution > 0.009 && same.low.unwrap() < 0.991, "never of width zero: {same:?}");

        let neighbours = one("read_lat_p50", 0.02, &[(202_375.0, 200_278.0); 5]);
        assert!(!neighbours.differ, "{neighbours:?}");
        assert_eq!((neighbours.standing, neighbours.rounds_needed), (AgreementStatus::Undecided, None));

        let far = one("read_lat_p50", 0.02, &[(220_000.0, 200_278.0); 5]);
        assert_eq!(far.standing, AgreementStatus::Beyond, "{far:?}");
        let tighter = one("read_lat_p50", 0.005, &[(200_278.0, 200_278.0); 5]);
        assert_eq!(tighter.standing, AgreementStatus::Undecided, "finer than the bins can tell: {tighter:?}");
    }

    #[test]
    fn what_is_no_percentile_has_no_bins() {
        assert!(resolution(&pairs("read_lat_p50", 0.02, &[(1000.0, 1000.0); 4])) > 0.0);
        assert_eq!(resolution(&pairs("read_lat_mean", 0.02, &[(1000.0, 1000.0); 4])), 0.0);
    }

    #[test]
    fn many_comparisons_need_more_to_call_one_different() {
        let seen = ratios(&[1.020, 1.035, 1.012, 1.040, 1.030]);
        assert_eq!(one("read_iops", 0.01, &seen).standing, AgreementStatus::Beyond);
        let quiet = pairs("read_iops", 0.01, &ratios(&[1.001, 0.999, 1.0, 1.002, 0.998]));
        let mut all = vec![pairs("read_iops", 0.01, &seen)];
        all.extend(std::iter::repeat_n(quiet, 20));
        let lines = judge(&all, 0.95);
        assert_eq!(lines[0].standing, AgreementStatus::Undecided, "{:?}", lines[0]);
        assert!(lines[1..].iter().all(|l| l.standing == AgreementStatus::Agree));
        assert!(lines[0].rounds_needed.is_some_and(|n| n > 5));
    }

    #[test]
    fn what_is_no_figure_is_not_compared() {
        assert!(judge(&[pairs("read_iops", 0.01, &[(0.0, 1.0)])], 0.95).is_empty());
        assert!(judge(&[], 0.95).is_empty());
    }
}
