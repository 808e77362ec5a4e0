//! Looking after every round without spoiling the level.

use crate::anytime::mean_anytime;
use crate::estimate::{Estimate, count, mean, mean_t, standard_deviation, trials_for_spread};

/// Share of the error that each look's interval may have, so that all looks together keep to the whole.
const ERROR_PER_LOOK: f64 = 0.6;
/// No autocorrelation above this is believed in.
const MOST_RHO: f64 = 0.9;

/// What is asked of one figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Asked {
    /// A relative half-width: 0.05 for ±5 %. Of a ratio, its interval from ratio / 1.05 to ratio · 1.05.
    HalfWidth(f64),
    /// Of a ratio: to be told apart from 1, or shown to be within a factor of 1 + margin of it.
    Told {
        /// The difference that would not matter: 0.02 for 2 %.
        margin: f64,
    },
}

/// When to stop. Look after every round from [`StopRule::min_rounds`] on.
///
/// For a half-width: the interval is Student's at 0.6 of the error asked for (97 % for 95 %), widened by √((1 + ρ) / (1 - ρ)) where the rounds
/// look positively autocorrelated, ρ = max(0, r₁ + 1/n) capped at 0.9; and the rule stops when it is as narrow as asked. A plain 95 % interval would stop
/// too often where the spread happens to look small, and cover 91 to 93 %. For normal samples the number of rounds and the width depend on
/// the deviations from the mean only, and these are independent of the mean, so the true coverage is E[2Φ(h √N / σ) - 1] for the half-width h at
/// the stop; over all σ it is least where the rule stops at 10 to 20 rounds, and there it is still the one asked for: computed for
/// 80 to 99 % in tests/simulation/stop_rule.rs.
/// Source: Chow, Robbins (1965), Annals of Mathematical Statistics 36:457-462; Starr (1966), ibid. 37:36-50, for the loss at small
/// numbers; Bayley, Hammersley (1946), JRSS Supplement 8:184-197, for the effective number of autocorrelated samples.
///
/// For "told apart or shown equal" when to stop depends on the mean, so that argument is void and the interval is the anytime-valid one
/// ([`mean_anytime`]).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StopRule {
    asked: Asked,
    confidence: f64,
    min_rounds: u32,
}

/// What may run out before the answer is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Resource {
    /// The number of rounds.
    Rounds,
    /// Time.
    Time,
    /// Bytes written (wear).
    BytesWritten,
    /// Money.
    Money,
}

/// How many more rounds a resource allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    /// What is limited.
    pub resource: Resource,
    /// Rounds that it still allows.
    pub rounds_left: u32,
}

/// Why it is enough.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Settled {
    /// The interval is as narrow as asked.
    Narrow {
        /// Relative half-width reached.
        reached: f64,
        /// Relative half-width asked for.
        asked: f64,
    },
    /// The ratio's interval excludes 1.
    Different,
    /// The ratio's interval lies within the margin.
    Equal {
        /// The margin asked for.
        margin: f64,
    },
}

/// Why it isn't enough.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Lacking {
    /// Too few rounds to judge by.
    Rounds {
        /// Rounds there are.
        have: u32,
        /// Rounds needed before the first look.
        need: u32,
    },
    /// The interval is too wide.
    Width {
        /// Relative half-width reached.
        reached: f64,
        /// Relative half-width asked for.
        asked: f64,
    },
    /// The ratio's interval holds 1 and reaches beyond the margin.
    Undecided {
        /// A difference above this is excluded; infinite when nothing is.
        excluded: f64,
        /// The margin asked for.
        margin: f64,
    },
}

/// What to do after a look.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Decision {
    /// The question is answered.
    Enough(Settled),
    /// Measure on.
    More {
        /// Why.
        lacking: Lacking,
        /// About how many more rounds it will take, if mean and spread stay as seen; `None` when the samples tell nothing.
        rounds_estimate: Option<u32>,
    },
    /// Something ran out.
    Budget {
        /// What.
        exhausted: Resource,
        /// What the answer lacks.
        lacking: Lacking,
        /// About how many more rounds it would take.
        rounds_estimate: Option<u32>,
    },
}

