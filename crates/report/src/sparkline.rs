//! A time series as a line of bars.

use crate::document::Series;
use crate::number::{self, expected};

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The most bars; of a longer series the last ones are drawn.
const MOST: usize = 60;

/// Draws a series. Its two ends are printed as numbers, since the bars range from the lowest to the highest value and not from 0. `None` if
/// the values don't differ.
pub(crate) fn drawn(series: &Series) -> Option<String> {
    let unit = &series.unit;
    let from = series.values.len().saturating_sub(MOST);
    let values = series.values.get(from..)?;
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if !(low < high && high.is_finite()) {
        return None;
    }
    let bars = bars(values, low, high);
    let named = match number::scale(high, unit).unit {
        "IOPS" => format!("{} to {} IOPS", expected(low, unit), expected(high, unit)),
        _ => format!("{} to {}", expected(low, unit), expected(high, unit)),
    };
    Some(format!("{}{} {bars} {named}", if from == 0 { "" } else { "last " }, series.of))
}

/// Draws the series of a caveat, each behind the name of its cell.
#[must_use]
pub fn all(courses: &[(Option<String>, Series)]) -> Vec<String> {
    let one = |(cell, series): &(Option<String>, Series)| {
        let cell = cell.as_ref().map(|cell| format!("{cell}: ")).unwrap_or_default();
        Some(format!("{cell}{}", drawn(series)?))
    };
    courses.iter().filter_map(one).collect()
}

/// A bar for each value, from the lowest to the highest; the last ones, if there are more than `most`.
pub(crate) fn course(values: &[f64], most: usize) -> String {
    let values = values.get(values.len().saturating_sub(most)..).unwrap_or_default();
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    bars(values, low, high)
}

fn bars(values: &[f64], low: f64, high: f64) -> String {
    let share = |v: &f64| if low < high { (v - low) / (high - low) } else { 0.0 };
    values.iter().filter_map(|v| bar(share(v))).collect()
}

/// The bar for a share from 0 to 1.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 7")]
fn bar(share: f64) -> Option<char> {
    BARS.get((share.clamp(0.0, 1.0) * 7.0).round() as usize).copied()
}

#[cfg(test)]
mod tests {
    use super::{course, drawn};
    use crate::document::Series;

    #[test]
    fn bars_go_from_the_lowest_to_the_highest_which_are_said() {
        let line = |values: &[f64], unit: &str| {
            drawn(&Series { of: "rounds", values: values.to_vec(), unit: unit.to_owned() })
        };
        let shown = line(&[69.0, 347.0, 2663.0, 7089.0], "1/s");
        assert_eq!(shown.as_deref(), Some("rounds ▁▁▄█ 69 to 7,089 IOPS"));
        assert_eq!(line(&[1e6, 2e6], "B/s").as_deref(), Some("rounds ▁█ 1 MB/s to 2 MB/s"));
        assert_eq!(line(&[5.0, 5.0], "1/s"), None);
        assert_eq!(line(&[], "1/s"), None);
        assert_eq!(line(&[f64::NAN, 1.0], "1/s"), None);
        assert_eq!((course(&[1.0, 2.0, 1.0], 2), course(&[5.0, 5.0], 9)), ("█▁".to_owned(), "▁▁".to_owned()));
    }
}
