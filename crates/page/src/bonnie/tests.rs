//! Bonnie++'s charts: each mark stands at its figure, and what was too fast has a mark and no number.

use super::bonnie;
use crate::figure::{Entry, Figure};
use crate::svg::{Anchor, width};
use crate::testing::{cell_id, made};
use crate::tests::anchor;
use record::judged::{CellView, Metric, RunView};
use roxmltree::{Document, Node};
use std::collections::BTreeMap;

fn metric(values: &[f64], unit: &str) -> Metric {
    let n = u32::try_from(values.len()).unwrap();
    let estimate = values.iter().sum::<f64>() / f64::from(n);
    Metric {
        estimate,
        low: Some(estimate * 0.9),
        high: Some(estimate * 1.1),
        confidence: 0.95,
        n,
        unit: unit.to_owned(),
        values: values.to_vec(),
        median: None,
        trimmed: None,
    }
}

fn cell(at: u32, stack: &str, n: u32) -> CellView {
    let mut cell = made("x").view.cells.remove(0);
    let share = f64::from(n);
    let rate = |base: f64| metric(&[base * share * 0.98, base * share * 1.02], "B/s");
    let per_second = |base: f64| metric(&[base * share, base * share * 1.01], "1/s");
    (cell.id, cell.stack, cell.workload) = (cell_id(at), format!("{stack}-{n}"), "bonnie".to_owned());
    cell.levels = [("n".to_owned(), n.to_string())].into();
    cell.trials.done = 2;
    cell.metrics = BTreeMap::from([
        ("block_output_bw".to_owned(), rate(15e6)),
        ("rewrite_bw".to_owned(), rate(7e6)),
        ("seq_create".to_owned(), per_second(900.0)),
        ("random_create".to_owned(), per_second(850.0)),
        ("seeks".to_owned(), per_second(290.0)),
    ]);
    cell.too_fast = [("block_input_bw".to_owned(), 2)].into();
    cell
}

/// RAID 0 of one to three volumes by md and by LVM; all reads were too fast.
fn raid0() -> RunView {
    let mut view = made("x").view;
    let kinds = [("md", 1), ("md", 2), ("md", 3), ("lvm", 1), ("lvm", 2), ("lvm", 3)];
    view.cells = (0..).zip(kinds).map(|(at, (stack, n))| cell(at, stack, n)).collect();
    view
}

fn svg(figure: &Figure) -> String {
    figure.file("")
}

fn classed<'a>(of: Node<'a, 'a>, class: &'static str) -> Vec<Node<'a, 'a>> {
    let has =
        |node: &Node<'_, '_>| node.attribute("class").is_some_and(|all| all.split(' ').any(|c| c == class));
    of.descendants().filter(has).collect()
}

fn number(node: Node<'_, '_>, name: &str) -> f64 {
    node.attribute(name).unwrap().parse().unwrap()
}

/// The value at a height of an axis.
fn value(axis: Node<'_, '_>, y: f64) -> f64 {
    let ends = |name: &str| -> Vec<f64> {
        axis.attribute(name).unwrap().split(' ').map(|end| end.parse().unwrap()).collect()
    };
    let (domain, range) = (ends("data-domain"), ends("data-range"));
    domain[0] + (y - range[0]) / (range[1] - range[0]) * (domain[1] - domain[0])
}

#[test]
fn there_is_a_row_of_panels_for_each_kind_of_stack_and_they_share_a_scale() {
    let figures = bonnie(&raid0());
    let names: Vec<&str> = figures.iter().map(|figure| figure.name.as_str()).collect();
    assert_eq!(names, ["bonnie-bandwidth", "bonnie-files", "bonnie-seeks"]);
    for (figure, panels) in figures.iter().zip([6, 4, 2]) {
        let text = svg(figure);
        let tree = Document::parse(&text).unwrap();
        let axes = classed(tree.root(), "axis");
        assert_eq!(axes.len(), panels, "{}", figure.name);
        let domains: Vec<_> = axes.iter().map(|axis| axis.attribute("data-domain").unwrap()).collect();
        assert!(
            domains.windows(2).all(|two| two[0] == two[1]) && domains[0].starts_with("0 "),
            "{domains:?}"
        );
        let said: String = tree.descendants().filter_map(|node| node.text()).collect();
        assert!(said.contains("md-{n}") && said.contains("lvm-{n}"), "{said}");
    }
}

