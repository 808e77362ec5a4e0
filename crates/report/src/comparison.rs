//! The document of a comparison of cells.

use crate::document::{
    Block, Cell, Column, Document, Level, Paragraph, RatioPlot, RatioRow, Style, Table, Tone, Words,
};
use crate::number;
use record::comparison::{CellName, Comparison, ComparisonLine, Difference, Gate, Passage};
use record::finding::Severity;
use record::judged::Relation;
use record::quantity::ratios;
use std::collections::BTreeSet;

/// The document of a comparison: the table, the gate's result, other differences, what was left out, and how it was measured.
#[must_use]
pub fn comparison(view: &Comparison) -> Document {
    let mut document = Document::new(heading(view), Vec::new());
    let layout = Layout::of(view);
    if view.lines.is_empty() {
        document.paragraphs(vec!["Nothing could be compared.".into()]);
    } else {
        document.paragraphs(layout.in_common(view).map(Paragraph::from).into_iter().collect());
        document.blocks.extend(layout.plot(view).map(Block::Ratios));
        document.blocks.push(Block::Table(table(view, &layout)));
    }
    document.paragraphs(view.gate.iter().map(verdict).collect());
    document.section("What else differs", differences(view));
    let left_out = view.left_out.iter().map(|left| {
        let text = format!("{} of run {}: {}.", title(&left.cell), left.run, left.text);
        Paragraph::labelled(if left.is_missing { "missing:" } else { "not compared:" }, text)
    });
    document.paragraphs(left_out.collect());
    document.blocks.push(Block::Notes(footer(view)));
    document
}

fn heading(view: &Comparison) -> String {
    match &view.baseline {
        None => format!("{}, run {}: its cells against each other", view.run.experiment, view.run.run),
        Some(old) if old.experiment == view.run.experiment => {
            format!("{}: run {} against run {}", old.experiment, view.run.run, old.run)
        }
        Some(old) => {
            format!(
                "{}, run {} against {}, run {}",
                view.run.experiment, view.run.run, old.experiment, old.run
            )
        }
    }
}

fn title(cell: &CellName) -> String {
    format!("{} {}", cell.workload, cell.stack)
}

/// The columns of the table; a column with the same content in all rows is left out.
struct Layout {
    workload: bool,
    target: bool,
    metric: bool,
    /// Whether a row compares one cell in two runs, rather than two cells.
    runs: bool,
    /// Whether the two cells of a row have different workloads, so that their names need them.
    along: bool,
}

impl Layout {
    fn of(view: &Comparison) -> Self {
        let several =
            |of: fn(&ComparisonLine) -> &str| view.lines.iter().map(of).collect::<BTreeSet<&str>>().len() > 1;
        let along = view.baseline.is_none() && view.lines.iter().any(|l| l.a.workload != l.b.workload);
        Self {
            workload: several(|l| &l.a.workload) && !along,
            along,
            target: several(|l| &l.a.target) || view.lines.iter().any(|l| l.a.target != l.b.target),
            metric: several(|l| &l.metric),
            runs: view.baseline.is_some(),
        }
    }

    /// The workload and the metric, if all rows have the same.
    fn in_common(&self, view: &Comparison) -> Option<String> {
        let one_workload = !self.workload && !self.along;
        let line = view.lines.first().filter(|_| !self.metric || one_workload)?;
        let workload = one_workload.then(|| line.a.workload.clone());
        let metric = (!self.metric).then(|| line.metric.replace('_', " "));
        Some([workload, metric].into_iter().flatten().collect::<Vec<_>>().join(", "))
    }

