//! The page as a whole: its figures equal those of the JSON export, its marks stand where the figures say, and it stays text whatever the
//! names are.

use crate::frame::digest;
use crate::svg::{Anchor, width};
use crate::testing::{Made, ROUNDS, made};
use record::judged::{Metric, RunView};
use roxmltree::{Document, Node, ParsingOptions};

/// Names that try to become markup.
const EVIL: &str = "</title><script>alert(1)</script>\"' onload=x ]]> &lt; \u{202e}txt\u{0}\u{1b}[31m שלום";
/// The same as a page shows it.
const SHOWN: &str = "</title><script>alert(1)</script>\"' onload=x ]]> &lt; \\u{202e}txt\\x00\\x1b[31m שלום";

/// A page without its script and the values that it reads.
fn unscripted(page: &str) -> String {
    let parts = page.split("<script").map(|part| part.split_once("</script>").map_or(part, |(_, rest)| rest));
    parts.collect()
}

/// A page as XML: without its script, and with the end tags that HTML lets away, as a browser adds them.
pub(crate) fn xml(page: &str) -> String {
    let page = unscripted(page);
    let mut out = String::new();
    let mut open: Vec<&str> = Vec::new();
    for part in page.split_inclusive('>') {
        let (before, tag) = part.split_at(part.rfind('<').unwrap_or(part.len()));
        let name = tag.trim_start_matches('<').split([' ', '>']).next().unwrap();
        out.push_str(before);
        let ended: &[&str] = match name {
            "td" | "th" => &["td", "th"],
            "tr" => &["td", "th", "tr"],
            "tbody" | "/table" => &["td", "th", "tr", "thead", "tbody"],
            _ => &[],
        };
        while let Some(last) = open.pop_if(|last| ended.contains(last)) {
            out.push_str(&format!("</{last}>"));
        }
        match name {
            "meta" => out.push_str(&tag.replace('>', "/>")),
            _ => out.push_str(tag),
        }
        match name.strip_prefix('/') {
            Some(name) => drop(open.pop_if(|last| *last == name)),
            None if ["td", "th", "tr", "thead", "tbody"].contains(&name) => open.push(name),
            None => {}
        }
    }
    out
}

pub(crate) fn parsed(text: &str) -> Document<'_> {
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    Document::parse_with_options(text, options).unwrap_or_else(|e| panic!("{e}"))
}

pub(crate) fn elements<'a>(of: Node<'a, 'a>, name: &'static str) -> impl Iterator<Item = Node<'a, 'a>> {
    of.descendants().filter(move |node| node.tag_name().name() == name)
}

pub(crate) fn classed<'a>(of: Node<'a, 'a>, class: &'static str) -> impl Iterator<Item = Node<'a, 'a>> {
    of.descendants()
        .filter(move |node| node.attribute("class").is_some_and(|all| all.split(' ').any(|one| one == class)))
}

pub(crate) fn figure<'a>(page: &'a Document<'a>, name: &str) -> Node<'a, 'a> {
    page.descendants().find(|node| node.attribute("id") == Some(name)).unwrap_or_else(|| panic!("no {name}"))
}

/// The words of an element and all below it.
pub(crate) fn text(of: Node<'_, '_>) -> String {
    of.descendants().filter_map(|node| if node.is_text() { node.text() } else { None }).collect()
}

/// The table of a figure: its rows, without the head.
pub(crate) fn rows(figure: Node<'_, '_>) -> Vec<Vec<String>> {
    let body = elements(figure, "tbody").next().unwrap();
    elements(body, "tr").map(|row| elements(row, "td").map(text).collect()).collect()
}

pub(crate) fn close(shown: &str, value: f64) -> bool {
    let shown: f64 = shown.parse().unwrap_or_else(|_| panic!("{shown} is not a number"));
    (shown - value).abs() <= 1e-5 * value.abs()
}

fn all_close(shown: &str, values: &[f64]) -> bool {
    let all: Vec<&str> = shown.split(", ").collect();
    all.len() == values.len() && all.iter().zip(values).all(|(shown, value)| close(shown, *value))
}

/// The run as its JSON export has it: what the page says must be there.
fn exported(made: &Made) -> RunView {
    serde_json::from_str(&report::json(&made.view).unwrap()).unwrap()
}

