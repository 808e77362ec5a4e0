//! The dot plot of the cells of one workload, and beside it the ratio of the best to each, paired within rounds.

use crate::axis;
use crate::figure::{Entry, Figure, Numbers};
use crate::scale::{Scale, extent};
use crate::svg::{Anchor, Svg, fitted, number, width};
use record::judged::RatioView;
use report::{DotPlot, DotRow, Expected, ExpectedBy, Place, ratio_scale};

/// The height of a row, and the room above the rows, in pixels.
const ROW: f64 = 24.0;
const ABOVE: f64 = 24.0;
/// The width of a picture without ratios, and what the ratios add.
const WIDTH: f64 = 860.0;
/// The widest label, and the place of the ratios' scale.
const LABEL: f64 = 230.0;
const RATIO: f64 = 150.0;
/// The room between the scale of the ratios and their texts, with the bracket.
const GAP: f64 = 12.0;

/// The columns of a picture.
struct Columns {
    /// Where the texts of the figures end.
    said: f64,
    values: Scale,
    /// The scale of the ratios, which their texts follow; `None`: no answer is about this metric.
    ratios: Option<Scale>,
}

/// The figure of a dot plot. `name` is its name within the run.
pub(crate) fn dots(name: String, plot: &DotPlot) -> Figure {
    let columns = columns(plot);
    let height = ABOVE + ROW * rows(plot.rows.len());
    let mut svg = Svg::new(WIDTH, height + axis::BELOW);
    axes(&mut svg, plot, &columns, height);
    for (place, row) in plot.rows.iter().enumerate() {
        let y = ABOVE + ROW * (rows(place) + 0.5);
        self::row(&mut svg, row, &columns, y);
    }
    bracket(&mut svg, plot, &columns);
    if let Some(by) = expected_by(plot) {
        svg.text("unit", (0.0, height + 29.0), Anchor::Start, &format!("◇ expected by {by}"));
    }
    Figure {
        name,
        title: format!("{} of {}", plot.metric, plot.workload),
        sentence: sentence(plot),
        svg,
        numbers: numbers(plot),
    }
}

