//! Points with a limit, drawn in characters.

use crate::document::{Point, Scatter};
use crate::number::{expected, level};
use std::collections::{BTreeMap, BTreeSet};

/// The rows of the plot.
const ROWS: usize = 9;
/// The most columns of the plot: more would say no more.
const MOST: usize = 72;
/// The fewest columns of the plot; a narrower medium gets none.
const FEWEST: usize = 24;

/// A level above this many times the second highest is far beyond all others.
const FAR: u64 = 4;

const KEPT: char = 'o';
const BROKEN: char = 'x';
const UNTOLD: char = '?';
/// Several points in one place of which some keep the limit and some don't.
const SEVERAL: char = '*';

/// Draws the points in lines of at most `width` columns. `None` with fewer than two different levels, or without room.
pub(crate) fn drawn(scatter: &Scatter, width: usize) -> Option<Vec<String>> {
    let sound = |p: &&Point| p.across > 0.0 && p.up > 0.0 && p.across.is_finite() && p.up.is_finite();
    let points: Vec<&Point> = scatter.points.iter().filter(sound).collect();
    let levels: BTreeSet<u64> = points.iter().map(|p| whole(p.across)).collect();
    let up = Axis::of(points.iter().map(|p| p.up).chain([scatter.limit]))?;
    let rows = Rows::of(scatter, &points, &up);
    let labels = rows.labels(scatter, &points);
    let margin = labels.values().map(|label| label.chars().count()).max().unwrap_or(0);
    // a blank and the axis stand between the labels and the plot
    let columns = width.saturating_sub(margin + 2).min(MOST);
    if columns < FEWEST {
        return None;
    }
    let across = Across::of(&levels, columns)?;
    let mut marks: BTreeMap<(usize, usize), char> = BTreeMap::new();
    for point in &points {
        let place = (rows.of_point(scatter, &up, point), across.place(point.across));
        let mark = mark(scatter, point);
        marks.entry(place).and_modify(|there| *there = joined(*there, mark)).or_insert(mark);
    }
    let mut lines = legend(scatter, &marks, width);
    for row in (0..ROWS).rev() {
        let (axis, ground) = if row == rows.limit { ('┼', '─') } else { ('│', ' ') };
        let label = labels.get(&row).map_or("", String::as_str);
        let cells: String = (0..columns).map(|at| *marks.get(&(row, at)).unwrap_or(&ground)).collect();
        lines.push(format!("{label:>margin$} {axis}{cells}").trim_end().to_owned());
    }
    lines.extend(across.lines().into_iter().map(|line| format!("{:margin$} {line}", "")));
    Some(lines)
}

/// What the axes and the marks are.
fn legend(scatter: &Scatter, marks: &BTreeMap<(usize, usize), char>, width: usize) -> Vec<String> {
    let told =
        [(KEPT, "kept"), (BROKEN, "broken"), (UNTOLD, "too few I/Os to say"), (SEVERAL, "both in one place")];
    let used = told.into_iter().filter(|(mark, _)| marks.values().any(|there| there == mark));
    let marks: Vec<String> = used.map(|(mark, words)| format!("{mark} {words}")).collect();
    let text = format!(
        "{} over {}, both on logarithmic scales; {}; the line is the limit",
        scatter.up,
        scatter.across,
        marks.join(", ")
    );
    crate::wrap::fill("", &text, width).lines().map(str::to_owned).collect()
}

fn mark(scatter: &Scatter, point: &Point) -> char {
    match point.is_told {
        false => UNTOLD,
        true if point.up <= scatter.limit => KEPT,
        true => BROKEN,
    }
}

fn joined(one: char, other: char) -> char {
    if one == other { one } else { SEVERAL }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "levels are whole numbers")]
fn whole(value: f64) -> u64 {
    value.round() as u64
}

/// The horizontal axis. A level far beyond all others, as the highest of an open loop, has the last column, behind a gap: on a common scale
/// the others would lie in one place.
struct Across {
    axis: Axis,
    /// The columns of the axis, and of all the plot.
    columns: usize,
    all: usize,
    beyond: Option<u64>,
}

