//! Numbers for people, with no more digits than the interval supports.

use record::judged::Metric;

/// The highest number of significant digits.
const MOST_DIGITS: i32 = 4;
/// The lowest number of significant digits.
const LEAST_DIGITS: i32 = 2;

/// A unit, and its size in the metric's own unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    /// The unit's name, e.g. `MB/s`; empty for a plain number.
    pub unit: &'static str,
    /// Its size in the metric's own unit, e.g. 1e6 of `B/s`.
    pub factor: f64,
}

/// The scale that suits a value of a metric's unit.
#[must_use]
pub fn scale(value: f64, unit: &str) -> Scale {
    let pick = |steps: &[(f64, &'static str)]| {
        let fitting = steps.iter().find(|(factor, _)| value.abs() >= *factor).or(steps.last());
        fitting.map_or(Scale { unit: "", factor: 1.0 }, |&(factor, unit)| Scale { unit, factor })
    };
    match unit {
        "B/s" => pick(&[(1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s")]),
        "us" => pick(&[(1e6, "s"), (1e3, "ms"), (1.0, "us"), (1e-3, "ns")]),
        "ns" => pick(&[(1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns")]),
        "B" => pick(&[(1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")]),
        "s" => Scale { unit: "s", factor: 1.0 },
        "files/s" => Scale { unit: "files/s", factor: 1.0 },
        "1/s" => Scale { unit: "IOPS", factor: 1.0 },
        "per s" => Scale { unit: "per s", factor: 1.0 },
        "cores" => Scale { unit: "cores", factor: 1.0 },
        _ => Scale { unit: "", factor: 1.0 },
    }
}

/// The number of decimals that an interval of this half-width supports for this value: one significant digit of the half-width, or two if
/// it begins with 1. The value gets at most [`MOST_DIGITS`] digits and at least [`LEAST_DIGITS`], however wide the interval is: an
/// estimate of 4,356 ± 44,000 isn't 0. A negative number counts digits before the point that are rounded away.
fn decimals(value: f64, half_width: Option<f64>) -> i32 {
    let of_value = MOST_DIGITS - 1 - magnitude(value);
    let least = LEAST_DIGITS - 1 - magnitude(value);
    match half_width {
        Some(half) if half > 0.0 => {
            let first = half / 10_f64.powi(magnitude(half));
            let digits = if first < 1.95 { 1 } else { 0 };
            (digits - magnitude(half)).clamp(least, of_value)
        }
        Some(_) => of_value,
        None => of_value - 1,
    }
}

/// The power of ten of the first digit; 0 for 0.
#[expect(clippy::cast_possible_truncation, reason = "exponents of a double fit")]
fn magnitude(value: f64) -> i32 {
    if value == 0.0 || !value.is_finite() { 0 } else { value.abs().log10().floor() as i32 }
}

/// A number with that many decimals, and commas between thousands.
fn fixed(value: f64, decimals: i32) -> String {
    let rounded = if decimals < 0 {
        let step = 10_f64.powi(-decimals);
        (value / step).round() * step
    } else {
        value
    };
    let places = usize::try_from(decimals.max(0)).unwrap_or(0);
    let text = format!("{rounded:.places$}");
    thousands(&text)
}

/// A decimal number with commas between thousands.
pub(crate) fn thousands(text: &str) -> String {
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
    let (whole, fraction) = digits.split_once('.').map_or((digits, None), |(w, f)| (w, Some(f)));
    let mut out = sign.to_owned();
    for (i, c) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    if let Some(fraction) = fraction {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

/// An estimate with its half-width, as in `80.1 ± 0.4`, and the unit of both.
pub(crate) fn with_interval(metric: &Metric) -> (String, &'static str) {
    let scale = scale(metric.estimate, &metric.unit);
    let value = metric.estimate / scale.factor;
    let half = metric.half_width().map(|h| h / scale.factor);
    let places = decimals(value, half);
    let spread = match half {
        None => "?".to_owned(),
        Some(half) => {
            // Rounded up: the interval in the text must not be narrower than the measured one.
            let step = 10_f64.powi(-places);
            let up = (half / step - 1e-6).ceil() * step;
            if up > 0.0 { fixed(up, places) } else { format!("<{}", fixed(step, places)) }
        }
    };
    (format!("{} ± {spread}", fixed(value, places)), scale.unit)
}

/// A figure of an estimate and the ends of its interval, as [`with_interval`].
pub(crate) fn of_ends(
    estimate: f64,
    low: Option<f64>,
    high: Option<f64>,
    unit: &str,
) -> (String, &'static str) {
    with_interval(&Metric {
        estimate,
        low,
        high,
        confidence: 0.0,
        n: 0,
        unit: unit.to_owned(),
        values: Vec::new(),
        median: None,
        trimmed: None,
    })
}

/// The interval alone, without an estimate, as in `0 to 2,900`, and the unit of both ends. Rounded outwards to two digits: the interval in
/// the text must not be narrower than the measured one.
pub(crate) fn interval(low: f64, high: f64, unit: &str) -> (String, &'static str) {
    let scale = scale(high, unit);
    let outwards = |end: f64, round: fn(f64) -> f64| {
        let end = end / scale.factor;
        if end == 0.0 {
            return "0".to_owned();
        }
        let places = LEAST_DIGITS - 1 - magnitude(end);
        let step = 10_f64.powi(-places);
        // What is round already stays so in spite of the floating point.
        let slack = if round(0.5) > 0.0 { -1e-9 } else { 1e-9 };
        fixed(round(end / step + slack) * step, places)
    };
    (format!("{} to {}", outwards(low, f64::floor), outwards(high, f64::ceil)), scale.unit)
}

/// In place of an estimate: `too few rounds: 0 to 2,900`, and the unit. `None` if the interval is no wider than the estimate.
pub(crate) fn too_few(metric: &Metric) -> Option<(String, &'static str)> {
    let (low, high) = metric.low.zip(metric.high).filter(|_| metric.is_too_wide())?;
    let (range, unit) = interval(low, high, &metric.unit);
    Some((format!("too few rounds: {range}"), unit))
}

/// The values of the first and the last round, as in `50.8 → 308`, and the unit of both. `None` with fewer than two values.
pub(crate) fn first_to_last(metric: &Metric) -> Option<(String, &'static str)> {
    let [first, .., last] = metric.values[..] else { return None };
    let scale = scale(first.max(last), &metric.unit);
    let shown = |value: f64| {
        let value = value / scale.factor;
        fixed(value, 2 - magnitude(value))
    };
    Some((format!("{} → {}", shown(first), shown(last)), scale.unit))
}

/// The estimate with its unit and without interval: `812 ms`.
pub(crate) fn alone(metric: &Metric) -> String {
    let scale = scale(metric.estimate, &metric.unit);
    let value = metric.estimate / scale.factor;
    let half = metric.half_width().map(|h| h / scale.factor);
    let places = decimals(value, half).min(2 - magnitude(value));
    format!("{} {}", fixed(value, places), scale.unit).trim_end().to_owned()
}

/// One value, which has no interval, in three digits and with its unit: `1,240 IOPS`, `5.08 MB/s`.
#[must_use]
pub fn single(value: f64, unit: &str) -> String {
    let scale = scale(value, unit);
    let value = value / scale.factor;
    let places = if value == 0.0 { 0 } else { 2 - magnitude(value) };
    format!("{} {}", fixed(value, places), scale.unit).trim_end().to_owned()
}

/// The figure of a run that goes on: `1,240 IOPS ± 6.2 %`, or `too few rounds: 0 to 2,900 IOPS` if the interval is wider than the figure.
#[must_use]
pub fn so_far(metric: &Metric) -> String {
    if let Some((text, unit)) = too_few(metric) {
        return format!("{text} {unit}").trim_end().to_owned();
    }
    match metric.half_width().filter(|_| metric.estimate != 0.0) {
        Some(half) => format!("{} ± {}", alone(metric), at_most(half / metric.estimate.abs())),
        None => alone(metric),
    }
}

/// An expected value in the unit of the measured one: `80`, `2.5 GB/s`; IOPS without a unit.
#[must_use]
pub fn expected(value: f64, unit: &str) -> String {
    let scale = scale(value, unit);
    let scaled = value / scale.factor;
    let places = (3 - magnitude(scaled)).clamp(0, 3);
    let text = fixed(scaled, places);
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text };
    if matches!(scale.unit, "IOPS" | "") { text } else { format!("{text} {}", scale.unit) }
}

/// A tried level, with commas between thousands.
#[expect(clippy::cast_precision_loss, reason = "levels are far below 2^52")]
pub(crate) fn level(level: u64) -> String {
    fixed(level as f64, 0)
}

/// A share in percent: `100 %` from 99.95 % on, else `99.9 %`, `97 %`, `4.2 %`; `<0.1 %` below 0.05 %, and `0 %` only for 0.
#[must_use]
pub fn percent(share: f64) -> String {
    let p = share * 100.0;
    if p >= 99.95 || p <= 0.0 {
        format!("{:.0} %", p.clamp(0.0, 100.0))
    } else if p >= 99.5 {
        format!("{p:.1} %")
    } else if p >= 9.95 {
        format!("{p:.0} %")
    } else if p >= 0.05 {
        format!("{p:.1} %")
    } else {
        "<0.1 %".to_owned()
    }
}

/// A margin in percent with at most one decimal: `5 %`, `2.5 %`.
#[must_use]
pub fn margin(share: f64) -> String {
    format!("{} %", (share * 1000.0).round() / 10.0)
}

/// An upper bound of a relative difference, rounded up: `1.4 %`, `12 %`; from 1 on as a factor: `x 2.5`.
pub(crate) fn at_most(x: f64) -> String {
    // Nothing is 0, not -0.
    let up = |x: f64, step: f64| ((x / step - 1e-9).ceil() + 0.0) * step;
    if x >= 1.0 {
        format!("x {:.1}", up(1.0 + x, 0.1))
    } else if x >= 0.0995 {
        format!("{:.0} %", up(x * 100.0, 1.0))
    } else {
        format!("{:.1} %", up(x * 100.0, 0.1))
    }
}

#[cfg(test)]
mod tests {
    use super::{
        alone, at_most, expected, first_to_last, interval, percent, single, so_far, too_few, with_interval,
    };
    use crate::testing::metric;
    use record::judged::Metric;

    fn shown(estimate: f64, half: f64, unit: &str) -> String {
        let (text, unit) = with_interval(&metric(estimate, Some(half), unit));
        format!("{text} {unit}")
    }

    #[test]
    fn digits_follow_the_interval() {
        assert_eq!(shown(80.123, 0.43, "1/s"), "80.1 ± 0.5 IOPS");
        assert_eq!(shown(160.34, 1.21, "1/s"), "160.3 ± 1.3 IOPS");
        assert_eq!(shown(240.0, 31.0, "1/s"), "240 ± 40 IOPS");
        assert_eq!(shown(570_830.0, 912.0, "1/s"), "570,800 ± 1,000 IOPS");
        assert_eq!(shown(570_830.0, 91_200.0, "1/s"), "570,000 ± 100,000 IOPS");
        assert_eq!(shown(2.5e9, 1.1e7, "B/s"), "2.500 ± 0.011 GB/s");
        assert_eq!(shown(812_345.0, 9_000.0, "us"), "812 ± 9 ms");
    }

    #[test]
    fn an_estimate_that_is_hardly_known_is_still_there() {
        assert_eq!(shown(4_356.0, 44_210.0, "1/s"), "4,400 ± 44,300 IOPS");
        assert_eq!(shown(570_830.0, 300_000.0, "1/s"), "570,000 ± 300,000 IOPS");
        assert_eq!(alone(&metric(130_000.0, Some(1.1e6), "ns")), "130 us");
    }

    #[test]
    fn never_more_than_four_digits_and_never_an_interval_of_zero() {
        assert_eq!(shown(238.961, 0.049, "1/s"), "239.0 ± 0.1 IOPS");
        assert_eq!(shown(80.0, 0.0, "1/s"), "80.00 ± <0.01 IOPS");
    }

    #[test]
    fn an_interval_is_never_shown_narrower_than_it_is() {
        for i in 1..2000_u32 {
            let half = f64::from(i) * 0.037;
            let (text, _) = with_interval(&metric(1234.5, Some(half), "1/s"));
            let spread: f64 = text.split("± ").nth(1).unwrap().replace(',', "").parse().unwrap();
            assert!(spread >= half - 1e-3 && spread <= half * 2.1 + 1.0, "{half} shown as {text}");
        }
    }

    #[test]
    fn an_interval_alone_is_rounded_outwards() {
        let shown = |low, high, unit| {
            let (text, unit) = interval(low, high, unit);
            format!("{text} {unit}")
        };
        assert_eq!(shown(0.0, 2_893.0, "1/s"), "0 to 2,900 IOPS");
        assert_eq!(shown(412.0, 1_810.0, "1/s"), "410 to 1,900 IOPS");
        assert_eq!(shown(410.0, 1_900.0, "1/s"), "410 to 1,900 IOPS");
        assert_eq!(shown(2.06e6, 9.71e6, "B/s"), "2.0 to 9.8 MB/s");
        assert_eq!(shown(129.0, 4_000.0, "us"), "0.12 to 4.0 ms");
    }

    #[test]
    fn an_interval_wider_than_its_estimate_is_no_figure() {
        let text = |estimate, half| too_few(&metric(estimate, half, "1/s")).map(|(text, _)| text);
        assert_eq!(text(1100.0, Some(600.0)).as_deref(), Some("too few rounds: 500 to 1,700"));
        assert_eq!(text(1100.0, Some(540.0)), None);
        assert_eq!(text(1100.0, None), None, "one round has no interval, and says so by a question mark");
        assert_eq!(text(0.0, Some(0.0)), None);
    }

    #[test]
    fn a_climb_has_two_ends() {
        let of = |values: &[f64], unit: &str| {
            first_to_last(&Metric { values: values.to_vec(), ..metric(1.0, None, unit) })
        };
        let climb = |text: &str, unit| Some((text.to_owned(), unit));
        assert_eq!(of(&[50.84, 900.0, 308.4], "1/s"), climb("50.8 → 308", "IOPS"));
        assert_eq!(of(&[2.4e9, 6.1e6], "B/s"), climb("2.40 → 0.00610", "GB/s"), "one unit for both");
        assert_eq!(of(&[69.0, 7089.0], "1/s"), climb("69.0 → 7,090", "IOPS"));
        assert_eq!(of(&[80.0], "1/s"), None);
    }

    #[test]
    fn one_trial_has_a_question_mark_for_an_interval() {
        assert_eq!(with_interval(&metric(80.12, None, "1/s")), ("80.1 ± ?".to_owned(), "IOPS"));
    }

    #[test]
    fn others_read_well() {
        assert_eq!(alone(&metric(812_345.0, Some(900.0), "us")), "812 ms");
        assert_eq!(alone(&metric(2134.0, Some(30.0), "ns")), "2.13 us");
        assert_eq!([alone(&metric(265.4, Some(1.0), "1")), expected(265.0, "1")], ["265", "265"]);
        assert_eq!(alone(&metric(1234.0, Some(300.0), "us")), "1.2 ms");
        assert_eq!(
            [expected(80.0, "1/s"), expected(2.5e9, "B/s"), expected(213.333, "1/s")],
            ["80", "2.5 GB/s", "213.3"]
        );
        assert_eq!(
            [1.0, 0.9991, 0.97, 0.042, 0.0001, 0.0].map(percent),
            ["100 %", "99.9 %", "97 %", "4.2 %", "<0.1 %", "0 %"]
        );
    }

    #[test]
    fn a_figure_of_a_run_that_goes_on_has_a_relative_interval() {
        let shown = |half| so_far(&metric(1243.0, half, "1/s"));
        assert_eq!(shown(Some(75.3)), "1,240 IOPS ± 6.1 %");
        assert_eq!(shown(Some(0.1)), "1,240 IOPS ± 0.1 %", "never narrower than it is");
        assert_eq!(shown(Some(0.0)), "1,240 IOPS ± 0.0 %", "all rounds alike");
        assert_eq!(shown(Some(900.0)), "too few rounds: 340 to 2,200 IOPS");
        assert_eq!(shown(None), "1,240 IOPS");
        assert_eq!(so_far(&metric(592.0 * 1024.0, Some(6_000.0), "B/s")), "606 kB/s ± 1.0 %");
    }

    #[test]
    fn one_value_has_three_digits_and_the_units_of_the_report() {
        assert_eq!(single(1_243.4, "1/s"), "1,240 IOPS");
        assert_eq!(single(592.0 * 1024.0, "B/s"), "606 kB/s");
        assert_eq!([single(5.08e6, "B/s"), single(0.0, "1/s")], ["5.08 MB/s", "0 IOPS"]);
    }

    #[test]
    fn bounds_are_never_shown_smaller_than_they_are() {
        assert_eq!(
            [0.0131, 0.03, 0.121, 0.0996, 1.5].map(at_most),
            ["1.4 %", "3.0 %", "13 %", "10 %", "x 2.5"]
        );
    }
}
