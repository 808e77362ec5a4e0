//! The view's state as a frame. Pure.

use super::details;
use super::line::{Paint, put};
use super::matrix;
use super::state::{Kind, Load, Message, State};
use crate::progress::fit::cut;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use record::event::MachinesHeard;
use record::finding::Severity;
use record::quantity::{Bytes, Seconds};
use report::{percent, single};
use std::time::Instant;

/// The smallest terminal that the view is made for: columns and rows.
pub(super) const LEAST: (u16, u16) = (40, 12);
/// The columns from which on lines have longer titles.
const NARROW: usize = 60;
/// The most lines of messages.
const MOST_MESSAGES: usize = 8;
/// The rows from which on several changes to undo have a line each, and how many of them.
const HIGH: u16 = 30;
const MOST_CHANGES: usize = 5;

/// Draws a frame into an empty buffer.
pub(super) fn draw(state: &mut State, now: Instant, buffer: &mut Buffer) {
    let area = buffer.area;
    if area.width == 0 || area.height == 0 {
        return;
    }
    if state.is_blank() {
        let width = usize::from(area.width);
        put(buffer, area, 0, &cut(&state.tracker.doing(Some(width)), width), Paint::Plain);
        let text = "The view is blank until this load ends. Ctrl-C stops the run.";
        put(buffer, area, 1, &cut(text, width), Paint::Faint);
        return;
    }
    let head = head(state, now, usize::from(area.width), area.height >= 16);
    let changes = if area.height >= HIGH { MOST_CHANGES } else { 1 };
    let mut foot: Vec<(String, Paint)> =
        safety(state, changes).into_iter().map(|text| (text, Paint::Plain)).collect();
    foot.push(keys(state, usize::from(area.width)));
    let taken = head.len() + foot.len();
    let middle = usize::from(area.height).saturating_sub(taken);
    for (row, (text, paint)) in (0..).zip(&head) {
        put(buffer, area, row, text, *paint);
    }
    let top = u16::try_from(head.len()).unwrap_or(u16::MAX);
    let height = u16::try_from(middle).unwrap_or(u16::MAX);
    let inner = Rect { y: area.y.saturating_add(top), height, ..area }.intersection(area);
    match state.details {
        Some(_) => details::draw(state, inner, buffer),
        None => body(state, inner, buffer),
    }
    let bottom = area.height.saturating_sub(u16::try_from(foot.len()).unwrap_or(u16::MAX));
    for (row, (text, paint)) in (bottom..area.height).zip(&foot) {
        put(buffer, area, row, &cut(text, usize::from(area.width)), *paint);
    }
}

/// The matrix, and the latest messages below it.
fn body(state: &mut State, area: Rect, buffer: &mut Buffer) {
    let height = usize::from(area.height);
    let most = (height / 4).clamp(1, MOST_MESSAGES);
    // The header, and a row for each cell.
    let wanted = state.cells.len() + 1;
    let messages = height.saturating_sub(wanted).clamp(most, MOST_MESSAGES).min(state.messages.len());
    let split = u16::try_from(height.saturating_sub(messages)).unwrap_or(u16::MAX);
    matrix::draw(state, Rect { height: split, ..area }, buffer);
    let first = state.messages.len() - messages;
    for (row, message) in (split..area.height).zip(&state.messages[first..]) {
        let (text, paint) = painted(message);
        put(buffer, area, row, &cut(&text, usize::from(area.width)), paint);
    }
}

/// A message in one line.
fn painted(message: &Message) -> (String, Paint) {
    let text = message.text.replace('\n', " ");
    match message.kind {
        Kind::Finding(Severity::Void) => (format!("void: {text}"), Paint::Bad),
        Kind::Finding(Severity::Caveat) => (format!("caveat: {text}"), Paint::Doubtful),
        Kind::Finding(Severity::Note) => (format!("note: {text}"), Paint::Plain),
        Kind::Warning => (format!("warning: {text}"), Paint::Doubtful),
        Kind::News => (text, Paint::Plain),
    }
}