/// What turns a place on an axis back into a value.
fn value_at(axis: Node<'_, '_>, place: f64) -> f64 {
    let ends = |name: &str| {
        let all: Vec<f64> =
            axis.attribute(name).unwrap().split(' ').map(|end| end.parse().unwrap()).collect();
        (all[0], all[1])
    };
    let (domain, range) = (ends("data-domain"), ends("data-range"));
    let share = (place - range.0) / (range.1 - range.0);
    match axis.attribute("data-scale") {
        Some("log") => (domain.0.ln() + share * (domain.1 / domain.0).ln()).exp(),
        _ => domain.0 + share * (domain.1 - domain.0),
    }
}

/// How far a value may be off: coordinates have one decimal.
fn slack(axis: Node<'_, '_>, place: f64) -> f64 {
    (value_at(axis, place + 0.06) - value_at(axis, place)).abs()
}

fn number(node: Node<'_, '_>, name: &str) -> f64 {
    node.attribute(name).unwrap().parse().unwrap()
}

/// The places from the left of the marks in paths of a class.
fn dots(of: Node<'_, '_>, class: &'static str) -> Vec<f64> {
    let data = classed(of, class).filter_map(|path| path.attribute("d"));
    let marks = data.flat_map(|data| data.split('M').skip(1));
    marks.map(|mark| mark.split(' ').next().unwrap().parse().unwrap()).collect()
}

fn stands_at(axis: Node<'_, '_>, place: f64, value: f64) {
    let (found, slack) = (value_at(axis, place), slack(axis, place));
    assert!((found - value).abs() <= slack, "{value} is drawn at {found}, more than {slack} off");
}

#[test]
fn each_mark_of_a_dot_plot_stands_at_its_figure() {
    let made = made("randread");
    let page = xml(&made.html());
    let page = parsed(&page);
    let plot = figure(&page, "dots-1");
    let axes: Vec<Node<'_, '_>> = classed(plot, "axis").collect();
    let drawn: Vec<Node<'_, '_>> = classed(plot, "row").collect();
    let view = exported(&made);
    assert_eq!((axes.len(), drawn.len()), (2, 3));
    for (row, cell) in drawn.iter().zip(&view.cells) {
        let metric = &cell.metrics["iops"];
        let means: Vec<Node<'_, '_>> = classed(*row, "mean").collect();
        stands_at(axes[0], number(means[0], "cx"), metric.estimate);
        let interval = classed(*row, "interval").next().unwrap();
        stands_at(axes[0], number(interval, "x1"), metric.low.unwrap());
        stands_at(axes[0], number(interval, "x2"), metric.high.unwrap());
        let trials = dots(*row, "trials");
        assert_eq!(trials.len(), metric.values.len());
        trials.iter().zip(&metric.values).for_each(|(place, value)| stands_at(axes[0], *place, *value));
        let comparison = view.answers[0].comparisons.iter().find(|c| c.b == cell.id);
        assert_eq!(means.len(), 1 + usize::from(comparison.is_some()));
        if let Some(ratio) = comparison.and_then(|c| c.ratio) {
            stands_at(axes[1], number(means[1], "cx"), ratio.ratio);
        }
    }
}

#[test]
fn a_diamond_stands_at_what_is_expected_and_the_legend_says_of_whom() {
    let mut made = made("randread");
    made.view.cells[1].model = Some(record::judged::ModelView {
        of: "iops".to_owned(),
        expected: 160.0,
        at_least: 160.0,
        at_most: 160.0,
        from: record::judged::ModelSource::Provisioned,
        device_ios_per_request: None,
        ratio: None,
        steps: Vec::new(),
        reason: None,
    });
    let page = xml(&made.html());
    let page = parsed(&page);
    let plot = figure(&page, "dots-1");
    let axis = classed(plot, "axis").next().unwrap();
    let drawn: Vec<Node<'_, '_>> = classed(plot, "expected").collect();
    assert_eq!(drawn.len(), 2, "nothing is expected of the third cell");
    for (mark, value) in drawn.iter().zip([80.0, 160.0]) {
        let x = mark.attribute("d").unwrap()[1..].split(' ').next().unwrap();
        stands_at(axis, x.parse().unwrap(), value);
    }
    let svg = elements(plot, "svg").next().unwrap();
    assert!(text(svg).contains("◇ expected by the experiment or the model"));
    let svg = elements(plot, "svg").next().unwrap();
    assert!(text(svg).contains("◇ expected by the experiment or the model"));
    let rows = rows(plot);
    assert!(close(&rows[0][11], 80.0) && rows[0][12] == "the experiment", "{rows:?}");
    assert!(close(&rows[1][11], 160.0) && rows[1][12] == "the model", "{rows:?}");
    assert_eq!(rows[2][11..], ["", ""]);
    made.view.expectations[0].expected = 5000.0;
    let page = xml(&made.html());
    assert!(page.contains("◇ →"), "a value far away doesn't press the others together");
}

