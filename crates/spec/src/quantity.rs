//! Sizes, times and percentages as people write them.

use crate::number::Number;

/// Why a text is no quantity: what to say about it.
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

/// A number with one of fio's suffixes: k, m, g, t, p are powers of 1024. `None`: it is written as something else, e.g. a
/// name. `Some(Err)`: it looks like a quantity but cannot be taken as one.
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
        return Some(Err(Wrong::new(format!("`{}` is no number", crate::diagnostic::printable(digits, 40)))));
    };
    let lower = suffix.to_ascii_lowercase();
    let power = match lower.as_str() {
        "" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        "p" => 5,
        other => return Some(Err(wrong_suffix(digits, other, suffix))),
    };
    let too_large = || Wrong::new(format!("`{digits}{suffix}` is too large"));
    Some(number.multiply(Number::integer(1_i128 << (10 * power))).ok_or_else(too_large))
}

fn wrong_suffix(digits: &str, lower: &str, typed: &str) -> Wrong {
    let typed = crate::diagnostic::printable(typed, 20);
    match lower {
        "kb" | "mb" | "gb" | "tb" | "pb" | "kib" | "mib" | "gib" | "tib" | "pib" => {
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
            format!("`{typed}` is no unit of size"),
            "sizes take fio's suffixes k, m, g, t: powers of 1024",
        ),
    }
}

/// A time with its unit, in seconds: `500ms`, `20s`, `5m`, `1h`.
pub(crate) fn duration(text: &str) -> Result<Number, Wrong> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let shown = crate::diagnostic::printable(text, 40);
    let Some(number) = Number::parse(digits) else {
        return Err(Wrong::with(format!("`{shown}` is no time"), "write e.g. `20s`, `500ms`, `5m` or `1h`"));
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
            return Err(Wrong::with(format!("`{other}` is no unit of time"), "units are us, ms, s, m, h, d"));
        }
    };
    let factor = Number::new(times, by).unwrap_or(Number::integer(1));
    number.multiply(factor).ok_or_else(|| Wrong::new(format!("`{shown}` is too long")))
}

/// A percentage as a ratio: `5%` is 1/20.
pub(crate) fn percent(text: &str) -> Result<Number, Wrong> {
    let shown = crate::diagnostic::printable(text.trim(), 40);
    let Some(digits) = text.trim().strip_suffix('%') else {
        let help = match Number::parse(text.trim()) {
            Some(n) if n.to_f64() <= 1.0 && !n.is_zero() => format!("write `{}%`", n.to_f64() * 100.0),
            Some(_) => format!("write `{shown}%`"),
            None => "write e.g. `5%`".to_owned(),
        };
        return Err(Wrong::with(format!("`{shown}` is no percentage"), help));
    };
    Number::parse(digits.trim())
        .and_then(|n| n.divide(Number::integer(100)))
        .ok_or_else(|| Wrong::with(format!("`{shown}` is no percentage"), "write e.g. `5%`"))
}
