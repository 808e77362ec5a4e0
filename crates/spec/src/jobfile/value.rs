//! Plain values of options in job files. Values in other forms are left to fio.

use crate::number::Number;
use crate::quantity::{amount_in_job_file, duration_or};
use std::ops::RangeInclusive;

/// Parses a size without a unit or with one letter. The meaning of fio's longer units depends on `kb_base`.
pub(super) fn size(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let bytes = amount_in_job_file(text)?.ok()?.whole()?;
    u64::try_from(bytes).ok().filter(|bytes| *bytes <= 1 << 60)
}

/// Parses an integer.
pub(super) fn count<T: TryFrom<u64>>(text: &str, range: RangeInclusive<u64>) -> Option<T> {
    let digits = Some(text).filter(|text| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()))?;
    digits.parse().ok().filter(|number| range.contains(number)).and_then(|number| T::try_from(number).ok())
}

/// Parses a switch.
pub(super) fn switch(text: &str) -> Option<bool> {
    match text {
        "1" => Some(true),
        "0" => Some(false),
        _ => None,
    }
}

/// Parses a time of at most a day, in whole steps of `1 / per_second` seconds. Without a unit it is in `unit`.
pub(super) fn parse(text: &str, unit: &str, per_second: u32) -> Option<u64> {
    let time = duration_or(text, unit).ok().filter(|time| time.to_f64() <= 86_400.0)?;
    time.multiply(Number::integer(per_second.into()))?.whole().and_then(|steps| u64::try_from(steps).ok())
}
