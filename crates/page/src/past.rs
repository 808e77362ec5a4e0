//! A figure of an experiment over its runs, with the changes of its level.

use crate::axis;
use crate::figure::{Entry, Figure, Numbers};
use crate::scale::{Scale, extent};
use crate::svg::{Anchor, Svg};
use record::history::{History, HistoryLine};
use record::quantity::ratios;

/// The place of the picture, in pixels.
const LEFT: f64 = 66.0;
const RIGHT: f64 = 760.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = 150.0;
/// The size of a small picture.
const SMALL: (f64, f64) = (180.0, 26.0);

/// A figure for each line of a history that has several runs.
pub(crate) fn pasts(history: &History) -> Vec<Figure> {
    let lines = history.lines.iter().filter(|line| line.points.len() > 1);
    lines.zip(1..).map(|(line, place)| past(format!("history-{place}"), history, line)).collect()
}

/// The course of a figure as a small picture without axes. The page of the history has its numbers.
pub(crate) fn course(history: &History, line: &HistoryLine) -> String {
    let (width, height) = SMALL;
    let x = runs(history, (4.0, width - 4.0));
    let y = scale(line, (height - 4.0, 4.0));
    let mut svg = Svg::new(width, height);
    changes(history, line)
        .for_each(|(run, _)| svg.line("bracket", (x.place(run - 0.5), 0.0), (x.place(run - 0.5), height)));
    let places = places(line, &x, &y);
    svg.polyline("course", &places);
    places.last().into_iter().for_each(|last| svg.circle("mean", *last, 3.0));
    let label = format!("{} of {} in {} runs", line.metric, line.cell.stack, line.points.len());
    svg.element(&label)
}

fn past(name: String, history: &History, line: &HistoryLine) -> Figure {
    let x = runs(history, (LEFT + 8.0, RIGHT - 8.0));
    let y = scale(line, (BOTTOM, TOP)).round(4);
    let mut svg = Svg::new(RIGHT + 20.0, BOTTOM + axis::BELOW);
    let unit = report::unit(y.domain().1, &line.unit);
    axis::vertical(&mut svg, &y, (LEFT, RIGHT), 4, &axis::title(&line.metric, unit.unit, &y), |tick| {
        axis::tick(tick / unit.factor)
    });
    svg.text("unit", ((LEFT + RIGHT) / 2.0, BOTTOM + 16.0), Anchor::Middle, "runs, oldest first");
    for (run, ratio) in changes(history, line) {
        let at = x.place(run - 0.5);
        svg.line("bracket", (at, TOP), (at, BOTTOM));
        svg.text("mark", (at + 4.0, TOP + 2.0), Anchor::Start, &format!("{}x", ratios([ratio])[0]));
    }
    let places = places(line, &x, &y);
    svg.polyline("course", &places);
    places.iter().for_each(|place| svg.circle("mean", *place, 3.5));
    Figure {
        name,
        title: format!("{} of {}/{}", line.metric, line.cell.stack, line.cell.workload),
        sentence: "Each mark is one run: the geometric mean of its rounds. A vertical line is a change of level, with the new level over the one before."
            .to_owned(),
        svg,
        numbers: numbers(history, line),
    }
}

/// The axis of the runs: equal distances, whatever time lies between them.
fn runs(history: &History, range: (f64, f64)) -> Scale {
    let last = history.runs.len().saturating_sub(1).max(1);
    Scale::linear((0.0, f64::from(u32::try_from(last).unwrap_or(u32::MAX))), range)
}

fn scale(line: &HistoryLine, range: (f64, f64)) -> Scale {
    Scale::linear(extent(line.points.iter().map(|point| point.value)).unwrap_or((0.0, 1.0)), range)
}

fn places(line: &HistoryLine, x: &Scale, y: &Scale) -> Vec<(f64, f64)> {
    line.points.iter().map(|point| (x.place(f64::from(point.run)), y.place(point.value))).collect()
}

/// The changes of a line: the first run at the new level, and its ratio to the level before.
fn changes<'a>(history: &'a History, line: &'a HistoryLine) -> impl Iterator<Item = (f64, f64)> + 'a {
    line.changes.iter().filter_map(|change| {
        let run = history.runs.iter().position(|run| run.run == change.run)?;
        Some((f64::from(u32::try_from(run).ok()?), change.ratio.ratio))
    })
}

fn numbers(history: &History, line: &HistoryLine) -> Numbers {
    let mut numbers =
        Numbers::new(&["run", &format!("{} ({})", line.metric, line.unit), "level changes here"]);
    let row = |point: &record::history::HistoryPoint| {
        let run = usize::try_from(point.run).ok().and_then(|run| history.runs.get(run));
        let change = line.changes.iter().find(|change| Some(&change.run) == run.map(|run| &run.run));
        vec![
            Entry::Text(run.map_or_else(|| "?".to_owned(), |run| run.run.to_string())),
            Entry::Number(point.value),
            Entry::Text(change.map(|change| change.text.clone()).unwrap_or_default()),
        ]
    };
    numbers.rows = line.points.iter().map(row).collect();
    numbers
}
