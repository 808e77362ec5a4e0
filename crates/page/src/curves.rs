//! The latencies of a cell by percentile: a thin line per trial.

use crate::axis;
use crate::figure::{Entry, Figure, Numbers};
use crate::number::plain;
use crate::scale::{Scale, extent};
use crate::svg::{Anchor, Svg, through};
use crate::trials::{CellTrials, Curve, LEAST_BEYOND};

/// The place of the picture, in pixels.
const LEFT: f64 = 66.0;
const RIGHT: f64 = 600.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = 230.0;
/// The percentiles of the table: 1/(1-p) and the title.
const SHOWN: [(f64, &str); 6] =
    [(2.0, "p50"), (10.0, "p90"), (100.0, "p99"), (1e3, "p99.9"), (1e4, "p99.99"), (1e5, "p99.999")];

/// A figure for each kind of request that has latencies. `name` is the beginning of their names.
pub(crate) fn curves(name: &str, trials: &CellTrials) -> Vec<Figure> {
    let kinds = ["read", "write", "trim", "sync", "durable"];
    kinds.into_iter().filter_map(|kind| of_kind(name, kind, trials)).collect()
}

fn of_kind(name: &str, kind: &'static str, trials: &CellTrials) -> Option<Figure> {
    let measured = trials.rounds.iter().filter(|round| round.failed.is_none());
    let of = |curves: &'_ [(&'static str, Curve)]| curves.iter().position(|(of, _)| *of == kind);
    let lines: Vec<(u32, &Curve)> =
        measured.filter_map(|round| Some((round.round, &round.curves.get(of(&round.curves)?)?.1))).collect();
    let points = || lines.iter().flat_map(|(_, curve)| curve.iter());
    let (low, high) = extent(points().map(|point| point.1).filter(|us| *us > 0.0))?;
    let (_, last) = extent(points().map(|point| point.0))?;
    let x = across(last.max(10.0));
    let y = Scale::log((low, high), (BOTTOM, TOP)).round(5);
    let mut svg = Svg::new(RIGHT + 40.0, BOTTOM + axis::BELOW);
    let unit = report::unit(high, "us");
    let title = axis::title(&format!("{kind} latency"), unit.unit, &y);
    axis::vertical(&mut svg, &y, x.range(), 5, &title, |tick| axis::tick(tick / unit.factor));
    percentiles(&mut svg, &x);
    let line =
        |(_, curve): &(u32, &Curve)| through(curve.iter().map(|(at, us)| (x.place(*at), y.place(*us))));
    svg.path("thin", &lines.iter().map(line).collect::<String>());
    Some(Figure {
        name: format!("{name}-{kind}"),
        title: format!("Latency of each {kind}, by percentile"),
        sentence: format!(
            "One thin line for each of {} trials; it ends where fewer than {LEAST_BEYOND} samples lie beyond. Percentiles of several \
             trials are not averaged.",
            lines.len()
        ),
        svg,
        numbers: numbers(&lines),
    })
}

/// The scale of 1/(1-p), up to one of its places. There are four in each power of ten; so that each but the median stands at a whole
/// pixel, which makes a page smaller, the picture may be some pixels narrower than its room.
fn across(last: f64) -> Scale {
    let places = (last.log10() * 4.0).round().max(1.0);
    let right = LEFT + places * ((RIGHT - LEFT) / places).floor();
    Scale::log((1.0, last), (LEFT, right))
}

/// The axis of percentiles, over 1/(1-p).
fn percentiles(svg: &mut Svg, x: &Scale) {
    svg.marked("axis", &axis::scale_of(x));
    let shown: Vec<(f64, &str)> =
        SHOWN.into_iter().filter(|(at, _)| x.holds(*at)).map(|(at, title)| (x.place(at), title)).collect();
    svg.path("grid", &axis::uprights(shown.iter().map(|tick| tick.0), (TOP, BOTTOM)));
    let texts: Vec<_> =
        shown.iter().map(|(place, title)| ((*place, BOTTOM + 14.0), (*title).to_owned())).collect();
    svg.texts("tick", Anchor::Middle, &texts);
    svg.text(
        "unit",
        ((x.range().0 + x.range().1) / 2.0, BOTTOM + 29.0),
        Anchor::Middle,
        "percentile, over 1/(1-p), log scale",
    );
    svg.end();
}

fn numbers(lines: &[(u32, &Curve)]) -> Numbers {
    let last =
        extent(lines.iter().flat_map(|(_, curve)| curve.last()).map(|point| point.0)).map_or(0.0, |e| e.1);
    let shown = || SHOWN.into_iter().filter(move |(at, _)| *at <= last);
    let mut columns = vec!["round".to_owned()];
    columns.extend(shown().map(|(_, title)| format!("{title} (us)")));
    let row = |(round, curve): &(u32, &Curve)| {
        let value = |at: f64| curve.iter().find(|point| plain(point.0) == plain(at)).map(|point| point.1);
        let mut row = vec![Entry::Number(f64::from(*round) + 1.0)];
        row.extend(shown().map(|(at, _)| Entry::from(value(at))));
        row
    };
    Numbers { columns, rows: lines.iter().map(row).collect() }
}