/// One look: the interval to be shown if the run ends here, and what to do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// Estimate with the interval that accounts for the looks. Of a ratio: the ratio.
    pub interval: Estimate,
    /// What to do.
    pub decision: Decision,
}

impl StopRule {
    /// First look. Six rounds let the permutation tests of replicates work, leave a second mode of half the trials unseen in 3 % of
    /// runs only, and suffice for ±5 % up to a spread of 4 %.
    pub const MIN_ROUNDS: u32 = 6;

    /// A rule with [`Self::MIN_ROUNDS`]. `None` unless the half-width or margin is positive and finite and 0 < confidence < 1.
    #[must_use]
    pub fn new(asked: Asked, confidence: f64) -> Option<Self> {
        let (Asked::HalfWidth(x) | Asked::Told { margin: x }) = asked;
        let valid = x.is_finite() && x > 0.0 && confidence > 0.0 && confidence < 1.0;
        valid.then_some(Self { asked, confidence, min_rounds: Self::MIN_ROUNDS })
    }

    /// Another first look; at least 4, below which the level isn't kept.
    #[must_use]
    pub fn with_min_rounds(self, min_rounds: u32) -> Self {
        Self { min_rounds: min_rounds.max(4), ..self }
    }

    /// Rounds before the first look.
    #[must_use]
    pub fn min_rounds(&self) -> u32 {
        self.min_rounds
    }

    /// Look at a cell's trials. `None` when there are none, one isn't finite, or the rule asks about a ratio.
    #[must_use]
    pub fn look(&self, samples: &[f64], allowances: &[Allowance]) -> Option<Look> {
        let Asked::HalfWidth(asked) = self.asked else { return None };
        let interval = self.fixed_or_repeated(samples, allowances)?;
        let reached = interval.relative_half_width();
        let forecast = self.rounds_for(samples, asked * interval.value.abs());
        let state = if reached <= asked {
            Ok(Settled::Narrow { reached, asked })
        } else {
            Err(Lacking::Width { reached, asked })
        };
        Some(Look { interval, decision: self.decide(samples.len(), state, forecast, allowances) })
    }

    /// Look at a ratio a / b over pairs (a, b) of the same rounds, on the logarithmic scale. `None` when there are no pairs or a value
    /// isn't positive and finite.
    #[must_use]
    pub fn look_at_ratio(&self, pairs: &[(f64, f64)], allowances: &[Allowance]) -> Option<Look> {
        let positive = |x: f64| x.is_finite() && x > 0.0;
        if pairs.iter().any(|&(a, b)| !positive(a) || !positive(b)) {
            return None;
        }
        let logs: Vec<f64> = pairs.iter().map(|(a, b)| a.ln() - b.ln()).collect();
        let (e, state, forecast) = match self.asked {
            Asked::HalfWidth(asked) => {
                let e = self.fixed_or_repeated(&logs, allowances)?;
                let reached = e.half_width().exp_m1();
                let forecast = self.rounds_for(&logs, asked.ln_1p());
                let narrow = reached <= asked;
                let state = if narrow {
                    Ok(Settled::Narrow { reached, asked })
                } else {
                    Err(Lacking::Width { reached, asked })
                };
                (e, state, forecast)
            }
            Asked::Told { margin } => {
                let e = mean_anytime(&logs, self.confidence)?;
                let distance = (margin.ln_1p() - e.value.abs()).abs().max(e.value.abs());
                (e, told(e, margin), self.rounds_for(&logs, distance))
            }
        };
        let interval = Estimate { value: e.value.exp(), low: e.low.exp(), high: e.high.exp(), ..e };
        Some(Look { interval, decision: self.decide(logs.len(), state, forecast, allowances) })
    }

    /// The interval of any mean over trials of a run that this rule ends, of the figure that it looks at or another: what goes up and down with that
    /// figure is stopped with it. Where the rule stops on ratios, on their decisions too, a cell's mean takes part in stopping, so its interval is
    /// the anytime-valid one. `None` as for [`mean_t`].
    #[must_use]
    pub fn mean(&self, samples: &[f64], allowances: &[Allowance]) -> Option<Estimate> {
        match self.asked {
            Asked::Told { .. } if !self.nothing_decided(samples, allowances) => {
                mean_anytime(samples, self.confidence)
            }
            _ => self.fixed_or_repeated(samples, allowances),
        }
    }

