//! Widening of an interval for autocorrelation between rounds.

use crate::estimate::{count, mean};

/// Largest autocorrelation that is allowed for.
const MOST: f64 = 0.9;
/// Largest autocorrelation that is allowed for unless the rounds show more: a few rounds can't exclude any value.
const MOST_UNSEEN: f64 = 0.6;
/// Number of standard errors that are added to the observed value; 1.5 give the upper 93 % limit.
const ERRORS: f64 = 1.5;

/// How much autocorrelation an interval allows for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caution {
    /// The observed value: for figures that have nothing in common from round to round, such as ratios within rounds.
    Seen,
    /// The upper limit of the value.
    Possible,
}

/// Returns the lag-1 autocorrelation of samples minus its mean for independent ones, -1/n (Moran 1948, Biometrika 35:255-260); 0
/// if there is no spread.
pub(crate) fn seen(samples: &[f64]) -> f64 {
    let m = mean(samples);
    let squares: f64 = samples.iter().map(|x| (x - m).powi(2)).sum();
    if squares == 0.0 || !squares.is_finite() {
        return 0.0;
    }
    let products: f64 = samples.windows(2).map(|w| (w[0] - m) * (w[1] - m)).sum();
    products / squares + 1.0 / count(samples.len())
}

impl Caution {
    /// Returns √((1 + ρ) / (1 - ρ)) for the observed ρ after `n` rounds. The standard error of ρ is about 1/√n if there is no
    /// autocorrelation (Bartlett 1946, JRSS Supplement 8:27-41). The factor is that of the mean of many samples of an AR(1)
    /// process (Bayley, Hammersley 1946, ibid. 8:184-197).
    pub(crate) fn factor(self, seen: f64, n: usize) -> f64 {
        let rho = match self {
            Self::Seen => seen,
            Self::Possible => (seen + ERRORS / count(n.max(1)).sqrt()).min(seen.max(MOST_UNSEEN)),
        };
        let rho = rho.clamp(0.0, MOST);
        ((1.0 + rho) / (1.0 - rho)).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::{Caution, seen};

    /// By hand: 1, 1, 1, 3, 3, 3 has r₁ = (1 + 1 - 1 + 1 + 1) / 6 = ½, less -1/6: 2/3.
    #[test]
    fn what_is_seen_by_hand() {
        assert!((seen(&[1.0, 1.0, 1.0, 3.0, 3.0, 3.0]) - 2.0 / 3.0).abs() < 1e-12);
        assert_eq!((seen(&[1.0; 6]), seen(&[1.0])), (0.0, 0.0));
    }

    #[test]
    fn few_rounds_exclude_little_and_many_nearly_all() {
        let factor = |rho: f64| ((1.0 + rho) / (1.0 - rho)).sqrt();
        assert_eq!(Caution::Seen.factor(0.0, 6), 1.0);
        assert!((Caution::Possible.factor(0.0, 6) - 2.0).abs() < 1e-12, "0.61 of 6 rounds: not above 0.6");
        assert!((Caution::Possible.factor(0.0, 25) - factor(0.3)).abs() < 1e-12);
        assert!((Caution::Possible.factor(-0.4, 25) - 1.0).abs() < 1e-12);
        assert!((Caution::Possible.factor(0.7, 6) - factor(0.7)).abs() < 1e-12, "seen is seen");
        assert!((Caution::Seen.factor(1.1, 6) - factor(0.9)).abs() < 1e-12);
    }
}
