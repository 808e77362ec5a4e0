//! When there are enough rounds.

mod needed;
mod rule;

pub use needed::{Pair, needed};
pub use rule::{Allowance, Asked, Decision, Lacking, Look, Resource, Settled, StopRule};
