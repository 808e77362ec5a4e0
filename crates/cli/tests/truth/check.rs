//! Compares the program's output on each scenario with the expected one.

use super::bench::Said;
use super::scenario::Scenario;
use super::session::{Pair, Session};
use record::finding::{Claim, Finding, Severity};
use record::judged::{CellView, LimitKind, Relation, RunView};

/// The outcome of a scenario.
#[derive(Debug, Clone)]
pub(crate) struct Outcome {
    pub(crate) name: &'static str,
    pub(crate) truth: &'static str,
    /// The claims of the program: those that matter, and expected notes.
    pub(crate) claims: Vec<Claim>,
    /// The limit that the program reported.
    pub(crate) limit: Option<LimitKind>,
    pub(crate) standing: CheckResult,
}

/// Whether the program's output is right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CheckResult {
    Right,
    /// Wrong at first, for these reasons, and right when it ran again.
    Unsteady(Vec<String>),
    /// Wrong, for these reasons.
    Wrong(Vec<String>),
    /// The harness measured that the scenario was not made, so the judgement can't be checked.
    Unmade(Vec<String>),
    /// Not tried, for this reason.
    Skipped(String),
}

impl Outcome {
    /// The outcome of a scenario that was not tried.
    pub(crate) fn skipped(name: &'static str, truth: &'static str, why: String) -> Self {
        Self { name, truth, claims: Vec::new(), limit: None, standing: CheckResult::Skipped(why) }
    }

    /// Whether the judgement can't be checked.
    pub(crate) fn is_unmade(&self) -> bool {
        matches!(self.standing, CheckResult::Unmade(_))
    }

    /// The number of false claims, also if the scenario was right when it ran again.
    pub(crate) fn false_alarms(&self) -> usize {
        match &self.standing {
            CheckResult::Unsteady(why) | CheckResult::Wrong(why) => {
                why.iter().filter(|one| one.starts_with(FALSE_ALARM)).count()
            }
            CheckResult::Right | CheckResult::Unmade(_) | CheckResult::Skipped(_) => 0,
        }
    }
}

/// The outcomes of all scenarios of a session.
pub(crate) fn session(session: &Session, said: &Said) -> Vec<Outcome> {
    let scenarios = session.scenarios.iter().map(|scenario| one(scenario, said));
    scenarios.chain(session.pairs.iter().map(|p| pair(p, &said.view))).collect()
}

fn one(scenario: &Scenario, said: &Said) -> Outcome {
    let blank = |standing| Outcome {
        name: scenario.name,
        truth: scenario.truth,
        claims: Vec::new(),
        limit: None,
        standing,
    };
    if let Some(why) = said.own.skipped.get(scenario.name) {
        return blank(CheckResult::Skipped(why.clone()));
    }
    if let Some(why) = said.own.unmade.get(scenario.name) {
        return blank(CheckResult::Unmade(why.clone()));
    }
    let Some(cell) = cell(&said.view, scenario.name, scenario.stack) else {
        return blank(CheckResult::Wrong(vec!["there is no such cell".to_owned()]));
    };
    let findings: Vec<&Finding> = said.view.findings.iter().filter(|f| f.cell == cell.id).collect();
    let beside_others = said.own.beside_others.contains(scenario.name);
    let mut wrong = claims(scenario, &findings, beside_others);
    wrong.extend(shares(scenario, cell));
    wrong.extend(limit(scenario, cell));
    let expected = |f: &&&Finding| scenario.claims.iter().any(|(claim, _)| *claim == f.claim);
    let matters = |f: &&&Finding| f.severity >= Severity::Caveat;
    let mut named: Vec<Claim> =
        findings.iter().filter(|f| matters(f) || expected(f)).map(|f| f.claim).collect();
    named.sort();
    named.dedup();
    let standing = if wrong.is_empty() { CheckResult::Right } else { CheckResult::Wrong(wrong) };
    Outcome { claims: named, limit: cell.limited_by.as_ref().map(|l| l.by), ..blank(standing) }
}

fn cell<'a>(view: &'a RunView, workload: &str, stack: &str) -> Option<&'a CellView> {
    view.cells.iter().find(|c| c.workload == workload && c.stack == stack)
}

/// The beginning of the message about a false claim.
pub(crate) const FALSE_ALARM: &str = "false alarm: ";

/// Checks the claims. `beside_others`: the harness counted other processes' I/O on the disk, so a claim about it is true.
fn claims(scenario: &Scenario, findings: &[&Finding], beside_others: bool) -> Vec<String> {
    let mut wrong = Vec::new();
    for (claim, least) in &scenario.claims {
        let best = findings.iter().filter(|f| f.claim == *claim).map(|f| f.severity).max();
        if best.is_none_or(|severity| severity < *least) {
            wrong.push(format!("missed: {claim:?} ({least:?}); said: {best:?}"));
        }
    }
    let fine = |f: &Finding| {
        (f.severity < Severity::Caveat && !scenario.never.contains(&f.claim))
            || scenario.claims.iter().any(|(claim, _)| *claim == f.claim)
            || scenario.may.contains(&f.claim)
            || (beside_others && f.claim == Claim::Interference)
    };
    let alarms = findings.iter().filter(|f| !fine(f));
    wrong.extend(alarms.map(|f| format!("{FALSE_ALARM}{:?} ({:?}): {}", f.claim, f.severity, f.text)));
    wrong
}

fn shares(scenario: &Scenario, cell: &CellView) -> Vec<String> {
    let of = |(source, share, tolerance): &(super::scenario::Source, f64, f64)| {
        let Some(served) = &cell.served else {
            return Some("nothing is said of where the bytes came from".to_owned());
        };
        let said = source.of(served);
        let off = (said - share).abs() > *tolerance;
        off.then(|| format!("{source:?} served {said:.3}, not {share} ± {tolerance}: {served:?}"))
    };
    scenario.served.iter().filter_map(of).collect()
}

fn limit(scenario: &Scenario, cell: &CellView) -> Option<String> {
    if scenario.limits.is_empty() {
        return None;
    }
    let said = cell.limited_by.as_ref();
    let right = said.is_some_and(|limit| scenario.limits.contains(&limit.by));
    (!right).then(|| format!("limited by {:?}, not {:?}", said.map(|l| (l.by, &l.text)), scenario.limits))
}

fn pair(pair: &Pair, view: &RunView) -> Outcome {
    let standing = match said_of(pair, view) {
        Some((relation, _)) if relation == pair.relation => CheckResult::Right,
        Some((_, text)) => CheckResult::Wrong(vec![format!("not {:?}: {text}", pair.relation)]),
        None => CheckResult::Wrong(vec!["they were not compared".to_owned()]),
    };
    Outcome { name: pair.name, truth: pair.truth(), claims: Vec::new(), limit: None, standing }
}

/// The reported relation of two cells, and its text.
fn said_of(pair: &Pair, view: &RunView) -> Option<(Relation, String)> {
    let [a, b] = pair.stacks.map(|stack| cell(view, pair.name, stack).map(|c| c.id.clone()));
    let (a, b) = (a?, b?);
    let answer = view.answers.iter().find(|answer| answer.workload == pair.name)?;
    let between = answer.comparisons.iter().find(|c| (c.a == a && c.b == b) || (c.a == b && c.b == a))?;
    Some((between.relation, between.text.clone()))
}
