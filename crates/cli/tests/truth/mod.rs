//! Scenarios with a known truth, and their outcomes.

pub(crate) mod bench;
pub(crate) mod check;
pub(crate) mod document;
pub(crate) mod floor;
mod gauge;
mod injection;
mod jobfiles;
mod letters;
pub(crate) mod matrix;
mod measured;
pub(crate) mod outage;
mod place;
pub(crate) mod scenario;
pub(crate) mod session;
mod site;
pub(crate) mod table;
