//! Sizes, times and percentages in the form that people write.

use crate::number::Number;

/// Why a text is not a quantity, with the message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub(crate) message: String,
    pub(crate) help: Option<String>,
    pub(crate) near: Option<String>,
}

impl Wrong {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), help: None, near: None }
    }

    pub(crate) fn with(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { message: message.into(), help: Some(help.into()), near: None }
    }
}

/// Parses a number with a suffix of a job file. With fio's default `kb_base`, `64MiB` is 64,000,000 bytes there, so such units are no
/// quantity here.
pub(crate) fn amount_in_job_file(text: &str) -> Option<Result<Number, Wrong>> {
    amount(text).filter(|_| !text.trim_end().to_ascii_lowercase().ends_with("ib"))
}

/// Parses a number with one of fio's suffixes: k, m, g, t, p are powers of 1024, and so are KiB, MiB... `None`: the text is something else, e.g. a name.
/// `Some(Err)`: it looks like a quantity but is not a valid one.
pub(crate) fn amount(text: &str) -> Option<Result<Number, Wrong>> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (digits, suffix) = text.split_at(end);
    if digits.is_empty() || !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let suffix = suffix.trim_start();
    if !suffix.chars().all(|c| c.is_ascii_alphabetic()) {
        return None;
    }
    let Some(number) = Number::parse(digits) else {
        return Some(Err(Wrong::new(format!(
            "`{}` is not a number",
            crate::diagnostic::printable(digits, 40)
        ))));
    };
    let lower = suffix.to_ascii_lowercase();
    let power = match lower.as_str() {
        "" => 0,
        "k" | "kib" => 1,
        "m" | "mib" => 2,
        "g" | "gib" => 3,
        "t" | "tib" => 4,
        "p" | "pib" => 5,
        other => return Some(Err(wrong_suffix(digits, other, suffix))),
    };
    let too_large = || Wrong::new(format!("`{digits}{suffix}` is too large"));
    Some(number.multiply(Number::integer(1_i128 << (10 * power))).ok_or_else(too_large))
}

fn wrong_suffix(digits: &str, lower: &str, typed: &str) -> Wrong {
    let typed = crate::diagnostic::printable(typed, 20);
    match lower {
        "kb" | "mb" | "gb" | "tb" | "pb" => {
            let unit = lower.get(..1).unwrap_or("k");
            let name = format!("{}iB", unit.to_ascii_uppercase());
            Wrong::with(
                format!("`{digits}{typed}` is ambiguous: fio, kernel and vendors disagree about `{typed}`"),
                format!(
                    "write `{digits}{unit}` for {digits} {name} (powers of 1024), or the plain number of bytes"
                ),
            )
        }
        "b" => Wrong::with(
            format!("`{digits}{typed}` has a needless unit"),
            format!("write `{digits}`: bytes need no unit"),
        ),
        _ => Wrong::with(
            format!("`{typed}` is not a unit of size"),
            "sizes take fio's suffixes k, m, g, t: powers of 1024",
        ),
    }
}

/// Parses a time with its unit, and returns seconds: `500ms`, `20s`, `5m`, `1h`.
pub(crate) fn duration(text: &str) -> Result<Number, Wrong> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let shown = crate::diagnostic::printable(text, 40);
    let Some(number) = Number::parse(digits) else {
        return Err(Wrong::with(
            format!("`{shown}` is not a time"),
            "write e.g. `20s`, `500ms`, `5m` or `1h`",
        ));
    };
    let (times, by) = match unit.trim() {
        "us" => (1, 1_000_000),
        "ms" => (1, 1_000),
        "s" | "sec" => (1, 1),
        "m" | "min" => (60, 1),
        "h" => (3600, 1),
        "d" => (86_400, 1),
        "" => {
            return Err(Wrong::with(
                format!("`{shown}` has no unit of time"),
                format!("write `{shown}s` for seconds"),
            ));
        }
        other => {
            let other = crate::diagnostic::printable(other, 20);
            return Err(Wrong::with(
                format!("`{other}` is not a unit of time"),
                "units are us, ms, s, m, h, d",
            ));
        }
    };
    let factor = Number::new(times, by).unwrap_or(Number::integer(1));
    number.multiply(factor).ok_or_else(|| Wrong::new(format!("`{shown}` is too long")))
}

