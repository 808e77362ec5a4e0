//! A stop rule that looks after every round and still holds its level.

use super::caution::{Caution, seen};
use crate::anytime::anytime;
use crate::centre::Centre;
use crate::estimate::{Estimate, t_quantile};

/// Share of the error for each look's interval, so that all looks together hold the level.
const ERROR_PER_LOOK: f64 = 0.6;
/// Largest forecast of rounds.
const MOST_ROUNDS: u32 = 100_000;

/// The goal for one figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Asked {
    /// A relative half-width: 0.05 for ±5 %. For a ratio: an interval from ratio / 1.05 to ratio · 1.05.
    HalfWidth(f64),
    /// For a ratio: it is shown to differ from 1, or to be within a factor of 1 + margin of 1.
    Told {
        /// The difference that does not matter: 0.02 for 2 %.
        margin: f64,
    },
}

/// When to stop. Look after every round from [`StopRule::min_rounds`] on.
///
/// For a half-width: the interval is Student's at 0.6 of the requested error (97 % for 95 %), widened by √((1 + ρ) / (1 - ρ)),
/// and the rule stops when it is narrow enough. For a cell's figure, ρ is the upper 93 % limit of the autocorrelation between
/// rounds, r₁ + 1/n + 1.5/√n, but above 0.6 only the observed value, and never above 0.9. A few rounds can't exclude that each
/// resembles the one before, so the rule takes more rounds. For a ratio within rounds, ρ is the observed value, r₁ + 1/n, because
/// the effect of time on all cells of a round cancels. A plain 95 % interval would stop too often where the spread happens to
/// look small, and would cover 91 to 93 %. For normal samples the number of rounds and the width depend only on the deviations
/// from the mean, and these are independent of the mean. So the true coverage is E[2Φ(h √N / σ) - 1] for the half-width h at the
/// stop: computed for 80 to 99 % in tests/simulation/stop_rule.rs, with the cost of ρ. Source: Chow, Robbins (1965), Annals of
/// Mathematical Statistics 36:457-462; Starr (1966), ibid. 37:36-50, for the loss at small numbers; Bayley, Hammersley (1946),
/// JRSS Supplement 8:184-197, for the effective number of autocorrelated samples.
///
/// For "different or equal", the stop depends on the mean, so this argument doesn't apply, and the interval is the anytime-valid
/// one ([`crate::mean_anytime`]).
///
/// With trimming at each end ([`StopRule::trimmed`]), trimmed means and winsorized errors replace the plain ones throughout.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StopRule {
    asked: Asked,
    confidence: f64,
    min_rounds: u32,
    trim: Option<f64>,
}

/// A resource that may run out before the goal is reached.
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

/// The number of rounds that a resource still allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    /// The limited resource.
    pub resource: Resource,
    /// Rounds that it still allows.
    pub rounds_left: u32,
}

/// The reason why there are enough rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Settled {
    /// The interval is narrow enough.
    Narrow {
        /// Relative half-width that was reached.
        reached: f64,
        /// Requested relative half-width.
        asked: f64,
    },
    /// The ratio's interval excludes 1.
    Different,
    /// The ratio's interval lies within the margin.
    Equal {
        /// The requested margin.
        margin: f64,
    },
}

/// The reason why there are not enough rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Lacking {
    /// There are too few rounds for a look.
    Rounds {
        /// Number of rounds so far.
        have: u32,
        /// Number of rounds before the first look.
        need: u32,
    },
    /// The interval is too wide.
    Width {
        /// Relative half-width that was reached.
        reached: f64,
        /// Requested relative half-width.
        asked: f64,
    },
    /// The ratio's interval contains 1 and reaches beyond the margin.
    Undecided {
        /// A difference above this is excluded; infinite when none is.
        excluded: f64,
        /// The requested margin.
        margin: f64,
    },
}

/// The decision after a look.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Decision {
    /// The goal is reached.
    Enough(Settled),
    /// More rounds are needed.
    More {
        /// The reason.
        lacking: Lacking,
        /// About how many more rounds are needed, if mean and spread stay the same; `None` when the samples give no estimate.
        rounds_estimate: Option<u32>,
    },
    /// A resource ran out.
    Budget {
        /// The resource.
        exhausted: Resource,
        /// The reason why the goal is not reached.
        lacking: Lacking,
        /// About how many more rounds would be needed.
        rounds_estimate: Option<u32>,
    },
}