#[test]
fn ties_have_a_word_and_a_bracket() {
    let page = xml(&made("randread").html());
    let page = parsed(&page);
    let plot = figure(&page, "dots-1");
    let said: Vec<String> = classed(plot, "row").map(text).collect();
    assert!(said[1].contains("tied, 1.006x") && said[2].ends_with("best"), "{said:?}");
    assert_eq!(classed(plot, "bracket").count(), 3, "a line and an end at each of the two cells");
}

/// The side of its place on which a text stands, by its class or that of its group.
pub(crate) fn anchor(said: Node<'_, '_>) -> Anchor {
    let is = |class: &str| {
        said.ancestors()
            .any(|node| node.attribute("class").unwrap_or_default().split(' ').any(|c| c == class))
    };
    match (is("m"), is("e")) {
        (true, _) => Anchor::Middle,
        (_, true) => Anchor::End,
        _ => Anchor::Start,
    }
}

#[test]
fn no_text_of_a_picture_is_cut_at_its_edge() {
    let page = xml(&made("randread").html());
    let page = parsed(&page);
    let mut looked = 0;
    for picture in elements(page.root(), "svg") {
        let most = number(picture, "width");
        for said in elements(picture, "text") {
            let (words, x) = (text(said), number(said, "x"));
            let wide = width(&words);
            let (from, to) = match anchor(said) {
                Anchor::Start => (x, x + wide),
                Anchor::Middle => (x - wide / 2.0, x + wide / 2.0),
                Anchor::End => (x - wide, x),
            };
            // Ticks are set in a smaller type than `width` knows.
            let slack = wide * 0.2;
            assert!(
                from + slack >= 0.0 && to - slack <= most,
                "{words:?} goes from {from} to {to} of {most}"
            );
            looked += 1;
        }
    }
    assert!(looked > 50, "{looked}");
}

#[test]
fn the_tables_under_the_pictures_have_the_figures_of_the_export() {
    let made = made("randread");
    let view = exported(&made);
    let page = xml(&made.html());
    let page = parsed(&page);
    for (row, cell) in rows(figure(&page, "dots-1")).iter().zip(&view.cells) {
        let metric = &cell.metrics["iops"];
        assert!(close(&row[1], metric.estimate) && close(&row[2], metric.low.unwrap()), "{row:?}");
        assert!(close(&row[3], metric.high.unwrap()) && all_close(&row[5], &metric.values), "{row:?}");
        if let Some(ratio) = view.answers[0].comparisons.iter().find(|c| c.b == cell.id).and_then(|c| c.ratio)
        {
            assert!(close(&row[7], ratio.ratio) && close(&row[8], ratio.low.unwrap()), "{row:?}");
        }
    }
    for (row, cell) in rows(figure(&page, "sweep-1")).iter().zip(&view.cells) {
        assert!(close(&row[1], cell.metrics["iops"].estimate), "{row:?}");
    }
    for (row, pair) in rows(figure(&page, "pairs-1")).iter().zip(&made.pairs[0].comparisons) {
        let ratio = pair.ratio.unwrap();
        assert!(close(&row[2], ratio.ratio) && close(&row[4], ratio.high.unwrap()), "{row:?}");
        assert_eq!(row.last(), Some(&pair.text));
    }
    let ratios = rows(figure(&page, "ratios"));
    assert!(close(&ratios[0][2], view.contrasts[0].ratio.unwrap().ratio), "{ratios:?}");
    for (row, tried) in rows(figure(&page, "search-1")).iter().zip(&view.searches[0].tried) {
        assert!(
            close(&row[1], tried.level as f64) && close(&row[3], tried.limited["read_lat_p99"]),
            "{row:?}"
        );
    }
}

