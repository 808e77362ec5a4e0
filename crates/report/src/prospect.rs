//! The document of a prospect: the cells of an experiment by model and price.

use crate::document::{Block, Cell, Column, Document, Level, Paragraph, Style, Table, Tone, Words};
use crate::number;
use record::choice::Does;
use record::prospect::{Prospect, ProspectCell, ProspectFigure, ProspectWorkload};
use record::quantity::money;

/// The document: what the model says, a table of all cells per workload, and what it can't say.
#[must_use]
pub fn prospect(view: &Prospect) -> Document {
    let wanted = view.wants.iter().map(|want| want.written.as_str()).collect::<Vec<_>>().join(", ");
    let mut document = Document::new(
        format!("{}: by model and price", view.experiment),
        vec![Paragraph::labelled("wanted", wanted)],
    );
    for workload in &view.workloads {
        document.blocks.push(Block::heading(format!("Workload {}", workload.workload)));
        document.blocks.push(Block::Table(table(view, workload)));
    }
    let told = |one: &ProspectWorkload| {
        Words::styled(Style::Strong, one.workload.as_str()).then(format!(": {}.", one.text))
    };
    document.blocks.push(Block::Answer(view.workloads.iter().map(told).collect()));
    document.paragraphs(unsaid(view));
    document.blocks.push(Block::Notes(vec![
        "Nothing was measured. The model computes from the limits that volumes and machines declare; caches, CPUs and the devices \
         themselves are not in it."
            .to_owned(),
        format!("Model of {}.", view.judged_by),
    ]));
    document
}

fn table(view: &Prospect, workload: &ProspectWorkload) -> Table {
    let mut table = Table::new(vec![
        Column::words("stack").once(Level::Group),
        Column::numbers("a month").once(Level::Group),
        Column::words("figure"),
        Column::numbers("expected"),
        Column::numbers("at least"),
        Column::numbers("at most"),
        Column::words("limit kept"),
    ]);
    let first = workload.cells.first();
    let targets = workload.cells.iter().any(|one| first.is_some_and(|f| f.cell.target != one.cell.target));
    for cell in &workload.cells {
        for (place, figure) in cell.figures.iter().enumerate() {
            table.add(place == 0, row(cell, figure, targets));
        }
    }
    if let Some(currency) = &view.currency {
        table.left_out = Some(format!("prices in {currency}").into());
    }
    table
}

fn row(cell: &ProspectCell, figure: &ProspectFigure, targets: bool) -> Vec<Cell> {
    let mut stack = cell.cell.stack.clone();
    if targets {
        stack.push_str(&format!(" on {}", cell.cell.target));
    }
    let (does, tone) = match (figure.does, figure.expected) {
        (Does::Yes, _) => ("yes", Tone::Good),
        (Does::No, _) => ("no", Tone::Bad),
        (Does::Open, Some(_)) => ("open", Tone::Warn),
        (Does::Open, None) => ("the model can't say", Tone::Warn),
    };
    let shown = |value: Option<f64>| -> Cell {
        let Some(value) = value else { return Cell::default() };
        number::single(value, &figure.unit).into()
    };
    vec![
        stack.into(),
        cell.per_month.map(|price| Cell::from(money(price, None))).unwrap_or_default(),
        figure.of.replace('_', " ").into(),
        shown(figure.expected),
        shown(figure.at_least),
        shown(figure.at_most),
        Cell::toned(tone, does),
    ]
}

/// What the model can't say: each reason once, with the stacks that it holds for.
fn unsaid(view: &Prospect) -> Vec<Paragraph> {
    let mut reasons: Vec<(String, String, Vec<&str>)> = Vec::new();
    for workload in &view.workloads {
        for cell in &workload.cells {
            for figure in &cell.figures {
                let Some(why) = &figure.why_not else { continue };
                let stack = cell.cell.stack.as_str();
                match reasons.iter_mut().find(|(of, known, _)| of == &figure.of && known == why) {
                    Some((_, _, stacks)) if stacks.contains(&stack) => {}
                    Some((_, _, stacks)) => stacks.push(stack),
                    None => reasons.push((figure.of.clone(), why.clone(), vec![stack])),
                }
            }
        }
    }
    let all = reasons.into_iter().map(|(of, why, stacks)| {
        Paragraph::labelled(
            "left open:",
            format!("{} of {}: {why}.", of.replace('_', " "), stacks.join(", ")),
        )
    });
    all.collect()
}

#[cfg(test)]
mod tests {
    use super::prospect;
    use crate::terminal;
    use record::choice::{Does, Want};
    use record::id::CellId;
    use record::named::CellName;
    use record::plan::Bound;
    use record::prospect::{PROSPECT_FORMAT, Prospect, ProspectCell, ProspectFigure, ProspectWorkload};
    use std::collections::BTreeMap;

    fn cell(stack: &str, price: Option<f64>, iops: Option<f64>) -> ProspectCell {
        ProspectCell {
            cell: CellName {
                id: CellId(stack.to_owned()),
                target: "local".to_owned(),
                stack: stack.to_owned(),
                workload: "randread".to_owned(),
                levels: BTreeMap::new(),
            },
            per_month: price,
            does: Does::Open,
            figures: vec![ProspectFigure {
                of: "iops".to_owned(),
                unit: "IO/s".to_owned(),
                expected: iops,
                at_least: None,
                at_most: iops,
                does: Does::Open,
                why_not: iops.is_none().then(|| "its volumes declare no limits".to_owned()),
                steps: Vec::new(),
            }],
        }
    }

    #[test]
    fn what_the_model_cannot_say_is_an_empty_cell_with_its_reason() {
        let view = Prospect {
            format: PROSPECT_FORMAT.to_owned(),
            experiment: "volumes".to_owned(),
            wants: vec![Want {
                of: "iops".to_owned(),
                bound: Bound::AtLeast,
                value: 300.0,
                written: "iops >= 300".to_owned(),
            }],
            currency: Some("EUR".to_owned()),
            workloads: vec![ProspectWorkload {
                workload: "randread".to_owned(),
                cells: vec![cell("small", Some(4.0), Some(160.0)), cell("disk", None, None)],
                text: "by the model no stack can meet the limits".to_owned(),
            }],
            judged_by: "diskproof 0.1.0, judge 19".to_owned(),
        };
        let page = terminal(&prospect(&view), 100, false);
        assert!(page.contains("the model can't say"), "{page}");
        assert!(page.contains("iops of disk: its volumes declare no limits."), "{page}");
        assert!(page.contains("Nothing was measured."), "{page}");
    }
}
