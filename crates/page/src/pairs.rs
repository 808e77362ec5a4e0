//! All comparisons behind an answer: ratios with their intervals one below the other for a few cells, a matrix for more.

use crate::figure::{Entry, Figure, Numbers};
use crate::ratios::{self, Compared};
use crate::svg::{Anchor, Svg, fitted, width};
use record::id::CellId;
use record::judged::{ComparisonView, Relation};
use record::quantity::ratios as shown;
use std::collections::BTreeMap;

/// The most cells whose pairs are drawn.
pub const MOST_PAIRED: usize = 20;
/// The most pairs that are drawn one below the other.
const ROWS: usize = 28;
/// The widest label of the matrix, its right end, the height of a row, and the room above the rows, in pixels.
const LABEL: f64 = 230.0;
const RIGHT: f64 = 860.0;
const ROW: f64 = 24.0;
const ABOVE: f64 = 20.0;
const WIDEST: f64 = 56.0;

/// All comparisons behind an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Pairs {
    /// The workload of the answer.
    pub workload: String,
    /// Its metric.
    pub metric: String,
    /// Each pair of its cells, the better one over the other, in the order of the estimates.
    pub comparisons: Vec<ComparisonView>,
}

impl Pairs {
    /// The cell with the best estimate.
    pub(crate) fn best(&self) -> Option<&CellId> {
        self.comparisons.first().map(|pair| &pair.a)
    }

    /// The cells, the best estimate first.
    fn cells(&self) -> Vec<&CellId> {
        let first = self.best();
        let others = self.comparisons.iter().filter(|pair| Some(&pair.a) == first).map(|pair| &pair.b);
        first.into_iter().chain(others).collect()
    }
}

/// The figure of pairs, by their place in the run from 1; `None` for very many cells, and for two, whose one ratio the dot plot shows.
pub(crate) fn of_pairs(place: usize, pairs: &Pairs, names: &BTreeMap<CellId, String>) -> Option<Figure> {
    let cells = pairs.cells();
    let drawn = (3..=MOST_PAIRED).contains(&cells.len());
    if drawn { figure(format!("pairs-{place}"), pairs, &cells, names) } else { None }
}

fn figure(
    name: String,
    pairs: &Pairs,
    cells: &[&CellId],
    names: &BTreeMap<CellId, String>,
) -> Option<Figure> {
    let row = |pair: &ComparisonView| Compared {
        label: format!("{} / {}", named(&pair.a, names), named(&pair.b, names)),
        metric: pair.metric.clone(),
        ratio: pair.ratio,
        they: ratios::relation(pair.relation),
        is_tied: pair.relation == Relation::NotApart,
    };
    let rows: Vec<Compared> = pairs.comparisons.iter().map(row).collect();
    let confidence = rows.iter().find_map(|row| row.ratio).map_or(0.95, |ratio| ratio.confidence);
    let few = rows.len() <= ROWS;
    let (svg, marks) = if few {
        (ratios::drawn(&rows)?, "Lines: the interval of each ratio; at 1 both are equal.")
    } else {
        let labels: Vec<&str> = cells.iter().map(|cell| named(cell, names)).collect();
        let marks = "Each field is the ratio of its row's cell to its column's; shaded fields differ. The table has the intervals.";
        (matrix(pairs, cells, &labels), marks)
    };
    Some(Figure {
        name,
        title: format!("All pairs: {} of {}", pairs.metric, pairs.workload),
        sentence: format!(
            "{marks} Each interval holds with {} by itself, paired within rounds. Whether two cells differ takes all {} comparisons \
             together (Holm); ≈ means that no difference is shown.",
            report::percent(confidence),
            rows.len()
        ),
        svg,
        // A field of the matrix has its words itself.
        numbers: if few { in_words(pairs, &rows) } else { ratios::numbers(&rows) },
    })
}

fn named<'a>(cell: &'a CellId, names: &'a BTreeMap<CellId, String>) -> &'a str {
    names.get(cell).map_or(cell.0.as_str(), String::as_str)
}

