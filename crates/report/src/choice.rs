//! The document of a choice: the cheapest cell that does what is wanted.

use crate::document::{Block, Cell, Column, Document, Level, Paragraph, Style, Table, Tone, Words};
use crate::number;
use record::choice::{Candidate, CandidateFigure, Choice, ChoiceAnswer, Does};
use record::quantity::money;

/// The document: the answers, a table of all candidates per workload, and what was left out.
#[must_use]
pub fn choice(view: &Choice) -> Document {
    let wanted = wanted(view);
    let runs = view
        .runs
        .iter()
        .map(|run| format!("{} of {}", run.run, run.experiment))
        .collect::<Vec<_>>()
        .join(", ");
    let mut document = Document::new(
        format!("The cheapest with {wanted}"),
        vec![Paragraph::labelled("measured in", format!("run {runs}"))],
    );
    for answer in &view.answers {
        document.blocks.push(Block::heading(format!("Workload {}", answer.workload)));
        document.blocks.push(Block::Table(table(view, answer)));
    }
    let told = |answer: &ChoiceAnswer| {
        Words::styled(Style::Strong, answer.workload.as_str()).then(format!(": {}.", answer.text))
    };
    document.blocks.push(Block::Answer(view.answers.iter().map(told).collect()));
    let left_out = view.left_out.iter().map(|left| {
        let text = format!("{} {} of run {}: {}.", left.cell.stack, left.cell.workload, left.run, left.text);
        Paragraph::labelled("left out:", text)
    });
    document.paragraphs(left_out.collect());
    document.blocks.push(Block::Notes(vec![confidence(view), format!("Judged by {}.", view.judged_by)]));
    document
}

/// What the answers hold with, in words.
fn confidence(view: &Choice) -> String {
    let sure = view.confidence * 100.0;
    match view.sequential {
        true => format!(
            "Each answer holds with {sure:.0} % confidence, although the run ended when it was known: the intervals in the table hold at \
             any number of trials, and the error is shared by the stacks and the limits (Bonferroni). A price is that of a cell's volumes, \
             and of its machine if that has one."
        ),
        false => format!(
            "Each answer holds with {:.0} % confidence, all its statements together: the error is shared by the stacks and the limits \
             (Bonferroni), and the intervals in the table are as wide as that needs. A price is that of a cell's volumes, and of its \
             machine if that has one.",
            sure
        ),
    }
}

/// The answer of a run that looked for the cheapest cell: a table for each workload. The texts stand among the run's answers.
pub(crate) fn of_run(view: &Choice) -> Vec<Block> {
    let mut blocks = Vec::new();
    for answer in &view.answers {
        let of = if view.answers.len() > 1 { format!("{}: the", answer.workload) } else { "The".to_owned() };
        blocks.push(Block::heading(format!("{of} cheapest with {}", wanted(view))));
        blocks.push(Block::Table(table(view, answer)));
    }
    blocks.push(Block::list(left_out(view).chain([Words::from(confidence(view))]).collect()));
    blocks
}

/// The cells that were not considered, with each reason once.
fn left_out(view: &Choice) -> impl Iterator<Item = Words> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for left in &view.left_out {
        match reasons.iter_mut().find(|(text, _)| *text == left.text) {
            Some((_, stacks)) => stacks.push(&left.cell.stack),
            None => reasons.push((&left.text, vec![&left.cell.stack])),
        }
    }
    reasons
        .into_iter()
        .map(|(text, stacks)| Words::from(format!("Left out: {} ({text}).", stacks.join(", "))))
}

/// The texts of the answers of a run.
pub(crate) fn answers(view: &Choice) -> impl Iterator<Item = Words> {
    let wanted = wanted(view);
    view.answers.iter().map(move |answer| {
        Words::styled(Style::Strong, answer.workload.as_str())
            .then(format!(" with {wanted}: {}.", answer.text))
    })
}

fn wanted(view: &Choice) -> String {
    view.wants.iter().map(|want| want.written.as_str()).collect::<Vec<_>>().join(", ")
}

fn table(view: &Choice, answer: &ChoiceAnswer) -> Table {
    let mut table = Table::new(vec![
        Column::words("stack").once(Level::Group),
        Column::numbers("a month").once(Level::Group),
        Column::words("figure"),
        Column::numbers("measured"),
        Column::words("limit kept"),
        Column::words("choice").evident().once(Level::Group),
    ]);
    let first = answer.candidates.first();
    let targets = answer.candidates.iter().any(|one| first.is_some_and(|f| f.cell.target != one.cell.target));
    for candidate in &answer.candidates {
        for (place, figure) in candidate.figures.iter().enumerate() {
            table.add(place == 0, row(view, candidate, figure, targets));
        }
    }
    if let Some(currency) = &view.currency {
        table.left_out = Some(format!("prices in {currency}").into());
    }
    table
}