    /// Whether no decision has depended on the data yet.
    fn nothing_decided(&self, samples: &[f64], allowances: &[Allowance]) -> bool {
        let n = rounds(samples.len());
        n < self.min_rounds || (n == self.min_rounds && exhausted(allowances).is_some())
    }

    /// Student's interval: the repeated one from the first look on, the plain one while no decision has depended on the data.
    fn fixed_or_repeated(&self, samples: &[f64], allowances: &[Allowance]) -> Option<Estimate> {
        if self.nothing_decided(samples, allowances) {
            return mean_t(samples, self.confidence);
        }
        let e = mean_t(samples, self.repeated())?;
        let half = e.half_width() * caution(samples);
        Some(Estimate { confidence: self.confidence, low: e.value - half, high: e.value + half, ..e })
    }

    /// Confidence of each look's interval.
    fn repeated(&self) -> f64 {
        Self::confidence_of_a_look(self.confidence)
    }

    /// Confidence that each look's interval has, so that the one at the stop has `confidence`.
    #[must_use]
    pub fn confidence_of_a_look(confidence: f64) -> f64 {
        1.0 - ERROR_PER_LOOK * (1.0 - confidence)
    }

    /// About how many more rounds until half-width `wanted`.
    fn rounds_for(&self, samples: &[f64], wanted: f64) -> Option<u32> {
        let have = rounds(samples.len());
        if have < 2 {
            return None;
        }
        let spread = standard_deviation(samples, mean(samples)) * caution(samples);
        let all =
            if spread == 0.0 { self.min_rounds } else { trials_for_spread(spread, self.repeated(), wanted)? };
        Some(all.max(self.min_rounds).saturating_sub(have).max(1))
    }

    fn decide(
        &self,
        n: usize,
        state: Result<Settled, Lacking>,
        rounds_estimate: Option<u32>,
        allowances: &[Allowance],
    ) -> Decision {
        let early = rounds(n) < self.min_rounds;
        let lacking = match state {
            Ok(settled) if !early => return Decision::Enough(settled),
            Ok(_) => Lacking::Rounds { have: rounds(n), need: self.min_rounds },
            Err(lacking) => lacking,
        };
        match exhausted(allowances) {
            Some(exhausted) => Decision::Budget { exhausted, lacking, rounds_estimate },
            None => Decision::More { lacking, rounds_estimate },
        }
    }
}

/// How much wider autocorrelation makes an interval: √((1 + ρ) / (1 - ρ)), ρ the lag-1 autocorrelation less its mean for independent samples,
/// -1/n (Moran 1948, Biometrika 35:255-260); 1 where it isn't positive or there is none to be seen.
fn caution(samples: &[f64]) -> f64 {
    let m = mean(samples);
    let squares: f64 = samples.iter().map(|x| (x - m).powi(2)).sum();
    if squares == 0.0 || !squares.is_finite() {
        return 1.0;
    }
    let products: f64 = samples.windows(2).map(|w| (w[0] - m) * (w[1] - m)).sum();
    let rho = (products / squares + 1.0 / count(samples.len())).clamp(0.0, MOST_RHO);
    ((1.0 + rho) / (1.0 - rho)).sqrt()
}

/// Whether a ratio's interval, in logarithms, excludes 1 or lies within the margin.
fn told(e: Estimate, margin: f64) -> Result<Settled, Lacking> {
    let reach = e.high.max(-e.low);
    if e.low > 0.0 || e.high < 0.0 {
        Ok(Settled::Different)
    } else if reach <= margin.ln_1p() {
        Ok(Settled::Equal { margin })
    } else {
        Err(Lacking::Undecided { excluded: reach.exp_m1(), margin })
    }
}

fn exhausted(allowances: &[Allowance]) -> Option<Resource> {
    allowances.iter().filter(|a| a.rounds_left == 0).map(|a| a.resource).min()
}

fn rounds(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
