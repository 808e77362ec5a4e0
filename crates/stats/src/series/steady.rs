//! Ramp-up and steady state.

use crate::estimate::{count, mean};

/// Returns how many samples to cut at the start, by MSER-5. The series is averaged in batches of five. Of all cuts d in the first
/// half, the result has the smallest Σ (yᵢ - ȳ)² / (m - d)² over the kept batches (their squared standard error). Source: White
/// (1997), Simulation 69:323-334; White, Cobb, Spratt (2000), Proc. Winter Simulation Conference, 755-761.
///
/// `None` when the best cut lies at the edge of the first half (the series is too short to have settled), for fewer than four batches, or
/// samples that aren't finite.
#[must_use]
pub fn ramp_up(series: &[f64]) -> Option<usize> {
    const BATCH: usize = 5;
    if series.iter().any(|x| !x.is_finite()) {
        return None;
    }
    let batches: Vec<f64> = series.chunks_exact(BATCH).map(mean).collect();
    if batches.len() < 4 {
        return None;
    }
    let last = batches.len() / 2;
    let error = |d: usize| {
        let kept = &batches[d..];
        let m = mean(kept);
        kept.iter().map(|y| (y - m).powi(2)).sum::<f64>() / count(kept.len()).powi(2)
    };
    let best = (0..=last).min_by(|a, b| error(*a).total_cmp(&error(*b)))?;
    (best < last).then_some(best * BATCH)
}

/// A window of five rounds, as in SNIA's definition.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SteadyState {
    /// Index of the window's first round.
    pub first: usize,
    /// Mean over the window.
    pub mean: f64,
    /// Highest minus lowest value, divided by the mean.
    pub range: f64,
    /// Change of the least-squares line over the window, divided by the mean.
    pub slope: f64,
}

impl SteadyState {
    /// Largest permitted [`SteadyState::range`].
    pub const RANGE: f64 = 0.20;
    /// Largest permitted magnitude of [`SteadyState::slope`].
    pub const SLOPE: f64 = 0.10;

    /// Returns the window of five rounds, steady or not.
    #[must_use]
    pub fn of(rounds: &[f64; 5]) -> Self {
        let mean = mean(rounds);
        let high = rounds.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let low = rounds.iter().copied().fold(f64::INFINITY, f64::min);
        let per_round: f64 = rounds.iter().zip([-0.2, -0.1, 0.0, 0.1, 0.2]).map(|(x, w)| x * w).sum();
        Self { first: 0, mean, range: (high - low) / mean, slope: 4.0 * per_round / mean }
    }

    /// Whether it is steady: highest minus lowest is at most 20 % of the mean, and the least-squares line changes over the window
    /// by at most 10 % of the mean. Source: SNIA Solid State Storage Performance Test Specification 2.0.2 (2020), definition of
    /// "Steady State".
    #[must_use]
    pub fn is_steady(&self) -> bool {
        self.mean > 0.0 && self.range <= Self::RANGE && self.slope.abs() <= Self::SLOPE
    }
}

/// Returns the first window of five rounds that is steady by SNIA's definition ([`SteadyState::is_steady`]).
///
/// `None` when no window is steady, or a round isn't finite.
#[must_use]
pub fn steady_state(rounds: &[f64]) -> Option<SteadyState> {
    if rounds.iter().any(|x| !x.is_finite()) {
        return None;
    }
    rounds.windows(5).enumerate().find_map(|(first, window)| {
        let state = SteadyState { first, ..SteadyState::of(window.first_chunk()?) };
        state.is_steady().then_some(state)
    })
}

#[cfg(test)]
mod tests {
    use super::{ramp_up, steady_state};

    #[test]
    fn the_ramp_is_cut_and_nothing_else() {
        let wiggle = |i: u32| [0.0, 1.0, -1.0, 0.5, -0.5, 1.2, -1.1][(i % 7) as usize];
        let ramp: Vec<f64> = (0..60).map(|i| f64::min(10.0 * f64::from(i), 100.0) + wiggle(i)).collect();
        assert_eq!(ramp_up(&ramp), Some(10));
        let flat: Vec<f64> = (0..60).map(|i| 100.0 + wiggle(i)).collect();
        assert_eq!(ramp_up(&flat).map(|cut| cut <= 10), Some(true));
        let rising: Vec<f64> = (0..60).map(f64::from).collect();
        assert_eq!(ramp_up(&rising), None, "never settles");
        assert_eq!(ramp_up(&[1.0; 19]), None);
        assert_eq!(ramp_up(&[3.0; 20]), Some(0));
    }

    /// By hand: 100, 102, 98, 101, 99 spans 4 %; Σ w x = -20 - 10.2 + 10.1 + 19.8 = -0.3 a round, -1.2 over the window.
    #[test]
    fn snia_by_hand() {
        let s = steady_state(&[200.0, 150.0, 100.0, 102.0, 98.0, 101.0, 99.0]).unwrap();
        assert_eq!(s.first, 2);
        assert!((s.range - 0.04).abs() < 1e-12 && (s.slope + 0.012).abs() < 1e-12 && s.mean == 100.0);
    }

    #[test]
    fn the_limits_belong_to_the_steady_side() {
        assert!(steady_state(&[90.0, 110.0, 100.0, 110.0, 90.0]).is_some(), "range of exactly 20 %");
        assert!(steady_state(&[89.0, 110.0, 100.0, 110.0, 90.0]).is_none());
        assert!(steady_state(&[95.1, 97.5, 100.0, 102.5, 104.9]).is_some(), "slope just below 10 %");
        assert!(steady_state(&[94.0, 97.0, 100.0, 103.0, 106.0]).is_none(), "slope of 12 %");
        assert!(steady_state(&[100.0; 4]).is_none());
    }
}
