//! Caveats in words; a finding that many cells share is printed once.

use crate::course::{ROUNDS, course};
use crate::document::{Caveat, Series, Tone};
use crate::index::Index;
use crate::measured::{NOT_STORAGE, WRONG_CONTENT};
use record::finding::{Claim, Finding, Severity};
use std::collections::BTreeMap;

/// The most cells that a caveat names; the others are counted.
const NAMED: usize = 6;

/// All findings, grouped by claim and remedy, the worst first.
pub(crate) fn caveats(index: &Index<'_>) -> Vec<Caveat> {
    let caveat = |group: Vec<&Finding>| {
        let finding = worst(&group);
        let (label, tone) = label(finding);
        Caveat {
            label,
            tone,
            title: title(finding),
            example: (group.len() > 1).then(|| index.name(&finding.cell)),
            text: finding.text.clone(),
            courses: courses(index, finding, &group),
            cells: (index.view.cells.len() > 1).then(|| names(index, &group)),
            remedy: finding.remedy.clone(),
        }
    };
    groups(&index.view.findings).into_iter().map(caveat).collect()
}

/// The series of each cell of a group over its rounds; of a trial's tenths that of the finding in the text alone.
fn courses(index: &Index<'_>, told: &Finding, group: &[&Finding]) -> Vec<(Option<String>, Series)> {
    let of = |finding: &Finding| course(finding, index.cell(&finding.cell));
    let over_rounds = of(told).is_some_and(|series| series.of == ROUNDS);
    match over_rounds && group.len() > 1 {
        true => {
            let named = |f: &&Finding| Some((Some(index.name(&f.cell)), of(f)?));
            group.iter().take(NAMED).filter_map(named).collect()
        }
        false => of(told).map(|series| (None, series)).into_iter().collect(),
    }
}

fn label(finding: &Finding) -> (&'static str, Tone) {
    match (finding.claim, finding.severity) {
        (Claim::TrialsFailed, Severity::Void) => ("NOT MEASURED", Tone::Bad),
        (Claim::WrongContent, _) => (WRONG_CONTENT, Tone::Bad),
        (_, Severity::Void) => (NOT_STORAGE, Tone::Bad),
        (_, Severity::Caveat) => ("caveat", Tone::Warn),
        (_, Severity::Note) => ("note", Tone::Faint),
    }
}

/// Groups findings with the same claim, severity and remedy (figures in it may differ). Missed expectations aren't among them, since the
/// report lists them elsewhere.
fn groups(findings: &[Finding]) -> Vec<Vec<&Finding>> {
    let mut places: BTreeMap<(Claim, Severity, String), usize> = BTreeMap::new();
    let mut groups: Vec<Vec<&Finding>> = Vec::new();
    for finding in findings.iter().filter(|f| f.claim != Claim::ExpectationMissed) {
        let words: String = finding.remedy.chars().filter(|c| !c.is_ascii_digit()).collect();
        let place = *places.entry((finding.claim, finding.severity, words)).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.push(finding),
            None => groups.push(vec![finding]),
        }
    }
    groups
}

/// The finding that stands for its group: the widest interval, or the first of other findings.
fn worst<'a>(group: &[&'a Finding]) -> &'a Finding {
    let width = |f: &Finding| f.evidence.get("half_width_share").copied().unwrap_or(0.0);
    let first = group[0];
    group.iter().copied().fold(first, |worst, f| if width(f) > width(worst) { f } else { worst })
}

/// The claim of a finding in a few words.
#[must_use]
pub fn title(finding: &Finding) -> &'static str {
    match finding.claim {
        Claim::WrongContent => "the storage didn't keep what was written",
        Claim::ServedFromHoles => "read from holes, not from a device",
        Claim::ServedFromPageCache => "served by the page cache",
        Claim::Compressed => "compressed by the file system",
        Claim::NotDurable => "not on the device yet",
        Claim::MemoryBacked => "the storage under test is memory",
        Claim::DoubleCaching => "cached a second time under the loop device",
        Claim::SmallerThanMemory => "the data set fits in memory",
        Claim::SharedFile => "jobs share one file",
        Claim::EngineCpuBound => "limited by CPU, not by the storage",
        // in records from before the CPU had its own claim
        Claim::Interference if finding.severity == Severity::Note => "others used the CPU",
        Claim::OthersUsedCpu => "others used the CPU",
        Claim::Interference => "others used the same devices",
        Claim::SourceUnknown => "the source or destination of the bytes is unknown",
        Claim::IntervalTooWide => "the interval is wider than asked",
        Claim::TrialsFailed => "trials failed",
        Claim::TrialsCutOff => "trials were cut off and made again",
        Claim::IoErrors => "I/O errors",
        Claim::ExpectationMissed => "an expectation was missed",
        Claim::ServedFromOtherCache => "served by a cache above the device",
        Claim::ServedFromHostCache => "served by the cache of the device's host",
        Claim::CpuQuota => "a CPU quota held the engine back",
        Claim::JournalBound => "limited by the journal or by flushes",
        Claim::Serialized => "one I/O after another, whatever depth was asked",
        Claim::NetworkBound => "limited by the network",
        Claim::ThrottleChanged => "limits changed during the trial",
        Claim::UndeclaredLimit => "a limit that the experiment doesn't set",
        Claim::RampUp => "not settled when measuring began",
        Claim::NotSteady => "the rate changed within the trial",
        Claim::BurstExhausted => "burst credit used up within the trial",
        Claim::Trend => "the figure climbs or falls from round to round",
        Claim::Autocorrelated => "trials resemble the ones before them",
        Claim::Bimodal => "the trials fall into two groups",
        Claim::Outliers => "trials far from the others",
        Claim::MachineDrift => "the machine changed during the run",
        Claim::BelowModel => "less than the volumes should give",
        Claim::TooFast => "too fast to be measured",
        Claim::AboveModel => "more than the volumes can give",
        Claim::ServedFromCacheDevice => "a cache on a faster device took part",
        Claim::CacheMissed => "the cache missed nearly all requests",
        Claim::CacheOwed => "not on the slow device yet when the load ended",
        Claim::ChunksAllocated => "the first writes to chunks of a thin pool",
        Claim::CacheWarming => "a cache warmed over the rounds",
        Claim::NotIdempotent => "the provisioning is not idempotent",
        Claim::NotAsAsked => "not done as asked",
        Claim::NotSimultaneous => "the machines did not run at the same time",
        Claim::ClockStepped => "a machine's clock was set during the load",
        Claim::Skipped => "skipped by the user",
        Claim::SharedNode => "the Slurm node was shared",
        Claim::MachinesDiffer => "machines that differ did the rounds",
        Claim::JobOptions => "the job's options leave open what was measured",
        Claim::WriteAmplified => "each write became several on the devices",
        Claim::Stalled => "a part of the trial was an outage",
        Claim::BeyondEmulation => "beyond the credible range of a lab guest",
        Claim::StackRebuilt => "the stack was rebuilt between rounds",
    }
}

fn names(index: &Index<'_>, group: &[&Finding]) -> String {
    let all = index.view.cells.len();
    // A finding about the machine names one cell and holds for all.
    let of_machine = group.iter().any(|f| f.claim == Claim::MachineDrift);
    if of_machine || (group.len() == all && group.len() > 1) {
        return format!("all {all} cells");
    }
    let mut list: Vec<String> = group.iter().take(NAMED).map(|f| index.name(&f.cell)).collect();
    if group.len() > NAMED {
        list.push(format!("and {} more", group.len() - NAMED));
    }
    list.join(", ")
}
