//! The document of an experiment's history.

use crate::document::{Block, Cell, Column, Document, Level, Paragraph, Table, Tone, Words};
use crate::number;
use crate::sparkline;
use record::comparison::Difference;
use record::history::{History, HistoryChange, HistoryLine, HistoryRun};
use record::quantity::ratios;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// The most runs whose values are drawn.
const DRAWN: usize = 30;
/// The place of the course in the table's columns.
const COURSE: usize = 6;
/// The most differences that are named beside a change.
const NAMED: usize = 4;

/// The document of a history: a row per figure, the changes of level with what else changed there, and the runs that are left out.
#[must_use]
pub fn history(view: &History) -> Document {
    let mut document = Document::new(heading(view), Vec::new());
    document.blocks.push(Block::Answer(answer(view)));
    if !view.lines.is_empty() {
        document.blocks.push(Block::Table(table(view)));
    }
    let left_out = view
        .left_out
        .iter()
        .map(|left| Paragraph::labelled("left out:", format!("run {}: {}.", left.run, left.text)));
    document.paragraphs(left_out.collect());
    document.blocks.push(Block::Notes(footer(view)));
    document
}

fn heading(view: &History) -> String {
    let name = |run: &HistoryRun| match run.tags.first() {
        Some(tag) => format!("{} ({tag})", run.run),
        None => run.run.to_string(),
    };
    match (view.runs.first(), view.runs.last()) {
        (Some(first), Some(last)) if view.runs.len() > 1 => {
            format!("{}: {} runs, from {} to {}", view.experiment, view.runs.len(), name(first), name(last))
        }
        _ => format!("{}: one run", view.experiment),
    }
}

/// The changes, the latest first and the worse ones before the better ones of the same run.
fn answer(view: &History) -> Vec<Words> {
    let place = |change: &HistoryChange| view.runs.iter().position(|run| run.run == change.run);
    let mut changes: Vec<&HistoryChange> = view.lines.iter().flat_map(|line| &line.changes).collect();
    changes.sort_by_key(|change| (Reverse(place(change)), !change.is_worse));
    if !changes.is_empty() {
        return changes.chunk_by(|a, b| a.run == b.run).flat_map(sentences).collect();
    }
    let longest = view.lines.iter().map(|line| line.points.len()).max().unwrap_or(0);
    let fewest = view.fewest_runs as usize;
    if longest < fewest {
        return vec![Words::from(format!(
            "No change can show yet: a change of level needs {fewest} runs at least, and no figure has more than {longest}."
        ))];
    }
    vec![Words::from(format!("No figure is shown to have changed its level in {longest} runs."))]
}

/// The changes at one run, and what else differs from the run before.
fn sentences(changes: &[&HistoryChange]) -> Vec<Words> {
    let mut differences: Vec<&Difference> = changes.iter().flat_map(|change| &change.differences).collect();
    differences.sort_by_key(|d| Reverse(d.severity));
    let mut texts: Vec<&str> = Vec::new();
    for difference in differences {
        if !texts.contains(&difference.text.as_str()) {
            texts.push(&difference.text);
        }
    }
    let more = texts.len().saturating_sub(NAMED);
    let named = texts.iter().take(NAMED).copied().collect::<Vec<_>>().join("; ");
    let rest = if more > 0 { format!("; and {more} more") } else { String::new() };
    let run = changes.first().map(|change| change.run.to_string()).unwrap_or_default();
    let also = if texts.is_empty() {
        format!("Nothing else that is recorded changed at run {run}.")
    } else {
        format!("What else changed at run {run}: {named}{rest}.")
    };
    let told = changes.iter().map(|change| Words::from(format!("{}.", change.text)));
    told.chain([Words::from(also)]).collect()
}

fn table(view: &History) -> Table {
    let several =
        |of: fn(&HistoryLine) -> &str| view.lines.iter().map(of).collect::<BTreeSet<&str>>().len() > 1;
    let targets = several(|line| &line.cell.target);
    let mut table = Table::new(vec![
        Column::words("workload").once(Level::Group),
        Column::words("stack"),
        Column::words("metric"),
        Column::numbers("runs"),
        Column::numbers("first"),
        Column::numbers("latest"),
        Column::words("course"),
        Column::words("conclusion").evident(),
    ]);
    // A narrow terminal has no place for the course.
    table.layouts.push((0..table.columns.len()).filter(|column| *column != COURSE).collect());
    let mut last = None;
    for line in &view.lines {
        let workload = &line.cell.workload;
        table.add(last != Some(workload), row(line, targets, view.fewest_runs));
        last = Some(workload);
    }
    table
}

fn row(line: &HistoryLine, targets: bool, fewest: u32) -> Vec<Cell> {
    let values: Vec<f64> = line.points.iter().map(|point| point.value).collect();
    let figure = |value: Option<&f64>| {
        Cell::from(value.map_or_else(String::new, |v| number::expected(*v, &line.unit)))
    };
    let stack = &line.cell.stack;
    let (conclusion, tone) = conclusion(line, fewest);
    vec![
        line.cell.workload.as_str().into(),
        if targets { format!("{stack} on {}", line.cell.target) } else { stack.clone() }.into(),
        line.metric.replace('_', " ").into(),
        values.len().to_string().into(),
        figure(values.first()),
        figure(values.last()),
        sparkline::course(&values, DRAWN).into(),
        Cell::toned(tone, conclusion),
    ]
}

