//! Plots in characters: marks stand at their figures, lines fit, and words stay.

use super::{dots, ratios};
use crate::document::{DotPlot, DotRow, Expected, ExpectedBy, Place, RatioPlot, RatioRow};
use record::judged::RatioView;
use textwrap::core::display_width;

fn ratio(ratio: f64, half: Option<f64>) -> RatioView {
    RatioView { ratio, low: half.map(|h| ratio - h), high: half.map(|h| ratio + h), confidence: 0.95, n: 4 }
}

fn row(label: &str, values: &[f64], half: Option<f64>, place: Option<Place>) -> DotRow {
    let estimate = values.iter().sum::<f64>() / f64::from(u32::try_from(values.len()).unwrap());
    DotRow {
        label: label.to_owned(),
        shown: String::new(),
        estimate,
        low: half.map(|h| estimate - h),
        high: half.map(|h| estimate + h),
        trials: (0..).zip(values.iter().copied()).collect(),
        void: None,
        place,
        expected: None,
    }
}

fn plot(rows: Vec<DotRow>) -> DotPlot {
    DotPlot {
        workload: "randread-4k".to_owned(),
        metric: "read_iops".to_owned(),
        unit: "1/s".to_owned(),
        confidence: 0.95,
        rows,
        leads: true,
        in_text: true,
    }
}

fn three() -> DotPlot {
    plot(vec![
        row("ext4", &[95.0, 100.0, 105.0], Some(8.0), Some(Place::Behind(Some(ratio(3.1, Some(0.2)))))),
        row("xfs", &[250.0, 300.0, 350.0], Some(60.0), Some(Place::Tied(Some(ratio(1.04, Some(0.1)))))),
        row("btrfs-raid0-4", &[311.0], None, Some(Place::Best)),
    ])
}

/// The rows of figures, without heading and scale.
fn figures(lines: &[String], plot: &DotPlot) -> Vec<String> {
    let last = lines.len() - 2;
    lines[last - plot.rows.len()..last].to_vec()
}

#[test]
fn a_plot_is_a_line_per_cell_with_a_scale_below() {
    let mut plot = three();
    plot.rows[0].expected = Some(Expected { value: 160.0, by: ExpectedBy::Experiment });
    plot.rows[1].expected = Some(Expected { value: 301.0, by: ExpectedBy::Model });
    let shown: Vec<String> = [40, 60, 80, 120].map(|width| dots(&plot, width).unwrap().join("\n")).into();
    insta::assert_snapshot!("dots", shown.join("\n\n"));
}

#[test]
fn lines_fit_from_40_to_140_columns_and_ties_keep_their_word() {
    let mut plot = three();
    plot.rows[1].label = "a-stack-with-a-very-long-name-über-データ-16k".to_owned();
    for width in 40..=140 {
        let lines = dots(&plot, width).unwrap();
        assert!(lines.iter().all(|line| display_width(line) <= width), "{width}: {lines:#?}");
        let rows = figures(&lines, &plot);
        let short = rows[1].contains('…');
        assert!(rows[1].contains("tied") && rows[2].ends_with("best"), "{width}: {lines:#?}");
        assert!(!short || !rows[1].contains("1.04x ("), "names are shortened after the words: {lines:#?}");
        assert!(width < 75 || !short, "{width}: {lines:#?}");
    }
    assert_eq!(dots(&plot, 26), None, "no room");
}

#[test]
fn each_mark_stands_at_its_figure() {
    let plot = three();
    for width in [60, 80, 120] {
        let lines = dots(&plot, width).unwrap();
        let axis = &lines[lines.len() - 2];
        let ticks: Vec<usize> =
            axis.chars().enumerate().filter(|(_, c)| *c == '┴').map(|(at, _)| at).collect();
        let numbers: Vec<f64> = lines[lines.len() - 1]
            .split_whitespace()
            .map(|text| text.replace(',', "").parse().unwrap())
            .collect();
        assert_eq!(ticks.len(), numbers.len(), "{lines:#?}");
        let (first, last) = (0, ticks.len() - 1);
        let of = |columns: usize| f64::from(u32::try_from(columns).unwrap());
        let step = (numbers[last] - numbers[first]) / of(ticks[last] - ticks[first]);
        for (row, text) in plot.rows.iter().zip(figures(&lines, &plot)) {
            let at = text.chars().position(|c| ['●', '○'].contains(&c)).unwrap();
            let value = numbers[first] + (of(at) - of(ticks[first])) * step;
            assert!((value - row.estimate).abs() <= step, "{} is drawn at {value}: {lines:#?}", row.estimate);
            let ends = [text.chars().position(|c| c == '├'), text.chars().position(|c| c == '┤')];
            for (end, drawn) in [row.low, row.high].into_iter().zip(ends) {
                let Some(drawn) = drawn else { continue };
                let value = numbers[first] + (of(drawn) - of(ticks[first])) * step;
                assert!((value - end.unwrap()).abs() <= step, "{value}: {lines:#?}");
            }
        }
    }
}

