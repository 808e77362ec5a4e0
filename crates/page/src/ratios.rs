//! Ratios with their intervals, one row each: the contrasts of the experiment, and the levels of its factors.

use crate::axis;
use crate::dots::ratio_entries;
use crate::figure::{Entry, Figure, Numbers};
use crate::scale::{Scale, extent};
use crate::svg::{Anchor, Svg, fitted, width};
use record::judged::{LevelView, RatioView, Relation, RunView};
use record::quantity::ratios as shown;
use report::{RatioPlot, RatioRow};

/// The widest label, the right end of the scale, the height of a row, and the room above the rows, in pixels.
const LABEL: f64 = 420.0;
const RIGHT: f64 = 680.0;
const ROW: f64 = 22.0;
const ABOVE: f64 = 10.0;

/// A row: what is compared, by which metric, the ratio, and what follows for the two.
pub(crate) struct Compared {
    pub(crate) label: String,
    pub(crate) metric: String,
    pub(crate) ratio: Option<RatioView>,
    pub(crate) they: String,
    /// Whether no difference is shown.
    pub(crate) is_tied: bool,
}

/// The figure of all ratios of a run; `None` if there are none.
pub(crate) fn ratios(view: &RunView) -> Option<Figure> {
    let rows = rows(view);
    let marks = "paired within rounds; at 1 both are equal; ≈ means that no difference is shown";
    figure("Ratios", marks, &rows)
}

/// The figure of a comparison.
pub(crate) fn compared(plot: &RatioPlot) -> Option<Figure> {
    let row = |row: &RatioRow| Compared {
        label: row.label.clone(),
        metric: row.metric.clone(),
        ratio: Some(row.ratio),
        they: row.said.clone(),
        is_tied: false,
    };
    let marks = if plot.is_paired {
        "paired within rounds; at 1 both are equal"
    } else {
        "unpaired; at 1 both are equal"
    };
    figure(plot.of, marks, &plot.rows.iter().map(row).collect::<Vec<_>>())
}

fn figure(title: &str, marks: &str, rows: &[Compared]) -> Option<Figure> {
    let confidence = rows.iter().find_map(|row| row.ratio).map_or(0.95, |ratio| ratio.confidence);
    Some(Figure {
        name: "ratios".to_owned(),
        title: title.to_owned(),
        sentence: format!(
            "Lines: {} interval of the ratio of geometric means, {marks}.",
            report::percent(confidence)
        ),
        svg: drawn(rows)?,
        numbers: numbers(rows),
    })
}

/// Ratios with their intervals, one row each; `None` without a ratio.
pub(crate) fn drawn(rows: &[Compared]) -> Option<Svg> {
    let known = || rows.iter().filter_map(|row| row.ratio);
    known().next()?;
    let all = known().flat_map(|r| [Some(r.ratio), r.low, r.high]).flatten().chain([1.0]);
    let (low, high) = extent(all)?;
    let label = rows.iter().map(|row| width(&row.label)).fold(0.0, f64::max).min(LABEL);
    let range = (label + 16.0, RIGHT);
    let margin = (high - low) * 0.05;
    let scale = match low > 0.0 && high / low > 10.0 {
        true => Scale::log((low, high), range).round(5),
        false => Scale::linear((low - margin, high + margin), range),
    };
    let bottom = rows.iter().fold(ABOVE, |bottom, _| bottom + ROW);
    let mut svg = Svg::new(RIGHT + 180.0, bottom + axis::BELOW);
    axis::horizontal(&mut svg, &scale, (ABOVE, bottom), 5, &axis::title("ratio", "", &scale), axis::tick);
    svg.line("one", (scale.place(1.0), ABOVE), (scale.place(1.0), bottom));
    let mut y = ABOVE + ROW / 2.0;
    for row in rows {
        self::row(&mut svg, row, &scale, y);
        y += ROW;
    }
    Some(svg)
}

fn rows(view: &RunView) -> Vec<Compared> {
    let contrasts = view.contrasts.iter().map(|contrast| Compared {
        label: contrast.name.clone(),
        metric: contrast.metric.clone(),
        ratio: contrast.ratio,
        they: relation(contrast.relation),
        is_tied: contrast.relation == Relation::NotApart,
    });
    let effects = view.effects.iter().flat_map(|effect| {
        let of = |(other, level): (Option<&str>, &LevelView)| {
            let at = other
                .zip(level.at.as_ref())
                .map(|(other, at)| format!(" at {other} {at}"))
                .unwrap_or_default();
            Compared {
                label: format!("{}: {} / {}{at}", effect.factor, level.a, level.b),
                metric: effect.metric.clone(),
                ratio: level.ratio,
                they: relation(level.relation),
                is_tied: level.relation == Relation::NotApart,
            }
        };
        let depends = effect
            .depends_on
            .iter()
            .flat_map(|by| by.at.iter().map(|level| (Some(by.factor.as_str()), level)));
        effect.comparisons.iter().map(|level| (None, level)).chain(depends).map(of).collect::<Vec<_>>()
    });
    contrasts.chain(effects).collect()
}

fn row(svg: &mut Svg, row: &Compared, scale: &Scale, y: f64) {
    svg.group("row", &row.label);
    svg.text("label", (0.0, y + 4.0), Anchor::Start, &fitted(&row.label, LABEL));
    let mut said = "?".to_owned();
    if let Some(ratio) = row.ratio {
        said = format!("{}x ± ?", shown([ratio.ratio])[0]);
        if let (Some(low), Some(high)) = (ratio.low, ratio.high) {
            svg.line("interval", (scale.place(low), y), (scale.place(high), y));
            let [ratio, low, high] = shown([ratio.ratio, low, high]);
            said = format!("{ratio}x ({low} to {high})");
        }
        svg.circle("mean ratio", (scale.place(ratio.ratio), y), 3.5);
    }
    if row.is_tied {
        said.insert_str(0, "≈ ");
    }
    svg.text("said", (RIGHT + 10.0, y + 4.0), Anchor::Start, &said);
    svg.end();
}

/// What follows for two cells.
pub(crate) fn relation(relation: Relation) -> String {
    let words = match relation {
        Relation::Apart => "differ",
        Relation::NotApart => "aren't shown to differ",
        Relation::Nothing => "can't be compared",
    };
    words.to_owned()
}

/// The same numbers as a table.
pub(crate) fn numbers(rows: &[Compared]) -> Numbers {
    let mut numbers = Numbers::new(&["compared", "metric", "ratio", "low", "high", "rounds", "they"]);
    let row = |row: &Compared| {
        let mut entries = vec![Entry::Text(row.label.clone()), Entry::Text(row.metric.clone())];
        entries.extend(ratio_entries(row.ratio));
        entries.push(row.they.as_str().into());
        entries
    };
    numbers.rows = rows.iter().map(row).collect();
    numbers
}
