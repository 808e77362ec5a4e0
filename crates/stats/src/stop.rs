//! The stop rule: when there are enough rounds.

mod caution;
mod cheapest;
mod needed;
mod rule;
mod survey;

pub use cheapest::{Hunt, Offered, Sought, limit_interval};
pub use needed::{Pair, needed};
pub use rule::{Allowance, Asked, Decision, Lacking, Look, Resource, Settled, StopRule};
pub use survey::{Contender, Matter, Question, Survey, Terms};