#[test]
fn one_trial_is_an_open_mark_and_what_is_no_figure_is_struck_out_beyond_the_scale() {
    let mut plot = three();
    plot.rows[0] =
        DotRow { void: Some("NOT STORAGE"), ..row("ext4", &[570_000.0, 571_000.0], Some(9e3), None) };
    let lines = dots(&plot, 100).unwrap();
    let rows = figures(&lines, &plot);
    assert!(
        rows[0].contains("~ext4~") && rows[0].contains('>') && rows[0].ends_with("NOT STORAGE"),
        "{rows:#?}"
    );
    assert!(!rows[0].contains('●') && rows[1].contains('●'), "{rows:#?}");
    assert!(rows[2].contains('○') && !rows[2].contains(['●', '─']), "{rows:#?}");
    assert!(lines.join(" ").contains("< > beyond the scale"), "{lines:#?}");
}

#[test]
fn an_expected_value_has_a_mark_also_under_the_mean_and_beyond_the_scale() {
    let with = |value: f64| {
        let mut plot = three();
        plot.rows[0].expected = Some(Expected { value, by: ExpectedBy::Model });
        let lines = dots(&plot, 100).unwrap();
        (figures(&lines, &plot)[0].clone(), lines.join(" "))
    };
    let (row, all) = with(200.0);
    assert!(row.contains('◇') && row.contains('●') && all.contains("◇ expected by the model"), "{all}");
    let (row, all) = with(100.0);
    assert!(
        row.contains('◈') && !row.contains(['◇', '●']) && all.contains("◈ mean where expected by the model"),
        "{all}"
    );
    let (row, all) = with(5000.0);
    assert!(row.contains('>') && all.contains(" 400") && !all.contains("5,000"), "it isn't stretched: {all}");
}

#[test]
fn a_wide_range_has_a_logarithmic_scale_that_is_named() {
    let plot =
        plot(vec![row("a", &[10.0, 11.0], Some(0.5), None), row("b", &[9000.0, 9001.0], Some(1.0), None)]);
    let lines = dots(&plot, 100).unwrap();
    assert!(lines[0].contains("log scale") && !lines[0].contains("best"), "{lines:#?}");
    assert!(lines[0].contains("each 95 % interval is narrower than a mark"), "{lines:#?}");
}

#[test]
fn hostile_names_stay_on_their_line_and_many_rows_are_counted() {
    let evil = "x\u{1b}[2J\n```\u{202e}";
    let mut many = plot((0..50).map(|_| row(evil, &[5.0, 6.0], Some(1.0), None)).collect());
    many.workload = evil.to_owned();
    let lines = dots(&many, 80).unwrap();
    assert!(lines.iter().all(|line| !line.contains(record::printable::is_hidden)), "{lines:#?}");
    assert_eq!(lines.last().map(String::as_str), Some("  and 20 more rows in the table"));
    assert_eq!(lines.iter().filter(|line| line.contains('●')).count(), 31, "30 rows and the legend");
}

#[test]
fn ratios_have_a_line_at_1() {
    let row = |label: &str, r: RatioView, said: &str| RatioRow {
        label: label.to_owned(),
        metric: "iops".to_owned(),
        ratio: r,
        said: said.to_owned(),
    };
    let plot = RatioPlot {
        of: "after / before",
        confidence: 0.95,
        is_paired: false,
        rows: vec![
            row("ext4", ratio(0.88, Some(0.02)), "REGRESSION"),
            row("xfs", ratio(1.001, Some(0.01)), "same within 1.2 %"),
            row("zfs", ratio(1.2, None), "undecided, 14 more rounds"),
        ],
    };
    let shown: Vec<String> = [40, 80].map(|width| ratios(&plot, width).unwrap().join("\n")).into();
    insta::assert_snapshot!("ratios", shown.join("\n\n"));
    for width in 40..=140 {
        let lines = ratios(&plot, width).unwrap();
        assert!(lines.iter().all(|line| display_width(line) <= width), "{width}: {lines:#?}");
    }
}
