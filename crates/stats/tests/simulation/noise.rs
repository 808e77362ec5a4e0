//! Models of the trials of one cell, round by round. The true value is always 100.

use super::random::Random;

pub(crate) const TRUTH: f64 = 100.0;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Noise {
    Normal,
    /// Skewed to the right, with this coefficient of variation.
    Lognormal,
    Uniform,
    Laplace,
    /// Student's t with 3 degrees of freedom: occasional outliers on both sides.
    HeavyTail,
    /// Exponential stalls: skewed to the left.
    Stalls,
    /// Five rates that a limiter steps through.
    Discrete,
    /// Half the trials in each of two modes.
    Bimodal,
    /// Each round resembles the one before.
    Autocorrelated(f64),
    /// The value moves by this many standard deviations each round; the true value is that of the first round.
    Drift(f64),
    /// The first round is this many standard deviations low, and each next one half as much.
    WarmUp(f64),
}

/// Standard normal. Source: Box, Muller (1958), Annals of Mathematical Statistics 29:610-611.
pub(crate) fn normal(random: &mut Random) -> f64 {
    let radius = (-2.0 * (1.0 - random.uniform()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.uniform()).cos()
}

impl Noise {
    /// Values of successive rounds, with standard deviation `spread` where the model has one.
    pub(crate) fn rounds(self, spread: f64, random: &mut Random) -> impl FnMut() -> f64 {
        let mut state = normal(random);
        let mut round = -1.0;
        move || {
            round += 1.0;
            let deviation = match self {
                Self::Normal => normal(random),
                Self::Lognormal => {
                    let variance = (spread / TRUTH).powi(2).ln_1p();
                    return TRUTH * (variance.sqrt() * normal(random) - variance / 2.0).exp();
                }
                Self::Uniform => (random.uniform() - 0.5) * 12.0_f64.sqrt(),
                Self::Laplace => {
                    let sign = if random.uniform() < 0.5 { -1.0 } else { 1.0 };
                    -sign * (1.0 - random.uniform()).ln() / 2.0_f64.sqrt()
                }
                Self::HeavyTail => {
                    let chi: f64 = (0..3).map(|_| normal(random).powi(2)).sum();
                    normal(random) / chi.sqrt()
                }
                Self::Stalls => 1.0 + (1.0 - random.uniform()).ln(),
                Self::Discrete => (random.below(5) as f64 - 2.0) / 2.0_f64.sqrt(),
                Self::Bimodal => {
                    let mode = if random.uniform() < 0.5 { -1.0 } else { 1.0 };
                    (mode + 0.2 * normal(random)) / 1.04_f64.sqrt()
                }
                Self::Autocorrelated(rho) => {
                    let now = state;
                    state = rho * state + (1.0 - rho * rho).sqrt() * normal(random);
                    now
                }
                Self::Drift(step) => step * round + normal(random),
                Self::WarmUp(start) => normal(random) - start * 0.5_f64.powf(round),
            };
            TRUTH + spread * deviation
        }
    }
}