#[test]
fn each_mean_stands_at_its_figure() {
    let view = raid0();
    for (figure, metrics) in bonnie(&view).iter().zip([
        &["block_output_bw", "rewrite_bw"][..],
        &["seq_create", "random_create"],
        &["seeks"],
    ]) {
        let text = svg(figure);
        let tree = Document::parse(&text).unwrap();
        let axis = classed(tree.root(), "axis");
        // Rows of panels stand one below the other; each has its own places and the same values.
        let mut drawn = classed(tree.root(), "mean").into_iter();
        let tests = axis.len() / 2;
        for (row, cells) in view.cells.chunks(3).enumerate() {
            for metric in metrics {
                for cell in cells {
                    let mean = drawn.next().unwrap();
                    let found = value(axis[row * tests], number(mean, "cy"));
                    let exact = cell.metrics[*metric].estimate;
                    let highest = view.cells[2].metrics[metrics[0]].estimate;
                    assert!((found - exact).abs() < highest * 0.01, "{exact} is drawn at {found}");
                }
            }
        }
        assert_eq!(drawn.next(), None);
    }
}

#[test]
fn what_was_too_fast_is_a_mark_of_its_own_and_never_a_number() {
    let mut view = raid0();
    view.cells[1].metrics.remove("rewrite_bw");
    view.cells[1].too_fast.insert("rewrite_bw".to_owned(), 1);
    let figures = bonnie(&view);
    let text = svg(&figures[0]);
    let tree = Document::parse(&text).unwrap();
    let marks = classed(tree.root(), "fast");
    assert_eq!(marks.len(), 7, "six reads and a rewrite");
    let said: Vec<String> = marks
        .iter()
        .map(|mark| mark.parent().unwrap().first_child().unwrap())
        .map(|title| title.text().unwrap().to_owned())
        .collect();
    assert!(said.contains(&"md-2: too fast in 1 of 2".to_owned()), "{said:?}");
    assert!(said.contains(&"lvm-3: too fast".to_owned()), "{said:?}");
    assert_eq!(classed(tree.root(), "mean").len(), 11);
    assert!(figures[0].sentence.contains("+++++ and no number"), "{}", figures[0].sentence);
    assert!(text.contains("△ too fast for Bonnie++"), "a picture alone says it, too");
    assert!(!figures[2].sentence.contains("+++++"), "no seek was too fast");
    let rows = &figures[0].numbers.rows;
    let of = |stack: &str, n: &str, test: &str| {
        let key = [stack, n, test].map(Entry::from);
        rows.iter().find(|row| row[..3] == key).unwrap()[3..].to_vec()
    };
    assert_eq!(of("md-{n}", "2", "sequential input")[0], Entry::Text("too fast".to_owned()));
    assert_eq!(of("md-{n}", "2", "rewrite")[0], Entry::Text("too fast in 1 of 2".to_owned()));
    assert!(of("md-{n}", "2", "rewrite")[1..].iter().all(|entry| *entry == Entry::from("")));
    assert_eq!(of("lvm-{n}", "3", "rewrite")[0], Entry::Number(21e6));
    let lines = classed(tree.root(), "course");
    assert_eq!(lines.len(), 3, "md's rewrite has a gap between its two numbers, and reads have no line");
}

#[test]
fn nothing_is_drawn_without_a_number_and_a_second_workload_has_names_of_its_own() {
    let mut view = raid0();
    for cell in &mut view.cells {
        cell.metrics.clear();
    }
    assert!(bonnie(&view).is_empty());
    assert!(bonnie(&made("x").view).is_empty(), "other engines have pictures of their own");
    let mut view = raid0();
    let second = view.cells.clone().into_iter().map(|cell| CellView { workload: "files".to_owned(), ..cell });
    view.cells.extend(second.collect::<Vec<_>>());
    let names: Vec<String> = bonnie(&view).into_iter().map(|figure| figure.name).collect();
    assert_eq!(names[3..], ["bonnie-bandwidth-2", "bonnie-files-2", "bonnie-seeks-2"]);
}

#[test]
fn no_text_is_cut_at_an_edge_whatever_the_names() {
    let evil = "</text><script>\"' \u{202e} a-very-long-name-of-a-machine";
    let mut view = raid0();
    for cell in &mut view.cells {
        cell.stack = format!("{evil}-{}", cell.stack);
    }
    let named = bonnie(&view);
    for cell in &mut view.cells {
        cell.levels.clear();
    }
    for figure in named.iter().chain(&bonnie(&view)) {
        let text = svg(figure);
        let tree = Document::parse(&text).unwrap();
        let most = number(tree.root_element(), "width");
        for said in tree.descendants().filter(|node| node.tag_name().name() == "text") {
            let (words, x) = (said.text().unwrap_or_default(), number(said, "x"));
            let (from, to) = match anchor(said) {
                Anchor::Start => (x, x + width(words)),
                Anchor::Middle => (x - width(words) / 2.0, x + width(words) / 2.0),
                Anchor::End => (x - width(words), x),
            };
            assert!(from >= -4.0 && to <= most + 10.0, "{words:?} goes from {from} to {to} of {most}");
        }
    }
}
