//! The part of a page about one cell: its figures, the findings with their counters, the job as it ran, and the commands of its stack.

use crate::bytes::bytes;
use crate::curves::curves;
use crate::figure::{Entry, Figure, Numbers, folded, table};
use crate::number::plain;
use crate::rounds::{letter, rounds};
use crate::svg::content;
use crate::trials::{Ran, Trials};
use maud::{Markup, PreEscaped, html};
use record::finding::Finding;
use record::judged::{CellView, Metric, NodeView};
use record::printable::{one_line, printable};

/// The kinds of pictures of a cell, which begin their names.
pub(crate) const PICTURES: [&str; 3] = ["rounds", "latency", "bytes"];

/// A cell with what is shown of it.
pub(crate) struct CellPart<'a> {
    pub(crate) cell: &'a CellView,
    /// Its name: the parts in which the cells differ.
    pub(crate) name: &'a str,
    /// The name of the metric that it is judged by.
    pub(crate) judged: Option<&'a str>,
    /// Its findings, the worst first.
    pub(crate) findings: &'a [&'a Finding],
    pub(crate) trials: &'a Trials,
}

impl CellPart<'_> {
    /// Its figures, in the order of the page.
    pub(crate) fn figures(&self) -> Vec<Figure> {
        let id = id(&self.cell.id.0);
        let mut figures = Vec::new();
        if let Some(trials) = self.trials.of(&self.cell.id) {
            let judged = self.judged.and_then(|name| Some((name, self.cell.metrics.get(name)?)));
            figures.extend(rounds(format!("rounds-{id}"), self.cell, judged, self.findings, trials));
            figures.extend(curves(&format!("latency-{id}"), trials));
        }
        figures.extend(bytes(format!("bytes-{id}"), self.cell));
        figures
    }

    /// The part of the page; folded unless `open`.
    pub(crate) fn markup(&self, open: bool) -> Markup {
        let cell = self.cell;
        let ran = self.trials.of(&cell.id).and_then(|trials| trials.ran.as_ref());
        let findings = self.findings;
        html! {
            details class="cell" id=(format!("cell-{}", id(&cell.id.0))) open=[open.then_some("")] {
                summary { h3 { (printable(self.name)) } }
                @if let Some(limit) = &cell.limited_by { p { "Limited by " (limit.by.name()) @if !limit.shown { "?" } ": " (one_line(&limit.text)) } }
                @for figure in self.figures() { (figure.markup()) }
                @if !cell.leaves.is_empty() { h4 { "I/O of each device below the load" } (unfolded(&leaves(&cell.leaves))) }
                @if !findings.is_empty() { h4 { "Findings" } ul class="findings" { @for (place, one) in findings.iter().enumerate() { (finding(letter(place), one)) } } }
                (folded("All figures of this cell", &metrics(cell)))
                @if let Some(ran) = ran { (job(ran)) }
            }
        }
    }
}

/// An identity that is safe in a fragment of an address: a store may come from somebody else.
pub(crate) fn id(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

fn unfolded(numbers: &Numbers) -> Markup {
    html! { div class="scroll" tabindex="0" role="group" aria-label="devices" { (table(numbers)) } }
}

fn leaves(all: &[NodeView]) -> Numbers {
    let mut numbers = Numbers::new(&[
        "device",
        "kind",
        "bytes read per byte asked",
        "bytes written per byte asked",
        "I/Os per second",
        "busy share",
    ]);
    let row = |node: &NodeView| {
        // The depth is shown by the indentation, as in the tree of devices.
        let indent = "· ".repeat(usize::try_from(node.depth).unwrap_or(0).min(8));
        vec![
            Entry::Text(format!("{indent}{}", node.name)),
            Entry::Text(node.kind.clone()),
            node.read_per_asked.into(),
            node.write_per_asked.into(),
            node.iops.into(),
            node.busy_share.into(),
        ]
    };
    numbers.rows = all.iter().map(row).collect();
    numbers
}

fn finding(letter: char, finding: &Finding) -> Markup {
    let counter = |(name, value): (&String, &f64)| format!("{} = {}", one_line(name), plain(*value));
    let counters: Vec<String> = finding.evidence.iter().map(counter).collect();
    html! {
        li {
            span class="letter" { (letter) } ": " (one_line(&finding.text)) " " em { (one_line(&finding.remedy)) }
            @if !counters.is_empty() { div class="counters" { (counters.join(", ")) } }
        }
    }
}

fn metrics(cell: &CellView) -> Numbers {
    let mut numbers = Numbers::new(&["figure", "estimate", "low", "high", "n", "unit"]);
    let row = |(name, metric): (&String, &Metric)| {
        vec![
            Entry::Text(name.clone()),
            Entry::Number(metric.estimate),
            metric.low.into(),
            metric.high.into(),
            Entry::Number(f64::from(metric.n)),
            Entry::Text(metric.unit.clone()),
        ]
    };
    numbers.rows = cell.metrics.iter().map(row).collect();
    numbers
}

fn job(ran: &Ran) -> Markup {
    let round = ran.round + 1;
    html! {
        details {
            summary { "The job as it ran in round " (round) ", and the commands that built its stack" }
            @if !ran.argv.is_empty() { p { "Command of the engine:" } (lines(&ran.argv)) }
            @if !ran.input.is_empty() { p { "Its input:" } (lines(&ran.input)) }
            @if !ran.departures.is_empty() {
                p { "Not done as asked:" }
                ul { @for departure in &ran.departures { li { (departure) } } }
            }
            @if !ran.built.is_empty() { p { "Commands that built the stack, in order:" } (lines(&ran.built.join("\n"))) }
            @if !ran.settings.is_empty() { p { "Kernel settings during the trial:" } (lines(&ran.settings.join("\n"))) }
        }
    }
}

/// Lines of a program's input or output, which were made printable before.
fn lines(text: &str) -> Markup {
    html! { pre tabindex="0" { (PreEscaped(content(text))) } }
}