/// A matrix of ratios: the better cell is the row's.
fn matrix(pairs: &Pairs, cells: &[&CellId], labels: &[&str]) -> Svg {
    let label = labels.iter().map(|label| width(label)).fold(0.0, f64::max).min(LABEL) + 28.0;
    let wide = ((RIGHT - label) / f64::from(u32::try_from(cells.len()).unwrap_or(1))).min(WIDEST);
    let left = |place: usize| label + wide * float(place);
    let top = |place: usize| ABOVE + ROW * float(place);
    let mut svg = Svg::new(left(cells.len()) + 2.0, top(cells.len()) + 2.0);
    let number = |place: usize| (place + 1).to_string();
    let heads: Vec<_> =
        (0..cells.len()).map(|at| ((left(at) + wide / 2.0, ABOVE - 6.0), number(at))).collect();
    svg.texts("tick", Anchor::Middle, &heads);
    for (place, name) in labels.iter().enumerate() {
        let text = format!("{} {name}", number(place));
        svg.text("label", (0.0, top(place) + 16.0), Anchor::Start, &fitted(&text, label - 6.0));
    }
    let places: BTreeMap<&CellId, usize> = cells.iter().copied().zip(0..).collect();
    for pair in &pairs.comparisons {
        let (Some(row), Some(column)) = (places.get(&pair.a), places.get(&pair.b)) else { continue };
        let differ = pair.relation == Relation::Apart;
        let class = if differ { "pair apart" } else { "pair" };
        svg.group(class, &pair.text);
        svg.rect("field", (left(*column) + 1.0, top(*row) + 1.0), (wide - 2.0, ROW - 2.0));
        let text = pair.ratio.map_or_else(|| "?".to_owned(), |ratio| shown([ratio.ratio])[0].clone());
        let text = if differ { text } else { format!("≈{text}") };
        if width(&text) * 0.92 <= wide {
            svg.text("tick", (left(*column) + wide / 2.0, top(*row) + 16.0), Anchor::Middle, &text);
        }
        svg.end();
    }
    svg
}

fn float(place: usize) -> f64 {
    f64::from(u32::try_from(place).unwrap_or(u32::MAX))
}

/// The table of the ratios, with each comparison in words.
fn in_words(pairs: &Pairs, rows: &[Compared]) -> Numbers {
    let mut numbers = ratios::numbers(rows);
    numbers.columns.push("in words".to_owned());
    for (row, pair) in numbers.rows.iter_mut().zip(&pairs.comparisons) {
        row.push(Entry::from(pair.text.as_str()));
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::{Pairs, of_pairs};
    use record::id::CellId;
    use record::judged::{ComparisonView, RatioView, Relation};
    use std::collections::BTreeMap;

    fn of(cells: u32) -> Pairs {
        let id = |at: u32| CellId(format!("c{at}"));
        let pair = |a: u32, b: u32| ComparisonView {
            a: id(a),
            b: id(b),
            metric: "iops".to_owned(),
            ratio: Some(RatioView {
                ratio: 1.0 + f64::from(b - a) / 10.0,
                low: None,
                high: None,
                confidence: 0.95,
                n: 4,
            }),
            relation: if b - a > 1 { Relation::Apart } else { Relation::NotApart },
            excluded_difference: None,
            text: format!("c{a} over c{b}"),
        };
        let comparisons = (0..cells).flat_map(|a| (a + 1..cells).map(move |b| pair(a, b))).collect();
        Pairs { workload: "w".to_owned(), metric: "iops".to_owned(), comparisons }
    }

    #[test]
    fn many_cells_are_a_matrix_with_each_pair_in_its_row_and_column() {
        let names: BTreeMap<CellId, String> =
            (0..10).map(|at| (CellId(format!("c{at}")), format!("cell {at}"))).collect();
        let figure = of_pairs(1, &of(10), &names).unwrap();
        let svg = figure.svg.file("", "");
        let tree = roxmltree::Document::parse(&svg).unwrap();
        let of_class =
            |class: &str| tree.descendants().filter(|n| n.attribute("class") == Some(class)).count();
        assert_eq!((of_class("pair"), of_class("pair apart")), (9, 36));
        let place = |title: &str| {
            let node = tree.descendants().find(|n| n.text() == Some(title)).unwrap();
            let field = node.parent().unwrap().descendants().find(|n| n.tag_name().name() == "rect").unwrap();
            (field.attribute("x").unwrap().to_owned(), field.attribute("y").unwrap().to_owned())
        };
        assert_eq!(place("c2 over c5").0, place("c0 over c5").0);
        assert_eq!(place("c2 over c5").1, place("c2 over c9").1);
        assert!(svg.contains(">≈1.10<") && svg.contains(">1.90<"), "{svg}");
        assert_eq!(figure.numbers.rows.len(), 45);
    }

    #[test]
    fn two_cells_and_very_many_have_no_picture() {
        let drawn = |cells| of_pairs(1, &of(cells), &BTreeMap::new()).is_some();
        assert_eq!([2, 3, 20, 21].map(drawn), [false, true, true, false]);
    }
}
