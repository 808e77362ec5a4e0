//! The expectations of an experiment: how many are met, and a sentence for each that is missed, open or not in the table.

use crate::document::{Block, Heading, List, Style, Tone, Words};
use crate::index::Index;
use record::judged::{ExpectationView, Status};
use std::collections::BTreeSet;

/// The heading.
pub const EXPECTATIONS: &str = "Expectations";

/// The most expectations that a terminal words; it counts the others.
const WORDED: usize = 20;

/// A heading with the numbers, and the list. `shown` are the expectations in the table.
pub(crate) fn expectations(index: &Index<'_>, shown: &[&ExpectationView]) -> Vec<Block> {
    let all = &index.view.expectations;
    if all.is_empty() {
        return Vec::new();
    }
    let in_table: BTreeSet<*const ExpectationView> = shown.iter().map(|e| std::ptr::from_ref(*e)).collect();
    let mut worded: Vec<&ExpectationView> = all
        .iter()
        .filter(|e| e.status != Status::Met || !in_table.contains(&std::ptr::from_ref(*e)))
        .collect();
    worded.sort_by_key(|e| match e.status {
        Status::Missed => 0,
        Status::Undecided => 1,
        Status::Met => 2,
    });
    let items: Vec<Words> = worded.into_iter().map(|e| sentence(index, e)).collect();
    let heading = Heading { text: EXPECTATIONS.to_owned(), result: Some(result(all)) };
    let list = (!items.is_empty()).then_some(Block::List(List { items, most: WORDED }));
    [Some(Block::Heading(heading)), list].into_iter().flatten().collect()
}

fn result(all: &[ExpectationView]) -> (Tone, String) {
    let count = |status: Status| all.iter().filter(|e| e.status == status).count();
    let (met, missed, open) = (count(Status::Met), count(Status::Missed), count(Status::Undecided));
    let mut words = vec![format!("{met} of {} met", all.len())];
    if missed > 0 {
        words.push(format!("{missed} missed"));
    }
    if open > 0 {
        words.push(format!("{open} open"));
    }
    let tone = match (missed, open) {
        (0, 0) => Tone::Good,
        (0, _) => Tone::Warn,
        _ => Tone::Bad,
    };
    (tone, words.join(", "))
}

fn sentence(index: &Index<'_>, of: &ExpectationView) -> Words {
    let rest = format!(": {}: {}.", index.name(&of.cell), of.text);
    match of.status {
        Status::Met => Words::from("met").then(rest),
        Status::Missed => Words::styled(Style::Strong, "MISSED").then(rest),
        Status::Undecided => Words::from("open").then(rest),
    }
}