fn head(state: &State, now: Instant, width: usize, is_high: bool) -> Vec<(String, Paint)> {
    let (finished, total) = state.tracker.count();
    let most = if state.tracker.stops_when_enough() { "at most " } else { "" };
    let run = state.run.as_ref().map(|run| format!("  run {run}")).unwrap_or_default();
    let trials = format!("{finished} of {most}{total} trials");
    let title = format!("{}{run}", state.plan.experiment);
    let room = width.saturating_sub(trials.chars().count() + 2);
    let title = cut(&title, room);
    let gap = width.saturating_sub(title.chars().count() + trials.chars().count());
    let mut lines = vec![
        (format!("{title}{:gap$}{trials}", ""), Paint::Strong),
        (state.tracker.doing(Some(width)), Paint::Active),
    ];
    lines.extend(load(state, width, is_high).into_iter().map(|text| (text, Paint::Plain)));
    lines.push((fitting(&times(state, now), ", ", width), Paint::Plain));
    let budgets = budgets(state, now);
    if !budgets.is_empty() {
        lines.push((fitting(&budgets, "; ", width), Paint::Plain));
    }
    let standing = state.tracker.standing(Some(width)).filter(|_| is_high);
    lines.extend(standing.map(|text| (cut(&text, width).into_owned(), Paint::Plain)));
    lines
}

/// The load that runs now, or the last result of the current cell: two lines, or one where there is little room. Of loads on several
/// machines, their sum.
fn load(state: &State, width: usize, is_high: bool) -> Vec<String> {
    let mut lines = match state.loads().as_slice() {
        [] => vec![before(state)],
        [load] if is_high => vec![own_load(load, width), at_devices(load)],
        [load] if load.own_iops.is_some() => vec![own_load(load, width)],
        [load] => vec![at_devices(load)],
        several => vec![of_machines(several)],
    };
    // The lines below don't move when a load begins.
    lines.resize(if is_high { 2 } else { 1 }, String::new());
    lines.into_iter().map(|line| cut(&line, width).into_owned()).collect()
}

/// The last result of the current cell.
fn before(state: &State) -> String {
    let cell = state.current.and_then(|place| state.cells.get(place));
    let last = cell.and_then(|cell| Some((cell, cell.trials.last()?)));
    last.map_or_else(String::new, |(cell, trial)| format!("  before: {}", cell.trial_in_words(trial)))
}

/// What the devices below the loads of several machines do now.
fn of_machines(loads: &[Load]) -> String {
    let sum = |of: fn(&Load) -> Option<f64>| loads.iter().map(of).sum::<Option<f64>>();
    let (iops, rate) = (sum(|load| load.iops), sum(|load| load.bytes_per_second));
    let machines: u32 = loads.iter().map(|load| load.machines.map_or(1, |machines| machines.of)).sum();
    format!("  at the devices of {machines} machines now: {}", rates(iops, rate))
}

/// Rates of devices; unknown where none is known below a load.
fn rates(iops: Option<f64>, bytes_per_second: Option<f64>) -> String {
    match iops.zip(bytes_per_second) {
        Some((iops, bytes)) => format!("{}, {}", single(iops, "1/s"), single(bytes, "B/s")),
        None => "unknown".to_owned(),
    }
}

/// What the load itself does now. What its engine doesn't tell is unknown.
fn own_load(load: &Load, width: usize) -> String {
    let unknown = || "-".to_owned();
    let iops = load.own_iops.map_or_else(|| "- IOPS".to_owned(), |iops| single(iops, "1/s"));
    let title = if width < NARROW { "  " } else { "  the load now: " };
    let p99 = load.own_p99_ms.map_or_else(unknown, |ms| single(ms * 1e3, "us"));
    let share = load.device_share.map_or_else(unknown, percent);
    let mut parts = vec![format!("{title}{iops}")];
    match load.machines {
        // Percentiles and shares of several machines have no sum.
        Some(MachinesHeard { heard, of }) => parts.push(format!("{heard} of {of} machines heard")),
        None => parts.extend([format!("p99 {p99}"), format!("device {share}")]),
    }
    fitting(&parts, ", ", width)
}