    /// What is over what.
    fn ratio(&self) -> &'static str {
        if self.runs { "after / before" } else { "A / B" }
    }

    /// The ratios as a plot; `None` with fewer than two, and for a gate, which somebody reads in a log.
    fn plot(&self, view: &Comparison) -> Option<RatioPlot> {
        let row = |line: &ComparisonLine| {
            let (said, _) = standing(line);
            Some(RatioRow { label: self.label(line), metric: line.metric.clone(), ratio: line.ratio?, said })
        };
        let rows: Vec<RatioRow> = view.lines.iter().filter_map(row).collect();
        (rows.len() > 1 && view.gate.is_none()).then(|| RatioPlot {
            of: self.ratio(),
            confidence: view.confidence,
            is_paired: view.paired,
            rows,
        })
    }

    /// What a row compares: the parts in which the rows differ.
    fn label(&self, line: &ComparisonLine) -> String {
        let workload = self.workload.then(|| line.a.workload.clone());
        let other = (!self.runs).then(|| format!("/ {}", self.stack(&line.b)));
        let metric = self.metric.then(|| line.metric.replace('_', " "));
        let parts = [workload, Some(self.stack(&line.a)), other, metric];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    fn columns(&self) -> Vec<Column> {
        let (above, below) = if self.runs { ("after", "before") } else { ("A", "B") };
        let ratio = self.ratio();
        [
            (self.workload, Column::words("workload").once(Level::Group)),
            (self.runs, Column::words("stack")),
            (!self.runs, Column::words("A")),
            (!self.runs, Column::words("B")),
            (self.metric, Column::words("metric")),
            (self.runs, Column::numbers(below)),
            (true, Column::numbers(above)),
            (!self.runs, Column::numbers(below)),
            (true, Column::words(ratio)),
            (true, Column::words("conclusion").evident()),
        ]
        .into_iter()
        .filter(|(shown, _)| *shown)
        .map(|(_, column)| column)
        .collect()
    }

    fn stack(&self, cell: &CellName) -> String {
        let name = if self.along { format!("{} {}", cell.stack, cell.workload) } else { cell.stack.clone() };
        if self.target { format!("{name} on {}", cell.target) } else { name }
    }

    fn row(&self, line: &ComparisonLine) -> Vec<Cell> {
        let figure = |x: f64| Cell::from(number::expected(x, &line.unit));
        let (conclusion, tone) = standing(line);
        [
            (self.workload, line.a.workload.as_str().into()),
            (true, self.stack(&line.a).into()),
            (!self.runs, self.stack(&line.b).into()),
            (self.metric, line.metric.replace('_', " ").into()),
            (self.runs, figure(line.b_estimate)),
            (true, figure(line.a_estimate)),
            (!self.runs, figure(line.b_estimate)),
            (true, ratio(line).into()),
            (true, Cell::toned(tone, conclusion)),
        ]
        .into_iter()
        .filter(|(shown, _)| *shown)
        .map(|(_, cell)| cell)
        .collect()
    }
}

fn table(view: &Comparison, layout: &Layout) -> Table {
    let mut table = Table::new(layout.columns());
    let mut last = None;
    for line in &view.lines {
        table.add(last != Some(&line.a.workload), layout.row(line));
        last = Some(&line.a.workload);
    }
    table
}

/// A ratio with its interval, as in `1.42 (1.31 to 1.54)` or `0.973 (? to ?)`.
fn ratio(line: &ComparisonLine) -> String {
    let Some(r) = line.ratio else { return "?".to_owned() };
    match (r.low, r.high) {
        (Some(low), Some(high)) => {
            let [ratio, low, high] = ratios([r.ratio, low, high]);
            format!("{ratio} ({low} to {high})")
        }
        _ => format!("{} (?)", ratios([r.ratio]).concat()),
    }
}

/// If an interval excludes only differences larger than this, the two figures aren't called the same.
const HARDLY_THE_SAME: f64 = 0.25;

/// The last column: the conclusion, and whether it is good.
fn standing(line: &ComparisonLine) -> (String, Tone) {
    let rounds = |n: u32| if n == 1 { ", 1 more round".to_owned() } else { format!(", {n} more rounds") };
    let more = line.more_rounds.map(rounds).unwrap_or_default();
    match line.gate {
        Some(Passage::Regression) => return ("REGRESSION".to_owned(), Tone::Bad),
        Some(Passage::Undecided) => return (format!("undecided{more}"), Tone::Warn),
        Some(Passage::Pass) | None => {}
    }
    let better = line.ratio.is_some_and(|r| (r.ratio > 1.0) != line.lower_is_better);
    match line.relation {
        Relation::Apart if better => ("better".to_owned(), Tone::Good),
        Relation::Apart if line.gate.is_some() => ("worse, within the margin".to_owned(), Tone::Faint),
        Relation::Apart => ("worse".to_owned(), Tone::Warn),
        Relation::NotApart => match line.excluded_difference.filter(|x| *x <= HARDLY_THE_SAME) {
            Some(x) => (format!("same within {}", number::at_most(x)), Tone::Faint),
            None => ("can't be told apart".to_owned(), Tone::Warn),
        },
        Relation::Nothing => ("no common round".to_owned(), Tone::Warn),
    }
}

