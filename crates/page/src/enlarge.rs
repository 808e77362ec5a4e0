//! Courses that a reader can enlarge in the browser, by uPlot: their values lie on the page as JSON, finer than the pictures draw them. A
//! page whose courses would be too large, or no finer than its pictures, has neither values nor script.

use crate::cells::id;
use crate::envelope::{Bin, envelope};
use crate::number::plain;
use crate::tracks::{self, Line};
use crate::trials::{CellTrials, Round, Trials};
use maud::{Markup, PreEscaped, html};
use record::judged::CellView;
use std::fmt::Write as _;

/// The viewer (assets/uplot/README.md says where it comes from), and what makes plots of the values.
const VIEWER: &str = include_str!("../assets/uplot/uPlot.iife.min.js");
const OWN: &str = include_str!("script/enlarge.js");
/// The most bytes of all values of a page.
const MOST: usize = 300_000;
/// About how many bytes a value has, with its comma.
const VALUE: usize = 6;
/// The bins of a picture, all its rounds together.
const DRAWN: usize = 386;

/// The values of the courses of a page.
pub(crate) struct Courses(String);

/// The values of these cells; `None` without room for more than the pictures show, or without courses.
pub(crate) fn courses<'a>(cells: impl Iterator<Item = &'a CellView>, trials: &'a Trials) -> Option<Courses> {
    let all: Vec<(&CellView, &CellTrials)> =
        cells.filter_map(|cell| Some((cell, trials.of(&cell.id)?))).collect();
    let lines = |trials: &CellTrials| -> usize {
        tracks::known(&trials.rounds).iter().map(|track| track.lines.len()).sum::<usize>()
            * trials.rounds.len()
    };
    let values: usize = all.iter().map(|(_, trials)| 2 * lines(trials)).sum();
    let room = MOST / VALUE / values.max(1);
    // Longer bins than those of a picture would be no enlargement.
    let least = |rounds: &[Round]| steps(rounds).min(DRAWN / rounds.len().max(1));
    if values == 0 || all.iter().any(|(_, trials)| room < least(&trials.rounds)) {
        return None;
    }
    let mut out = String::from("{");
    for (cell, trials) in all.iter().filter(|(_, trials)| lines(trials) > 0) {
        let comma = if out.len() > 1 { "," } else { "" };
        let _ = write!(out, "{comma}\"rounds-{}\":{}", id(&cell.id.0), of_cell(&trials.rounds, room));
    }
    out.push('}');
    // No text of the values can end the element.
    Some(Courses(out.replace('<', "\\u003c")))
}

impl Courses {
    /// The values and the scripts, for the end of a page.
    pub(crate) fn markup(&self) -> Markup {
        html! {
            script type="application/json" id="courses" { (PreEscaped(&self.0)) }
            script { (PreEscaped(script())) }
        }
    }
}

/// The script of a page that has courses.
pub(crate) fn script() -> String {
    format!("{VIEWER}\n{OWN}")
}

/// The steps of the series between the ends of a trial; 1 without a series.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some hundred steps")]
fn steps(rounds: &[Round]) -> usize {
    let (begin, end) = tracks::time(rounds);
    let finest = rounds.iter().filter_map(|round| round.course.step()).reduce(f64::min);
    finest.filter(|step| *step > 0.0).map_or(1, |step| ((end - begin) / step).round() as usize).max(1)
}

