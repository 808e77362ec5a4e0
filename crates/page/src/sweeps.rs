//! How a figure scales along a factor, with the level up to which it does.

use crate::axis;
use crate::figure::{Entry, Figure, Numbers};
use crate::scale::{Scale, extent};
use crate::svg::{Anchor, Svg};
use record::id::CellId;
use record::judged::{CellView, Metric, RunView, SweepView};
use std::collections::BTreeMap;

/// The place of the picture, in pixels.
const LEFT: f64 = 66.0;
const RIGHT: f64 = 600.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = 220.0;

/// A level with its figure.
struct Point<'a> {
    level: &'a str,
    x: f64,
    metric: &'a Metric,
}

/// The cells of a run by their identity.
pub(crate) type Cells<'a> = BTreeMap<&'a CellId, &'a CellView>;

/// The cells of a run by their identity.
pub(crate) fn by_id(view: &RunView) -> Cells<'_> {
    view.cells.iter().map(|cell| (&cell.id, cell)).collect()
}

/// The figures of all sweeps of a run.
pub(crate) fn sweeps(view: &RunView) -> Vec<Figure> {
    let cells = by_id(view);
    view.sweeps.iter().zip(1..).filter_map(|(sweep, place)| of_sweep(place, sweep, &cells)).collect()
}

/// The figure of a sweep, by its place in the run from 1; `None` with fewer than two levels.
pub(crate) fn of_sweep(place: usize, sweep: &SweepView, cells: &Cells<'_>) -> Option<Figure> {
    let points = points(sweep, cells);
    (points.len() > 1).then(|| sweep_figure(format!("sweep-{place}"), sweep, &points))
}

/// The levels that have a figure. They stand at equal distances, in their order.
fn points<'a>(sweep: &'a SweepView, cells: &Cells<'a>) -> Vec<Point<'a>> {
    let count = f64::from(u32::try_from(sweep.levels.len()).unwrap_or(u32::MAX)).max(1.0);
    let step = (RIGHT - LEFT) / count;
    let of = |id: &CellId| {
        let cell = cells.get(id)?;
        let level = cell.levels.get(&sweep.factor)?;
        let place = sweep.levels.iter().position(|l| l == level)?;
        let x = LEFT + step * (f64::from(u32::try_from(place).ok()?) + 0.5);
        Some(Point { level, x, metric: cell.metrics.get(&sweep.metric)? })
    };
    sweep.cells.iter().filter_map(of).collect()
}

fn sweep_figure(name: String, sweep: &SweepView, points: &[Point<'_>]) -> Figure {
    let metrics = || points.iter().map(|point| point.metric);
    let all = metrics().flat_map(|m| m.values.iter().copied().chain([m.estimate]).chain(m.low).chain(m.high));
    let (_, high) = extent(all).unwrap_or((0.0, 1.0));
    let y = Scale::linear((0.0, high), (BOTTOM, TOP)).round(5);
    let unit = report::unit(high, metrics().next().map_or("", |metric| &metric.unit));
    let mut svg = Svg::new(RIGHT + 40.0, BOTTOM + axis::BELOW);
    axis::vertical(&mut svg, &y, (LEFT, RIGHT), 5, &axis::title(&sweep.metric, unit.unit, &y), |tick| {
        axis::tick(tick / unit.factor)
    });
    svg.text("unit", ((LEFT + RIGHT) / 2.0, BOTTOM + 29.0), Anchor::Middle, &sweep.factor);
    let line: Vec<(f64, f64)> =
        points.iter().map(|point| (point.x, y.place(point.metric.estimate))).collect();
    svg.polyline("course", &line);
    points.iter().for_each(|point| draw(&mut svg, point, &y));
    knee(&mut svg, sweep, points);
    let confidence = metrics().next().map_or(0.95, |metric| metric.confidence);
    Figure {
        name,
        title: format!("{} by {}", sweep.name, sweep.factor),
        sentence: format!(
            "{}. Lines: {} interval of the mean, over the trials of each level; small marks: every trial. The levels stand at equal \
             distances.",
            sweep.text,
            report::percent(confidence)
        ),
        svg,
        numbers: numbers(sweep, points),
    }
}

fn draw(svg: &mut Svg, point: &Point<'_>, y: &Scale) {
    let Point { level, x, metric } = point;
    svg.group("row", level);
    svg.text("tick", (*x, BOTTOM + 14.0), Anchor::Middle, level);
    if let (Some(low), Some(high)) = (metric.low, metric.high) {
        svg.line("interval", (*x, y.place(low)), (*x, y.place(high)));
    }
    svg.dots("trials", metric.values.iter().map(|value| (x + 9.0, y.place(*value))));
    svg.circle("mean", (*x, y.place(metric.estimate)), 4.0);
    svg.end();
}

/// The level up to which the figure scales.
fn knee(svg: &mut Svg, sweep: &SweepView, points: &[Point<'_>]) {
    let knee = sweep.scales_to.as_ref().and_then(|to| points.iter().find(|point| point.level == to));
    if let Some(point) = knee {
        svg.line("bracket", (point.x, TOP - 2.0), (point.x, BOTTOM));
        let sure = if sweep.is_decided { "" } else { " or more" };
        svg.text(
            "mark",
            (point.x + 5.0, TOP + 14.0),
            Anchor::Start,
            &format!("scales to {}{sure}", point.level),
        );
    }
}

fn numbers(sweep: &SweepView, points: &[Point<'_>]) -> Numbers {
    let unit = points.first().map_or("", |point| point.metric.unit.as_str());
    let columns = [
        sweep.factor.clone(),
        format!("{} ({unit})", sweep.metric),
        format!("low ({unit})"),
        format!("high ({unit})"),
        "n".to_owned(),
        format!("trials, by round ({unit})"),
    ];
    let row = |point: &Point<'_>| {
        let metric = point.metric;
        vec![
            point.level.into(),
            Entry::Number(metric.estimate),
            metric.low.into(),
            metric.high.into(),
            Entry::Number(f64::from(metric.n)),
            Entry::Numbers(metric.values.clone()),
        ]
    };
    Numbers { columns: columns.to_vec(), rows: points.iter().map(row).collect() }
}