#[test]
fn every_figure_of_a_cell_is_on_the_page_as_in_the_export() {
    let made = made("randread");
    let view = exported(&made);
    let page = xml(&made.html());
    let page = parsed(&page);
    for cell in &view.cells {
        let part = figure(&page, &format!("cell-{}", cell.id));
        let tables: Vec<Vec<String>> =
            elements(part, "tr").map(|row| elements(row, "td").map(text).collect()).collect();
        for (name, metric) in &cell.metrics {
            let row = tables.iter().find(|row| row.first() == Some(name)).unwrap();
            assert!(close(&row[1], metric.estimate) && close(&row[3], metric.high.unwrap()), "{row:?}");
        }
        let bytes = rows(figure(&page, &format!("bytes-{}", cell.id)));
        assert!(close(&bytes[0][1], cell.served_read.unwrap().device * 100.0), "{bytes:?}");
    }
}

#[test]
fn percentiles_of_a_trial_are_those_of_its_metrics() {
    let made = made("randread");
    let view = exported(&made);
    let page = xml(&made.html());
    let page = parsed(&page);
    for cell in &view.cells {
        let of = |name: &str| -> &Metric { &cell.metrics[name] };
        let figure = figure(&page, &format!("latency-{}-read", cell.id));
        let rows = rows(figure);
        assert_eq!(rows.len(), of("read_lat_p50").values.len());
        for (at, row) in rows.iter().enumerate() {
            assert!(close(&row[1], of("read_lat_p50").values[at]), "{row:?}");
            assert!(close(&row[3], of("read_lat_p99").values[at]), "{row:?}");
        }
        assert_eq!(
            classed(figure, "thin").next().unwrap().attribute("d").unwrap().matches('M').count(),
            rows.len(),
            "a line per trial"
        );
    }
}

#[test]
fn rounds_stand_in_their_order_and_a_failed_one_is_marked() {
    let made = made("randread");
    let page = xml(&made.html());
    let page = parsed(&page);
    let id = made.view.cells[0].id.to_string();
    let rounds = figure(&page, &format!("rounds-{id}"));
    let all = rows(rounds);
    let values = &exported(&made).cells[0].metrics["iops"].values;
    assert_eq!(all.len(), values.len() + 1);
    for (row, value) in all.iter().zip(values) {
        assert!(close(&row[1], *value), "{row:?}");
    }
    assert_eq!(all[ROUNDS as usize][1], "failed");
    let failed: Vec<String> = classed(rounds, "finding").map(text).collect();
    assert!(failed.len() == 1 && failed[0].contains("no space"), "{failed:?}");
    let place = |said: &str| {
        let mut all = elements(rounds, "text").filter(|node| text(*node) == said);
        let place = number(all.next().unwrap(), "x");
        assert!(all.next().is_none(), "{said} stands twice");
        place
    };
    assert_eq!(place("a"), place("round 2"), "the second round has a finding");
    assert_eq!(place("failed"), place("round 5"), "the last one failed");
    assert_eq!(all[1].last().map(String::as_str), Some("a"));
    let parts = |class| -> Vec<usize> {
        classed(rounds, class).map(|path| path.attribute("d").unwrap().matches(['M', 'm']).count()).collect()
    };
    assert_eq!(parts("ramp"), [ROUNDS as usize], "the second before each measured time");
    assert_eq!(parts("bracket"), [2], "a ring and a stroke where the failed one has no value");
    let once = ROUNDS as usize;
    let both = [once, 2 * once, 2 * once, once, once, once, once, once];
    assert_eq!(parts("track"), both, "a part for each measured trial; p50 and p99 have a gap in each");
    // 11 I/Os in each tenth of a second wait 2 ms each; of 11 pages, the load is charged with 10.
    assert!(close(&all[0][8], 2000.0) && close(&all[0][9], 2000.0), "{:?}", all[0]);
    assert!(close(&all[0][14], 40.96) && close(&all[0][15], 40.96), "{:?}", all[0]);
    // The reads of the third half-second stall.
    assert!(close(&all[1][4], 1000.0) && close(&all[1][5], 1000.0), "p50 {:?}", all[1]);
    assert!(close(&all[1][6], 2000.0) && close(&all[1][7], 90_000.0), "p99 {:?}", all[1]);
}

