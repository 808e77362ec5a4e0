//! Time series of the rate: within a trial, and over the rounds.

mod batches;
mod cache;
mod episodes;
mod machine;
mod not_replicates;
mod order;
mod over_rounds;
mod provided;
mod rounds;
mod shape;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
mod within;
mod words;

pub(crate) use over_rounds::over_rounds;
pub(crate) use rounds::CellRounds;
pub(crate) use within::within;
