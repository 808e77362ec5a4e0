//! Rounds of queued runs whose block was begun on one machine and finished on another.

use crate::cell::add;
use crate::detected::{Detected, evidence};
use crate::figures::counted;
use crate::input::Input;
use crate::span::number;
use record::block::BlockMachine;
use record::finding::{Claim, Finding, Severity};
use record::id::CellId;
use record::judged::CellView;
use record::plan::Cell;
use record::trial::Outcome;
use std::collections::BTreeMap;

/// A round of a target on two machines or more.
struct Mixed<'a> {
    round: u32,
    /// The machines with their cells; first the one with most of them. `None`: the machine where `resume` measured what was missing.
    parts: Vec<(Option<&'a BlockMachine>, Vec<&'a CellId>)>,
}

/// Keeps apart what ran on different machines in a round: gives the cells the numbers by which their trials are paired, and adds a finding to
/// each of them.
pub(crate) fn apply(input: &Input<'_>, cells: &mut [CellView], findings: &mut Vec<Finding>) {
    let mixed = mixed(input);
    if mixed.is_empty() {
        return;
    }
    let mut free = input.trials.iter().map(|trial| trial.id.round + 1).max().unwrap_or(0);
    let mut numbers: BTreeMap<(&CellId, u32), u32> = BTreeMap::new();
    for round in &mixed {
        for (_, ids) in round.parts.iter().skip(1) {
            numbers.extend(ids.iter().map(|id| ((*id, round.round), free)));
            free += 1;
        }
    }
    for cell in cells {
        let number = |round: &u32| numbers.get(&(&cell.id, *round)).copied().unwrap_or(*round);
        let paired: Vec<u32> = cell.rounds.iter().map(number).collect();
        if paired != cell.rounds {
            cell.paired_rounds = paired;
        }
        let planned = input.plan.cells.iter().find(|planned| planned.id == cell.id);
        let Some(found) = planned.and_then(|planned| finding(planned, &mixed, cell)) else { continue };
        let same = |kept: &&mut Finding| (kept.claim, &kept.cell) == (found.claim, &found.cell);
        match findings.iter_mut().find(same) {
            Some(kept) => add(kept, found),
            None => findings.push(found),
        }
    }
}

fn mixed<'a>(input: &Input<'a>) -> Vec<Mixed<'a>> {
    let mut rounds: BTreeMap<(&str, u32), Mixed<'a>> = BTreeMap::new();
    let targets: BTreeMap<&CellId, &str> =
        input.plan.cells.iter().map(|cell| (&cell.id, cell.target.as_str())).collect();
    for trial in input.trials {
        let measured = trial.outcome == Outcome::Measured;
        let Some(target) = targets.get(&trial.id.cell).filter(|_| measured) else { continue };
        let machine = trial.block.as_ref().map(|block| &block.machine);
        let round = trial.id.round;
        let seen = rounds.entry((target, round)).or_insert_with(|| Mixed { round, parts: Vec::new() });
        match seen.parts.iter_mut().find(|(other, _)| is_same(*other, machine)) {
            Some((_, cells)) => cells.push(&trial.id.cell),
            None => seen.parts.push((machine, vec![&trial.id.cell])),
        }
    }
    let mut mixed: Vec<Mixed<'a>> = rounds.into_values().filter(|round| round.parts.len() > 1).collect();
    for round in &mut mixed {
        for (_, cells) in &mut round.parts {
            cells.sort();
        }
        round.parts.sort_by_key(|(_, cells)| (std::cmp::Reverse(cells.len()), cells.first().copied()));
    }
    mixed
}

fn is_same(one: Option<&BlockMachine>, other: Option<&BlockMachine>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one.is_same(other),
        (one, other) => one.is_none() && other.is_none(),
    }
}

fn finding(cell: &Cell, mixed: &[Mixed<'_>], view: &CellView) -> Option<Finding> {
    let has = |round: &&Mixed<'_>| {
        view.rounds.contains(&round.round) && round.parts.iter().any(|(_, ids)| ids.contains(&&cell.id))
    };
    let own: Vec<&Mixed<'_>> = mixed.iter().filter(has).collect();
    let first = own.first()?;
    let names: Vec<String> = first
        .parts
        .iter()
        .map(|(machine, _)| match machine {
            Some(machine) => machine.name.clone().unwrap_or_else(|| "unknown".to_owned()),
            None => "the machine that resumed the run".to_owned(),
        })
        .collect();
    let detected = Detected {
        claim: Claim::MachinesDiffer,
        severity: Severity::Note,
        strength: 1.0,
        evidence: evidence([("mixed_rounds", Some(f64::from(number(own.len()))))]),
        text: format!(
            "{} begun on one machine and finished on another (round {}: {}): its ratios there are only with cells that ran on the same \
             machine.",
            counted(own.len() as u64, "round") + if own.len() == 1 { " was" } else { " were" },
            first.round + 1,
            names.join(", ")
        ),
        remedy: "Nothing is wrong; to get these pairs back, run more rounds.".to_owned(),
    };
    Some(detected.in_rounds(cell, own.iter().map(|round| round.round).collect()))
}

