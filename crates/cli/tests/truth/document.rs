//! The table of scenarios in docs/known-truth.md.

use super::matrix::snake;
use super::scenario::Scenario;
use super::session::{Pair, Session};
use std::fmt::Write as _;

/// A Markdown table of all scenarios in these sessions.
pub(crate) fn table(sessions: &[Session]) -> String {
    let mut text = String::from(
        "| scenario | truth | stack | workload | how it is made | must be said | limited by |\n| --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for session in sessions {
        for scenario in &session.scenarios {
            row(&mut text, scenario);
        }
        for pair in &session.pairs {
            pair_row(&mut text, pair);
        }
    }
    text
}

fn row(text: &mut String, scenario: &Scenario) {
    let claims = scenario.claims.iter().map(|(claim, least)| format!("{} ({})", snake(claim), snake(least)));
    let shares = scenario
        .served
        .iter()
        .map(|(source, share, tolerance)| format!("{} {share} ± {tolerance}", snake(source)));
    let mut said: Vec<String> = claims.chain(shares).collect();
    if !scenario.may.is_empty() {
        let may: Vec<String> = scenario.may.iter().map(snake).collect();
        said.push(format!("may: {}", may.join(", ")));
    }
    if !scenario.never.is_empty() {
        let never: Vec<String> = scenario.never.iter().map(snake).collect();
        said.push(format!("never: {}", never.join(", ")));
    }
    let limits: Vec<String> = scenario.limits.iter().map(snake).collect();
    let _ = writeln!(
        text,
        "| {} | {} | {} | `{}` | {} | {} | {} |",
        scenario.name,
        scenario.truth,
        scenario.stack,
        scenario.workload,
        scenario.made,
        said.join("; "),
        limits.join(" or ")
    );
}

fn pair_row(text: &mut String, pair: &Pair) {
    let _ = writeln!(
        text,
        "| {} | two cells | {} | `{}` | {} | {} | |",
        pair.name,
        pair.stacks.join(", "),
        pair.workload,
        pair.made,
        snake(&pair.relation)
    );
}