fn row(view: &Choice, candidate: &Candidate, figure: &CandidateFigure, targets: bool) -> Vec<Cell> {
    let mut stack = candidate.cell.stack.clone();
    if targets {
        stack.push_str(&format!(" on {}", candidate.cell.target));
    }
    if view.runs.len() > 1 {
        stack.push_str(&format!(" ({})", candidate.run));
    }
    let (does, tone) = match figure.does {
        Does::Yes => ("yes", Tone::Good),
        Does::No => ("no", Tone::Bad),
        Does::Open => ("undecided", Tone::Warn),
    };
    let choice = if candidate.chosen { Cell::toned(Tone::Good, "CHOSEN") } else { Cell::default() };
    vec![
        stack.into(),
        money(candidate.per_month, None).into(),
        figure.of.replace('_', " ").into(),
        measured(figure),
        Cell::toned(tone, does),
        choice,
    ]
}

/// A figure with the interval that decides.
fn measured(figure: &CandidateFigure) -> Cell {
    let Some(estimate) = figure.estimate else { return Cell::default() };
    let (text, unit) = number::of_ends(estimate, figure.low, figure.high, &figure.unit);
    format!("{text}{}{unit}", if unit.is_empty() { "" } else { " " }).into()
}

#[cfg(test)]
mod tests {
    use super::choice;
    use crate::{markdown, terminal};
    use record::choice::{
        CHOICE_FORMAT, Candidate, CandidateFigure, Choice, ChoiceAnswer, ChoiceLeftOut, ChoiceOutcome, Does,
        Want,
    };
    use record::comparison::{CellName, ComparedRun};
    use record::id::{CellId, RunId};
    use record::plan::Bound;
    use std::collections::BTreeMap;

    fn name(stack: &str) -> CellName {
        CellName {
            id: CellId(stack.to_owned()),
            target: "local".to_owned(),
            stack: stack.to_owned(),
            workload: "randread".to_owned(),
            levels: BTreeMap::new(),
        }
    }

    fn candidate(
        stack: &str,
        per_month: f64,
        iops: f64,
        p99_us: f64,
        does: [Does; 2],
        chosen: bool,
    ) -> Candidate {
        let figure = |of: &str, unit: &str, value: f64, does: Does| CandidateFigure {
            of: of.to_owned(),
            unit: unit.to_owned(),
            estimate: Some(value),
            low: Some(value * 0.97),
            high: Some(value * 1.03),
            does,
        };
        Candidate {
            run: RunId("20261126-030000-aaaa".to_owned()),
            cell: name(stack),
            per_month,
            does: if does == [Does::Yes; 2] { Does::Yes } else { Does::No },
            chosen,
            figures: vec![
                figure("iops", "1/s", iops, does[0]),
                figure("read_lat_p99", "us", p99_us, does[1]),
            ],
        }
    }

    fn made() -> Choice {
        let want = |of: &str, bound, value, written: &str| Want {
            of: of.to_owned(),
            bound,
            value,
            written: written.to_owned(),
        };
        Choice {
            format: CHOICE_FORMAT.to_owned(),
            wants: vec![
                want("iops", Bound::AtLeast, 3000.0, "iops >= 3000"),
                want("read_lat_p99", Bound::AtMost, 5000.0, "read_lat_p99 <= 5ms"),
            ],
            runs: vec![ComparedRun {
                run: RunId("20261126-030000-aaaa".to_owned()),
                experiment: "volumes".to_owned(),
            }],
            currency: Some("EUR".to_owned()),
            confidence: 0.95,
            sequential: false,
            answers: vec![ChoiceAnswer {
                workload: "randread".to_owned(),
                outcome: ChoiceOutcome::Chosen,
                candidates: vec![
                    candidate("stripe-of-2", 4.0, 1600.0, 9100.0, [Does::No, Does::Open], false),
                    candidate("stripe-of-4", 8.0, 3400.0, 4300.0, [Does::Yes; 2], true),
                ],
                text: "stripe-of-4 (8.00 EUR a month) is the cheapest that meets the limits".to_owned(),
            }],
            left_out: vec![ChoiceLeftOut {
                run: RunId("20261126-030000-aaaa".to_owned()),
                cell: name("own"),
                text: "a volume has no price".to_owned(),
            }],
            judged_by: "diskproof 0.1.0, judge 18".to_owned(),
        }
    }

    #[test]
    fn a_choice_at_80_and_120() {
        for width in [80, 120] {
            let text = terminal(&choice(&made()), width, false);
            assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
            insta::assert_snapshot!(format!("choice_{width}"), text);
        }
        let page = markdown(&choice(&made()));
        assert!(
            page.contains("stripe-of-4 (8.00 EUR a month) is the cheapest that meets the limits."),
            "{page}"
        );
    }
}