fn rows(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

fn columns(plot: &DotPlot) -> Columns {
    let widest = |text: fn(&DotRow) -> &str| plot.rows.iter().map(|r| width(text(r))).fold(0.0, f64::max);
    let label = widest(|row| &row.label).min(LABEL);
    let said = label + 12.0 + widest(|row| &row.shown);
    let ratios = plot.rows.iter().any(|row| row.place.is_some());
    let words = plot.rows.iter().map(|row| width(&place_words(row))).fold(0.0, f64::max);
    let end = WIDTH - words - GAP - 4.0;
    // The last tick's number is centred there.
    let right = if ratios { end - RATIO } else { WIDTH } - 34.0;
    let left = (said + 22.0).min(right - 120.0);
    Columns {
        said,
        values: plot.scale((left, right), most_ticks((left, right))),
        ratios: ratios.then(|| ratio_scale(plot.rows.iter().filter_map(ratio), (end - RATIO, end))),
    }
}

/// As many ticks as there is room for their numbers.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 2 and 5")]
fn most_ticks((left, right): (f64, f64)) -> usize {
    ((right - left) / 60.0).clamp(2.0, 5.0) as usize
}

fn ratio(row: &DotRow) -> Option<RatioView> {
    row.place.and_then(Place::ratio)
}

fn axes(svg: &mut Svg, plot: &DotPlot, columns: &Columns, height: f64) {
    let (largest, unit) = (columns.values.domain().1, plot.unit.as_str());
    let scale = report::unit(largest, unit);
    // All ticks have the unit of the largest one.
    let shown = |tick: f64| axis::tick(tick / scale.factor);
    let title = axis::title(&plot.metric, scale.unit, &columns.values);
    let ticks = most_ticks(columns.values.range());
    axis::horizontal(svg, &columns.values, (ABOVE, height), ticks, &title, shown);
    if let Some(ratios) = &columns.ratios {
        let title = axis::title("best / this one", "", ratios);
        axis::horizontal(svg, ratios, (ABOVE, height), 3, &title, axis::tick);
        let one = ratios.place(1.0);
        svg.line("one", (one, ABOVE - 4.0), (one, height));
        // Its number stands above it, where no tick can be.
        svg.text("tick", (one, ABOVE - 8.0), Anchor::Middle, "1");
    }
}

fn row(svg: &mut Svg, row: &DotRow, columns: &Columns, y: f64) {
    let class = match (row.void, row.trials.len()) {
        (Some(_), _) => "row void",
        (None, 0 | 1) => "row open",
        _ => "row",
    };
    svg.group(class, &format!("{}: {}", row.label, row.shown));
    svg.text("label", (0.0, y + 4.0), Anchor::Start, &fitted(&row.label, LABEL));
    let said = if row.void.is_some() { "said struck" } else { "said" };
    svg.text(said, (columns.said, y + 4.0), Anchor::End, &row.shown);
    let scale = &columns.values;
    let (least, most) = scale.domain();
    if let (Some(low), Some(high)) = (row.low, row.high)
        && high >= least
        && low <= most
    {
        // A rate is never below 0, where an interval of few rounds may begin.
        svg.line("interval", (scale.place(low.max(least)), y), (scale.place(high.min(most)), y));
    }
    trials(svg, row, scale, y);
    if let Some(expected) = row.expected {
        diamond(svg, expected.value, scale, y);
    }
    if scale.holds(row.estimate) {
        svg.circle("mean", (scale.place(row.estimate), y), 4.0);
    } else {
        let (left, right) = scale.range();
        let (x, anchor, text) = if row.estimate > scale.domain().1 {
            (right, Anchor::End, "beyond →")
        } else {
            (left, Anchor::Start, "← below")
        };
        svg.text("mark", (x, y + 4.0), anchor, text);
    }
    if let Some(void) = row.void {
        svg.text("mark", (scale.range().0 + 4.0, y + 4.0), Anchor::Start, void);
    }
    if let Some(ratios) = &columns.ratios {
        ratios_of(svg, row, ratios, y);
    }
    svg.end();
}

/// Every trial, from the first round at the top of the row to the last one at its bottom.
fn trials(svg: &mut Svg, row: &DotRow, scale: &Scale, y: f64) {
    let count = rows(row.trials.len()).max(1.0);
    let shown = row.trials.iter().enumerate().filter(|(_, (_, value))| scale.holds(*value));
    let place_of = |(place, (_, value)): (usize, &(u32, f64))| {
        let share = (rows(place) + 0.5) / count - 0.5;
        (scale.place(*value), y + share * (ROW - 8.0))
    };
    svg.dots("trials", shown.map(place_of));
}

/// The mark of an expected value: an open diamond; an arrow if the value lies beyond the scale.
fn diamond(svg: &mut Svg, value: f64, scale: &Scale, y: f64) {
    let (left, right) = scale.range();
    match scale.domain() {
        (low, _) if value < low => svg.text("expected-at", (left, y + 4.0), Anchor::Start, "← ◇"),
        (_, high) if value > high => svg.text("expected-at", (right, y + 4.0), Anchor::End, "◇ →"),
        _ => {
            let x = scale.place(value);
            let [left, right, top, bottom] = [x - 7.0, x + 7.0, y - 7.0, y + 7.0].map(number);
            let [x, y] = [x, y].map(number);
            svg.path("expected", &format!("M{x} {top}L{right} {y}L{x} {bottom}L{left} {y}Z"));
        }
    }
}

fn ratios_of(svg: &mut Svg, row: &DotRow, scale: &Scale, y: f64) {
    let at = scale.range().1 + GAP;
    if let Some(ratio) = ratio(row) {
        if let (Some(low), Some(high)) = (ratio.low, ratio.high) {
            svg.line("interval", (scale.place(low), y), (scale.place(high), y));
        }
        svg.circle("mean ratio", (scale.place(ratio.ratio), y), 3.5);
    }
    svg.text("said", (at, y + 4.0), Anchor::Start, &place_words(row));
}

/// The place in words, beside the ratio.
fn place_words(row: &DotRow) -> String {
    row.place.map_or_else(String::new, Place::words)
}

/// A bracket over the best cell and the cells that tie with it; nothing without a tie.
fn bracket(svg: &mut Svg, plot: &DotPlot, columns: &Columns) {
    let member = |row: &DotRow| matches!(row.place, Some(Place::Best | Place::Tied(_)));
    let tied = plot.rows.iter().any(|row| matches!(row.place, Some(Place::Tied(_))));
    let places: Vec<f64> = (plot.rows.iter().enumerate())
        .filter(|(_, row)| member(row))
        .map(|(place, _)| ABOVE + ROW * (rows(place) + 0.5))
        .collect();
    if let (true, Some(ratios), Some(first), Some(last)) =
        (tied, &columns.ratios, places.first(), places.last())
    {
        let x = ratios.range().1 + 4.0;
        svg.line("bracket", (x, *first), (x, *last));
        for y in &places {
            svg.line("bracket", (x - 4.0, *y), (x, *y));
        }
    }
}

fn sentence(plot: &DotPlot) -> String {
    let counts = extent(plot.rows.iter().map(|row| rows(row.trials.len()))).unwrap_or((0.0, 0.0));
    let over = if counts.0 == counts.1 {
        format!("{} trials", counts.0)
    } else {
        format!("{} to {} trials", counts.0, counts.1)
    };
    let percent = report::percent(plot.confidence);
    let left = format!(
        "Lines: {percent} interval of the mean, over {over} of each cell; small marks: every trial, the first round on top."
    );
    let first = plot.rows.iter().find_map(ratio);
    let right = first.map(|ratio| {
        format!(
            " At the right: {} interval of the ratio of the best cell to this one, paired within {} rounds; at 1 they are equal.",
            report::percent(ratio.confidence),
            ratio.n
        )
    });
    left + &right.unwrap_or_default()
}

/// Who expects figures of a plot; `None`: nobody does.
fn expected_by(plot: &DotPlot) -> Option<&'static str> {
    let by = |by: ExpectedBy| plot.rows.iter().filter_map(|row| row.expected).any(|e| e.by == by);
    match (by(ExpectedBy::Experiment), by(ExpectedBy::Model)) {
        (false, false) => None,
        (true, false) => Some("the experiment"),
        (false, true) => Some("the model"),
        (true, true) => Some("the experiment or the model"),
    }
}

