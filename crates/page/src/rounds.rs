//! The rounds of a cell in the order of time: the judged figure of each, and below it the course of each trial as stacked tracks on
//! one axis.

use crate::axis;
use crate::envelope::{Bands, Bin, envelope};
use crate::figure::{Entry, Figure, Numbers};
use crate::number::{plain, rounded};
use crate::scale::{Scale, extent};
use crate::svg::{Anchor, Svg, number, width};
use crate::tracks::{self, Drawn, Line};
use crate::trials::{CellTrials, Piece, Round};
use record::finding::Finding;
use record::judged::{CellView, Metric};
use record::latency::LEAST_FOR_P99;
use std::fmt::Write as _;

/// The place of the tracks, in pixels.
const LEFT: f64 = 78.0;
const RIGHT: f64 = 850.0;
/// The height of a track, and of the room above it for its title.
const TRACK: f64 = 52.0;
const TITLE: f64 = 24.0;
/// The room above all tracks for the numbers of the rounds and the letters of findings.
const ABOVE: f64 = 32.0;
/// The narrowest round, and the width of a bin.
const NARROWEST: i32 = 8;
const BIN: i32 = 2;
/// The width of a bin where panels are narrower than [`NARROW`] pixels: a page of many cells with many rounds must stay small.
const COARSE: i32 = 4;
const NARROW: i32 = 60;
/// The most rounds that are drawn.
const MOST: usize = 240;

/// The drawn rounds of a cell.
struct Panels<'a> {
    rounds: &'a [Round],
    /// The width of a round, with the gap behind it, in pixels.
    width: i32,
    gap: i32,
    /// The times at both ends of each round, in seconds.
    time: (f64, f64),
}

impl Panels<'_> {
    /// The left edge of a round.
    fn left(&self, place: usize) -> f64 {
        LEFT + f64::from(self.width) * f64::from(u32::try_from(place).unwrap_or(0))
    }

    /// The width of a bin.
    fn bin(&self) -> i32 {
        if self.width < NARROW { COARSE } else { BIN }
    }

    fn inner(&self) -> i32 {
        (self.width - self.gap).max(self.bin())
    }

    fn bins(&self) -> usize {
        usize::try_from(self.inner() / self.bin()).unwrap_or(1).max(1)
    }

    fn right(&self) -> f64 {
        self.left(self.rounds.len()) - f64::from(self.gap)
    }
}

/// The figure of a cell's rounds; `None` without a trial. `judged` is the metric that the cell is judged by, with its name.
pub(crate) fn rounds(
    name: String,
    cell: &CellView,
    judged: Option<(&str, &Metric)>,
    findings: &[&Finding],
    trials: &CellTrials,
) -> Option<Figure> {
    let panels = panels(trials)?;
    let shown = tracks::known(panels.rounds);
    let count = shown.len() + usize::from(judged.is_some());
    let height = ABOVE + (TRACK + TITLE) * f64::from(u32::try_from(count).unwrap_or(0)) + 12.0;
    let mut svg = Svg::new(panels.right().max(RIGHT) + 10.0, height);
    heads(&mut svg, &panels, findings, height - 12.0);
    let mut top = ABOVE + TITLE;
    if let Some((metric, figure)) = judged {
        values(&mut svg, &panels, cell, (metric, figure), top);
        top += TRACK + TITLE;
    }
    for one in &shown {
        track(&mut svg, &panels, one, top);
        top += TRACK + TITLE;
    }
    Some(Figure {
        name,
        title: "Rounds in the order of time".to_owned(),
        sentence: sentence(
            &panels,
            judged,
            findings.iter().any(|finding| !finding.rounds.is_empty()),
            trials.rounds.len(),
        ),
        svg,
        numbers: numbers(&panels, cell, judged, findings, &shown),
    })
}

