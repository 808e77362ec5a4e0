//! The lines of a plot: its heading with the legend, a line for each row, and the scale below.

use super::marks::{Legend, strip};
use super::row::{Row, column};
use crate::number::expected;
use crate::scale::Scale;
use crate::wrap::fill;
use textwrap::core::display_width;

/// The most rows; a table has the others.
const MOST_ROWS: usize = 30;
/// The most columns of the scale: more would say no more.
const MOST: usize = 72;
/// The columns of the scale that are worth more than the long words beside it, and the fewest at all.
const WORTH: usize = 30;
const FEWEST: usize = 16;
/// The fewest columns of the labels.
const SHORTEST: usize = 6;
/// The blanks between labels, scale and words, and before each line.
const GAP: usize = 2;
const INDENT: usize = 2;

/// What is drawn.
pub(super) struct Plot {
    /// What the marks are of, without the legend.
    pub(super) title: String,
    /// What a line is, e.g. `95 % interval`.
    pub(super) interval: String,
    pub(super) rows: Vec<Row>,
    /// The title of the words beside the scale; empty without words.
    pub(super) beside: &'static str,
    /// A value with a line through all rows.
    pub(super) line: Option<f64>,
    /// What a mark of an expected value is, e.g. `expected`.
    pub(super) expected: &'static str,
    /// The size of a tick's unit.
    pub(super) factor: f64,
}

/// The widths of the parts of a line, in columns.
struct Widths {
    label: usize,
    scale: usize,
    /// Which of the words stand beside the scale.
    said: usize,
}

/// Draws a plot in lines of at most `width` columns; nothing without room. `scale` makes the scale for its columns and number of ticks.
pub(super) fn lines(
    plot: &Plot,
    width: usize,
    scale: impl Fn((f64, f64), usize) -> Scale,
) -> Option<Vec<String>> {
    let shown = plot.rows.get(..MOST_ROWS).unwrap_or(&plot.rows);
    let widths = widths(shown, width)?;
    let most = (widths.scale / 10).clamp(2, 6);
    let last = u32::try_from(widths.scale.saturating_sub(1)).unwrap_or(u32::MAX);
    let scale = scale((0.0, f64::from(last)), most);
    let mut legend = Legend::default();
    let rows: Vec<String> = shown.iter().map(|row| line(row, plot, &widths, &scale, &mut legend)).collect();
    let mut lines: Vec<String> =
        fill("", &heading(plot, &scale, &legend), width).lines().map(str::to_owned).collect();
    lines.extend(rows);
    let margin = " ".repeat(INDENT + widths.label + GAP);
    lines.extend(axis(&scale, &widths, most, plot.factor).map(|line| format!("{margin}{line}")));
    if plot.rows.len() > shown.len() {
        let more = format!("and {} more rows in the table", plot.rows.len() - shown.len());
        lines.push(format!("{:INDENT$}{more}", ""));
    }
    Some(lines.into_iter().map(|line| line.trim_end().to_owned()).collect())
}

fn heading(plot: &Plot, scale: &Scale, legend: &Legend) -> String {
    let log = if scale.is_log() { ", log scale" } else { "" };
    let marks = legend.words(&plot.interval, plot.expected, plot.line);
    let beside =
        if plot.beside.is_empty() { String::new() } else { format!("; at the right {}", plot.beside) };
    format!("{}{log}: {marks}{beside}", plot.title)
}

/// The words become shorter before the scale does, and the labels are shortened last. `None`: there is no room.
fn widths(rows: &[Row], width: usize) -> Option<Widths> {
    let room = width.saturating_sub(INDENT + GAP);
    let label = rows.iter().map(|row| display_width(&row.label)).max()?;
    let variants = rows.iter().map(|row| row.said.len()).max()?;
    let beside = |said: usize| {
        let words = rows.iter().filter_map(|row| row.said.get(said)).map(|words| display_width(words)).max();
        words.filter(|words| *words > 0).map_or(0, |words| words + GAP)
    };
    let fitting = (0..variants).find_map(|said| {
        let least = if said == 0 { WORTH } else { FEWEST };
        let left = room.checked_sub(label + beside(said)).filter(|left| *left >= least)?;
        Some(Widths { label, scale: left.min(MOST), said })
    });
    fitting.or_else(|| {
        let said = variants.saturating_sub(1);
        let label = room.checked_sub(FEWEST + beside(said)).filter(|label| *label >= SHORTEST)?;
        Some(Widths { label, scale: FEWEST, said })
    })
}

fn line(row: &Row, plot: &Plot, widths: &Widths, scale: &Scale, legend: &mut Legend) -> String {
    let label = padded(&fitted(&row.label, widths.label), widths.label);
    let strip = strip(row, plot.line, scale, widths.scale, legend);
    let said = row.said.get(widths.said).map_or("", String::as_str);
    format!("{:INDENT$}{label}{:GAP$}{strip}{:GAP$}{said}", "", "", "")
}

fn padded(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(display_width(text))))
}

/// A text that fits; a longer one ends with an ellipsis.
fn fitted(text: &str, width: usize) -> String {
    if display_width(text) <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    for c in text.chars() {
        if display_width(&out) + display_width(c.encode_utf8(&mut [0; 4])) >= width {
            break;
        }
        out.push(c);
    }
    out + "…"
}

/// The scale with its ticks, and their numbers where there is room.
fn axis(scale: &Scale, widths: &Widths, most: usize, factor: f64) -> [String; 2] {
    let mut line = vec!['─'; widths.scale];
    let mut numbers = String::new();
    for tick in scale.ticks(most) {
        let at = column(scale, tick, widths.scale);
        if let Some(place) = line.get_mut(at) {
            *place = '┴';
        }
        let text = number(tick / factor);
        let last = widths.scale.saturating_sub(text.len());
        let from = at.saturating_sub(text.len() / 2).min(last);
        let taken = numbers.len();
        if taken == 0 || from > taken {
            numbers.push_str(&format!("{:blanks$}{text}", "", blanks = from - taken));
        }
    }
    [line.into_iter().collect(), numbers]
}

fn number(tick: f64) -> String {
    if tick != 0.0 && tick.abs() < 0.01 { crate::number::single(tick, "") } else { expected(tick, "") }
}