impl Across {
    /// `None` if there is only one level.
    fn of(levels: &BTreeSet<u64>, all: usize) -> Option<Self> {
        let mut descending = levels.iter().rev().copied();
        let (first, second) = (descending.next()?, descending.next()?);
        let beyond = (first / FAR > second && levels.len() > 2).then_some(first);
        let gap = beyond.map_or(0, |most| level(most).chars().count() + 2);
        let axis =
            Axis::of(levels.iter().filter(|level| Some(**level) != beyond).map(|level| float(*level)))?;
        Some(Self { axis, columns: all.saturating_sub(gap), all, beyond })
    }

    fn place(&self, value: f64) -> usize {
        match self.beyond {
            Some(_) if value > self.axis.high => self.all - 1,
            _ => self.axis.place(value, self.columns),
        }
    }

    /// The axis and its labels.
    fn lines(&self) -> [String; 2] {
        let (least, most) = (level(whole(self.axis.low)), level(whole(self.axis.high)));
        let between = self.columns.saturating_sub(least.chars().count() + most.chars().count()).max(1);
        let (mut axis, mut labels) = ("─".repeat(self.columns), format!("{least}{:between$}{most}", ""));
        if let Some(beyond) = self.beyond {
            let gap = self.all - self.columns;
            axis.push_str(&format!("//{}", "─".repeat(gap.saturating_sub(2))));
            let room = self.all.saturating_sub(labels.chars().count());
            labels.push_str(&format!("{:>room$}", level(beyond)));
        }
        [format!("└{axis}"), format!(" {labels}")]
    }
}

#[expect(clippy::cast_precision_loss, reason = "levels are far below 2^52")]
fn float(level: u64) -> f64 {
    level as f64
}

/// A logarithmic axis.
struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    /// `None` if the values don't differ.
    fn of(values: impl Iterator<Item = f64> + Clone) -> Option<Self> {
        let low = values.clone().fold(f64::INFINITY, f64::min);
        let high = values.fold(0.0, f64::max);
        (low > 0.0 && low < high).then_some(Self { low, high })
    }

    /// The place of a value among `places`, from 0.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place in a plot")]
    #[expect(clippy::cast_precision_loss, reason = "a place in a plot")]
    fn place(&self, value: f64, places: usize) -> usize {
        let share = (value / self.low).ln() / (self.high / self.low).ln();
        let last = places.saturating_sub(1);
        ((share.clamp(0.0, 1.0) * last as f64).round() as usize).min(last)
    }
}

/// The rows of the plot, counted from the lowest. The limit has one to itself, so that no point on either side of it seems to lie on it.
struct Rows {
    limit: usize,
}

impl Rows {
    fn of(scatter: &Scatter, points: &[&Point], up: &Axis) -> Self {
        let below = points.iter().any(|p| p.up <= scatter.limit);
        let above = points.iter().any(|p| p.up > scatter.limit);
        let (least, most) = (usize::from(below), ROWS - 1 - usize::from(above));
        Self { limit: up.place(scatter.limit, ROWS).clamp(least, most) }
    }

    fn of_point(&self, scatter: &Scatter, up: &Axis, point: &Point) -> usize {
        let row = up.place(point.up, ROWS);
        if point.up <= scatter.limit {
            row.min(self.limit.saturating_sub(1))
        } else {
            row.max(self.limit + 1)
        }
    }

    /// The labels of the vertical axis: its ends and the limit.
    fn labels(&self, scatter: &Scatter, points: &[&Point]) -> BTreeMap<usize, String> {
        let values = || points.iter().map(|p| p.up);
        let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
        let ends = [(0, low, low <= scatter.limit), (ROWS - 1, high, high > scatter.limit)];
        let ends = ends.into_iter().filter(|(_, _, is_there)| *is_there);
        let mut labels: BTreeMap<usize, String> =
            ends.map(|(row, value, _)| (row, expected(value, scatter.unit))).collect();
        labels.insert(self.limit, expected(scatter.limit, scatter.unit));
        labels
    }
}

#[cfg(test)]
mod tests {
    use super::{FEWEST, ROWS, drawn};
    use crate::document::{Point, Scatter};

    fn scatter(points: &[(f64, f64)]) -> Scatter {
        let point = |&(across, up): &(f64, f64)| Point { across, up, is_told: true };
        Scatter {
            across: "rate_iops",
            up: "read_lat_p99",
            unit: "us",
            limit: 10_000.0,
            points: points.iter().map(point).collect(),
        }
    }