#[test]
fn names_stay_text_everywhere() {
    let mut made = made(EVIL);
    made.view.cells[0].id = record::id::CellId("\"><script>".to_owned());
    let page = made.html();
    assert_eq!(page.matches("<script").count(), 2, "a name became an element");
    assert!(page.find("</main>").unwrap() < page.find("<script").unwrap());
    assert!(!page.contains(|c| c != '\n' && record::printable::is_hidden(c)), "a hidden character is left");
    let page = xml(&page);
    let tree = parsed(&page);
    let known = ["id", "class", "href", "name", "content", "charset", "http-equiv", "lang", "scope"];
    let more = [
        "tabindex",
        "role",
        "aria-label",
        "open",
        "width",
        "height",
        "viewBox",
        "points",
        "stroke-dasharray",
        "stroke-width",
        "d",
    ];
    for node in tree.descendants().filter(Node::is_element) {
        for attribute in node.attributes() {
            let name = attribute.name();
            let place = [
                "x",
                "y",
                "x1",
                "x2",
                "y1",
                "y2",
                "cx",
                "cy",
                "r",
                "data-scale",
                "data-domain",
                "data-range",
            ];
            assert!(known.contains(&name) || more.contains(&name) || place.contains(&name), "{name}");
        }
    }
    let title = elements(tree.root(), "title").next().unwrap();
    assert!(text(title).starts_with(SHOWN), "{}", text(title));
    let heading = elements(tree.root(), "h1").next().unwrap();
    assert_eq!(text(heading), SHOWN);
    let source: Vec<String> = elements(tree.root(), "pre").map(text).collect();
    assert!(source.iter().any(|pre| pre.contains("# ]]> </pre><b>")), "the experiment file is text, too");
}

#[test]
fn nothing_is_requested_and_only_this_style_sheet_and_script_are_allowed() {
    let page = made("randread").html();
    for way in ["http://", "https://", "//", " src=", "url(", "@import", "<link", "<iframe", " style="] {
        assert!(!unscripted(&page).contains(way), "{way}");
    }
    let script = page.split("<script>").nth(1).unwrap().split("</script>").next().unwrap();
    for way in
        ["fetch(", "XMLHttpRequest", "WebSocket", "import(", "new Image", ".src", "eval(", "sendBeacon"]
    {
        assert!(!script.contains(way), "{way}");
    }
    assert!(
        page.contains(&format!("script-src 'sha256-{}'", digest(script)).replace('\'', "&#39;"))
            || page.contains(&format!("script-src 'sha256-{}'", digest(script)))
    );
    let style = page.split("<style>").nth(1).unwrap().split("</style>").next().unwrap();
    assert!(
        page.contains(&format!("style-src 'sha256-{}'", digest(style)).replace('\'', "&#39;"))
            || page.contains(&format!("style-src 'sha256-{}'", digest(style)))
    );
    assert!(page.contains("default-src 'none'") || page.contains("default-src &#39;none&#39;"));
}

#[test]
fn the_first_screen_has_the_question_the_answer_the_picture_and_what_to_know() {
    let page = made("randread").html();
    let places: Vec<usize> = [
        "How fast is randread?",
        "can't be told apart",
        "id=\"dots-1\"",
        "What to know before quoting these numbers",
        "<h2>Expectations",
        "<h2>Measured",
        "Cell by cell",
        "What the figures rest on",
        "The experiment file",
    ]
    .iter()
    .map(|text| page.find(text).unwrap_or_else(|| panic!("{text} is not on the page")))
    .collect();
    assert!(places.is_sorted(), "{places:?}");
}

#[test]
fn each_picture_is_a_file_of_its_own_and_a_wrong_name_is_answered_with_all() {
    let made = made("randread");
    let document = report::result(&made.view);
    let page = made.page(&document);
    let unknown = page.chart("nothing").unwrap_err();
    assert!(unknown.known.len() >= 5, "{unknown}");
    for name in ["dots-1", "pairs-1", "sweep-1", "ratios", "search-1"] {
        assert!(unknown.known.iter().any(|known| known == name), "{unknown} lacks {name}");
    }
    for name in &unknown.known {
        let svg = page.chart(name).unwrap();
        let tree = parsed(&svg);
        assert_eq!(tree.root_element().tag_name().name(), "svg", "{name}");
        assert!(elements(tree.root(), "style").next().is_some(), "{name} has no style");
    }
}
