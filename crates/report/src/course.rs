//! The time series that a finding is about.

use crate::document::Series;
use record::finding::{Claim, Finding};
use record::judged::CellView;
use record::metric::LARGE_BLOCK;

/// What a series over the rounds has a value of.
pub(crate) const ROUNDS: &str = "rounds";

/// Tenths of a trial, or the cell's rounds; `None` if the finding is about neither.
pub(crate) fn course(finding: &Finding, cell: Option<&CellView>) -> Option<Series> {
    match finding.claim {
        Claim::RampUp | Claim::NotSteady | Claim::BurstExhausted => tenths(finding),
        Claim::Trend | Claim::CacheWarming | Claim::Bimodal | Claim::Autocorrelated | Claim::Outliers => {
            rounds(finding, cell?)
        }
        _ => None,
    }
}

fn tenths(finding: &Finding) -> Option<Series> {
    let tenths = || finding.evidence.iter().filter(|(name, _)| name.starts_with("tenth_"));
    let unit = if tenths().next()?.0.ends_with("_iops") { "1/s" } else { "B/s" };
    let values = tenths().map(|(_, value)| *value).collect();
    Some(Series { of: "tenths of the trial", values, unit: unit.to_owned() })
}

/// The series over rounds of the figure that the finding's evidence names as `first_round_FIGURE`. Older records don't name it; their
/// findings are about rates.
fn rounds(finding: &Finding, cell: &CellView) -> Option<Series> {
    let large = cell.asked.as_ref().is_some_and(|a| a.bs_bytes >= LARGE_BLOCK);
    let rate = if large { "bw" } else { "iops" };
    let named = finding.evidence.keys().find_map(|name| name.strip_prefix("first_round_"));
    let metric = match named {
        None | Some("iops") => cell.metrics.get(rate)?,
        Some("bytes_per_second") => cell.metrics.get("bw").or_else(|| cell.metrics.get("block_output_bw"))?,
        Some(figure) => cell.metrics.get(figure)?,
    };
    Some(Series { of: ROUNDS, values: metric.values.clone(), unit: metric.unit.clone() })
}

#[cfg(test)]
mod tests {
    use super::course;
    use crate::sparkline::drawn;
    use crate::testing;
    use record::finding::{Claim, Severity};
    use record::workload::Rw;

    #[test]
    fn a_finding_about_a_course_has_one() {
        let mut cell = testing::cell("c", "lvm", "randread", Rw::Randread, 4096);
        testing::side(&mut cell, "read", (100.0, Some(5.0)), 400.0);
        cell.metrics.get_mut("iops").unwrap().values = (0..70).map(f64::from).collect();
        let mut finding = testing::finding("c", Claim::Trend, Severity::Caveat, "It climbs.", "Wait.");
        let rounds = course(&finding, Some(&cell)).unwrap();
        assert_eq!(rounds.values.len(), 70);
        let shown = drawn(&rounds).unwrap();
        assert!(shown.starts_with("last rounds ▁") && shown.ends_with("█ 10 to 69 IOPS"), "{shown}");
        finding.claim = Claim::NotSteady;
        assert_eq!(course(&finding, Some(&cell)), None, "the finding names no trial");
        for tenth in 1..=10_u32 {
            finding.evidence.insert(format!("tenth_{tenth:02}_bytes_per_second"), f64::from(tenth) * 1e6);
        }
        assert_eq!(
            drawn(&course(&finding, None).unwrap()).as_deref(),
            Some("tenths of the trial ▁▂▃▃▄▅▆▆▇█ 1 MB/s to 10 MB/s")
        );
        finding.claim = Claim::DoubleCaching;
        assert_eq!(course(&finding, Some(&cell)), None);
    }
}
