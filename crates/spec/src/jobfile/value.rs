//! Values of options in job files, where they are plain: what else fio would take of them is left to fio.

use crate::number::Number;
use crate::quantity::{amount, duration_or};
use std::ops::RangeInclusive;

/// A size without unit or with one letter. fio's longer units mean one thing or another by `kb_base`.
pub(super) fn size(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let bytes = amount(text)?.ok()?.whole()?;
    u64::try_from(bytes).ok().filter(|bytes| *bytes <= 1 << 60)
}

/// A whole number.
pub(super) fn count<T: TryFrom<u64>>(text: &str, range: RangeInclusive<u64>) -> Option<T> {
    let digits = Some(text).filter(|text| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()))?;
    digits.parse().ok().filter(|number| range.contains(number)).and_then(|number| T::try_from(number).ok())
}

/// On or off.
pub(super) fn switch(text: &str) -> Option<bool> {
    match text {
        "1" => Some(true),
        "0" => Some(false),
        _ => None,
    }
}

/// A time of at most a day, in whole steps of `1 / per_second` seconds; in `unit` where none is written.
pub(super) fn parse(text: &str, unit: &str, per_second: u32) -> Option<u64> {
    let time = duration_or(text, unit).ok().filter(|time| time.to_f64() <= 86_400.0)?;
    time.multiply(Number::integer(per_second.into()))?.whole().and_then(|steps| u64::try_from(steps).ok())
}
