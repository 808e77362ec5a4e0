//! Where the bytes of a cell came from and went to: bars from 0 to 100 %.

use crate::axis;
use crate::figure::{Entry, Figure, Numbers};
use crate::scale::Scale;
use crate::svg::{Anchor, Svg, width};
use record::finding::Served;
use record::judged::CellView;

/// The place of the bars, and the height of one with its gap, in pixels.
const LEFT: f64 = 60.0;
const RIGHT: f64 = 600.0;
const BAR: f64 = 26.0;
const TOP: f64 = 6.0;

/// The sources and destinations: name, share and class of the bar.
fn parts(served: &Served) -> [(&'static str, f64, &'static str); 6] {
    [
        ("device", served.device, "part device"),
        ("page cache", served.page_cache, "part page-cache"),
        ("other cache", served.other_cache, "part other-cache"),
        ("hole", served.hole, "part hole"),
        ("compression", served.other, "part compression"),
        ("unknown", served.unknown, "part unknown"),
    ]
}

/// The figure of a cell; `None` if nothing is known of its bytes.
pub(crate) fn bytes(name: String, cell: &CellView) -> Option<Figure> {
    let sides = [("reads", cell.served_read), ("writes", cell.served_write)];
    let bars: Vec<(&str, Served)> =
        sides.into_iter().filter_map(|(side, served)| Some((side, served?))).collect();
    if bars.is_empty() {
        return None;
    }
    let scale = Scale::linear((0.0, 100.0), (LEFT, RIGHT));
    let bottom = bars.iter().fold(TOP, |bottom, _| bottom + BAR);
    let mut svg = Svg::new(RIGHT + 40.0, bottom + axis::BELOW);
    axis::horizontal(&mut svg, &scale, (TOP, bottom), 5, "share of the bytes, %", axis::tick);
    let mut top = TOP;
    for (side, served) in &bars {
        svg.text("label", (0.0, top + 15.0), Anchor::Start, side);
        bar(&mut svg, served, &scale, top + 2.0);
        top += BAR;
    }
    let mut numbers = Numbers::new(&[
        "direction",
        "device (%)",
        "page cache (%)",
        "other cache (%)",
        "hole (%)",
        "compression (%)",
        "unknown (%)",
    ]);
    numbers.rows = bars.iter().map(|(side, served)| row(side, served)).collect();
    Some(Figure {
        name,
        title: "Where the bytes came from and went to".to_owned(),
        sentence: format!("Mean over {} trials; the bars begin at 0.", cell.trials.done),
        svg,
        numbers,
    })
}

fn bar(svg: &mut Svg, served: &Served, scale: &Scale, top: f64) {
    let mut before = 0.0;
    for (name, share, class) in parts(served).into_iter().filter(|(_, share, _)| *share > 0.0) {
        let (from, to) = (scale.place(before * 100.0), scale.place((before + share) * 100.0));
        svg.group("bar", &format!("{name} {}", report::percent(share)));
        svg.rect(class, (from, top), (to - from, BAR - 6.0));
        if to - from > width(name) + 8.0 {
            svg.text("on-bar", ((from + to) / 2.0, top + 14.0), Anchor::Middle, name);
        }
        svg.end();
        before += share;
    }
}

fn row(side: &str, served: &Served) -> Vec<Entry> {
    let shares = parts(served).map(|(_, share, _)| Entry::Number(share * 100.0));
    std::iter::once(Entry::from(side)).chain(shares).collect()
}