fn panels(trials: &CellTrials) -> Option<Panels<'_>> {
    let rounds =
        trials.rounds.get(trials.rounds.len().saturating_sub(MOST)..).filter(|rounds| !rounds.is_empty())?;
    let count = i32::try_from(rounds.len()).unwrap_or(i32::MAX);
    #[expect(clippy::cast_possible_truncation, reason = "a few hundred pixels")]
    let room = (RIGHT - LEFT) as i32;
    let width = (room / count).max(NARROWEST);
    let gap = if width >= 30 { 6 } else { 2 };
    Some(Panels { rounds, width, gap, time: tracks::time(rounds) })
}

/// The rounds' numbers, their ramps, and a mark on each failed trial.
fn heads(svg: &mut Svg, panels: &Panels<'_>, findings: &[&Finding], bottom: f64) {
    let every = usize::try_from(60 / panels.width.max(1)).unwrap_or(0) + 1;
    let (mut ramps, mut ticks, mut marks) = (String::new(), Vec::new(), Vec::new());
    let tall = bottom - ABOVE - 4.0;
    let time = |left: f64| Scale::linear(panels.time, (left, left + f64::from(panels.inner())));
    for (place, round) in panels.rounds.iter().enumerate() {
        let left = panels.left(place);
        let scale = time(left);
        if round.course.begin() < 0.0 {
            let from = scale.place(round.course.begin());
            let [left, middle, wide] = [from, bottom - tall / 2.0, scale.place(0.0) - from].map(number);
            let _ = write!(ramps, "M{left} {middle}h{wide}");
        }
        let middle = left + f64::from(panels.inner()) / 2.0;
        marks.extend(mark(svg, panels, round, findings, middle));
        if place.is_multiple_of(every) {
            let text = if panels.width >= 60 {
                format!("round {}", round.round + 1)
            } else {
                (round.round + 1).to_string()
            };
            ticks.push(((middle, ABOVE - 20.0), text));
        }
    }
    svg.texts("mark", Anchor::Middle, &marks);
    svg.texts("tick", Anchor::Middle, &ticks);
    frames(svg, panels, bottom);
    svg.thick("ramp", tall, &ramps);
}

/// Lines above and below each panel. All panels are equally wide, so two dashed lines are enough.
fn frames(svg: &mut Svg, panels: &Panels<'_>, bottom: f64) {
    let long = number(panels.right() - LEFT);
    let line = |y: f64| format!("M{} {}h{long}", number(LEFT), number(y));
    svg.dashed("panel", (panels.inner(), panels.gap), &(line(ABOVE + 4.0) + &line(bottom)));
}

/// The letters of the findings that a round shows, with their place. A round that failed has a word instead, and a reader who points at
/// it sees why.
fn mark(
    svg: &mut Svg,
    panels: &Panels<'_>,
    round: &Round,
    findings: &[&Finding],
    middle: f64,
) -> Option<((f64, f64), String)> {
    let place = (middle, ABOVE - 5.0);
    // In a narrow panel a letter has no room for others beside it.
    let short = |text: String| if width(&text) <= f64::from(panels.width) { text } else { "+".to_owned() };
    let Some(why) = &round.failed else {
        let letters = letters(round, findings);
        return (!letters.is_empty()).then(|| (place, short(letters)));
    };
    svg.group("finding", &format!("round {} {}: {why}", round.round + 1, round.word));
    svg.text("mark", place, Anchor::Middle, &short(round.word.to_owned()));
    svg.end();
    None
}

fn letters(round: &Round, findings: &[&Finding]) -> String {
    let shown = findings.iter().enumerate().filter(|(_, finding)| finding.rounds.contains(&round.round));
    shown.map(|(place, _)| letter(place)).collect()
}

/// The letter of a cell's finding, by its place among them.
pub(crate) fn letter(place: usize) -> char {
    u8::try_from(place).ok().filter(|place| *place < 26).map_or('*', |place| char::from(b'a' + place))
}

