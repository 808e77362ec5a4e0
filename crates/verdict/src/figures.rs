//! Figures in sentences.

use crate::span::float;
use record::quantity::Bytes;

/// A share in percent: `97 %`, `4.2 %`, `0.3 %`; `100 %` only from 99.95 % on.
pub(crate) fn percent(share: f64) -> String {
    let p = share * 100.0;
    let whole = p >= 99.95 || (9.95..99.5).contains(&p) || (p < 99.5 && (p.round() - p).abs() < 0.05);
    if whole { format!("{p:.0} %") } else { format!("{p:.1} %") }
}

/// Bytes with a unit: `1.5 GiB`.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped; saturates")]
pub(crate) fn bytes(n: f64) -> String {
    Bytes(n.max(0.0).round() as u64).to_string()
}

/// A rate with two to four significant digits, from 1000 on all digits: `80`, `239`, `1,240`, `0.52`.
pub(crate) fn rate(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude >= 1e6 {
        format!("{:.3} million", value / 1e6)
    } else if magnitude >= 1000.0 {
        thousands(value)
    } else if magnitude >= 100.0 || (value - value.round()).abs() < 1e-9 {
        format!("{value:.0}")
    } else if magnitude >= 10.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

/// A metric's value with a suitable multiple of its unit: IOPS, B/s and so on.
pub(crate) fn with_unit(value: f64, unit: &str) -> String {
    if let Some((of, per)) = unit.split_once(" per ") {
        return format!("{} per {per}", with_unit(value, of));
    }
    match unit {
        "B/s" if value >= 1e9 => format!("{:.2} GB/s", value / 1e9),
        "B/s" if value >= 1e6 => format!("{} MB/s", rate(value / 1e6)),
        "B/s" => format!("{} kB/s", rate(value / 1e3)),
        "us" if value >= 1e6 => format!("{:.2} s", value / 1e6),
        "us" if value >= 1e3 => format!("{} ms", rate(value / 1e3)),
        "us" => format!("{} us", rate(value)),
        "B" => bytes(value),
        "1/s" => format!("{} IOPS", rate(value)),
        "1" => rate(value),
        other => format!("{} {other}", rate(value)),
    }
}

/// An interval: `231 to 240 IOPS`, `900 us to 1.20 ms`.
pub(crate) fn range(low: f64, high: f64, unit: &str) -> String {
    if let Some((of, per)) = unit.split_once(" per ") {
        return format!("{} per {per}", range(low, high, of));
    }
    let (low, high) = (with_unit(low, unit), with_unit(high, unit));
    match (low.split_once(' '), high.split_once(' ')) {
        (Some((number, a)), Some((_, b))) if a == b => format!("{number} to {high}"),
        _ => format!("{low} to {high}"),
    }
}

fn thousands(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    if value < 0.0 { format!("-{out}") } else { out }
}

/// A count with its noun: `1 trial`, `3 trials`.
pub(crate) fn counted(n: u64, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{} {noun}s", rate(float(n))) }
}

#[cfg(test)]
mod tests {
    use super::{bytes, counted, percent, range, rate, with_unit};

    #[test]
    fn figures_read_well() {
        assert_eq!(
            [0.973, 0.042, 0.5, 1.0, 0.9991, 0.003].map(percent),
            ["97 %", "4.2 %", "50 %", "100 %", "99.9 %", "0.3 %"]
        );
        assert_eq!(
            [80.0, 239.4, 1240.2, 0.524, 12.34, 2_345_678.0].map(rate),
            ["80", "239", "1,240", "0.52", "12.3", "2.346 million"]
        );
        assert_eq!(bytes(1536.0), "1.5 KiB");
        assert_eq!(range(231.0, 240.4, "1/s"), "231 to 240 IOPS");
        assert_eq!(range(900.0, 1200.0, "us"), "900 us to 1.20 ms");
        assert_eq!(range(3.09, 4.07, "per s"), "3.09 to 4.07 per s");
        assert_eq!(with_unit(80.0, "1/s"), "80 IOPS");
        assert_eq!(with_unit(250e6, "B/s"), "250 MB/s");
        assert_eq!(with_unit(812_345.0, "us"), "812 ms");
        assert_eq!([with_unit(265.0, "1"), with_unit(2100.0, "ns")], ["265", "2,100 ns"]);
        assert_eq!(range(260.0, 270.0, "1"), "260 to 270");
        assert_eq!(range(12.0, 13.0, "1/s per EUR a month"), "12 to 13 IOPS per EUR a month");
        assert_eq!([counted(1, "trial"), counted(3, "trial")], ["1 trial", "3 trials"]);
    }
}
