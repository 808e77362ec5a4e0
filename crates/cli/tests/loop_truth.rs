//! The known-truth suite: we build scenarios with a known truth, the program really runs them, and the suite compares its claims
//! with the truth. The scenarios are in `truth/table`, their description is in docs/known-truth.md.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, also in its helpers")]

mod truth;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use truth::bench::Bench;
use truth::check::{self, CheckResult, Outcome};
use truth::floor::{self, Tally};
use truth::session::Session;
use truth::{document, matrix, table};

/// How often a scenario is tried, if the harness measured that other processes prevented it.
const TRIES: usize = 3;

#[test]
fn loop_every_known_truth_is_told_and_nothing_else_is_claimed() {
    if !testkit::is_root() {
        let entries = [table::once().entries(), table::rounds().entries()].concat();
        let skipped = |(name, truth, _)| Outcome::skipped(name, truth, "needs root".to_owned());
        show(&entries.into_iter().map(skipped).collect::<Vec<Outcome>>());
        return;
    }
    let alone = testkit::exclusive();
    let bench = Bench::new(testkit::fresh_dir("known-truth"));
    let mut outcomes = Vec::new();
    for session in [table::once, table::rounds] {
        outcomes.extend(judged(&bench, session));
    }
    drop(alone);
    show(&outcomes);
    let complaints = floor::complaints(&outcomes, named().is_none());
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

/// Prints the outcomes uncaptured, since they are the result of the suite.
fn show(outcomes: &[Outcome]) {
    let (matrix, remarks) = (matrix::text(outcomes), floor::remarks(outcomes));
    let _ = writeln!(std::io::stderr(), "\n{matrix}\n{remarks}{}", Tally::of(outcomes).line());
}

#[test]
fn the_document_lists_every_scenario() {
    let sessions = [table::once(), table::rounds()];
    let clean = |s: &&truth::scenario::Scenario| s.truth == truth::scenario::CLEAN;
    let all = || sessions.iter().flat_map(|session| &session.scenarios);
    assert!(all().filter(clean).count() >= 10 && all().count() >= 80);
    let expected = document::table(&sessions);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/known-truth.md");
    let document = std::fs::read_to_string(path).unwrap();
    assert!(document.contains(&expected), "docs/known-truth.md should hold:\n{expected}");
}

/// The scenarios in `DISKPROOF_TEST_TRUTH`, separated by commas.
fn named() -> Option<BTreeSet<String>> {
    let named = std::env::var("DISKPROOF_TEST_TRUTH").ok()?;
    Some(named.split(',').map(str::to_owned).collect())
}

/// A session's outcomes. A wrong scenario runs once more, and is then unsteady or wrong.
fn judged(bench: &Bench, session: fn() -> Session) -> Vec<Outcome> {
    let named = named();
    let mut outcomes = Vec::new();
    let mut due = BTreeSet::new();
    for (name, truth, cant) in session().entries() {
        match cant {
            _ if named.as_ref().is_some_and(|named| !named.contains(name)) => {
                outcomes.push(Outcome::skipped(name, truth, "not chosen in DISKPROOF_TEST_TRUTH".to_owned()));
            }
            Some(why) => outcomes.push(Outcome::skipped(name, truth, why)),
            None => {
                due.insert(name);
            }
        }
    }
    let mut first = made(bench, session, due);
    let wrong = first.iter().filter(|(_, o)| matches!(o.standing, CheckResult::Wrong(_)));
    let again = made(bench, session, wrong.map(|(name, _)| *name).collect());
    for (name, second) in again {
        if let Some(outcome) = first.get_mut(name) {
            outcome.standing = over_two(&outcome.standing, second.standing);
        }
    }
    outcomes.extend(first.into_values());
    outcomes
}

/// The outcome of a scenario that was wrong at first and ran again.
fn over_two(first: &CheckResult, second: CheckResult) -> CheckResult {
    let why = |standing: &CheckResult| match standing {
        CheckResult::Wrong(why) => why.clone(),
        _ => Vec::new(),
    };
    match second {
        CheckResult::Right => CheckResult::Unsteady(why(first)),
        second => CheckResult::Wrong([why(first), why(&second)].concat()),
    }
}

/// Runs these scenarios, and repeats those that the harness measured as not made.
fn made(
    bench: &Bench,
    session: fn() -> Session,
    mut due: BTreeSet<&'static str>,
) -> BTreeMap<&'static str, Outcome> {
    let mut outcomes = BTreeMap::new();
    for _ in 0..TRIES {
        if due.is_empty() {
            break;
        }
        let mut chosen = session();
        chosen.keep(&due);
        let said = bench.run(&chosen);
        for outcome in check::session(&chosen, &said) {
            // an expectation may add other scenarios, which were judged before
            if due.contains(outcome.name) {
                outcomes.insert(outcome.name, outcome);
            }
        }
        due.retain(|name| outcomes.get(name).is_none_or(Outcome::is_unmade));
        let unmade: Vec<&Outcome> = due.iter().filter_map(|name| outcomes.get(name)).collect();
        for Outcome { name, standing, .. } in unmade {
            let _ = writeln!(std::io::stderr(), "not made: {name}: {standing:?}");
        }
    }
    outcomes
}

#[test]
fn a_second_try_makes_nothing_right() {
    let wrong = || CheckResult::Wrong(vec!["missed".to_owned()]);
    assert_eq!(over_two(&wrong(), CheckResult::Right), CheckResult::Unsteady(vec!["missed".to_owned()]));
    let unmade = CheckResult::Unmade(vec!["others took 0.5".to_owned()]);
    assert_eq!(over_two(&wrong(), unmade), wrong());
    assert!(matches!(over_two(&wrong(), wrong()), CheckResult::Wrong(why) if why.len() == 2));
}
