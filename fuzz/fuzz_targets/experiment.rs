//! Any bytes given as an experiment file: a plan or an explanation, never a panic, a hang or a flood of memory.
#![no_main]

use diskproof_record::id::TrialId;
use diskproof_record::plan::Plan;
use diskproof_spec::{LoadError, Loaded, forecast, order, parse_bytes, trial_seed};
use libfuzzer_sys::fuzz_target;
use std::collections::BTreeMap;
use std::path::Path;

/// Job files are looked for where there are none: the parser of experiments is meant, not the disk.
fn parsed(bytes: &[u8], set: &BTreeMap<String, String>) -> Result<Loaded, LoadError> {
    parse_bytes(bytes, "fuzz.yaml", Path::new("/nonexistent"), set)
}

fn check_plan(plan: &Plan) {
    assert!(!plan.cells.is_empty() && plan.cells.len() <= 100_000);
    let forecast = forecast(plan);
    assert!(forecast.seconds.is_finite() && forecast.most.seconds.is_finite());
    assert!(forecast.least.is_none_or(|least| least.seconds <= forecast.most.seconds));
    assert!(plan.derived.iter().flat_map(|one| one.cells.values()).all(|formula| formula.factor.is_finite()));
    let mut cells = order(plan, 1);
    cells.sort_unstable();
    assert!(cells.iter().copied().eq(0..plan.cells.len()));
    let _ = trial_seed(plan, &TrialId { cell: plan.cells[0].id.clone(), round: 1 });
}

fuzz_target!(|bytes: &[u8]| {
    let mut outcome = parsed(bytes, &BTreeMap::new());
    if let Err(LoadError::MissingParameters(missing)) = &outcome {
        assert!(!missing.is_empty());
        let set = missing.iter().map(|one| (one.name.clone(), "3".to_owned())).collect();
        outcome = parsed(bytes, &set);
    }
    match outcome {
        Ok(loaded) => check_plan(&loaded.plan),
        Err(LoadError::Diagnostics(diagnostics)) => {
            assert!((1..=20).contains(&diagnostics.list.len()));
            let shown = diagnostics.to_string();
            assert!(shown.len() < 64 << 10 && !shown.contains(|c: char| c.is_control() && c != '\n'));
        }
        Err(LoadError::MissingParameters(_)) => panic!("all were given"),
        Err(LoadError::Io { .. }) => panic!("nothing is read"),
    }
});
