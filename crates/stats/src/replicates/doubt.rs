//! All tests of a cell's rounds, with a common adjustment.

use super::modes::{TwoModes, two_modes};
use super::order::{Autocorrelation, FirstRound, Trend, autocorrelation, first_round, trend};
use crate::holm::holm;

/// A reason to doubt that rounds are replicates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Suspicion {
    /// The rounds rise or fall.
    Trend(Trend),
    /// The first round differs from the others.
    FirstRound(FirstRound),
    /// Each round resembles the one before.
    Autocorrelated(Autocorrelation),
    /// The rounds fall into two groups.
    TwoModes(TwoModes),
}

/// A suspicion with its p-value, adjusted for all tests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Doubt {
    /// The suspicion.
    pub suspicion: Suspicion,
    /// Holm's adjusted p-value over the tests of this cell.
    pub p_adjusted: f64,
}

/// Returns the suspicions that hold at `level` after Holm's adjustment, the strongest first. Independent normal trials raise any
/// of them with probability ≤ `level`. Tests for which the samples are not sufficient (too few, no spread) are not made.
#[must_use]
pub fn doubts(samples: &[f64], level: f64) -> Vec<Doubt> {
    let tests = [
        trend(samples, 0.95).map(|t| (Suspicion::Trend(t), t.p)),
        first_round(samples).map(|f| (Suspicion::FirstRound(f), f.p)),
        autocorrelation(samples).map(|a| (Suspicion::Autocorrelated(a), a.p)),
        two_modes(samples).map(|m| (Suspicion::TwoModes(m), m.p)),
    ];
    let (suspicions, raw): (Vec<_>, Vec<_>) = tests.into_iter().flatten().unzip();
    let mut found: Vec<Doubt> = suspicions
        .into_iter()
        .zip(holm(&raw))
        .map(|(suspicion, p_adjusted)| Doubt { suspicion, p_adjusted })
        .filter(|d| d.p_adjusted <= level)
        .collect();
    found.sort_by(|a, b| a.p_adjusted.total_cmp(&b.p_adjusted));
    found
}

#[cfg(test)]
mod tests {
    use super::{Suspicion, doubts};

    #[test]
    fn each_suspicion_is_raised_by_what_it_is_about() {
        let rising = [100.0, 102.0, 103.0, 106.0, 107.0, 110.0, 111.0];
        assert!(matches!(doubts(&rising, 0.05)[0].suspicion, Suspicion::Trend(t) if t.relative > 0.0));
        let cold = [60.0, 100.0, 101.0, 99.0, 100.5, 99.5, 100.2];
        assert!(doubts(&cold, 0.05).iter().any(|d| matches!(d.suspicion, Suspicion::FirstRound(_))));
        let modes = [100.0, 80.1, 99.9, 80.0, 79.9, 100.2, 80.2];
        assert!(doubts(&modes, 0.05).iter().any(|d| matches!(d.suspicion, Suspicion::TwoModes(_))));
        let wave = [
            1.0, 1.1, 1.3, 1.4, 1.3, 1.1, 1.0, 0.8, 0.7, 0.8, 1.0, 1.1, 1.3, 1.4, 1.3, 1.1, 1.0, 0.8, 0.7,
            0.8,
        ];
        assert!(doubts(&wave, 0.05).iter().any(|d| matches!(d.suspicion, Suspicion::Autocorrelated(_))));
    }

    #[test]
    fn ordinary_noise_and_too_few_rounds_raise_none() {
        assert!(doubts(&[100.0, 101.3, 99.2, 100.4, 98.9, 100.9, 99.6], 0.05).is_empty());
        assert!(doubts(&[1.0, 2.0, 9.0], 0.05).is_empty());
        assert!(doubts(&[], 0.05).is_empty());
        assert!(doubts(&[5.0; 10], 0.05).is_empty());
    }
}