fn verdict(gate: &Gate) -> Paragraph {
    let (word, tone) = match gate.passage {
        Passage::Pass => ("Pass:", Tone::Good),
        Passage::Undecided => ("Undecided:", Tone::Warn),
        Passage::Regression => ("Regression:", Tone::Bad),
    };
    Words::styled(Style::Toned(tone), word).then(format!(" {}.", gate.text)).into()
}

/// The differences between the runs' environments and plans, the gravest first.
fn differences(view: &Comparison) -> Vec<Words> {
    let sentence = |difference: &Difference| {
        let (word, tone) = match difference.severity {
            Severity::Void => ("NOT COMPARABLE", Tone::Bad),
            Severity::Caveat => ("caveat", Tone::Warn),
            Severity::Note => ("note", Tone::Faint),
        };
        Words::styled(Style::Toned(tone), word).then(format!(": {}.", difference.text))
    };
    view.differences.iter().map(sentence).collect()
}

fn footer(view: &Comparison) -> Vec<String> {
    let how = if view.paired {
        "Ratios are paired within rounds (Student's t on log ratios)."
    } else {
        "Ratios of different runs can't be paired (Welch's t on logarithms)."
    };
    let lower = if view.lines.iter().any(|l| l.lower_is_better) {
        " For latencies and costs, lower is better."
    } else {
        ""
    };
    let mut lines = vec![format!(
        "{how} In brackets the {:.0} % interval; better and worse hold at {:.0} % for all comparisons together (Holm); same within x: a larger \
         difference is excluded.{lower}",
        view.confidence * 100.0,
        view.confidence * 100.0
    )];
    lines.extend(view.gate.as_ref().map(margins));
    lines.push(format!("Judged by {}.", view.judged_by));
    lines
}

/// What a regression is, with the margins.
fn margins(gate: &Gate) -> String {
    let all: Vec<String> =
        gate.margins.iter().map(|(name, margin)| format!("{name} {}", number::margin(*margin))).collect();
    let all = if all.is_empty() { number::margin(gate.margin) } else { all.join(", ") };
    format!(
        "A regression is shown to be worse (tested on one side, so its interval may reach a little past 1), and its estimate is worse by more than \
         its margin ({all}); a figure passes if twice its margin is excluded."
    )
}

#[cfg(test)]
pub(crate) mod tests {
    use super::comparison;
    use crate::{markdown, terminal};
    use record::comparison::{
        Absence, COMPARISON_FORMAT, CellName, ComparedRun, Comparison, ComparisonLine, Difference,
        DifferenceOf, Gate, LeftOut, Passage,
    };
    use record::finding::Severity;
    use record::id::{CellId, RunId};
    use record::judged::{RatioView, Relation};
    use std::collections::BTreeMap;

    fn name(stack: &str, workload: &str) -> CellName {
        CellName {
            id: CellId(format!("{stack}-{workload}")),
            target: "local".to_owned(),
            stack: stack.to_owned(),
            workload: workload.to_owned(),
            levels: BTreeMap::new(),
        }
    }

    fn line(stacks: (&str, &str), metric: &str, values: (f64, f64), half: f64) -> ComparisonLine {
        let ratio = values.0 / values.1;
        let (low, high) = (ratio * (1.0 - half), ratio * (1.0 + half));
        let apart = low > 1.0 || high < 1.0;
        ComparisonLine {
            a: name(stacks.0, "randread-4k"),
            b: name(stacks.1, "randread-4k"),
            metric: metric.to_owned(),
            unit: record::metric::info(metric).unwrap().unit.to_owned(),
            lower_is_better: record::metric::info(metric).unwrap().lower_is_better,
            a_estimate: values.0,
            b_estimate: values.1,
            ratio: Some(RatioView { ratio, low: Some(low), high: Some(high), confidence: 0.95, n: 5 }),
            relation: if apart { Relation::Apart } else { Relation::NotApart },
            excluded_difference: Some(high.max(1.0 / low) - 1.0),
            gate: None,
            margin: None,
            more_rounds: None,
            text: String::new(),
        }
    }

    fn view(lines: Vec<ComparisonLine>) -> Comparison {
        let run = |id: &str| ComparedRun { run: RunId(id.to_owned()), experiment: "striped".to_owned() };
        Comparison {
            format: COMPARISON_FORMAT.to_owned(),
            run: run("20261122-090000-aaaa"),
            baseline: Some(run("20261121-090000-bbbb")),
            paired: false,
            confidence: 0.95,
            lines,
            differences: vec![],
            left_out: vec![],
            gate: None,
            judged_by: "diskproof 0.1.0, judge 4".to_owned(),
        }
    }

