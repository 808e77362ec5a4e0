//! The known-truth suite: what is true of each scenario is made by construction, the program runs it for real, and all that
//! it claims is held against the truth. The scenarios are in `truth/table`, their description in docs/known-truth.md.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, also in its helpers")]

mod truth;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use truth::bench::Bench;
use truth::check::{self, Outcome, Standing};
use truth::session::Session;
use truth::{document, matrix, table};

/// How often a truth that could not be made is tried again.
const TRIES: usize = 3;
/// How often one that was judged wrongly is made again, on a machine that may be busy with anything: it is wrong if it is wrong in most.
const AGAIN: usize = 2;

#[test]
fn loop_every_known_truth_is_told_and_nothing_else_is_claimed() {
    if !testkit::is_root() {
        eprintln!("SKIPPED known truth: needs root");
        return;
    }
    let alone = testkit::exclusive();
    let bench = Bench::new(testkit::fresh_dir("known-truth"));
    let mut outcomes = Vec::new();
    for session in [table::once, table::rounds] {
        outcomes.extend(judged(&bench, session));
    }
    drop(alone);
    // not captured by the test harness: it is what the suite is run for
    let _ = writeln!(std::io::stderr(), "\n{}", matrix::text(&outcomes));
    let wrong: Vec<String> = outcomes.iter().filter_map(complaint).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn the_document_lists_every_scenario() {
    let sessions = [table::once(), table::rounds()];
    let clean = |s: &&truth::scenario::Scenario| s.truth == truth::scenario::CLEAN;
    let all = || sessions.iter().flat_map(|session| &session.scenarios);
    assert!(all().filter(clean).count() >= 10 && all().count() >= 40);
    let expected = document::table(&sessions);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/known-truth.md");
    let document = std::fs::read_to_string(path).unwrap();
    assert!(document.contains(&expected), "docs/known-truth.md should hold:\n{expected}");
}

/// A session's outcomes, once every truth that can be made here was made.
fn judged(bench: &Bench, session: fn() -> Session) -> Vec<Outcome> {
    let mut outcomes: Vec<Outcome> = Vec::new();
    let session = || session().that_can_be_made();
    let mut left = named(&session());
    if left.as_ref().is_some_and(BTreeSet::is_empty) {
        return outcomes;
    }
    for _ in 0..TRIES {
        let mut again = session();
        if let Some(left) = &left {
            again.keep(left);
        }
        let said = bench.run(&again);
        outcomes.retain(|o| !matches!(o.standing, Standing::Unmade(_)));
        outcomes.extend(check::session(&again, &said));
        let unmade: BTreeSet<&str> =
            outcomes.iter().filter(|o| matches!(o.standing, Standing::Unmade(_))).map(|o| o.name).collect();
        if unmade.is_empty() {
            break;
        }
        left = Some(unmade);
    }
    made_again(bench, &session, &mut outcomes);
    outcomes
}

/// What somebody at work on a few scenarios names in `DISKPROOF_TEST_TRUTH`, parted by commas.
fn named(session: &Session) -> Option<BTreeSet<&'static str>> {
    let named = std::env::var("DISKPROOF_TEST_TRUTH").ok()?;
    let is_named = |name: &&str| named.split(',').any(|one| one == *name);
    Some(session.scenarios.iter().map(|scenario| scenario.name).filter(is_named).collect())
}

/// Makes again what was judged wrongly, and tells of it: once in three is no fault, but it is seen.
fn made_again(bench: &Bench, session: &dyn Fn() -> Session, outcomes: &mut [Outcome]) {
    let mut faults: BTreeMap<&'static str, usize> = BTreeMap::new();
    for outcome in outcomes.iter() {
        let Standing::Wrong(why) = &outcome.standing else { continue };
        let _ = writeln!(std::io::stderr(), "wrong, made again: {}: {}", outcome.name, why.join("; "));
        faults.insert(outcome.name, 1);
    }
    if faults.is_empty() {
        return;
    }
    for _ in 0..AGAIN {
        let mut again = session();
        again.keep(&faults.keys().copied().collect());
        let said = bench.run(&again);
        for outcome in check::session(&again, &said) {
            *faults.entry(outcome.name).or_default() += usize::from(outcome.standing != Standing::Right);
        }
    }
    for outcome in outcomes.iter_mut().filter(|o| faults.get(o.name).is_some_and(|n| 2 * n <= AGAIN + 1)) {
        outcome.standing = Standing::Right;
    }
}

fn complaint(outcome: &Outcome) -> Option<String> {
    match &outcome.standing {
        Standing::Right => None,
        Standing::Wrong(why) => Some(format!("{}: {}", outcome.name, why.join("; "))),
        Standing::Unmade(why) => {
            let _ = writeln!(std::io::stderr(), "not made: {}: {}", outcome.name, why.join("; "));
            None
        }
    }
}
