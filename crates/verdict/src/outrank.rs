//! Findings with a remedy that another finding replaces.

use record::finding::{Claim, Finding};
use record::id::CellId;
use std::collections::BTreeSet;

/// Claims about effects of foreign I/O on a rate, within a trial and over rounds.
const EFFECTS: [Claim; 7] = [
    Claim::RampUp,
    Claim::NotSteady,
    Claim::Trend,
    Claim::Autocorrelated,
    Claim::Bimodal,
    Claim::Outliers,
    Claim::MachineDrift,
];

/// If others used a cell's devices, the first remedy for their possible effects there is to stop them.
pub(crate) fn by_interference(findings: &mut [Finding]) {
    // Interference with the CPU only has no device in its evidence.
    let on_devices =
        |f: &&Finding| f.claim == Claim::Interference && f.evidence.contains_key("foreign_share");
    let disturbed: BTreeSet<CellId> = findings.iter().filter(on_devices).map(|f| f.cell.clone()).collect();
    if disturbed.is_empty() {
        return;
    }
    for finding in findings.iter_mut().filter(|f| EFFECTS.contains(&f.claim)) {
        // The finding about the machine's drift names one cell, but all show it.
        if disturbed.contains(&finding.cell) || finding.claim == Claim::MachineDrift {
            finding.remedy = "Others used the devices during some of these trials, which may be the cause: first follow the remedy \
                              of the finding interference, then run it again."
                .to_owned();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::by_interference;
    use record::finding::{Claim, Finding, Severity};
    use record::id::CellId;
    use std::collections::BTreeMap;

    fn finding(claim: Claim, cell: &str, evidence: &str) -> Finding {
        Finding {
            claim,
            severity: Severity::Caveat,
            cell: CellId(cell.to_owned()),
            trials: 1,
            rounds: Vec::new(),
            evidence: BTreeMap::from([(evidence.to_owned(), 1.0)]),
            text: String::new(),
            remedy: "its own".to_owned(),
        }
    }

    fn remedies(mut findings: Vec<Finding>) -> Vec<bool> {
        by_interference(&mut findings);
        findings.iter().map(|f| f.remedy == "its own").collect()
    }

    #[test]
    fn a_neighbour_comes_before_what_its_effects_suggest() {
        let found = || {
            vec![
                finding(Claim::Interference, "a", "foreign_share"),
                finding(Claim::Trend, "a", "x"),
                finding(Claim::Outliers, "b", "x"),
                finding(Claim::MachineDrift, "b", "x"),
                finding(Claim::ServedFromHoles, "a", "x"),
            ]
        };
        assert_eq!(remedies(found()), [true, false, true, false, true]);
        // Interference with the CPU only isn't foreign I/O.
        let mut cpu = found();
        cpu[0] = finding(Claim::Interference, "a", "others_cpu_share");
        assert_eq!(remedies(cpu), [true; 5]);
    }
}
