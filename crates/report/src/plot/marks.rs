//! The marks of a row.

use super::row::{Row, column};
use crate::scale::Scale;

const MEAN: char = '●';
/// One trial, which has no interval.
const SINGLE: char = '○';
const TRIAL: char = '·';
const EXPECTED: char = '◇';
/// The estimate and the expected value in one place.
const BOTH: char = '◈';
const INTERVAL: char = '─';
const ENDS: [char; 2] = ['├', '┤'];
const LINE: char = '┊';
/// A mark beyond either end of the scale.
const BELOW: char = '<';
const ABOVE: char = '>';

/// The marks that stand in a plot.
#[derive(Debug, Default)]
pub(super) struct Legend {
    used: String,
    /// Whether a row has an interval, drawn or not.
    intervals: bool,
}

impl Legend {
    /// What the marks are.
    pub(super) fn words(&self, interval: &str, expected: &str, line: Option<f64>) -> String {
        let has = |mark: char| self.used.contains(mark);
        let mut words: Vec<String> = Vec::new();
        let mut add = |is_there: bool, text: String| {
            if is_there {
                words.push(text);
            }
        };
        add(has(MEAN), format!("{MEAN} {}", if line.is_some() { "ratio" } else { "mean" }));
        let drawn = has(INTERVAL) || has(ENDS[0]);
        add(drawn, format!("{}{INTERVAL}{} {interval}", ENDS[0], ENDS[1]));
        add(self.intervals && !drawn, format!("each {interval} is narrower than a mark"));
        add(has(TRIAL), format!("{TRIAL} a trial"));
        add(has(SINGLE), format!("{SINGLE} without an interval"));
        add(has(EXPECTED), format!("{EXPECTED} {expected}"));
        add(has(BOTH), format!("{BOTH} mean where {expected}"));
        add(line.is_some(), format!("{LINE} equal"));
        add(has(BELOW) || has(ABOVE), format!("{BELOW} {ABOVE} beyond the scale"));
        words.join(", ")
    }
}

/// The marks of a row in their columns. What matters more covers what matters less.
pub(super) fn strip(
    row: &Row,
    line: Option<f64>,
    scale: &Scale,
    columns: usize,
    legend: &mut Legend,
) -> String {
    let mut cells = vec![' '; columns];
    let at = |value: f64| column(scale, value, columns);
    let mut put = |place: usize, mark: char| {
        if let Some(cell) = cells.get_mut(place) {
            *cell = mark;
        }
    };
    if let Some(line) = line {
        put(at(line), LINE);
    }
    let interval = row.interval.filter(|(low, high)| overlaps(scale, *low, *high));
    legend.intervals |= row.interval.is_some();
    if let Some((low, high)) = interval {
        (at(low)..=at(high)).for_each(|place| put(place, INTERVAL));
    }
    row.trials.iter().filter(|value| scale.holds(**value)).for_each(|value| put(at(*value), TRIAL));
    if let Some((low, high)) = interval.filter(|(low, high)| at(*high) > at(*low) + 1) {
        put(at(low), if scale.holds(low) { ENDS[0] } else { BELOW });
        put(at(high), if scale.holds(high) { ENDS[1] } else { ABOVE });
    }
    if let Some(value) = row.expected {
        put(at(value), or_beyond(scale, value, EXPECTED));
    }
    let mean = if row.is_single { SINGLE } else { MEAN };
    let covers = row.expected.is_some_and(|value| scale.holds(value) && at(value) == at(row.estimate));
    put(at(row.estimate), or_beyond(scale, row.estimate, if covers { BOTH } else { mean }));
    legend.used.extend(cells.iter().filter(|mark| **mark != ' '));
    cells.into_iter().collect()
}

fn overlaps(scale: &Scale, low: f64, high: f64) -> bool {
    high >= scale.domain().0 && low <= scale.domain().1
}

/// The mark, or an arrow if the value lies beyond the scale.
fn or_beyond(scale: &Scale, value: f64, mark: char) -> char {
    let (low, high) = scale.domain();
    match value {
        value if value < low => BELOW,
        value if value > high => ABOVE,
        _ => mark,
    }
}