/// The judged figure of each round, with the estimate and its interval over all of them.
fn values(svg: &mut Svg, panels: &Panels<'_>, cell: &CellView, (name, metric): (&str, &Metric), top: f64) {
    let all = metric.values.iter().copied().chain([metric.estimate]).chain(metric.low).chain(metric.high);
    let (low, high) = extent(all).unwrap_or((0.0, 1.0));
    let low = if low < high * 0.6 { 0.0 } else { low };
    let scale = Scale::linear((low, high), (top + TRACK, top)).round(2);
    axis_of(svg, panels, &scale, &format!("{name} of each round"), &metric.unit, top);
    if let (Some(low), Some(high)) = (metric.low, metric.high) {
        svg.rect(
            "band",
            (LEFT, scale.place(high)),
            (panels.right() - LEFT, scale.place(low) - scale.place(high)),
        );
    }
    let y = scale.place(metric.estimate);
    svg.line("estimate", (LEFT, y), (panels.right(), y));
    let places = panels.rounds.iter().enumerate().filter_map(|(place, round)| {
        let x = panels.left(place) + f64::from(panels.inner()) / 2.0;
        Some((x, scale.place(value_of(cell, metric, round)?)))
    });
    svg.dots("values", places);
    let without = panels.rounds.iter().enumerate().filter(|(_, round)| round.failed.is_some());
    let middles = without.map(|(place, _)| panels.left(place) + f64::from(panels.inner()) / 2.0);
    let marks: String = middles.map(|x| struck_out(x, top + TRACK - 4.0)).collect();
    svg.path("bracket", &marks);
}

/// An open mark that is struck out: a trial that has no value.
fn struck_out(x: f64, y: f64) -> String {
    let [left, top, end] = [x - 3.5, y + 5.0, y - 5.0].map(number);
    format!(
        "M{left} {}a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0M{} {top}L{} {end}",
        number(y),
        number(x - 5.0),
        number(x + 5.0)
    )
}

/// The judged value of a round; `None` if the round has none.
fn value_of(cell: &CellView, metric: &Metric, round: &Round) -> Option<f64> {
    if round.failed.is_some() {
        return None;
    }
    let place = cell.rounds.iter().position(|number| *number == round.round)?;
    metric.values.get(place).copied()
}

/// The title, the unit and the scale of a track.
fn axis_of(svg: &mut Svg, panels: &Panels<'_>, scale: &Scale, title: &str, unit: &str, top: f64) {
    let shown = report::unit(scale.domain().1, unit);
    let unit = if shown.unit.is_empty() { String::new() } else { format!(", {}", shown.unit) };
    svg.text("unit", (LEFT, top - 7.0), Anchor::Start, &format!("{title}{unit}"));
    let (low, high) = scale.domain();
    let ticks = [low, high].map(|tick| (scale.place(tick), tick));
    axis::levels(svg, &ticks, (LEFT, panels.right()), |tick| axis::tick(tick / shown.factor));
}

fn track(svg: &mut Svg, panels: &Panels<'_>, track: &Drawn, top: f64) {
    let bins = |(_, line): &(&str, Line)| -> Vec<Vec<Bin>> {
        panels.rounds.iter().map(|round| envelope(line(&round.course), panels.time, panels.bins())).collect()
    };
    let lines: Vec<Vec<Vec<Bin>>> = track.lines.iter().map(bins).collect();
    let highest = extent(lines.iter().flatten().flatten().flatten().map(|bin| bin.1));
    let highest = if track.unit == "1" { 1.0 } else { highest.map_or(1.0, |ends| ends.1) };
    let scale = Scale::linear((0.0, highest), (top + TRACK, top)).round(2);
    axis_of(svg, panels, &scale, track.title, track.unit, top);
    for (line, class) in lines.iter().zip(["track", "track second"]) {
        let mut bands = Bands::default();
        for (place, bins) in line.iter().enumerate() {
            #[expect(clippy::cast_possible_truncation, reason = "a place in a picture")]
            let left = panels.left(place) as i32;
            bands.add(bins, left, panels.bin(), &scale);
        }
        svg.path(class, bands.data());
    }
}

