//! A writer of SVG. Every text and attribute is escaped here, so a name from outside can't end an element.

use record::printable::printable;
use std::fmt::Write as _;

/// The side of its place on which a text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    /// The text begins at its place.
    Start,
    /// The text is centred at its place.
    Middle,
    /// The text ends at its place.
    End,
}

impl Anchor {
    /// Its class beside others: the style sheet is shorter than an attribute of each text.
    fn class(self) -> &'static str {
        match self {
            Self::Start => "",
            Self::Middle => " m",
            Self::End => " e",
        }
    }
}

/// A picture that is being drawn. Its unit is the pixel of a screen without magnification.
#[derive(Debug)]
pub(crate) struct Svg {
    out: String,
    width: f64,
    height: f64,
}

impl Svg {
    /// An empty picture of this size.
    pub(crate) fn new(width: f64, height: f64) -> Self {
        Self { out: String::new(), width, height }
    }

    /// A line.
    pub(crate) fn line(&mut self, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        let [x1, y1, x2, y2] = [x1, y1, x2, y2].map(number);
        let _ = write!(self.out, r#"<line class="{class}" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>"#);
    }

    /// A circle.
    pub(crate) fn circle(&mut self, class: &str, (x, y): (f64, f64), r: f64) {
        let [x, y, r] = [x, y, r].map(number);
        let _ = write!(self.out, r#"<circle class="{class}" cx="{x}" cy="{y}" r="{r}"/>"#);
    }

    /// A rectangle; nothing if it has no extent.
    pub(crate) fn rect(&mut self, class: &str, (x, y): (f64, f64), (width, height): (f64, f64)) {
        if width > 0.0 && height > 0.0 {
            let [x, y, width, height] = [x, y, width, height].map(number);
            let _ = write!(
                self.out,
                r#"<rect class="{class}" x="{x}" y="{y}" width="{width}" height="{height}"/>"#
            );
        }
    }

    /// A path; nothing if it is empty. `data` is made of numbers by this crate.
    pub(crate) fn path(&mut self, class: &str, data: &str) {
        if !data.is_empty() {
            let _ = write!(self.out, r#"<path class="{class}" d="{data}"/>"#);
        }
    }

    /// A dashed path: the lengths of a dash and of the gap behind it.
    pub(crate) fn dashed(&mut self, class: &str, (dash, gap): (i32, i32), data: &str) {
        let _ = write!(self.out, r#"<path class="{class}" stroke-dasharray="{dash} {gap}" d="{data}"/>"#);
    }

    /// A path with lines of this width, in pixels; nothing if it is empty.
    pub(crate) fn thick(&mut self, class: &str, width: f64, data: &str) {
        if !data.is_empty() {
            let width = number(width);
            let _ = write!(self.out, r#"<path class="{class}" stroke-width="{width}" d="{data}"/>"#);
        }
    }

    /// A line through points; nothing without two points.
    pub(crate) fn polyline(&mut self, class: &str, points: &[(f64, f64)]) {
        self.path(class, &through(points.iter().copied()));
    }

    /// Round marks of one kind; nothing without one. They are one path, a tenth as long as circles.
    pub(crate) fn dots(&mut self, class: &str, places: impl IntoIterator<Item = (f64, f64)>) {
        let mut data = String::new();
        for (x, y) in places {
            // A line without length is drawn as its round ends.
            let _ = write!(data, "M{} {}h0", number(x), number(y));
        }
        self.path(class, &data);
    }

    /// A text, which may come from outside.
    pub(crate) fn text(&mut self, class: &str, (x, y): (f64, f64), anchor: Anchor, text: &str) {
        let [x, y] = [x, y].map(number);
        let anchor = anchor.class();
        let _ = write!(self.out, r#"<text class="{class}{anchor}" x="{x}" y="{y}">{}</text>"#, escaped(text));
    }

    /// Texts of one kind; nothing without one.
    pub(crate) fn texts(&mut self, class: &str, anchor: Anchor, all: &[((f64, f64), String)]) {
        if all.is_empty() {
            return;
        }
        let _ = write!(self.out, r#"<g class="{class}{}">"#, anchor.class());
        for ((x, y), text) in all {
            let [x, y] = [*x, *y].map(number);
            let _ = write!(self.out, r#"<text x="{x}" y="{y}">{}</text>"#, escaped(text));
        }
        self.end();
    }

    /// Begins a group that ends with [`Svg::end`]. A reader sees `title` when pointing at it.
    pub(crate) fn group(&mut self, class: &str, title: &str) {
        let _ = write!(self.out, r#"<g class="{class}">"#);
        if !title.is_empty() {
            let _ = write!(self.out, "<title>{}</title>", escaped(title));
        }
    }

    /// Begins a group with attributes for programs; both parts are this crate's own.
    pub(crate) fn marked(&mut self, class: &str, attributes: &[(&str, String)]) {
        let _ = write!(self.out, r#"<g class="{class}""#);
        for (name, value) in attributes {
            let _ = write!(self.out, r#" data-{name}="{}""#, escaped(value));
        }
        self.out.push('>');
    }

    /// Ends the group that began last.
    pub(crate) fn end(&mut self) {
        self.out.push_str("</g>");
    }

    /// The picture as an element of a page. `label` says what it shows, for readers who can't see it.
    pub(crate) fn element(&self, label: &str) -> String {
        self.written("", label, "")
    }

    /// The picture as a file of its own, with this style sheet and its own background.
    pub(crate) fn file(&self, label: &str, style: &str) -> String {
        let style = format!(r#"<style>{style}</style><rect class="background" width="100%" height="100%"/>"#);
        self.written(r#" xmlns="http://www.w3.org/2000/svg""#, label, &style) + "\n"
    }

    fn written(&self, namespace: &str, label: &str, style: &str) -> String {
        let [width, height] = [self.width, self.height].map(number);
        format!(
            r#"<svg{namespace} class="chart" role="img" aria-label="{}" width="{width}" height="{height}" viewBox="0 0 {width} {height}">{style}{}</svg>"#,
            escaped(label),
            self.out
        )
    }
}

/// A text that is safe within an element and within an attribute.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in printable(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// A text that is safe within an element; quotes stay as they are, of which job files are full.
pub(crate) fn content(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A coordinate with one decimal at most. A page has some hundred thousand of them, and whole numbers are written fastest.
#[expect(clippy::cast_possible_truncation, reason = "a place in a picture")]
pub(crate) fn number(value: f64) -> String {
    let all = tenths(value) as i64;
    let sign = if all < 0 { "-" } else { "" };
    match (all.unsigned_abs() / 10, all.unsigned_abs() % 10) {
        (whole, 0) => format!("{sign}{whole}"),
        (whole, rest) => format!("{sign}{whole}.{rest}"),
    }
}

/// The data of a path through points, in steps from each to the next; nothing without two points. The steps are those of the rounded
/// points, so their errors don't add up.
pub(crate) fn through(points: impl IntoIterator<Item = (f64, f64)>) -> String {
    let mut all = points.into_iter().map(|(x, y)| (tenths(x), tenths(y)));
    let Some(first) = all.next() else { return String::new() };
    let mut out = format!("M{} {}", number(first.0 / 10.0), number(first.1 / 10.0));
    let (mut last, begin) = (first, out.len());
    // Of several lines in a row, only the first has a letter.
    let mut goes_on = false;
    let apart = |number: &str| if number.starts_with('-') { "" } else { " " };
    for point in all {
        let [dx, dy] = [point.0 - last.0, point.1 - last.1].map(|step| number(step / 10.0));
        let _ = match (dx.as_str(), dy.as_str()) {
            (_, "0") => write!(out, "h{dx}"),
            ("0", _) => write!(out, "v{dy}"),
            _ => write!(out, "{}{dx}{}{dy}", if goes_on { apart(&dx) } else { "l" }, apart(&dy)),
        };
        goes_on = dx != "0" && dy != "0";
        last = point;
    }
    if out.len() > begin { out } else { String::new() }
}

/// A coordinate in whole tenths of a pixel.
fn tenths(value: f64) -> f64 {
    (value * 10.0).round()
}

/// About how wide a text is at 12 pixels, in pixels. Letters of East Asian scripts are as wide as they are high.
pub(crate) fn width(text: &str) -> f64 {
    printable(text).chars().map(|c| if c >= '\u{1100}' { 12.0 } else { 6.7 }).sum()
}

/// A text that fits into a width in pixels; a longer one ends with an ellipsis.
pub(crate) fn fitted(text: &str, most: f64) -> String {
    let text = printable(text);
    if width(&text) <= most {
        return text.into_owned();
    }
    let mut out = String::new();
    let mut taken = width("…");
    for c in text.chars() {
        taken += width(c.encode_utf8(&mut [0; 4]));
        if taken > most {
            break;
        }
        out.push(c);
    }
    out + "…"
}

#[cfg(test)]
mod tests {
    use super::{Anchor, Svg, escaped, fitted, number, through, width};

    #[test]
    fn a_hostile_text_stays_text() {
        let evil = "</text><script>alert(1)</script>]]>\"'&\u{202e}\u{0}";
        let mut svg = Svg::new(10.0, 10.0);
        svg.group("row", evil);
        svg.text("label", (1.0, 2.0), Anchor::End, evil);
        svg.end();
        for text in [svg.element(evil), svg.file(evil, "text{fill:red}")] {
            let tree = roxmltree::Document::parse(&text).unwrap();
            let names: Vec<&str> =
                tree.descendants().filter(|n| n.is_element()).map(|n| n.tag_name().name()).collect();
            assert!(!names.contains(&"script"), "{text}");
            let shown = tree.descendants().find(|n| n.tag_name().name() == "text").unwrap().text();
            assert_eq!(shown, Some("</text><script>alert(1)</script>]]>\"'&\\u{202e}\\x00"));
        }
    }

    #[test]
    fn coordinates_are_short() {
        assert_eq!([0.0, -0.04, 12.0, 3.25, 1e3].map(number), ["0", "0", "12", "3.3", "1000"]);
        assert_eq!(escaped("a<b"), "a&lt;b");
    }

    #[test]
    fn a_line_in_steps_ends_where_its_last_point_is() {
        let points: Vec<(f64, f64)> =
            (0..200).map(|i| (f64::from(i) * 0.34, 50.0 - f64::from(i) * 0.17)).collect();
        let drawn = through(points.iter().copied());
        let (mut x, mut y) = (0.0, 50.0);
        let steps = drawn.strip_prefix("M0 50l").unwrap().replace('-', " -");
        let steps: Vec<f64> = steps.split_whitespace().map(|step| step.parse().unwrap()).collect();
        for step in steps.chunks(2) {
            (x, y) = (x + step[0], y + step[1]);
        }
        let last = points.last().unwrap();
        assert!((x - last.0).abs() < 0.051 && (y - last.1).abs() < 0.051, "{x} {y}, not {last:?}");
        assert_eq!(
            through([(1.0, 2.0), (1.0, 7.5), (3.0, 7.5), (4.0, 9.0), (5.0, 2.0)]),
            "M1 2v5.5h2l1 1.5 1-7"
        );
        assert_eq!(through([(1.0, 2.0)]), "");
    }

    #[test]
    fn long_labels_end_with_an_ellipsis() {
        let long = "a-stack-with-a-very-long-name-{n}x{chunk}";
        let short = fitted(long, 100.0);
        assert!(short.ends_with('…') && width(&short) <= 100.0, "{short}");
        assert_eq!(fitted("ext4", 100.0), "ext4");
        assert!(width("データ") > width("dat"));
    }
}