/// Like [`duration`], but a number without a unit is in `unit`, as in fio.
pub(crate) fn duration_or(text: &str, unit: &str) -> Result<Number, Wrong> {
    let text = text.trim();
    let bare = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    if bare { duration(&format!("{text}{unit}")) } else { duration(text) }
}

/// Parses a percentage, and returns a ratio: `5%` is 1/20.
pub(crate) fn percent(text: &str) -> Result<Number, Wrong> {
    let shown = crate::diagnostic::printable(text.trim(), 40);
    let Some(digits) = text.trim().strip_suffix('%') else {
        let help = match Number::parse(text.trim()) {
            Some(n) if n.to_f64() <= 1.0 && !n.is_zero() => format!("write `{}%`", n.to_f64() * 100.0),
            Some(_) => format!("write `{shown}%`"),
            None => "write e.g. `5%`".to_owned(),
        };
        return Err(Wrong::with(format!("`{shown}` is not a percentage"), help));
    };
    Number::parse(digits.trim())
        .and_then(|n| n.divide(Number::integer(100)))
        .ok_or_else(|| Wrong::with(format!("`{shown}` is not a percentage"), "write e.g. `5%`"))
}

#[cfg(test)]
mod tests {
    use super::{amount, duration, percent};

    fn bytes(text: &str) -> Option<i128> {
        amount(text).and_then(Result::ok).and_then(crate::number::Number::whole)
    }

    #[test]
    fn suffixes_are_fios_powers_of_1024() {
        let read: Vec<_> =
            ["512", "16k", "16KiB", "1.5m", "2 GiB", "1t", "1p"].into_iter().map(bytes).collect();
        let right = [512, 16_384, 16_384, 1_572_864, 1 << 31, 1 << 40, 1 << 50];
        assert_eq!(read, right.map(Some));
    }

    #[test]
    fn units_that_mean_two_things_are_refused_with_the_way_out() {
        for (text, help) in [
            ("16kB", "write `16k`"),
            ("1gb", "write `1g`"),
            ("16 KB", "write `16k`"),
            ("512B", "write `512`"),
        ] {
            let wrong = amount(text).unwrap().unwrap_err();
            assert!(wrong.help.as_deref().unwrap_or_default().starts_with(help), "{text}: {wrong:?}");
        }
        assert!(amount("12x").unwrap().is_err());
        assert_eq!(amount("n"), None);
        assert_eq!(amount("-1"), None);
        assert_eq!(amount("2*n"), None);
    }

    #[test]
    fn times_need_their_unit() {
        let seconds = |text| duration(text).map(crate::number::Number::to_f64).ok();
        assert_eq!(
            ["500ms", "20s", "5m", "5min", "1.5h", "250us", "1d"].map(seconds),
            [0.5, 20.0, 300.0, 300.0, 5400.0, 0.00025, 86_400.0].map(Some)
        );
        assert_eq!(["20", "s", "", "20sx", "-5s", "1h30m"].map(seconds), [None; 6]);
    }

    #[test]
    fn percentages_need_their_sign() {
        let ratio = |text| percent(text).map(crate::number::Number::to_f64).ok();
        assert_eq!(["5%", "99.9 %", "0%"].map(ratio), [0.05, 0.999, 0.0].map(Some));
        assert_eq!(["5", "0.05", "%", "five%"].map(ratio), [None; 4]);
        assert_eq!(percent("0.05").unwrap_err().help.as_deref(), Some("write `5%`"));
    }
}