fn sentence(panels: &Panels<'_>, judged: Option<(&str, &Metric)>, findings: bool, all: usize) -> String {
    let band = judged.map_or_else(String::new, |(name, metric)| {
        let percent = report::percent(metric.confidence);
        format!(" Band: {percent} interval of the mean of {name}, over {} trials.", metric.n)
    });
    let (begin, end) = panels.time;
    let bin = (end - begin) / f64::from(u32::try_from(panels.bins()).unwrap_or(1));
    let left_out = if all > panels.rounds.len() {
        format!(" Only the last {} of {all} rounds are drawn.", panels.rounds.len())
    } else {
        String::new()
    };
    let marks = if findings { " Letters: findings that the trial shows, listed below." } else { "" };
    let few = if tracks::have_latencies(panels.rounds) {
        format!(", and for p99 that fewer than {LEAST_FOR_P99} did")
    } else {
        String::new()
    };
    format!(
        "Each panel is one trial of {} s; shaded: the ramp, which doesn't count.{band} Tracks show the lowest and the highest value of \
         the steps in each {} s; a gap means that a counter is missing, or that no I/O completed{few}.{marks}{left_out}",
        plain((end * 100.0).round() / 100.0),
        plain((bin * 100.0).round() / 100.0)
    )
}

/// One row per round: the judged value, and the lowest and the highest rate of each track.
fn numbers(
    panels: &Panels<'_>,
    cell: &CellView,
    judged: Option<(&str, &Metric)>,
    findings: &[&Finding],
    shown: &[&Drawn],
) -> Numbers {
    let lines: Vec<Column> = shown.iter().flat_map(|track| columns_of(track, panels.rounds)).collect();
    let mut columns = vec!["round".to_owned()];
    columns.extend(judged.map(|(name, metric)| format!("{name} ({})", metric.unit)));
    columns.extend(lines.iter().flat_map(|one| [format!("{}: lowest", one.name), "highest".to_owned()]));
    let marked = findings.iter().any(|finding| !finding.rounds.is_empty());
    columns.extend(marked.then(|| "findings".to_owned()));
    let row = |round: &Round| {
        let mut row = vec![Entry::Number(f64::from(round.round) + 1.0)];
        row.extend(judged.map(|(_, metric)| match &round.failed {
            Some(_) => Entry::from(round.word),
            None => value_of(cell, metric, round).into(),
        }));
        row.extend(lines.iter().flat_map(|one| ends((one.line)(&round.course), one.factor)));
        row.extend(marked.then(|| Entry::Text(letters(round, findings))));
        row
    };
    Numbers { columns, rows: panels.rounds.iter().map(row).collect() }
}

/// What the table says of a line of a track: its name, and the unit of its values as a factor.
struct Column {
    name: String,
    line: Line,
    factor: f64,
}

/// The lines of a track. Bytes have the unit that suits the highest rate: with all its digits it would be long.
fn columns_of(track: &Drawn, rounds: &[Round]) -> Vec<Column> {
    let pieces = |line: Line| rounds.iter().flat_map(move |round| line(&round.course));
    let rates = track.lines.iter().flat_map(|(_, line)| pieces(*line)).filter_map(|piece| piece.rate);
    let highest = extent(rates).map_or(0.0, |ends| ends.1);
    let of_bytes = (track.unit == "B/s").then(|| report::unit(highest, track.unit));
    let column = |(name, line): &(&str, Line)| match &of_bytes {
        Some(shown) => Column { name: format!("{name} ({})", shown.unit), line: *line, factor: shown.factor },
        None => Column { name: (*name).to_owned(), line: *line, factor: 1.0 },
    };
    track.lines.iter().map(column).collect()
}

fn ends(pieces: &[Piece], factor: f64) -> [Entry; 2] {
    let found = extent(pieces.iter().filter_map(|piece| piece.rate));
    let entry = |end: Option<f64>| Entry::from(end.map(|rate| rounded(rate / factor)));
    [entry(found.map(|ends| ends.0)), entry(found.map(|ends| ends.1))]
}
