//! Sizes and times in fio's job files.

/// A size in a job file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// A number of bytes.
    Bytes(u64),
    /// A percentage of the job's file or device.
    Percent(u64),
}

impl Size {
    /// Parses a size with fio's default base: `k`, `m`, `g`, `t`, `p` and `kb`... are powers of 1024, `kib`... (sic) of 1000. `20%`
    /// is a share of the file or device, `8z` are zones of `zone_bytes`. `None` for anything else.
    #[must_use]
    pub fn parse(text: &str, zone_bytes: Option<u64>) -> Option<Self> {
        let text = text.trim();
        if let Some(number) = text.strip_suffix('%') {
            let percent: u64 = number.trim_end_matches('%').parse().ok()?;
            return (1..=100).contains(&percent).then_some(Self::Percent(percent));
        }
        let (number, unit) = split(text)?;
        let number: u64 = number.parse().ok()?;
        if unit == "z" {
            return number.checked_mul(zone_bytes?).map(Self::Bytes);
        }
        let (letter, rest) = unit.split_at_checked(1).unwrap_or(("", ""));
        let base: u64 = match rest {
            "" | "b" => 1024,
            "ib" => 1000,
            _ => return None,
        };
        let power = "kmgtp".find(letter).filter(|_| !letter.is_empty()).map_or(0, |at| at + 1);
        if power == 0 && !letter.is_empty() {
            return None;
        }
        number.checked_mul(base.checked_pow(u32::try_from(power).ok()?)?).map(Self::Bytes)
    }

    /// Returns the bytes; a percentage is of `whole` bytes, cut to whole blocks of 4096 bytes.
    #[must_use]
    pub fn of(self, whole: u64) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Percent(percent) => {
                let share = u128::from(whole) * u128::from(percent) / 100;
                u64::try_from(share).unwrap_or(u64::MAX) / 4096 * 4096
            }
        }
    }
}

/// Parses a time into seconds: bare numbers are seconds; suffixes are `us`, `ms`, `s`, `m`, `h`, `d`. `None` for anything else.
#[must_use]
pub fn seconds(text: &str) -> Option<f64> {
    let (number, unit) = split(text.trim())?;
    let number: f64 = number.parse().ok()?;
    let unit = match unit.as_str() {
        "us" | "usec" => 1e-6,
        "ms" | "msec" => 1e-3,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86400.0,
        _ => return None,
    };
    Some(number * unit)
}

fn split(text: &str) -> Option<(&str, String)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    (!number.is_empty()).then(|| (number, unit.trim().to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::{Size, seconds};

    #[test]
    fn times() {
        for (text, wanted) in
            [("10", 10.0), ("10s", 10.0), ("1500ms", 1.5), ("2m", 120.0), ("1h", 3600.0), ("0", 0.0)]
        {
            assert_eq!(seconds(text), Some(wanted), "{text}");
        }
        for text in ["", "s", "-1", "1w", "1.5"] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }

    #[test]
    fn sizes() {
        for (text, wanted) in
            [("4096", 4096), ("4k", 4096), ("4KB", 4096), ("1g", 1 << 30), ("4kib", 4000), ("1M", 1 << 20)]
        {
            assert_eq!(Size::parse(text, None), Some(Size::Bytes(wanted)), "{text}");
        }
        for text in ["", "k", "1x", "4k-8k", "99999999999p", "4k,8k", "8z", "0%", "101%", "%"] {
            assert_eq!(Size::parse(text, None), None, "{text}");
        }
        assert_eq!(Size::parse("8z", Some(1 << 20)), Some(Size::Bytes(8 << 20)));
        assert_eq!(Size::parse("26%", None), Some(Size::Percent(26)));
        assert_eq!(Size::Percent(50).of(10_001), 4096, "whole blocks");
    }
}