    const TRIED: [(f64, f64); 5] =
        [(10_000.0, 98_000.0), (1890.0, 2_410.0), (2300.0, 9_990.0), (2360.0, 10_010.0), (2310.0, 9_700.0)];

    /// The rows of the plot from the top, without labels and axis.
    fn rows(scatter: &Scatter, width: usize) -> Vec<String> {
        let lines = drawn(scatter, width).unwrap();
        let plot = lines.iter().filter_map(|line| line.split_once(['│', '┼']));
        plot.map(|(_, cells)| cells.to_owned()).collect()
    }

    #[test]
    fn kept_points_lie_below_the_line_and_broken_ones_above() {
        for width in [40, 60, 80, 200] {
            let rows = rows(&scatter(&TRIED), width);
            assert_eq!(rows.len(), ROWS);
            let limit = rows.iter().position(|row| row.contains('─')).unwrap();
            let (above, below) = (rows[..limit].concat(), rows[limit + 1..].concat());
            assert!(above.contains('x') && !above.contains('o'), "{rows:#?}");
            assert!(below.contains('o') && !below.contains('x'), "{rows:#?}");
            assert!(!rows[limit].contains(['o', 'x']), "{rows:#?}");
        }
    }

    #[test]
    fn lines_fit_and_the_ends_are_labelled() {
        for width in FEWEST + 9..120 {
            let lines = drawn(&scatter(&TRIED), width).unwrap();
            assert!(lines.iter().all(|line| line.chars().count() <= width), "{width}: {lines:#?}");
            let ends: Vec<&str> = lines.last().unwrap().split_whitespace().collect();
            assert_eq!(ends, ["1,890", "2,360", "10,000"], "{lines:#?}");
            let labels = lines.iter().filter_map(|line| Some(line.split_once(['│', '┼'])?.0.trim()));
            let labels: Vec<&str> = labels.filter(|label| !label.is_empty()).collect();
            assert_eq!(labels, ["98 ms", "10 ms", "2.41 ms"]);
        }
        assert_eq!(drawn(&scatter(&TRIED), FEWEST), None, "no room");
    }

    #[test]
    fn a_level_far_beyond_the_others_is_behind_a_gap() {
        let all = rows(&scatter(&TRIED), 79);
        let of =
            |mark: char| all.iter().flat_map(|row| row.chars().enumerate()).filter(move |(_, c)| *c == mark);
        let columns: Vec<usize> = of('x').map(|(column, _)| column).collect();
        assert_eq!(columns.len(), 2, "{all:#?}");
        assert_eq!(columns[0] - columns[1], 8, "a comma, five digits, and two columns: {all:#?}");
        assert!(of('o').map(|(column, _)| column).max() > Some(50), "the others spread: {all:#?}");
        let near = drawn(&scatter(&TRIED[1..]), 79).unwrap();
        let ends: Vec<&str> = near.last().unwrap().split_whitespace().collect();
        assert_eq!(ends, ["1,890", "2,360"], "{near:#?}");
    }

    #[test]
    fn a_limit_beyond_all_points_is_the_edge() {
        let kept = rows(&scatter(&[(1.0, 200.0), (64.0, 900.0)]), 60);
        assert!(kept[0].contains('─') && kept[ROWS - 1].starts_with('o'), "{kept:#?}");
        let broken = rows(&scatter(&[(1.0, 20_000.0), (64.0, 90_000.0)]), 60);
        assert!(broken[ROWS - 1].contains('─') && broken[0].ends_with('x'), "{broken:#?}");
    }

    #[test]
    fn one_level_is_no_plot_and_a_mark_says_what_is_not_known() {
        assert_eq!(drawn(&scatter(&[(5.0, 100.0), (5.0, 20_000.0)]), 80), None);
        assert_eq!(drawn(&scatter(&[]), 80), None);
        let mut some = scatter(&TRIED);
        some.points[0].is_told = false;
        some.points.push(Point { across: 1890.0, up: f64::NAN, is_told: true });
        let lines = drawn(&some, 120).unwrap().join("\n");
        assert!(lines.contains("? too few I/Os to say") && lines.matches('?').count() == 2, "{lines}");
    }
}
