//! Tests of the order of rounds. Knows no storage.

use stats::{Autocorrelation, FirstRound, Trend, TwoModes};
use std::collections::BTreeMap;

/// Logarithm of a figure by round.
pub(super) type Log = BTreeMap<u32, f64>;

/// An outlier that happens to be the first round isn't a first round unlike the others: it must be this many times as far from them as they are from each other
/// (but for the nearest, which a warm-up may have pulled along), and by a fifth as long as there are few. The test alone takes heavy tails for it, so it also gets
/// only a fifth of the error that the other tests have.
const APART: f64 = 3.0;
const FEW: usize = 8;
const FIFTH: f64 = 0.2;

/// Where all rounds have one of two values, a counter's steps may be all there is to the groups; from this many rounds on, five such steps don't look like two by
/// chance any more.
const RESOLVED: usize = 10;

/// The four tests of a cell's rounds, as far as there are enough of these.
pub(super) struct OrderTests {
    trend: Option<Trend>,
    first: Option<FirstRound>,
    serial: Option<Autocorrelation>,
    modes: Option<TwoModes>,
}

/// What the rounds are instead of replicates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Suspect {
    /// They rise or fall: by so much per round, in logarithms.
    Trend(f64),
    /// The first is unlike the others.
    First,
    /// They fall into two groups.
    TwoModes(TwoModes),
    /// Each takes after the one before.
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

    /// P-values of the four; 1 where a test can't be made. A trend's is that of Student's t: the orders of six rounds are too few for many tests at once.
    pub(super) fn p_values(&self) -> [f64; 4] {
        [
            self.trend.map_or(1.0, |t| t.p_student),
            self.first.map_or(1.0, |f| (f.p / FIFTH).min(1.0)),
            self.modes.map_or(1.0, |m| m.p),
            self.serial.map_or(1.0, |a| a.p),
        ]
    }

    /// The one that explains most: a trend or a first round unlike the others also looks like groups, and like autocorrelation.
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