/// One look: the interval to show if the run ends here, and the decision.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// Estimate with the interval that accounts for the looks. For a ratio: the ratio.
    pub interval: Estimate,
    /// The decision.
    pub decision: Decision,
}

impl StopRule {
    /// Rounds before the first look. With six rounds, the permutation tests of replicates work, a second mode of half the trials
    /// stays unseen in only 3 % of runs, and ±5 % is reached up to a spread of 4 %.
    pub const MIN_ROUNDS: u32 = 6;

    /// Returns a rule with [`Self::MIN_ROUNDS`]. `None` unless the half-width or margin is positive and finite and 0 < confidence < 1.
    #[must_use]
    pub fn new(asked: Asked, confidence: f64) -> Option<Self> {
        let (Asked::HalfWidth(x) | Asked::Told { margin: x }) = asked;
        let valid = x.is_finite() && x > 0.0 && confidence > 0.0 && confidence < 1.0;
        valid.then_some(Self { asked, confidence, min_rounds: Self::MIN_ROUNDS, trim: None })
    }

    /// Sets the rounds before the first look; at least 4, since the level isn't held below.
    #[must_use]
    pub fn with_min_rounds(self, min_rounds: u32) -> Self {
        Self { min_rounds: min_rounds.max(4), ..self }
    }

    /// Returns the same rule for trimmed means, as in [`crate::trimmed_mean`]: without this share of the samples on each side.
    #[must_use]
    pub fn trimmed(self, share: Option<f64>) -> Self {
        Self { trim: share, ..self }
    }

    /// Returns the number of rounds before the first look.
    #[must_use]
    pub fn min_rounds(&self) -> u32 {
        self.min_rounds
    }

    /// Looks at a cell's trials. `None` when there are none, one isn't finite, or the goal is about a ratio.
    #[must_use]
    pub fn look(&self, samples: &[f64], allowances: &[Allowance]) -> Option<Look> {
        let Asked::HalfWidth(asked) = self.asked else { return None };
        let centre = Centre::of(samples, self.trim)?;
        let interval = self.fixed_or_repeated(&centre, Caution::Possible, allowances)?;
        let reached = interval.relative_half_width();
        let forecast = self.more_rounds(&centre, Caution::Possible, asked * interval.value.abs());
        let state = if reached <= asked {
            Ok(Settled::Narrow { reached, asked })
        } else {
            Err(Lacking::Width { reached, asked })
        };
        Some(Look { interval, decision: self.decide(samples.len(), state, forecast, allowances) })
    }

    /// Looks at a ratio a / b over pairs (a, b) of the same rounds, on the logarithmic scale. `None` when there are no pairs, or
    /// a value isn't positive and finite.
    #[must_use]
    pub fn look_at_ratio(&self, pairs: &[(f64, f64)], allowances: &[Allowance]) -> Option<Look> {
        let positive = |x: f64| x.is_finite() && x > 0.0;
        if pairs.iter().any(|&(a, b)| !positive(a) || !positive(b)) {
            return None;
        }
        let logs: Vec<f64> = pairs.iter().map(|(a, b)| a.ln() - b.ln()).collect();
        let centre = Centre::of(&logs, self.trim)?;
        let (e, state, wanted) = match self.asked {
            Asked::HalfWidth(asked) => {
                let e = self.fixed_or_repeated(&centre, Caution::Seen, allowances)?;
                let reached = e.half_width().exp_m1();
                let narrow = reached <= asked;
                let state = if narrow {
                    Ok(Settled::Narrow { reached, asked })
                } else {
                    Err(Lacking::Width { reached, asked })
                };
                (e, state, asked.ln_1p())
            }
            Asked::Told { margin } => {
                let e = anytime(&centre, self.confidence);
                let distance = (margin.ln_1p() - e.value.abs()).abs().max(e.value.abs());
                (e, told(e, margin), distance)
            }
        };
        let forecast = self.more_rounds(&centre, Caution::Seen, wanted);
        let interval = Estimate { value: e.value.exp(), low: e.low.exp(), high: e.high.exp(), ..e };
        Some(Look { interval, decision: self.decide(logs.len(), state, forecast, allowances) })
    }

