//! Parses times and sizes in fio's job files.

/// Parses a time into seconds: bare numbers are seconds; suffixes are `us`, `ms`, `s`, `m`, `h`, `d`. `None` for anything else.
pub(super) fn seconds(text: &str) -> Option<f64> {
    let (number, unit) = split(text)?;
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

/// Parses a size into bytes with fio's default base: `k`, `m`, `g`, `t`, `p` and `kb`... are powers of 1024, `kib`... (sic) of
/// 1000.
pub(super) fn bytes(text: &str) -> Option<u64> {
    let (number, unit) = split(text)?;
    let number: u64 = number.parse().ok()?;
    let (letter, rest) = unit.split_at_checked(1).unwrap_or(("", ""));
    let base: u64 = match rest {
        "" | "b" => 1024,
        "ib" => 1000,
        _ => return None,
    };
    let power = match letter {
        "" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        "p" => 5,
        _ => return None,
    };
    number.checked_mul(base.checked_pow(power)?)
}

fn split(text: &str) -> Option<(&str, String)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    (!number.is_empty()).then(|| (number, unit.trim().to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::{bytes, seconds};

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
            assert_eq!(bytes(text), Some(wanted), "{text}");
        }
        for text in ["", "k", "10%", "1x", "4k-8k", "99999999999p", "4k,8k"] {
            assert_eq!(bytes(text), None, "{text}");
        }
    }
}
