//! Searches: the highest load under which latencies stay within their limits.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A search for the highest load within limits. Its trials are those of one cell, each at a level of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Find {
    /// Name of the metric that is to be as high as possible, e.g. `iops`.
    pub most: String,
    /// The limits; a trial keeps them if it keeps each.
    #[serde(rename = "while")]
    pub limits: Vec<FindLimit>,
    /// The option that the search varies.
    pub by: FindBy,
    /// The lowest level.
    pub from: u64,
    /// The highest level.
    pub to: u64,
    /// Requested relative half-width of the answer's interval, e.g. 0.05.
    pub within: f64,
}

/// An upper limit of a metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FindLimit {
    /// Name of the metric, e.g. `read_lat_p99`.
    pub of: String,
    /// The highest value that keeps the limit, in the metric's unit.
    pub at_most: f64,
    /// The same as written, e.g. `10ms`.
    pub written: String,
}

/// The option that a search varies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FindBy {
    /// I/Os per second of each job, due on a schedule: an open loop.
    RateIops,
    /// I/Os in flight of each job.
    Iodepth,
    /// Number of jobs.
    Numjobs,
}

impl FindBy {
    /// Returns fio's name of the option.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::RateIops => "rate_iops",
            Self::Iodepth => "iodepth",
            Self::Numjobs => "numjobs",
        }
    }
}

/// The level of a search's trial, and why the search tried it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tried {
    /// The level.
    pub level: u64,
    /// Why.
    pub why: TriedWhy,
}

/// Why a search tries a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TriedWhy {
    /// It is the highest level: it shows how much the load reaches at most.
    Highest,
    /// Every level so far broke the limit: it is below them.
    Lower,
    /// It lies between levels that keep the limit and levels that break it.
    Between,
    /// It is an end of the range, and one trial of it isn't enough.
    Again,
    /// It is close to the estimate.
    Near,
}

impl TriedWhy {
    /// Returns the reason in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Highest => "the highest level",
            Self::Lower => "lower: none kept the limit",
            Self::Between => "between kept and broken",
            Self::Again => "again: one trial is not enough",
            Self::Near => "near the estimate",
        }
    }
}

impl Find {
    /// Returns the limits in words: `read_lat_p99 <= 10ms`.
    #[must_use]
    pub fn limits_in_words(&self) -> String {
        let all: Vec<String> =
            self.limits.iter().map(|limit| format!("{} <= {}", limit.of, limit.written)).collect();
        all.join(" and ")
    }
}
