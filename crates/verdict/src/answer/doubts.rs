//! Caveats that a sentence about cells must contain, so that nobody takes it for more than it is: the source or destination of their
//! bytes, what limited them, and that a rate doesn't last. The findings have the figures.

use super::words::list;
use record::finding::{Claim, Finding, Severity};
use record::id::CellId;

/// The caveats in brackets, sorted by kind; empty if there are none. `cells`: the cells that the sentence names, with their names in it.
pub(crate) fn of(findings: &[Finding], cells: &[(&CellId, &str)]) -> String {
    let doubted = |doubt: Doubt| {
        let holds = |cell: &CellId| findings.iter().any(|f| f.cell == *cell && Doubt::by(f) == Some(doubt));
        let names: Vec<String> =
            cells.iter().filter(|(cell, _)| holds(cell)).map(|(_, name)| (*name).to_owned()).collect();
        (!names.is_empty()).then(|| format!("{}: {}", doubt.words(), list(&names)))
    };
    let said: Vec<String> = Doubt::ALL.into_iter().filter_map(doubted).collect();
    if said.is_empty() { String::new() } else { format!(" ({})", said.join("; ")) }
}

/// The kinds of findings that change the meaning of a ratio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doubt {
    Unsafe,
    Cached,
    Cpu,
    Network,
    Others,
    Passing,
}

impl Doubt {
    /// All kinds, in the order of the text.
    const ALL: [Self; 6] =
        [Self::Unsafe, Self::Cached, Self::Cpu, Self::Network, Self::Others, Self::Passing];

    /// The kind of a finding; `None` for notes, and for findings that a sentence about a ratio need not repeat. Void cells are in no such
    /// sentence.
    fn by(finding: &Finding) -> Option<Self> {
        if finding.severity != Severity::Caveat {
            return None;
        }
        match finding.claim {
            Claim::NotDurable | Claim::CacheOwed => Some(Self::Unsafe),
            Claim::ServedFromPageCache | Claim::ServedFromOtherCache | Claim::ServedFromHostCache => {
                Some(Self::Cached)
            }
            Claim::EngineCpuBound | Claim::CpuQuota => Some(Self::Cpu),
            Claim::NetworkBound => Some(Self::Network),
            Claim::Interference => Some(Self::Others),
            Claim::Trend | Claim::CacheWarming => Some(Self::Passing),
            _ => None,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Unsafe => "in part not on the device yet",
            Self::Cached => "in part from a cache in memory",
            Self::Cpu => "limited by CPU, not by the storage",
            Self::Network => "limited by the network",
            Self::Others => "others used the same devices",
            Self::Passing => "not a lasting rate",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(cell: &str, claim: Claim, severity: Severity) -> Finding {
        Finding {
            claim,
            severity,
            cell: CellId(cell.to_owned()),
            trials: 1,
            rounds: Vec::new(),
            evidence: std::collections::BTreeMap::new(),
            text: String::new(),
            remedy: String::new(),
        }
    }

    #[test]
    fn of_the_cells_named_each_doubt_is_said_once_and_notes_are_not() {
        let findings = [
            finding("x", Claim::EngineCpuBound, Severity::Caveat),
            finding("y", Claim::EngineCpuBound, Severity::Caveat),
            finding("y", Claim::CpuQuota, Severity::Caveat),
            finding("x", Claim::NotDurable, Severity::Caveat),
            finding("y", Claim::OthersUsedCpu, Severity::Note),
            finding("x", Claim::Compressed, Severity::Caveat),
            finding("unnamed", Claim::Trend, Severity::Caveat),
        ];
        let (x, y) = (CellId("x".to_owned()), CellId("y".to_owned()));
        let said = of(&findings, &[(&x, "fast"), (&y, "slow")]);
        assert_eq!(
            said,
            " (in part not on the device yet: fast; limited by CPU, not by the storage: fast and slow)"
        );
        assert_eq!(of(&findings[6..], &[(&x, "fast"), (&y, "slow")]), "");
    }
}
