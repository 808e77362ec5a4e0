//! Axes: lines at round numbers, their texts, and a title with the unit.

use crate::number::plain;
use crate::scale::Scale;
use crate::svg::{Anchor, Svg, number};

/// The room of an axis below a picture, in pixels.
pub(crate) const BELOW: f64 = 34.0;

/// A horizontal axis below a picture that reaches from `top` to `bottom`, with about `most` ticks.
pub(crate) fn horizontal(
    svg: &mut Svg,
    scale: &Scale,
    (top, bottom): (f64, f64),
    most: usize,
    title: &str,
    shown: impl Fn(f64) -> String,
) {
    svg.marked("axis", &scale_of(scale));
    let ticks: Vec<(f64, f64)> =
        scale.ticks(most).into_iter().map(|tick| (scale.place(tick), tick)).collect();
    svg.path("grid", &uprights(ticks.iter().map(|tick| tick.0), (top, bottom)));
    let texts: Vec<_> = ticks.iter().map(|(x, tick)| ((*x, bottom + 14.0), shown(*tick))).collect();
    svg.texts("tick", Anchor::Middle, &texts);
    let (left, right) = scale.range();
    svg.text("unit", ((left + right) / 2.0, bottom + 29.0), Anchor::Middle, title);
    svg.end();
}

/// A vertical axis at the left of a picture that reaches from `left` to `right`, with about `most` ticks. The title, if
/// there is one, stands above it.
pub(crate) fn vertical(
    svg: &mut Svg,
    scale: &Scale,
    (left, right): (f64, f64),
    most: usize,
    title: &str,
    shown: impl Fn(f64) -> String,
) {
    svg.marked("axis", &scale_of(scale));
    let ticks: Vec<(f64, f64)> =
        scale.ticks(most).into_iter().map(|tick| (scale.place(tick), tick)).collect();
    levels(svg, &ticks, (left, right), shown);
    let (bottom, top) = scale.range();
    if !title.is_empty() {
        svg.text("unit", (left, bottom.min(top) - 8.0), Anchor::Start, title);
    }
    svg.end();
}

/// Horizontal lines at places from the top, each with the text of its value at its left end.
pub(crate) fn levels(
    svg: &mut Svg,
    ticks: &[(f64, f64)],
    (left, right): (f64, f64),
    shown: impl Fn(f64) -> String,
) {
    let line = |(y, _): &(f64, f64)| format!("M{} {}h{}", number(left), number(*y), number(right - left));
    svg.path("grid", &ticks.iter().map(line).collect::<String>());
    let texts: Vec<_> = ticks.iter().map(|(y, tick)| ((left - 6.0, y + 4.0), shown(*tick))).collect();
    svg.texts("tick", Anchor::End, &texts);
}

/// Vertical lines at places from the left, as the data of a path.
pub(crate) fn uprights(places: impl Iterator<Item = f64>, (top, bottom): (f64, f64)) -> String {
    places.map(|x| format!("M{} {}v{}", number(x), number(top), number(bottom - top))).collect()
}

/// The scale in attributes, so that a program can turn the places of marks back into values.
pub(crate) fn scale_of(scale: &Scale) -> Vec<(&'static str, String)> {
    let ends = |(low, high): (f64, f64)| format!("{low} {high}");
    let kind = if scale.is_log() { "log" } else { "linear" };
    vec![("scale", kind.to_owned()), ("domain", ends(scale.domain())), ("range", ends(scale.range()))]
}

/// A tick's number, with commas between thousands.
pub(crate) fn tick(value: f64) -> String {
    if value != 0.0 && value.abs() < 0.01 { plain(value) } else { report::quantity(value, "") }
}

/// An axis title: what it measures and its unit; a logarithmic scale is named.
pub(crate) fn title(what: &str, unit: &str, scale: &Scale) -> String {
    let unit = if unit.is_empty() { String::new() } else { format!(", {unit}") };
    let log = if scale.is_log() { ", log scale" } else { "" };
    format!("{what}{unit}{log}")
}
