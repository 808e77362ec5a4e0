//! What the loop tests share.

mod bench;
mod scenario;

pub use bench::{Bench, Hook};
pub use scenario::{Scenario, scenarios};
