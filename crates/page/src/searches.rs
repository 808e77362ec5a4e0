//! The levels that a search tried: the limited latency of each, and the limit.

use crate::axis;
use crate::figure::{Entry, Figure, Numbers};
use crate::scale::{Scale, extent};
use crate::svg::{Anchor, Svg};
use record::find::FindLimit;
use record::id::CellId;
use record::judged::{RunView, SearchView, TriedView};
use record::metric::info;
use std::collections::BTreeMap;

/// The place of the picture, in pixels.
const LEFT: f64 = 66.0;
const RIGHT: f64 = 600.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = 220.0;

/// A search and one of its limits, with the place of their figure in the run, from 1.
pub(crate) type Limited<'a> = (usize, &'a SearchView, &'a FindLimit);

/// All limits of all searches.
pub(crate) fn limits(view: &RunView) -> Vec<Limited<'_>> {
    let tried = view.searches.iter().filter(|search| !search.tried.is_empty());
    let limits = tried.flat_map(|search| search.limits.iter().map(move |limit| (search, limit)));
    limits.zip(1..).map(|((search, limit), place)| (place, search, limit)).collect()
}

/// The figure of a limit.
pub(crate) fn of_limit(limited: &Limited<'_>, names: &BTreeMap<CellId, String>) -> Option<Figure> {
    let (place, search, limit) = limited;
    let cell = names.get(&search.cell).map_or(search.cell.0.as_str(), String::as_str);
    figure(format!("search-{place}"), cell, search, limit)
}

#[expect(clippy::cast_precision_loss, reason = "levels are far below 2^52")]
fn figure(name: String, cell: &str, search: &SearchView, limit: &FindLimit) -> Option<Figure> {
    let value = |tried: &TriedView| tried.limited.get(&limit.of).copied().filter(|value| *value > 0.0);
    let (from, to) = extent(search.tried.iter().map(|tried| tried.level as f64))?;
    let (low, high) = extent(search.tried.iter().filter_map(value).chain([limit.at_most]))?;
    let x = Scale::log((from, to), (LEFT, RIGHT)).round(6);
    let y = Scale::log((low, high), (BOTTOM, TOP)).round(5);
    let unit = report::unit(high, info(&limit.of).map_or("", |metric| metric.unit));
    let mut svg = Svg::new(RIGHT + 60.0, BOTTOM + axis::BELOW);
    if let Some(level) = search.level.filter(|level| level.low > 0.0) {
        let (left, right) = (x.place(level.low).max(LEFT), x.place(level.high).min(RIGHT));
        svg.rect("band", (left, TOP), (right - left, BOTTOM - TOP));
    }
    axis::vertical(&mut svg, &y, (LEFT, RIGHT), 5, &axis::title(&limit.of, unit.unit, &y), |tick| {
        axis::tick(tick / unit.factor)
    });
    let title = axis::title(search.by.name(), "", &x);
    axis::horizontal(&mut svg, &x, (TOP, BOTTOM), 6, &title, axis::tick);
    let at = y.place(limit.at_most);
    svg.line("one", (LEFT, at), (RIGHT, at));
    svg.text("mark", (RIGHT + 4.0, at + 4.0), Anchor::Start, &limit.written);
    for tried in &search.tried {
        if let Some(value) = value(tried) {
            point(&mut svg, tried, (x.place(tried.level as f64), y.place(value)));
        }
    }
    Some(Figure {
        name,
        title: format!("Tried: {cell}"),
        sentence: format!(
            "{}. Circles keep the limit, crosses break it; the line is the limit. Band: {} interval of the level at the limit, over {} \
             trials near it.",
            search.text,
            report::percent(search.confidence),
            search.n
        ),
        svg,
        numbers: numbers(search, limit),
    })
}

fn point(svg: &mut Svg, tried: &TriedView, (x, y): (f64, f64)) {
    svg.group("row", &format!("trial {}", tried.round + 1));
    if tried.kept == Some(false) {
        svg.line("cross", (x - 4.0, y - 4.0), (x + 4.0, y + 4.0));
        svg.line("cross", (x - 4.0, y + 4.0), (x + 4.0, y - 4.0));
    } else {
        svg.circle(if tried.kept.is_some() { "mean" } else { "mean unsure" }, (x, y), 4.0);
    }
    svg.end();
}

#[expect(clippy::cast_precision_loss, reason = "levels are far below 2^52")]
fn numbers(search: &SearchView, limit: &FindLimit) -> Numbers {
    let mut numbers = Numbers::new(&["trial", search.by.name(), &search.most, &limit.of, "limit", "why"]);
    let row = |tried: &TriedView| {
        let kept = match tried.kept {
            Some(true) => "kept",
            Some(false) => "broken",
            None => "too few I/Os to say",
        };
        vec![
            Entry::Number(f64::from(tried.round) + 1.0),
            Entry::Number(tried.level as f64),
            tried.value.into(),
            tried.limited.get(&limit.of).copied().into(),
            kept.into(),
            tried.why.words().into(),
        ]
    };
    numbers.rows = search.tried.iter().map(row).collect();
    numbers
}
