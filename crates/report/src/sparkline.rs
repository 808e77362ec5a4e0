//! A rate's time series as a line of bars.

use crate::number::{self, expected};
use record::finding::{Claim, Finding};
use record::judged::CellView;
use record::metric::LARGE_BLOCK;

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The most bars; of a longer series the last ones are drawn.
const MOST: usize = 60;

/// The time series that a finding is about: tenths of a trial, or the cell's rounds. Its two ends are printed as numbers, since the bars
/// range from the lowest to the highest value and not from 0.
pub(crate) fn course(finding: &Finding, cell: Option<&CellView>) -> Option<String> {
    match finding.claim {
        Claim::RampUp | Claim::NotSteady | Claim::BurstExhausted => tenths(finding),
        Claim::Trend | Claim::Bimodal | Claim::Autocorrelated | Claim::Outliers => rounds(finding, cell?),
        _ => None,
    }
}

fn tenths(finding: &Finding) -> Option<String> {
    let tenths = || finding.evidence.iter().filter(|(name, _)| name.starts_with("tenth_"));
    let unit = if tenths().next()?.0.ends_with("_iops") { "1/s" } else { "B/s" };
    let values: Vec<f64> = tenths().map(|(_, value)| *value).collect();
    line("tenths of the trial", &values, unit)
}

/// The series over rounds of the figure that the finding's evidence names as `first_round_FIGURE`. Older records don't name it; their
/// findings are about rates.
fn rounds(finding: &Finding, cell: &CellView) -> Option<String> {
    let large = cell.asked.as_ref().is_some_and(|a| a.bs_bytes >= LARGE_BLOCK);
    let rate = if large { "bw" } else { "iops" };
    let named = finding.evidence.keys().find_map(|name| name.strip_prefix("first_round_"));
    let metric = match named {
        None | Some("iops") => cell.metrics.get(rate)?,
        Some("bytes_per_second") => cell.metrics.get("bw").or_else(|| cell.metrics.get("block_output_bw"))?,
        Some(figure) => cell.metrics.get(figure)?,
    };
    let from = metric.values.len().saturating_sub(MOST);
    line(if from == 0 { "rounds" } else { "last rounds" }, metric.values.get(from..)?, &metric.unit)
}

fn line(what: &str, values: &[f64], unit: &str) -> Option<String> {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if !(low < high && high.is_finite()) {
        return None;
    }
    let bars: String = values.iter().filter_map(|v| bar((v - low) / (high - low))).collect();
    let named = match number::scale(high, unit).unit {
        "IOPS" => format!("{} to {} IOPS", expected(low, unit), expected(high, unit)),
        _ => format!("{} to {}", expected(low, unit), expected(high, unit)),
    };
    Some(format!("{what} {bars} {named}"))
}

/// The bar for a share from 0 to 1.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 7")]
fn bar(share: f64) -> Option<char> {
    BARS.get((share.clamp(0.0, 1.0) * 7.0).round() as usize).copied()
}

#[cfg(test)]
mod tests {
    use super::{course, line};
    use crate::testing;
    use record::finding::{Claim, Severity};
    use record::workload::Rw;

    #[test]
    fn bars_go_from_the_lowest_to_the_highest_which_are_said() {
        let shown = line("rounds", &[69.0, 347.0, 2663.0, 7089.0], "1/s");
        assert_eq!(shown.as_deref(), Some("rounds ▁▁▄█ 69 to 7,089 IOPS"));
        assert_eq!(line("x", &[1e6, 2e6], "B/s").as_deref(), Some("x ▁█ 1 MB/s to 2 MB/s"));
        assert_eq!(line("x", &[5.0, 5.0], "1/s"), None);
        assert_eq!(line("x", &[], "1/s"), None);
        assert_eq!(line("x", &[f64::NAN, 1.0], "1/s"), None);
    }

    #[test]
    fn a_finding_about_a_course_has_one() {
        let mut cell = testing::cell("c", "lvm", "randread", Rw::Randread, 4096);
        testing::side(&mut cell, "read", (100.0, Some(5.0)), 400.0);
        cell.metrics.get_mut("iops").unwrap().values = (0..70).map(f64::from).collect();
        let mut finding = testing::finding("c", Claim::Trend, Severity::Caveat, "It climbs.", "Wait.");
        let shown = course(&finding, Some(&cell)).unwrap();
        assert!(shown.starts_with("last rounds ▁") && shown.ends_with("█ 10 to 69 IOPS"), "{shown}");
        finding.claim = Claim::NotSteady;
        assert_eq!(course(&finding, Some(&cell)), None, "nothing is told of the trial");
        for tenth in 1..=10_u32 {
            finding.evidence.insert(format!("tenth_{tenth:02}_bytes_per_second"), f64::from(tenth) * 1e6);
        }
        assert_eq!(
            course(&finding, None).as_deref(),
            Some("tenths of the trial ▁▂▃▃▄▅▆▆▇█ 1 MB/s to 10 MB/s")
        );
        finding.claim = Claim::DoubleCaching;
        assert_eq!(course(&finding, Some(&cell)), None);
    }
}
