//! A panel: one test of one kind of stack by level.

use super::courses::Course;
use crate::axis;
use crate::scale::Scale;
use crate::svg::{Anchor, Svg, fitted, number};
use record::judged::{CellView, Metric};

/// The places of the scale within the panel's room, in pixels.
const LEFT: f64 = 56.0;
const RIGHT: f64 = 268.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 150.0;
/// Where marks without a value stand: above the scale.
const FAST: f64 = 32.0;

/// A course to draw.
pub(super) struct Drawn<'a> {
    pub(super) course: &'a Course<'a>,
    /// Whether its levels have an order; cells without one are numbered and not joined by a line.
    pub(super) is_ordered: bool,
}

/// A panel's place and scales.
pub(super) struct Panel {
    left: f64,
    top: f64,
    scale: Scale,
    /// The distance of two levels.
    step: f64,
}

impl Panel {
    /// A panel in a room that begins at a place; its scale reaches to `high`, and it has room for that many levels.
    pub(super) fn at((left, top): (f64, f64), high: f64, levels: usize) -> Self {
        let scale = scale(high, (top + BOTTOM, top + TOP));
        Self { left, top, scale, step: (RIGHT - LEFT) / count(levels.max(1)) }
    }

    pub(super) fn scale(&self) -> &Scale {
        &self.scale
    }

    /// Draws one test of a course. `factor` is the size of the unit in the title.
    pub(super) fn draw(&self, svg: &mut Svg, drawn: &Drawn<'_>, metric: &str, title: &str, factor: f64) {
        svg.text("unit", (self.left + LEFT, self.top + 12.0), Anchor::Start, title);
        let range = (self.left + LEFT, self.left + RIGHT);
        axis::vertical(svg, &self.scale, range, 4, "", |tick| axis::tick(tick / factor));
        let mut line = Vec::new();
        for (place, (level, cell)) in drawn.course.cells.iter().enumerate() {
            let x = self.left + LEFT + self.step * (count(place) + 0.5);
            let bottom = self.top + BOTTOM + 14.0;
            let numbered = (place + 1).to_string();
            let tick = if drawn.is_ordered { level } else { &numbered };
            svg.text("tick", (x, bottom), Anchor::Middle, &fitted(tick, self.step * 1.1));
            let found = cell.and_then(|cell| Some((cell, cell.metrics.get(metric)?)));
            match found {
                Some((cell, metric)) => {
                    line.push((x, self.scale.place(metric.estimate)));
                    self.point(svg, cell, level, metric, x);
                }
                // A level without a number is a gap in the line.
                None => svg.polyline("course", &std::mem::take(&mut line)),
            }
            if !drawn.is_ordered {
                line.clear();
            }
            if let Some((cell, said)) = cell.and_then(|cell| Some((cell, too_fast(cell, metric)?))) {
                self.triangle(svg, &format!("{}: {said}", cell.stack), x);
            }
        }
        svg.polyline("course", &line);
    }

    fn point(&self, svg: &mut Svg, cell: &CellView, level: &str, metric: &Metric, x: f64) {
        let class = match (cell.void, metric.values.len()) {
            (true, _) => "row void",
            (false, 0 | 1) => "row open",
            _ => "row",
        };
        svg.group(class, &format!("{} at {level}", cell.stack));
        if let (Some(low), Some(high)) = (metric.low, metric.high) {
            svg.line("interval", (x, self.scale.place(low.max(0.0))), (x, self.scale.place(high)));
        }
        for value in &metric.values {
            svg.circle("trial", (x + 7.0, self.scale.place(*value)), 2.0);
        }
        svg.circle("mean", (x, self.scale.place(metric.estimate)), 3.5);
        svg.end();
    }

    /// The mark of a test that was too fast: it has no value, so it stands above the scale.
    fn triangle(&self, svg: &mut Svg, said: &str, x: f64) {
        let y = self.top + FAST;
        let [left, right, up, down, x] = [x - 5.0, x + 5.0, y - 9.0, y, x].map(number);
        svg.group("row", said);
        svg.path("fast", &format!("M{x} {up}L{right} {down}L{left} {down}Z"));
        svg.end();
    }
}

/// What is said in place of a number: `too fast`, or in how many trials.
pub(super) fn too_fast(cell: &CellView, metric: &str) -> Option<String> {
    let trials = *cell.too_fast.get(metric)?;
    Some(match trials == cell.trials.done {
        true => "too fast".to_owned(),
        false => format!("too fast in {trials} of {}", cell.trials.done),
    })
}

/// A number of places as a length.
pub(super) fn count(places: usize) -> f64 {
    f64::from(u32::try_from(places).unwrap_or(u32::MAX))
}

/// A scale from 0, so that each height is a share of the highest.
fn scale(high: f64, range: (f64, f64)) -> Scale {
    Scale::linear((0.0, high), range).round(4)
}