    pub(crate) fn gated() -> Comparison {
        let mut view = view(vec![
            line(("ext4", "ext4"), "iops", (441.0, 500.0), 0.02),
            line(("xfs", "xfs"), "iops", (500.3, 500.0), 0.011),
            line(("btrfs-raid0-4", "btrfs-raid0-4"), "iops", (487.0, 500.0), 0.06),
        ]);
        for (line, passage) in
            view.lines.iter_mut().zip([Passage::Regression, Passage::Pass, Passage::Undecided])
        {
            line.gate = Some(passage);
        }
        view.lines[2].more_rounds = Some(14);
        view.gate = Some(Gate {
            margin: 0.05,
            margins: BTreeMap::from([("cpu".to_owned(), 0.1), ("rate".to_owned(), 0.05)]),
            missing: 0,
            passage: Passage::Regression,
            text: "1 of 3 figures got worse by more than 5 %".to_owned(),
        });
        let difference = |what: &str, severity, text: &str| Difference {
            what: what.to_owned(),
            of: DifferenceOf::Machine,
            severity,
            cell: None,
            before: None,
            after: None,
            text: text.to_owned(),
        };
        view.differences = vec![
            difference(
                "kernel",
                Severity::Caveat,
                "kernel is 6.12.0, in the baseline 6.1.0: a difference of the figures may come from it",
            ),
            difference("time", Severity::Note, "the runs were made at different times"),
        ];
        view.left_out = vec![LeftOut {
            run: RunId("20261122-090000-aaaa".to_owned()),
            cell: name("zfs", "randread-4k"),
            why: Absence::Alone,
            is_missing: false,
            text: "only run 20261122-090000-aaaa has it".to_owned(),
        }];
        view
    }

    fn within() -> Comparison {
        let mut view = view(vec![
            line(("ext4", "xfs"), "iops", (500.0, 352.0), 0.08),
            line(("ext4", "xfs"), "read_lat_p99", (33_000.0, 32_900.0), 0.03),
        ]);
        (view.baseline, view.paired) = (None, true);
        view
    }

    fn page(view: &Comparison, width: usize) -> String {
        let text = terminal(&comparison(view), width, false);
        for line in text.lines() {
            assert!(line.chars().count() <= width && line == line.trim_end(), "{width}: {line}");
        }
        text
    }

    #[test]
    fn two_runs_at_80_and_120() {
        insta::assert_snapshot!("gate_80", page(&gated(), 80));
        insta::assert_snapshot!("gate_120", page(&gated(), 120));
    }

    #[test]
    fn a_comparison_has_a_plot_of_its_ratios_and_a_gate_has_none() {
        let mut compared = gated();
        compared.gate = None;
        let text = page(&compared, 80);
        let plot = text.find("after / before: ● ratio").unwrap();
        assert!(plot < text.find("before   after").unwrap(), "{text}");
        assert!(markdown(&comparison(&compared)).contains("```text\nafter / before: ● ratio"));
        assert!(!page(&gated(), 80).contains('●'));
    }

    #[test]
    fn one_run_at_80_and_120() {
        insta::assert_snapshot!("within_80", page(&within(), 80));
        insta::assert_snapshot!("within_120", page(&within(), 120));
    }

    #[test]
    fn nothing_to_compare_is_said_and_colour_changes_nothing_else() {
        assert!(page(&view(vec![]), 80).contains("Nothing could be compared."));
        let coloured = terminal(&comparison(&gated()), 100, true);
        assert!(coloured.contains("\u{1b}[1;31mRegression:\u{1b}[0m 1 of 3"), "{coloured}");
    }

    #[test]
    fn it_has_a_page_in_markdown_with_complete_rows() {
        let page = markdown(&comparison(&gated()));
        assert!(page.contains("\n| ext4 | 500 | 441 | 0.88 (0.86 to 0.90) | REGRESSION |\n"), "{page}");
        assert!(page.contains("\n**Regression:** 1 of 3 figures got worse by more than 5 %.\n"), "{page}");
        assert!(page.contains("\nnot compared: randread-4k zfs of run 20261122-090000-aaaa: only"), "{page}");
    }
}
