//! Stores with runs to send.

use diskproof_share::{Credentials, Packed, Packer, Patience, RegistryOptions};
use record::event::Stopped;
use record::id::RunId;
use record::plan::Raised;
use std::path::Path;
use std::time::Duration;
use store::Store;

#[path = "../../../store/tests/support/sample.rs"]
#[allow(dead_code, reason = "shared with the tests of the store")]
mod sample;

pub(crate) const RUN: &str = "20261121-201455-3f9a";

/// A store with one run of some trials; each has raw output of so many random bytes, which don't compress.
pub(crate) fn store_with(folder: &Path, trials: u32, raw_bytes: usize) -> (Store, RunId) {
    let store = Store::open(&folder.join("from.db")).unwrap();
    let run = RunId(RUN.to_owned());
    store.create_run(&run, &sample::plan(2, trials.div_ceil(2)), &sample::environment("6.1")).unwrap();
    for number in 0..trials {
        let mut trial = sample::trial(number % 2, number / 2);
        if let Some(engine) = trial.engine.as_mut().filter(|_| raw_bytes > 0) {
            engine.raw = noise(u64::from(number), raw_bytes);
        }
        store.append_trial(&run, &trial).unwrap();
    }
    store.raise_budgets(&run, &Raised { rounds: Some(99), ..Raised::default() }).unwrap();
    store.finish_run(&run, &Stopped::RoundsDone { rounds: trials / 2 }).unwrap();
    (store, run)
}

fn noise(seed: u64, bytes: usize) -> String {
    let mut state = seed ^ 0x9e37_79b9_7f4a_7c15;
    let mut text = String::with_capacity(bytes + 16);
    while text.len() < bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        text.extend(state.to_le_bytes().iter().map(|b| char::from(33 + b % 90)));
    }
    text
}

#[allow(dead_code, reason = "not every test needs it")]
pub(crate) fn plan() -> record::plan::Plan {
    sample::plan(2, 1)
}

#[allow(dead_code, reason = "not every test needs it")]
pub(crate) fn environment() -> record::environment::Environment {
    sample::environment("6.1")
}

#[allow(dead_code, reason = "not every test needs it")]
pub(crate) fn trial() -> record::trial::TrialRecord {
    sample::trial(0, 0)
}

pub(crate) fn pack(store: &Store, run: &RunId, folder: &Path) -> Packed {
    Packer { store, program: "0.1.0", judge: "judge 1", folder }.pack(run, None).unwrap()
}

pub(crate) fn options() -> RegistryOptions {
    let patience = Patience { tries: 8, pause: Duration::from_millis(1) };
    RegistryOptions { patience, credentials: Credentials::default(), ..RegistryOptions::default() }
}
