//! Caveats in words: the same finding over many cells is said once.

use crate::paint::{Paint, Tone};
use crate::table::NOT_STORAGE;
use crate::wrap::fill;
use record::finding::{Claim, Finding, Severity};
use record::id::CellId;
use record::judged::RunView;

/// Cells named in one caveat; the others are counted.
const NAMED: usize = 6;

/// All findings, grouped by claim and remedy, worst first. Empty when there are none.
pub(crate) fn caveats(view: &RunView, width: usize, paint: Paint) -> String {
    let mut groups: Vec<Vec<&Finding>> = Vec::new();
    for finding in view.findings.iter().filter(|f| f.claim != Claim::ExpectationMissed) {
        let same = |g: &&mut Vec<&Finding>| {
            g[0].claim == finding.claim && g[0].remedy == finding.remedy && g[0].severity == finding.severity
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(finding),
            None => groups.push(vec![finding]),
        }
    }
    if groups.is_empty() {
        return String::new();
    }
    let mut out = paint.text(Tone::Heading, "What to know before quoting these numbers");
    out.push('\n');
    for group in groups {
        let finding = group[0];
        let (label, tone) = match (finding.claim, finding.severity) {
            (Claim::TrialsFailed, Severity::Void) => ("NOT MEASURED", Tone::Bad),
            (_, Severity::Void) => (NOT_STORAGE, Tone::Bad),
            (_, Severity::Caveat) => ("caveat", Tone::Warn),
            (_, Severity::Note) => ("note", Tone::Faint),
        };
        let head = format!("  {}: {}", paint.text(tone, label), title(finding.claim));
        out.push_str(&head);
        out.push('\n');
        let cells: Vec<&CellId> = group.iter().map(|f| &f.cell).collect();
        let example =
            if group.len() > 1 { format!("{}: ", name(view, &finding.cell)) } else { String::new() };
        out.push_str(&fill("    ", &format!("{example}{}", finding.text), width));
        if view.cells.len() > 1 {
            out.push_str(&fill("    in ", &names(view, &cells), width));
        }
        out.push_str(&fill("    > ", &finding.remedy, width));
    }
    out
}

/// A claim as a heading.
fn title(claim: Claim) -> &'static str {
    match claim {
        Claim::ServedFromHoles => "read from holes, no device was asked",
        Claim::ServedFromPageCache => "served by the page cache",
        Claim::Compressed => "compressed by the file system",
        Claim::NotDurable => "not on the device yet",
        Claim::MemoryBacked => "the ground is memory",
        Claim::DoubleCaching => "cached a second time under the loop device",
        Claim::SmallerThanMemory => "the data set fits in memory",
        Claim::SharedFile => "jobs share one file",
        Claim::EngineCpuBound => "short of CPU",
        Claim::Interference => "others used the same devices",
        Claim::SourceUnknown => "nobody can tell where the bytes came from",
        Claim::IntervalTooWide => "the interval is wider than asked",
        Claim::TrialsFailed => "trials failed",
        Claim::IoErrors => "I/O errors",
        Claim::ExpectationMissed => "an expectation was missed",
    }
}

/// A cell by what tells it from the others.
pub(crate) fn name(view: &RunView, id: &CellId) -> String {
    let Some(cell) = view.cells.iter().find(|c| c.id == *id) else {
        return id.to_string();
    };
    let stacks = view.cells.iter().any(|c| c.stack != cell.stack);
    let workloads = view.cells.iter().any(|c| c.workload != cell.workload);
    let base = match (stacks, workloads) {
        (true, true) => format!("{}/{}", cell.stack, cell.workload),
        (false, true) => cell.workload.clone(),
        _ => cell.stack.clone(),
    };
    if view.cells.iter().any(|c| c.target != cell.target) { format!("{}:{base}", cell.target) } else { base }
}

fn names(view: &RunView, cells: &[&CellId]) -> String {
    if cells.len() == view.cells.len() && cells.len() > 1 {
        return format!("all {} cells", cells.len());
    }
    let mut list: Vec<String> = cells.iter().take(NAMED).map(|id| name(view, id)).collect();
    if cells.len() > NAMED {
        list.push(format!("and {} more", cells.len() - NAMED));
    }
    list.join(", ")
}
