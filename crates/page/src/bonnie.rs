//! Bonnie++'s charts: what each test of a stack gives by the number of its volumes, or by another factor. They are small multiples: a row of
//! panels for each kind of stack, a panel for each test, one scale for all.

mod courses;
mod panel;
#[cfg(test)]
mod tests;

use crate::axis;
use crate::figure::{Entry, Figure, Numbers};
use crate::scale::extent;
use crate::svg::{Anchor, Svg, fitted};
use courses::{Along, Course, courses};
use panel::{Drawn, Panel, count, too_fast};
use record::judged::{CellView, Metric, RunView};

/// Figures with one unit: the name of the picture, what it shows, and Bonnie++'s tests with their metrics.
struct Group {
    name: &'static str,
    shows: &'static str,
    tests: &'static [(&'static str, &'static str)],
}

const GROUPS: [Group; 3] = [
    Group {
        name: "bonnie-bandwidth",
        shows: "sequential output, rewrite and input",
        tests: &[
            ("block_output_bw", "sequential output"),
            ("rewrite_bw", "rewrite"),
            ("block_input_bw", "sequential input"),
        ],
    },
    Group {
        name: "bonnie-files",
        shows: "files created",
        tests: &[("seq_create", "sequential create"), ("random_create", "random create")],
    },
    Group { name: "bonnie-seeks", shows: "random seeks", tests: &[("seeks", "seeks")] },
];

/// The room of a panel with its numbers and title, and the room above a row of panels for the stack's name, in pixels.
const WIDE: f64 = 280.0;
const HIGH: f64 = 176.0;
const NAME: f64 = 22.0;

/// The figures of all workloads that Bonnie++ performs.
pub(crate) fn bonnie(view: &RunView) -> Vec<Figure> {
    let mut workloads: Vec<&str> = Vec::new();
    for cell in view.cells.iter().filter(|cell| is_bonnie(cell)) {
        if !workloads.contains(&cell.workload.as_str()) {
            workloads.push(&cell.workload);
        }
    }
    let of_workload = |(place, workload): (usize, &&str)| {
        let cells: Vec<&CellView> =
            view.cells.iter().filter(|cell| is_bonnie(cell) && cell.workload == **workload).collect();
        let Along { factor, courses } = courses(&cells);
        let end = if place == 0 { String::new() } else { format!("-{}", place + 1) };
        let figures = GROUPS.iter().filter_map(|group| {
            let shown = Shown { workload, factor: &factor, courses: &courses, group };
            shown.figure(format!("{}{end}", group.name))
        });
        figures.collect::<Vec<_>>()
    };
    workloads.iter().enumerate().flat_map(of_workload).collect()
}

/// Whether a cell has a figure of Bonnie++'s, or one that was too fast for it.
fn is_bonnie(cell: &CellView) -> bool {
    let mut tests = GROUPS.iter().flat_map(|group| group.tests);
    tests.any(|(metric, _)| cell.metrics.contains_key(*metric) || cell.too_fast.contains_key(*metric))
}

/// What a picture shows.
struct Shown<'a> {
    workload: &'a str,
    factor: &'a str,
    courses: &'a [Course<'a>],
    group: &'a Group,
}