/// The rounds of a cell as JSON. Bins are as long as the steps of the series, or longer if there is no room.
fn of_cell(rounds: &[Round], room: usize) -> String {
    let (begin, end) = tracks::time(rounds);
    let bins = steps(rounds).min(room.max(1));
    let numbers: Vec<String> = rounds.iter().map(|round| (round.round + 1).to_string()).collect();
    let tracks: Vec<String> = tracks::known(rounds)
        .iter()
        .map(|track| {
            let lines: Vec<String> =
                track.lines.iter().map(|(name, of)| line(rounds, (name, *of), (begin, end), bins)).collect();
            format!(r#"{{"title":"{}","unit":"{}","lines":[{}]}}"#, track.title, track.unit, lines.join(","))
        })
        .collect();
    format!(
        r#"{{"rounds":[{}],"begin":{},"end":{},"bins":{bins},"tracks":[{}]}}"#,
        numbers.join(","),
        plain(begin),
        plain(end),
        tracks.join(",")
    )
}

/// A line of a track: the highest rate of each bin, and the lowest where it differs.
fn line(rounds: &[Round], (name, of): (&str, Line), time: (f64, f64), bins: usize) -> String {
    let all: Vec<Vec<Bin>> = rounds.iter().map(|round| envelope(of(&round.course), time, bins)).collect();
    let high = lists(&all, |ends| ends.1);
    let spread = all.iter().flatten().flatten().any(|ends| ends.0 != ends.1);
    let low = if spread { format!(r#","low":[{}]"#, lists(&all, |ends| ends.0)) } else { String::new() };
    format!(r#"{{"name":"{name}","high":[{high}]{low}}}"#)
}

/// A list of values for each round.
fn lists(all: &[Vec<Bin>], end: fn((f64, f64)) -> f64) -> String {
    let mut out = String::new();
    for bins in all {
        out.push_str(if out.is_empty() { "[" } else { ",[" });
        for (bin, comma) in bins.iter().zip(std::iter::once("").chain(std::iter::repeat(","))) {
            out.push_str(comma);
            match bin {
                Some(ends) => short(&mut out, end(*ends)),
                None => out.push_str("null"),
            }
        }
        out.push(']');
    }
    out
}

/// Writes a value with four significant digits, e.g. `1235e-4`: a plot shows no more.
#[expect(clippy::cast_possible_truncation, reason = "four digits and an exponent")]
fn short(out: &mut String, value: f64) {
    if value == 0.0 || !value.is_finite() {
        out.push('0');
        return;
    }
    let mut exponent = value.abs().log10().floor() as i32 - 3;
    let mut digits = (value / 10_f64.powi(exponent)).round() as i64;
    while digits % 10 == 0 {
        (digits, exponent) = (digits / 10, exponent + 1);
    }
    let _ = match exponent {
        0 => write!(out, "{digits}"),
        _ => write!(out, "{digits}e{exponent}"),
    };
}

#[cfg(test)]
mod tests {
    use super::{VIEWER, courses, script, short};
    use crate::style::VIEWER as VIEWER_STYLE;
    use crate::testing::{ROUNDS, made};
    use sha2::{Digest as _, Sha256};

    #[test]
    fn the_viewer_is_the_file_that_its_description_names() {
        let described = include_str!("../assets/uplot/README.md");
        for file in [VIEWER, VIEWER_STYLE] {
            let hash: String = Sha256::digest(file).iter().map(|byte| format!("{byte:02x}")).collect();
            assert!(described.contains(&hash), "{hash}");
        }
        assert!(!script().contains("</script") && !script().contains("<!--"), "it would end its element");
    }

    #[test]
    fn the_values_are_those_of_the_series() {
        let made = made("randread");
        let found = courses(made.view.cells.iter(), &made.trials).unwrap();
        let all: serde_json::Value = serde_json::from_str(&found.0).unwrap();
        let cell = &all[format!("rounds-{}", made.view.cells[0].id)];
        assert_eq!(cell["rounds"].as_array().unwrap().len(), ROUNDS as usize + 1);
        // One bin is a step of a tenth of a second; a second of the ramp comes before the measured four.
        assert_eq!(
            (cell["bins"].as_u64(), cell["begin"].as_f64(), cell["end"].as_f64()),
            (Some(50), Some(-1.0), Some(4.0))
        );
        let iops = &cell["tracks"][0]["lines"][0]["high"][1];
        let expected: Vec<Option<f64>> = (0..50_u64)
            .map(|bin| bin.checked_sub(10).map(|step| (10 + (step * 3 + 1) % 4) as f64 * 10.0))
            .collect();
        let shown: Vec<Option<f64>> =
            iops.as_array().unwrap().iter().map(serde_json::Value::as_f64).collect();
        assert_eq!(shown, expected);
        assert!(
            cell["tracks"][0]["lines"][0]["high"][ROUNDS as usize][20].is_null(),
            "the failed trial has no rate"
        );
    }

    #[test]
    fn a_page_without_room_has_no_values() {
        let made = made("randread");
        let many = made.view.cells.iter().cycle().take(500);
        assert!(courses(many, &made.trials).is_none());
        assert!(courses(made.view.cells.iter(), &crate::Trials::default()).is_none());
    }

    #[test]
    fn values_have_four_digits() {
        let written = |value| {
            let mut out = String::new();
            short(&mut out, value);
            (out.clone(), out.parse::<f64>().unwrap())
        };
        let all = [123_456.0, 0.123_456, 0.0, 2.0, 40_000.0, -73.56, 9_999.9].map(|value| written(value).0);
        assert_eq!(all, ["1235e2", "1235e-4", "0", "2", "4e4", "-7356e-2", "1e4"]);
        for value in [123_456.0, 1e-9 / 3.0, 2e15 / 7.0] {
            assert!((written(value).1 / value - 1.0).abs() < 1e-3, "{value}");
        }
    }
}