    /// Returns the interval of any mean over trials of a run that this rule ends, for the figure of the rule or another one:
    /// stopping also selects figures that rise and fall with that figure. Where the rule stops on decisions about ratios, a
    /// cell's mean affects the stop, so its interval is the anytime-valid one. `None` as for [`mean_t`].
    #[must_use]
    pub fn mean(&self, samples: &[f64], allowances: &[Allowance]) -> Option<Estimate> {
        let centre = Centre::of(samples, self.trim)?;
        match self.asked {
            Asked::Told { .. } if !self.nothing_decided(samples.len(), allowances) => {
                Some(anytime(&centre, self.confidence))
            }
            _ => self.fixed_or_repeated(&centre, Caution::Possible, allowances),
        }
    }

    /// Whether no decision has depended on the data so far.
    fn nothing_decided(&self, samples: usize, allowances: &[Allowance]) -> bool {
        let n = rounds(samples);
        n < self.min_rounds || (n == self.min_rounds && exhausted(allowances).is_some())
    }

    /// Returns Student's interval: the repeated one from the first look on, the plain one while no decision has depended on the data.
    fn fixed_or_repeated(
        &self,
        centre: &Centre,
        caution: Caution,
        allowances: &[Allowance],
    ) -> Option<Estimate> {
        if self.nothing_decided(centre.n, allowances) {
            return centre.student(self.confidence);
        }
        let reach =
            t_quantile(self.repeated(), centre.kept)? * caution.factor(seen(&centre.in_order), centre.n);
        Some(centre.within(reach, self.confidence))
    }

    /// Returns the confidence of each look's interval, so that the interval at the stop has the rule's.
    fn repeated(&self) -> f64 {
        1.0 - ERROR_PER_LOOK * (1.0 - self.confidence)
    }

    /// Returns about how many more rounds are needed for half-width `wanted`.
    fn more_rounds(&self, centre: &Centre, caution: Caution, wanted: f64) -> Option<u32> {
        let have = rounds(centre.n);
        if have < 2 || !centre.error.is_finite() {
            return None;
        }
        let all = self.rounds_in_all(centre.spread(), seen(&centre.in_order), caution, wanted)?;
        Some(all.saturating_sub(have).max(1))
    }

    /// Returns about how many independent rounds it takes to know a figure of this spread to the half-width `wanted`; with
    /// `ratio`, a ratio within rounds. `None` when no practicable number does.
    #[must_use]
    pub fn rounds_at(&self, spread: f64, wanted: f64, ratio: bool) -> Option<u32> {
        self.rounds_in_all(spread, 0.0, if ratio { Caution::Seen } else { Caution::Possible }, wanted)
    }

    /// Returns the smallest m from the first look on with t(m - 1) · caution · spread / √m ≤ wanted.
    fn rounds_in_all(&self, spread: f64, seen: f64, caution: Caution, wanted: f64) -> Option<u32> {
        let sound = spread >= 0.0 && wanted >= 0.0 && (wanted > 0.0 || spread == 0.0);
        let tight = |m: u32| {
            t_quantile(self.repeated(), m as usize).is_some_and(|t| {
                t * caution.factor(seen, m as usize) * spread / f64::from(m).sqrt() <= wanted
            })
        };
        if !sound || !tight(MOST_ROUNDS) {
            return None;
        }
        // Finds the first step that is far enough, then the place between it and the step before: the width falls with m.
        let (mut too_few, mut enough) = (self.min_rounds - 1, self.min_rounds);
        while !tight(enough) {
            too_few = enough;
            enough = (enough * 2).min(MOST_ROUNDS);
        }
        while enough - too_few > 1 {
            let middle = u32::midpoint(too_few, enough);
            if tight(middle) {
                enough = middle;
            } else {
                too_few = middle;
            }
        }
        Some(enough)
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