#[cfg(test)]
mod tests {
    use crate::run_tests::{cell, run_with};
    use record::block::{Block, BlockMachine};
    use record::finding::{Claim, Severity};
    use record::judged::{Relation, RunView};
    use record::plan::Contrast;

    const NO_BLOCK: usize = 9;

    /// The cells a, b and c in six rounds. `on` says on which machine a cell of a round ran; machine 1 is three times as fast.
    fn run(on: impl Fn(&str, usize) -> usize) -> RunView {
        let figures = [("a", [2000, 2020, 1980, 2010, 1990, 2000]), ("b", [1000, 1004, 998, 1003, 997, 999])];
        let figures = figures.into_iter().chain([("c", [500, 505, 495, 503, 497, 500])]);
        let cells: Vec<_> = figures
            .map(|(name, ios)| {
                let by_machine =
                    |(round, ios): (usize, u64)| if on(name, round) == 1 { 3 * ios } else { ios };
                let ios: Vec<u64> = ios.into_iter().enumerate().map(by_machine).collect();
                let (cell, mut trials) = cell(name, &ios);
                for (round, trial) in trials.iter_mut().enumerate() {
                    let machine = on(name, round);
                    let machine = BlockMachine {
                        name: Some(format!("m{machine}")),
                        boot_id: Some(format!("boot {machine}")),
                        ..BlockMachine::default()
                    };
                    let has_block = on(name, round) != NO_BLOCK;
                    trial.block =
                        has_block.then(|| Block { id: format!("r.0.{round}"), machine, queue: None });
                }
                (cell, trials)
            })
            .collect();
        run_with(&cells, |plan| {
            let ids = |name: &str| vec![record::id::CellId(name.to_owned())];
            let contrast = |a: &str, b: &str| Contrast {
                name: format!("{a} {b}"),
                of: "iops".to_owned(),
                a: ids(a),
                b: ids(b),
            };
            plan.contrasts = vec![contrast("a", "b"), contrast("b", "c")];
        })
    }

    fn told(view: &RunView, contrast: usize) -> (f64, u32) {
        let ratio = view.contrasts[contrast].ratio.as_ref().unwrap();
        (ratio.ratio, ratio.n)
    }

    #[test]
    fn pairs_of_two_machines_are_left_out_and_the_rest_is_judged() {
        let view = run(|cell, round| usize::from(round == 2 && cell != "a"));
        let (ratio, n) = told(&view, 0);
        assert!((ratio / 2.0 - 1.0).abs() < 0.01 && n == 5, "{ratio} {n}");
        let text = &view.contrasts[0].text;
        assert!(text.contains("1 round left out, in which the two ran on different machines"), "{text}");
        // b and c ran on the other machine together, which makes a good pair
        let (ratio, n) = told(&view, 1);
        assert!((ratio / 2.0 - 1.0).abs() < 0.01 && n == 6, "{ratio} {n}");
        assert!(!view.contrasts[1].text.contains("left out"), "{}", view.contrasts[1].text);
        assert_eq!(view.contrasts[0].relation, Relation::Apart);
        let best = view.answers.iter().flat_map(|answer| &answer.comparisons);
        let of_b = best.clone().find(|c| c.b.0 == "b").unwrap();
        assert!(of_b.ratio.as_ref().unwrap().n == 5 && of_b.text.contains("left out"), "{}", of_b.text);
        let found: Vec<_> = view.findings.iter().filter(|f| f.claim == Claim::MachinesDiffer).collect();
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found.iter().all(|f| f.severity == Severity::Note && f.rounds == [2]));
        assert!(found[0].text.contains("(round 3: m1, m0)"), "{}", found[0].text);
    }

    #[test]
    fn what_was_resumed_outside_of_the_queue_is_another_machine() {
        let view = run(|cell, round| if round == 5 && cell == "c" { NO_BLOCK } else { 0 });
        assert_eq!((told(&view, 0).1, told(&view, 1).1), (6, 5));
        let found = view.findings.iter().find(|f| f.claim == Claim::MachinesDiffer).unwrap();
        assert!(found.text.contains("(round 6: m0, the machine that resumed the run)"), "{}", found.text);
    }

    #[test]
    fn whole_blocks_of_several_machines_are_pairs() {
        let view = run(|_, round| round % 2);
        assert_eq!((told(&view, 0).1, told(&view, 1).1), (6, 6));
        assert!(view.cells.iter().all(|cell| cell.paired_rounds.is_empty()));
        assert!(view.findings.iter().all(|f| f.claim != Claim::MachinesDiffer));
    }

    #[test]
    fn cells_that_never_shared_a_machine_have_no_ratio() {
        let view = run(|cell, _| usize::from(cell == "a"));
        assert_eq!(view.contrasts[0].relation, Relation::Nothing);
        assert!(view.contrasts[0].ratio.is_none());
        assert!(view.contrasts[0].text.contains("6 rounds left out"), "{}", view.contrasts[0].text);
        assert_eq!(told(&view, 1).1, 6);
    }
}
