//! Statistical tests of the order of rounds. It knows nothing about storage.

use stats::{Autocorrelation, FirstRound, Trend, TwoModes};
use std::collections::BTreeMap;

/// The logarithm of a figure, by round.
pub(super) type Log = BTreeMap<u32, f64>;

/// How many times as far from the other rounds the first one must be as they are from each other (without the nearest one, which a
/// warm-up may have moved too). With few rounds it must also differ by a fifth. So an outlier that happens to be the first round isn't
/// taken for a warm-up. Heavy tails mislead the test alone, so it also gets only a fifth of the error of the other tests.
const APART: f64 = 3.0;
const FEW: usize = 8;
const FIFTH: f64 = 0.2;

/// If all rounds have one of two values, the two groups may be steps of a counter. From this many rounds on, five such steps don't look
/// like two by chance.
const RESOLVED: usize = 10;

/// The four tests of a cell's rounds, as far as there are enough rounds.
pub(super) struct OrderTests {
    trend: Option<Trend>,
    first: Option<FirstRound>,
    serial: Option<Autocorrelation>,
    modes: Option<TwoModes>,
}

/// Why the rounds aren't replicates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Suspect {
    /// They rise or fall; the slope per round, as a logarithm.
    Trend(f64),
    /// The first one differs from the others.
    First,
    /// They fall into two groups.
    TwoModes(TwoModes),
    /// Each resembles the one before (autocorrelation).
    Serial(Autocorrelation),
}

impl OrderTests {
    pub(super) fn of(logs: &[f64]) -> Self {
        Self {
            trend: stats::trend(logs, 0.95),
            first: stats::first_round(logs).filter(|_| first_is_apart(logs)),
            serial: stats::autocorrelation(logs),
            modes: stats::two_modes(logs).filter(|_| logs.len() >= RESOLVED || distinct(logs) > 2),
        }
    }

    /// The p-values of the four tests; 1 if a test isn't possible. The trend's is that of Student's t, since six rounds have too few orders
    /// for a permutation test with a correction for many tests.
    pub(super) fn p_values(&self) -> [f64; 4] {
        [
            self.trend.map_or(1.0, |t| t.p_student),
            self.first.map_or(1.0, |f| (f.p / FIFTH).min(1.0)),
            self.modes.map_or(1.0, |m| m.p),
            self.serial.map_or(1.0, |a| a.p),
        ]
    }

    /// The significant test that explains most: a trend or a different first round also looks like two groups, and like autocorrelation.
    pub(super) fn suspect(&self, adjusted: &[f64], level: f64) -> Option<Suspect> {
        let holds = |n: usize| adjusted.get(n).is_some_and(|p| *p <= level);
        let p = self.p_values();
        let trend = self.trend.filter(|_| holds(0) && (p[0] <= p[1] || !holds(1)));
        let first = self.first.filter(|_| holds(1));
        let modes = self.modes.filter(|_| holds(2));
        let serial = self.serial.filter(|_| holds(3));
        trend
            .map(|t| Suspect::Trend(t.per_round.value))
            .or(first.map(|_| Suspect::First))
            .or(modes.map(Suspect::TwoModes))
            .or(serial.map(Suspect::Serial))
    }
}

fn first_is_apart(logs: &[f64]) -> bool {
    let Some((first, others)) = logs.split_first() else { return false };
    let mut others = others.to_vec();
    others.sort_by(f64::total_cmp);
    let above = others.last().is_some_and(|high| first > high);
    let kept = if above {
        others.split_last().map(|(_, rest)| rest)
    } else {
        others.split_first().map(|(_, rest)| rest)
    };
    let Some((low, high)) = kept.and_then(|k| Some((k.first()?, k.last()?))) else { return false };
    let off = (first - high).max(low - first);
    off >= APART * (high - low) && (logs.len() >= FEW || off >= FIFTH)
}

fn distinct(logs: &[f64]) -> usize {
    let mut sorted = logs.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.dedup();
    sorted.len()
}
