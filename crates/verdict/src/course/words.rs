//! Figures of a time series in words.

use crate::figures::{range, with_unit};
use stats::Estimate;
use std::collections::BTreeMap;

/// The remedy if the limits changed during the trial.
pub(super) const LIMITS_CHANGED: &str = "The limits on the engine's I/O were changed during the trial (see the finding \
                                         throttle_changed). Unless the experiment asks for that, leave them constant while it \
                                         runs.";

/// Evidence, text, remedy.
pub(super) type Said = (BTreeMap<String, f64>, String, String);

/// An estimate, as in `300 IOPS (295 to 305 IOPS)`; without the interval if there is none.
pub(super) fn estimate(e: &Estimate, unit: &str) -> String {
    let value = with_unit(e.value, unit);
    if e.is_bounded() { format!("{value} ({})", range(e.low.max(0.0), e.high, unit)) } else { value }
}

/// A list of rates with the unit once: `300, 299, 150 IOPS`.
pub(super) fn rates(list: &[f64], unit: &str) -> String {
    let words: Vec<String> = list.iter().map(|x| with_unit(*x, unit)).collect();
    let units: Vec<&str> = words.iter().filter_map(|w| Some(w.split_once(' ')?.1)).collect();
    match units.as_slice() {
        [first, rest @ ..] if units.len() == words.len() && rest.iter().all(|u| u == first) => {
            let numbers: Vec<&str> = words.iter().filter_map(|w| Some(w.split_once(' ')?.0)).collect();
            format!("{} {first}", numbers.join(", "))
        }
        _ => words.join(", "),
    }
}

/// Seconds for people: `0.5 s`, `12 s`.
pub(super) fn seconds(s: f64) -> String {
    if (s - s.round()).abs() < 0.05 || s >= 100.0 { format!("{s:.0} s") } else { format!("{s:.1} s") }
}

/// A rate's name in evidence: `NAME_iops` or `NAME_bytes_per_second`.
pub(super) fn counter(name: &str, unit: &str) -> String {
    let unit = if unit == "B/s" { "bytes_per_second" } else { "iops" };
    format!("{name}_{unit}")
}

/// The rate in the tenths of the trial, from the first to the last.
pub(super) fn tenths(batches: &[f64], unit: &str) -> BTreeMap<String, f64> {
    let border = |k: usize| k * batches.len() / 10;
    let tenth =
        |k: usize| batches.get(border(k)..border(k + 1)).filter(|p| !p.is_empty()).map(super::shape::mean);
    (0..10).filter_map(|k| Some((counter(&format!("tenth_{:02}", k + 1), unit), tenth(k)?))).collect()
}
