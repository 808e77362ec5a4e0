//! Limits that figures must keep.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which values meet an expectation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// Those that deviate from the expected value by [`crate::plan::Expectation::within`] at most.
    #[default]
    Within,
    /// The expected value and all below.
    AtMost,
    /// The expected value and all above.
    AtLeast,
}

impl Bound {
    pub(crate) fn is_within(&self) -> bool {
        *self == Self::Within
    }
}

/// A limit that a cell must keep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Want {
    /// Name of the metric, e.g. `read_lat_p99`.
    pub of: String,
    /// On which side of the value it must be: at most, or at least.
    pub bound: Bound,
    /// The value, in the metric's unit.
    pub value: f64,
    /// The limit as written, e.g. `read_lat_p99 <= 5ms`.
    pub written: String,
}