impl Shown<'_> {
    /// `None` if no test of the group has a figure.
    fn figure(&self, name: String) -> Option<Figure> {
        let values = self.metrics().flat_map(values);
        let (_, high) = extent(values)?;
        let metric = self.metrics().next()?;
        let unit = report::unit(high, &metric.unit);
        let tests = self.tests();
        let named = self.courses.iter().any(|course| !course.name.is_empty());
        let above = if named { NAME } else { 0.0 };
        let legend = if self.has_too_fast() { 18.0 } else { 0.0 };
        let high_of_all = (above + HIGH) * count(self.courses.len()) + 18.0 + legend;
        let mut svg = Svg::new(WIDE * count(tests.len()), high_of_all);
        let mut top = 0.0;
        for course in self.courses {
            if named {
                let room = WIDE * count(tests.len()) - 8.0;
                svg.text("label", (4.0, top + 15.0), Anchor::Start, &fitted(&course.name, room));
            }
            for (place, (metric, title)) in tests.iter().enumerate() {
                let at = (WIDE * count(place), top + above);
                let panel = Panel::at(at, high, course.cells.len());
                let title = axis::title(title, counted(metric, unit.unit), panel.scale());
                let course = Drawn { course, is_ordered: !self.factor.is_empty() };
                panel.draw(&mut svg, &course, metric, &title, unit.factor);
            }
            top += above + HIGH;
        }
        for place in 0..tests.len() {
            svg.text("unit", (WIDE * (count(place) + 0.55), top + 8.0), Anchor::Middle, self.factor);
        }
        if self.has_too_fast() {
            svg.text("unit", (4.0, top + 26.0), Anchor::Start, "△ too fast for Bonnie++: +++++, no number");
        }
        Some(Figure {
            name,
            title: format!("Bonnie++, {}: {}", self.workload, self.group.shows),
            sentence: self.sentence(metric),
            svg,
            numbers: self.numbers(&metric.unit),
        })
    }

    fn cells(&self) -> impl Iterator<Item = &CellView> {
        self.courses.iter().flat_map(|course| course.cells.iter().filter_map(|(_, cell)| *cell))
    }

    fn metrics(&self) -> impl Iterator<Item = &Metric> {
        self.cells().flat_map(|cell| self.group.tests.iter().filter_map(|(name, _)| cell.metrics.get(*name)))
    }

    /// The tests that ran.
    fn tests(&self) -> Vec<(&'static str, &'static str)> {
        let ran = |metric: &str| {
            self.cells().any(|cell| cell.metrics.contains_key(metric) || cell.too_fast.contains_key(metric))
        };
        self.group.tests.iter().copied().filter(|(metric, _)| ran(metric)).collect()
    }

    fn has_too_fast(&self) -> bool {
        let mut tests = self.group.tests.iter();
        tests.any(|(name, _)| self.cells().any(|cell| cell.too_fast.contains_key(*name)))
    }

    fn sentence(&self, metric: &Metric) -> String {
        let mut text = format!(
            "Lines: {} interval of the mean, over the trials; small marks: every trial. All panels have the same scale.",
            report::percent(metric.confidence)
        );
        if self.has_too_fast() {
            text.push_str(
                " Open triangles at the top: the test ended too quickly for Bonnie++, which prints +++++ and no number.",
            );
        }
        if self.factor.is_empty() {
            let all = self.courses.iter().flat_map(|course| &course.cells).zip(1..);
            let names: Vec<String> = all.map(|((name, _), place)| format!("{place} {name}")).collect();
            text.push_str(&format!(" The cells: {}.", names.join(", ")));
        } else {
            text.push_str(" The levels stand at equal distances.");
        }
        if self.cells().any(|cell| cell.void) {
            text.push_str(" Hollow marks on a dashed interval: no storage figure.");
        }
        text
    }

    fn numbers(&self, unit: &str) -> Numbers {
        let factor = if self.factor.is_empty() { "cell" } else { self.factor };
        let titles = ["stack", factor, "test", "estimate", "low", "high", "n", "trials, by round"];
        let with_unit = |(place, title): (usize, &str)| match place {
            3..=5 | 7 => format!("{title} ({unit})"),
            _ => title.to_owned(),
        };
        let columns = titles.into_iter().enumerate().map(with_unit).collect();
        let mut numbers = Numbers { columns, rows: Vec::new() };
        for course in self.courses {
            for (level, cell) in &course.cells {
                let tests = self.tests();
                let rows = tests.iter().map(|(metric, title)| {
                    let mut row = [&course.name, level, *title].map(Entry::from).to_vec();
                    row.extend(entries(*cell, metric));
                    row
                });
                numbers.rows.extend(rows);
            }
        }
        numbers
    }
}

/// A figure in a table: a test that was too fast says so and has no number.
fn entries(cell: Option<&CellView>, metric: &str) -> Vec<Entry> {
    let found = cell.and_then(|cell| cell.metrics.get(metric));
    match (found, cell.and_then(|cell| too_fast(cell, metric))) {
        (Some(metric), _) => vec![
            Entry::Number(metric.estimate),
            metric.low.into(),
            metric.high.into(),
            Entry::Number(f64::from(metric.n)),
            Entry::Numbers(metric.values.clone()),
        ],
        (None, Some(said)) => vec![Entry::Text(said), "".into(), "".into(), "".into(), "".into()],
        (None, None) => vec![Entry::Unknown, "".into(), "".into(), "".into(), "".into()],
    }
}

fn values(metric: &Metric) -> impl Iterator<Item = f64> {
    metric.values.iter().copied().chain([metric.estimate]).chain(metric.low).chain(metric.high)
}

/// The unit of a metric, by what it counts where that is not I/Os.
fn counted(metric: &str, unit: &'static str) -> &'static str {
    match record::metric::info(metric).and_then(|info| info.counts) {
        Some("files") => "files/s",
        Some("seeks") => "seeks/s",
        _ => unit,
    }
}