/// What the devices directly below the load do now.
fn at_devices(load: &Load) -> String {
    let wait = load.wait_ms.map(|ms| format!(", {} per I/O", single(ms * 1e3, "us"))).unwrap_or_default();
    format!("  at the devices now: {}{wait}", rates(load.iops, load.bytes_per_second))
}

fn times(state: &State, now: Instant) -> Vec<String> {
    let whole = Seconds(now.duration_since(state.begun).as_secs_f64().floor());
    let left = state.tracker.left(now).map(|left| format!("about {left} left"));
    left.into_iter().chain([format!("{whole} so far")]).collect()
}

/// What is left of each budget.
fn budgets(state: &State, now: Instant) -> Vec<String> {
    let measure = &state.plan.measure;
    let Some((spent, at)) = &state.spent else { return Vec::new() };
    let seconds = spent.seconds + now.duration_since(*at).as_secs_f64();
    let time = measure.max_seconds.map(|most| {
        format!("time: {} of {} left", Seconds((most - seconds).max(0.0).floor()), Seconds(most))
    });
    let bytes = measure.max_written_bytes.map(|most| {
        let left = most.saturating_sub(whole(spent.written_bytes));
        format!("writes: {} of {} left", Bytes(left), Bytes(most))
    });
    let currency = state.plan.prices.currency.as_deref().map(|c| format!(" {c}")).unwrap_or_default();
    let money = spent.cost.map(|cost| match measure.max_cost {
        Some(most) => format!("money: {:.2} of {most:.2}{currency} left", (most - cost).max(0.0)),
        None => format!("money: {cost:.2}{currency} so far"),
    });
    [time, bytes, money].into_iter().flatten().collect()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of bytes")]
fn whole(bytes: f64) -> u64 {
    bytes as u64
}

/// What an undo would take back, in its order and in so many lines.
fn safety(state: &State, lines: usize) -> Vec<String> {
    let all: Vec<&String> = state.changes.values().flatten().rev().collect();
    match &all[..] {
        [] if state.changes.is_empty() => vec!["nothing is built yet".to_owned()],
        [] => vec!["nothing to undo".to_owned()],
        [only] => vec![format!("to undo: {only}")],
        [first, ..] if lines == 1 => vec![format!("to undo: {} changes, first: {first}", all.len())],
        _ => {
            let each = all.iter().take(lines).map(|change| format!("  {change}"));
            let title = format!("to undo: {} changes, in this order:", all.len());
            std::iter::once(title).chain(each).collect()
        }
    }
}

fn keys(state: &State, width: usize) -> (String, Paint) {
    if state.asks_to_skip {
        let name = state.cells.get(state.selected).map_or("", |cell| cell.name.as_str());
        return (format!("s again: no more trials of {name}; other keys: go on"), Paint::Doubtful);
    }
    if state.stops {
        return ("stopping; what was built is being undone".to_owned(), Paint::Doubtful);
    }
    let end = match (state.ends_after_round, width) {
        (false, ..60) => "e end",
        (true, ..60) => "e don't end",
        (false, _) => "e end after round",
        (true, _) => "e don't end after this round",
    };
    let details = if state.details.is_some() { "d back" } else { "d details" };
    (format!("s skip  {end}  {details}  q stop  ↑↓ choose"), Paint::Faint)
}

/// As many of the parts as fit, in their order.
fn fitting(parts: &[String], between: &str, width: usize) -> String {
    let mut text = String::new();
    for part in parts {
        let room = width.saturating_sub(text.chars().count() + between.len());
        if text.is_empty() {
            text = cut(part, width).into_owned();
        } else if part.chars().count() <= room {
            text = format!("{text}{between}{part}");
        }
    }
    text
}
