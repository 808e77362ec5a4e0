//! Simulations with fixed seeds check what the statistics promise. `DISKPROOF_SIMULATION=10` makes ten times as many repetitions,
//! and `DISKPROOF_SIMULATION_TABLES=DIR` writes the tables there: bench/statistics/run.sh does both.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "small positive numbers of the simulation's own"
)]

#[cfg(test)]
#[path = "simulation/comparisons.rs"]
mod comparisons;
#[cfg(test)]
#[path = "simulation/device_time.rs"]
mod device_time;
#[cfg(test)]
#[path = "simulation/disturbed_search.rs"]
mod disturbed_search;
#[cfg(test)]
#[path = "simulation/estimates.rs"]
mod estimates;
#[cfg(test)]
#[path = "simulation/gate.rs"]
mod gate;
#[cfg(test)]
#[path = "simulation/histories.rs"]
mod histories;
#[cfg(test)]
#[path = "simulation/hunts.rs"]
mod hunts;
#[cfg(test)]
#[path = "simulation/markets.rs"]
mod markets;
#[cfg(test)]
#[path = "simulation/noise.rs"]
mod noise;
#[cfg(test)]
#[path = "simulation/queue.rs"]
mod queue;
#[cfg(test)]
#[path = "../src/random.rs"]
mod random;
#[cfg(test)]
#[path = "simulation/replicates.rs"]
mod replicates;
#[cfg(test)]
#[path = "simulation/rivals.rs"]
mod rivals;
#[cfg(test)]
#[path = "simulation/search.rs"]
mod search;
#[cfg(test)]
#[path = "simulation/series.rs"]
mod series;
#[cfg(test)]
#[path = "simulation/stop_rule.rs"]
mod stop_rule;
#[cfg(test)]
#[path = "simulation/sweeps.rs"]
mod sweeps;
#[cfg(test)]
#[path = "simulation/table.rs"]
mod table;