/// The latest change of a figure.
fn conclusion(line: &HistoryLine, fewest: u32) -> (String, Tone) {
    let Some(change) = line.changes.last() else {
        let is_short = line.points.len() < fewest as usize;
        return (if is_short { "too few runs" } else { "no change" }.to_owned(), Tone::Faint);
    };
    let ratio = ratios([change.ratio.ratio]).concat();
    let (word, tone) = if change.is_worse { ("WORSE", Tone::Bad) } else { ("better", Tone::Good) };
    (format!("{word} {ratio}x"), tone)
}

fn footer(view: &History) -> Vec<String> {
    vec![
        format!(
            "Each value is one run: the geometric mean of its rounds. Changes hold at {:.0} % for all figures together (E-divisive with \
             permutation tests, Holm over the figures): p is how often runs in a random order look like that. The run that is named, or the one \
             beside it, is where the level changed. Ratios with their {:.0} % interval over runs (Welch).",
            view.confidence * 100.0,
            view.confidence * 100.0
        ),
        format!("Judged by {}.", view.judged_by),
    ]
}

#[cfg(test)]
mod tests {
    use super::history;
    use crate::{markdown, terminal};
    use record::comparison::{CellName, Difference, DifferenceOf};
    use record::finding::Severity;
    use record::history::{
        HISTORY_FORMAT, History, HistoryChange, HistoryLine, HistoryPoint, HistoryRun, RunLeftOut,
    };
    use record::id::{CellId, RunId};
    use record::judged::RatioView;
    use std::collections::BTreeMap;

    fn run(at: u32) -> RunId {
        RunId(format!("2026112{at}-030000-aaaa"))
    }

    fn line(metric: &str, values: &[f64], changes: Vec<HistoryChange>) -> HistoryLine {
        let info = record::metric::info(metric).unwrap();
        HistoryLine {
            cell: CellName {
                id: CellId("c".to_owned()),
                target: "local".to_owned(),
                stack: "ext4".to_owned(),
                workload: "randread-4k".to_owned(),
                levels: BTreeMap::new(),
            },
            metric: metric.to_owned(),
            unit: info.unit.to_owned(),
            lower_is_better: info.lower_is_better,
            points: (0..).zip(values).map(|(run, value)| HistoryPoint { run, value: *value }).collect(),
            changes,
        }
    }

    fn made() -> History {
        let kernel = Difference {
            what: "kernel".to_owned(),
            of: DifferenceOf::Machine,
            severity: Severity::Caveat,
            cell: None,
            before: Some("6.1.0".to_owned()),
            after: Some("6.12.0".to_owned()),
            text: "kernel was 6.1.0, and is 6.12.0 from this run on".to_owned(),
        };
        let change = HistoryChange {
            run: run(6),
            after_run: run(5),
            ratio: RatioView { ratio: 1.11, low: Some(1.07), high: Some(1.15), confidence: 0.95, n: 4 },
            is_worse: true,
            p_adjusted: 0.004,
            differences: vec![kernel],
            text: "read lat p99 of randread-4k ext4 is 1.11x the level before (1.07 to 1.15) from run 20261126-030000-aaaa (nightly-42) on: worse (p 0.004 over 2 figures)".to_owned(),
        };
        let tags = |at| if at == 6 { vec!["nightly-42".to_owned()] } else { Vec::new() };
        History {
            format: HISTORY_FORMAT.to_owned(),
            experiment: "fs-fsync".to_owned(),
            runs: (0..10).map(|at| HistoryRun { run: run(at), started_unix_ms: 0, tags: tags(at) }).collect(),
            left_out: vec![RunLeftOut {
                run: run(3),
                text: "CPU model is A, in the latest run B".to_owned(),
            }],
            lines: vec![
                line("iops", &[500.0, 501.0, 499.0, 500.5, 500.0, 499.5, 500.0, 501.0, 499.0, 500.0], vec![]),
                line(
                    "read_lat_p99",
                    &[8e3, 8.1e3, 7.9e3, 8e3, 8.05e3, 8e3, 8.9e3, 8.8e3, 8.9e3, 8.85e3],
                    vec![change],
                ),
                line("engine_cpu_per_io", &[3000.0, 3010.0], vec![]),
            ],
            confidence: 0.95,
            fewest_runs: 8,
            judged_by: "diskproof 0.1.0, judge 4".to_owned(),
        }
    }

    #[test]
    fn a_history_at_80_and_120() {
        for width in [80, 120] {
            let text = terminal(&history(&made()), width, false);
            assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
            insta::assert_snapshot!(format!("history_{width}"), text);
        }
    }

    #[test]
    fn on_a_page_the_answer_comes_first_and_nothing_is_said_to_be_nothing() {
        let page = markdown(&history(&made()));
        assert!(
            page.contains("## Answer\n\n* read lat p99 of randread-4k ext4 is 1.11x the level before"),
            "{page}"
        );
        assert!(
            page.contains("What else changed at run 20261126-030000-aaaa: kernel was 6.1.0, and is 6.12.0 from this run on."),
            "{page}"
        );
        let mut even = made();
        even.lines[1].changes.clear();
        assert!(
            markdown(&history(&even)).contains("No figure is shown to have changed its level in 10 runs.")
        );
        even.lines.truncate(0);
        even.lines.push(line("iops", &[500.0], vec![]));
        assert!(markdown(&history(&even)).contains("No change can show yet: a change of level needs 8 runs"));
    }
}
