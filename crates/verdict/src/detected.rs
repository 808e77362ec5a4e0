//! What a detector returns.

use crate::span::number;
use record::finding::{Claim, Finding, Severity};
use record::plan::Cell;
use std::collections::BTreeMap;

/// The least share for a claim: metadata and the window's ends make up to 2 %.
pub(crate) const WORTH_SAYING: f64 = 0.02;

/// A claim about one trial.
#[derive(Debug, Clone)]
pub(crate) struct Detected {
    pub(crate) claim: Claim,
    pub(crate) severity: Severity,
    /// The strength: of a cell's trials, the report shows the strongest detection.
    pub(crate) strength: f64,
    pub(crate) evidence: BTreeMap<String, f64>,
    pub(crate) text: String,
    pub(crate) remedy: String,
}

impl Detected {
    /// Adds the round of the figures to the text, if there are several rounds: `seen` of the `measured` ones show the same.
    pub(crate) fn of_round(mut self, round: u32, seen: u32, measured: usize) -> Self {
        if measured > 1 {
            self.text = format!("Round {} ({seen} of {measured} rounds show it): {}", round + 1, self.text);
        }
        self
    }

    /// The finding about these rounds of a cell.
    pub(crate) fn in_rounds(self, cell: &Cell, rounds: Vec<u32>) -> Finding {
        let trials = number(rounds.len());
        Finding { rounds, ..self.finding(cell, trials) }
    }

    /// The finding about so many trials of a cell together.
    pub(crate) fn finding(self, cell: &Cell, trials: u32) -> Finding {
        Finding {
            rounds: Vec::new(),
            claim: self.claim,
            severity: self.severity,
            cell: cell.id.clone(),
            trials,
            evidence: self.evidence,
            text: self.text,
            remedy: self.remedy,
        }
    }
}

/// The severity of a share of bytes that weren't storage I/O: from half on, the figure isn't a storage figure.
pub(crate) fn by_share(share: f64) -> Severity {
    if share >= 0.5 {
        Severity::Void
    } else if share >= 0.1 {
        Severity::Caveat
    } else {
        Severity::Note
    }
}

/// The known counters, by name.
pub(crate) fn evidence<const N: usize>(counters: [(&str, Option<f64>); N]) -> BTreeMap<String, f64> {
    counters
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value.filter(|v| v.is_finite())?)))
        .collect()
}
