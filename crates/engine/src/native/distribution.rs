//! The distribution of random accesses: fio's `random_distribution`.

use super::permutation::Scatter;
use super::random::Random;
use super::zones::{self, Zone};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A distribution that native doesn't support; each with fio's text of it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum DistributionError {
    #[error("random_distribution={0}")]
    Unknown(String),
    #[error("random_distribution={0} with a centre")]
    Centre(String),
    #[error("the parameter of random_distribution={0} is out of range")]
    OutOfRange(String),
}

/// A distribution and its parameter, with fio's meaning.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Distribution {
    /// Every block equally often.
    Random,
    /// The share of the r-th most used block is proportional to r^-theta.
    Zipf(f64),
    /// Self-similar with parameter h: a share 1-h of all accesses goes to a share h of the blocks, and so on within these.
    Pareto(f64),
    /// The sum of twelve uniform draws around the middle; the parameter is the standard deviation in percent of the region.
    Normal(f64),
    /// By zones of the region, uniform inside each.
    Zoned(Vec<Zone>),
}

impl Distribution {
    /// Parses fio's notation.
    ///
    /// # Errors
    /// What native doesn't support.
    pub(crate) fn parse(text: &str) -> Result<Self, DistributionError> {
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        let unknown = || DistributionError::Unknown(text.to_owned());
        let number = |default: f64| match rest {
            "" => Ok(default),
            _ if rest.contains(':') => Err(DistributionError::Centre(text.to_owned())),
            _ => rest.parse().map_err(|_| unknown()),
        };
        // fio's defaults (options.c): 1.1, 0.2; normal has none.
        match kind {
            "random" if rest.is_empty() => Ok(Self::Random),
            "zipf" => number(1.1).and_then(|t| in_range(text, t, 0.0..100.0).map(Self::Zipf)),
            "pareto" => number(0.2).and_then(|h| in_range(text, h, 0.0..1.0).map(Self::Pareto)),
            "normal" if !rest.is_empty() => {
                number(0.0).and_then(|d| in_range(text, d, 0.0..100.1).map(Self::Normal))
            }
            "zoned" | "zoned_abs" => {
                zones::parse(rest, kind == "zoned_abs").map(Self::Zoned).ok_or_else(unknown)
            }
            _ => Err(unknown()),
        }
    }
}

fn in_range(text: &str, value: f64, range: std::ops::Range<f64>) -> Result<f64, DistributionError> {
    if value > range.start && value < range.end {
        Ok(value)
    } else {
        Err(DistributionError::OutOfRange(text.to_owned()))
    }
}

/// Draws ranks below a number of blocks.
#[derive(Debug, Clone)]
pub(crate) struct Ranks {
    blocks: u64,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    Even,
    Zipf(Zipf),
    Pareto { power: f64 },
    Normal { deviation: f64 },
}

impl Ranks {
    /// Creates the ranks; `blocks` must not be 0.
    pub(crate) fn new(distribution: &Distribution, blocks: u64) -> Self {
        let kind = match distribution {
            // Zones aren't ranks: they have an order in the region.
            Distribution::Random | Distribution::Zoned(_) => Kind::Even,
            Distribution::Zipf(theta) => Kind::Zipf(Zipf::new(*theta, blocks)),
            Distribution::Pareto(h) => Kind::Pareto { power: h.ln() / (1.0 - h).ln() },
            Distribution::Normal(percent) => Kind::Normal { deviation: float(blocks) * percent / 100.0 },
        };
        Self { blocks, kind }
    }

    #[inline]
    pub(crate) fn next(&self, random: &mut Random) -> u64 {
        match &self.kind {
            Kind::Even => random.below(self.blocks),
            Kind::Zipf(zipf) => zipf.next(random),
            Kind::Pareto { power } => {
                floor(float(self.blocks) * random.unit().powf(*power)).min(self.blocks - 1)
            }
            Kind::Normal { deviation } => loop {
                let sum: f64 = (0..12).map(|_| random.unit() - 0.5).sum();
                let at = float(self.blocks) / 2.0 + sum * deviation;
                if at >= 0.0 && at < float(self.blocks) {
                    return floor(at).min(self.blocks - 1);
                }
            },
        }
    }
}

/// Ranks of a distribution, each at its own block anywhere in the region, scattered like fio's.
#[derive(Debug, Clone)]
pub(crate) struct Skewed {
    ranks: Ranks,
    scatter: Scatter,
}

impl Skewed {
    /// Creates the distribution; `blocks` must not be 0.
    pub(crate) fn new(distribution: &Distribution, blocks: u64, random: &mut Random) -> Self {
        Self { ranks: Ranks::new(distribution, blocks), scatter: Scatter::new(blocks, random) }
    }

    #[inline]
    pub(crate) fn next(&self, random: &mut Random) -> u64 {
        self.scatter.block(self.ranks.next(random))
    }
}

/// Zipf's law by rejection-inversion (Hoermann, Derflinger 1996): exact for any exponent, without sums computed beforehand.
#[derive(Debug, Clone)]
struct Zipf {
    theta: f64,
    blocks: u64,
    integral_first: f64,
    integral_last: f64,
    squeeze: f64,
}

impl Zipf {
    fn new(theta: f64, blocks: u64) -> Self {
        let mut zipf = Self { theta, blocks, integral_first: 0.0, integral_last: 0.0, squeeze: 0.0 };
        zipf.integral_first = zipf.integral(1.5) - 1.0;
        zipf.integral_last = zipf.integral(float(blocks) + 0.5);
        zipf.squeeze = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.density(2.0));
        zipf
    }

    fn density(&self, x: f64) -> f64 {
        (-self.theta * x.ln()).exp()
    }

    fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        let t = (1.0 - self.theta) * log;
        let factor = if t.abs() > 1e-8 { t.exp_m1() / t } else { 1.0 + t / 2.0 };
        factor * log
    }

    fn inverse(&self, x: f64) -> f64 {
        let t = (x * (1.0 - self.theta)).max(-1.0);
        let factor = if t.abs() > 1e-8 { t.ln_1p() / t } else { 1.0 - t / 2.0 };
        (factor * x).exp()
    }

    fn next(&self, random: &mut Random) -> u64 {
        loop {
            let u = self.integral_last + random.unit() * (self.integral_first - self.integral_last);
            let x = self.inverse(u);
            let k = floor(x + 0.5).clamp(1, self.blocks);
            if float(k) - x <= self.squeeze || u >= self.integral(float(k) + 0.5) - self.density(float(k)) {
                return k - 1;
            }
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "numbers of blocks are below 2^52")]
fn float(n: u64) -> f64 {
    n as f64
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates; never negative")]
fn floor(x: f64) -> u64 {
    x as u64
}

#[cfg(test)]
mod tests;