fn numbers(plot: &DotPlot) -> Numbers {
    let unit = |what: &str| format!("{what} ({})", plot.unit);
    let mut columns = vec![
        "cell".to_owned(),
        unit("estimate"),
        unit("low"),
        unit("high"),
        "n".to_owned(),
        unit("trials, by round"),
    ];
    let with_ratio = plot.rows.iter().any(|row| row.place.is_some());
    if with_ratio {
        columns.extend(["place", "best / this one", "low", "high", "rounds"].map(str::to_owned));
    }
    let with_expected = plot.rows.iter().any(|row| row.expected.is_some());
    if with_expected {
        columns.extend([unit("expected"), "by".to_owned()]);
    }
    let row = |row: &DotRow| {
        let mut entries = vec![
            Entry::Text(row.label.clone()),
            Entry::Number(row.estimate),
            row.low.into(),
            row.high.into(),
            Entry::Number(rows(row.trials.len())),
            Entry::Numbers(row.trials.iter().map(|trial| trial.1).collect()),
        ];
        if with_ratio {
            entries.push(place_name(row).into());
            entries.extend(ratio_entries(ratio(row)));
        }
        if with_expected {
            entries.extend(expected_entries(row.expected));
        }
        entries
    };
    Numbers { columns, rows: plot.rows.iter().map(row).collect() }
}

/// An expected value and who expects it; an empty text in each place where nothing is expected.
fn expected_entries(expected: Option<Expected>) -> [Entry; 2] {
    let by = |by: ExpectedBy| match by {
        ExpectedBy::Experiment => "the experiment",
        ExpectedBy::Model => "the model",
    };
    expected.map_or_else(|| ["", ""].map(Entry::from), |e| [Entry::Number(e.value), by(e.by).into()])
}

fn place_name(row: &DotRow) -> &'static str {
    match row.place {
        Some(Place::Best) => "best",
        Some(Place::Tied(_)) => "tied",
        Some(Place::Behind(_)) => "behind",
        None => "",
    }
}

/// A ratio, the ends of its interval and the number of rounds; an empty text in each place where there is none.
pub(crate) fn ratio_entries(ratio: Option<RatioView>) -> [Entry; 4] {
    ratio.map_or_else(
        || ["", "", "", ""].map(Entry::from),
        |r| [Entry::Number(r.ratio), r.low.into(), r.high.into(), Entry::Number(f64::from(r.n))],
    )
}
