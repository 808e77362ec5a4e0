//! Sizes and rates in the form that people read. Powers of 1024 have an `i`, powers of 1000 don't.

use std::fmt;

/// A number of bytes; displays as `512 B`, `16 KiB`, `1.5 GiB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
        if self.0 < 1024 {
            return write!(f, "{} B", self.0);
        }
        #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
        let mut value = self.0 as f64 / 1024.0;
        let mut unit = 0;
        while value >= 1023.95 && unit + 1 < UNITS.len() {
            value /= 1024.0;
            unit += 1;
        }
        if (value - value.round()).abs() < 0.05 {
            write!(f, "{value:.0} {}", UNITS[unit])
        } else {
            write!(f, "{value:.1} {}", UNITS[unit])
        }
    }
}

/// A time span in seconds; displays as `850 us`, `12 s`, `3 min 20 s`, `2 h 5 min`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Seconds(pub f64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = self.0;
        if s < 0.001 {
            write!(f, "{:.0} us", s * 1e6)
        } else if s < 1.0 {
            write!(f, "{:.0} ms", s * 1e3)
        } else if s < 10.0 {
            write!(f, "{s:.1} s")
        } else if s < 59.5 {
            write!(f, "{s:.0} s")
        } else if s < 3570.0 {
            write!(f, "{:.0} min {:.0} s", (s.round() / 60.0).floor(), s.round() % 60.0)
        } else {
            let minutes = (s / 60.0).round();
            write!(f, "{:.0} h {:.0} min", (minutes / 60.0).floor(), minutes % 60.0)
        }
    }
}

/// Formats a ratio and the ends of its interval with enough digits to show how the nearest of them differs from 1: `1.42`,
/// `1.042`, `1.0042`. An interval that contains 1 gets as many digits as its width justifies; large figures get fewer.
#[must_use]
pub fn ratios<const N: usize>(figures: [f64; N]) -> [String; N] {
    let nearest = figures.iter().map(|x| (x - 1.0).abs()).fold(f64::INFINITY, f64::min);
    let largest = figures.iter().copied().fold(0.0, f64::max);
    let least = figures.iter().copied().fold(f64::INFINITY, f64::min);
    let worth = if least < 1.0 && largest > 1.0 { nearest.max((largest - least) / 4.0) } else { nearest };
    let places = match (worth, largest) {
        (_, x) if x >= 100.0 => 0,
        (_, x) if x >= 10.0 => 1,
        (n, _) if n >= 0.05 => 2,
        (n, _) if n >= 0.005 => 3,
        _ => 4,
    };
    figures.map(|x| format!("{x:.places$}"))
}

/// An amount of money with two decimals, or more if a small amount needs them for two digits.
#[must_use]
pub fn money(amount: f64, currency: Option<&str>) -> String {
    let mut decimals = 2;
    while decimals < 9 && amount > 0.0 && amount * 10_f64.powi(decimals) < 9.95 {
        decimals += 1;
    }
    let decimals = usize::try_from(decimals).unwrap_or(2);
    let currency = currency.map(|name| format!(" {name}")).unwrap_or_default();
    format!("{amount:.decimals$}{currency}")
}

#[cfg(test)]
mod tests {
    use super::{Bytes, Seconds, money, ratios};

    #[test]
    fn ratios_tell_themselves_from_one() {
        assert_eq!(ratios([1.4167, 1.31, 1.54]), ["1.42", "1.31", "1.54"]);
        assert_eq!(ratios([1.04, 1.012, 1.068]), ["1.040", "1.012", "1.068"]);
        assert_eq!(ratios([1.0006, 0.9896, 1.0116]), ["1.001", "0.990", "1.012"]);
        assert_eq!(ratios([420.0, 310.0, 520.0]), ["420", "310", "520"]);
        assert_eq!(ratios([1.0; 1]), ["1.0000"]);
    }

    #[test]
    fn sizes_read_well() {
        let shown = [0, 512, 1024, 16 << 10, (1 << 30) + (1 << 29), u64::MAX].map(|b| Bytes(b).to_string());
        assert_eq!(shown, ["0 B", "512 B", "1 KiB", "16 KiB", "1.5 GiB", "16 EiB"]);
    }

    #[test]
    fn times_read_well() {
        let shown = [0.00085, 0.25, 1.5, 42.0, 59.9, 200.0, 7500.0].map(|s| Seconds(s).to_string());
        assert_eq!(shown, ["850 us", "250 ms", "1.5 s", "42 s", "1 min 0 s", "3 min 20 s", "2 h 5 min"]);
    }

    #[test]
    fn money_keeps_two_digits() {
        let shown =
            [5.0, 0.5, 0.113, 0.0158, 0.000_123, 1234.5, 0.0].map(|amount| money(amount, Some("EUR")));
        let expected =
            ["5.00 EUR", "0.50 EUR", "0.11 EUR", "0.016 EUR", "0.00012 EUR", "1234.50 EUR", "0.00 EUR"];
        assert_eq!(shown, expected);
    }
}
