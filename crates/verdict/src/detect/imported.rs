//! Claims about imported trials: what their job's options alone tell.

use crate::detected::{Detected, evidence};
use crate::facts::Facts;
use crate::figures::bytes;
use crate::scene::Scene;
use record::finding::{Claim, Severity};
use record::workload::{Ask, Options};

/// File systems that may compress or deduplicate.
const COMPRESSING: [&str; 3] = ["btrfs", "zfs", "bcachefs"];

/// Bonnie++'s bytes, which no counter follows.
pub(super) fn bonnie(scene: &Scene<'_>) -> Option<Detected> {
    let facts = scene.facts;
    let imported = facts.trial.imported.as_ref()?;
    let Ask::Bonnie(ask) = &facts.cell.workload.ask else { return None };
    let data = crate::span::float(ask.data_bytes());
    Some(Detected {
        claim: Claim::SourceUnknown,
        severity: Severity::Caveat,
        strength: 1.0,
        evidence: evidence([("data_bytes", Some(data))]),
        text: format!(
            "The source and destination of the bytes is unknown: {} ({}) has no kernel counters, so memory may have served a part of them.",
            imported.file, imported.format
        ),
        remedy: "Data of twice the machine's memory or more (-s) leave memory a small part: `diskproof import --memory SIZE` checks that. \
                 Or run Bonnie++ by diskproof (`engine: bonnie`)."
            .to_owned(),
    })
}

/// Reads through the page cache of data that may fit in memory.
pub(super) fn buffered(scene: &Scene<'_>) -> Option<Detected> {
    let facts = scene.facts;
    facts.trial.imported.as_ref()?;
    let data = facts.data_bytes();
    let reads = facts.read.asked > 0.0 && !matches!(facts.cell.workload.ask, Ask::Bonnie(_));
    if facts.direct() != Some(false) || !reads || data <= 0.0 {
        return None;
    }
    let memory = scene.machine.memory_bytes.map(crate::span::float);
    if memory.is_some_and(|memory| data >= memory) {
        return None;
    }
    let against = match memory {
        Some(memory) => format!("is smaller than the machine's memory of {}", bytes(memory)),
        None => "may be smaller than the machine's memory, which the file doesn't tell".to_owned(),
    };
    Some(Detected {
        claim: Claim::SmallerThanMemory,
        severity: Severity::Caveat,
        strength: 1.0,
        evidence: evidence([("data_bytes", Some(data)), ("memory_bytes", memory)]),
        text: format!("Reads are buffered (no direct=1), and the data set of {} {against}: the page cache may have served them.", bytes(data)),
        remedy: "For a storage figure use direct=1, or at least twice as much data as memory. `diskproof import --memory SIZE` tells how much memory the machine has."
            .to_owned(),
    })
}

/// Data that compresses or repeats, offsets that repeat.
pub(super) fn options(scene: &Scene<'_>) -> Option<Detected> {
    let facts = scene.facts;
    facts.trial.imported.as_ref()?;
    let jobs = facts.all_options();
    let is_fio = facts.engine.engine.starts_with("fio");
    let doubts: Vec<Doubt> = [repeated_data(scene, &jobs), repeated_offsets(facts, &jobs)]
        .into_iter()
        .filter_map(|doubt| doubt.filter(|_| is_fio))
        .collect();
    let severity = doubts.iter().map(|doubt| doubt.severity).max()?;
    let all = |of: fn(&Doubt) -> &String| doubts.iter().map(|d| of(d).as_str()).collect::<Vec<_>>().join(" ");
    Some(Detected {
        claim: Claim::JobOptions,
        severity,
        strength: f64::from(u8::try_from(doubts.len()).unwrap_or(u8::MAX)),
        evidence: evidence([
            ("read_asked_bytes", Some(facts.read.asked)),
            ("write_asked_bytes", Some(facts.write.asked)),
        ]),
        text: all(|doubt| &doubt.text),
        remedy: all(|doubt| &doubt.remedy),
    })
}

struct Doubt {
    severity: Severity,
    text: String,
    remedy: String,
}

fn is_on(options: &Options, name: &str) -> bool {
    options.other.get(name).is_some_and(|value| value != "0")
}

/// Without `refill_buffers` fio writes the content of one buffer again and again, changed a little in each block (`scramble_buffers`).
fn repeated_data(scene: &Scene<'_>, jobs: &[&Options]) -> Option<Doubt> {
    let repeats = |o: &&&Options| {
        o.rw.writes()
            && !is_on(o, "refill_buffers")
            && o.buffer_compress_percentage == 0
            && o.dedupe_percentage == 0
    };
    let zeros = jobs.iter().any(|o| o.rw.writes() && is_on(o, "zero_buffers"));
    jobs.iter().find(repeats)?;
    let fs = scene.facts.fs();
    let compresses = fs.filter(|fs| COMPRESSING.contains(fs));
    let on = match compresses {
        Some(fs) => format!("On {fs}, if it compresses or deduplicates,"),
        None => "On a file system or device that compresses or deduplicates (btrfs, ZFS, VDO),".to_owned(),
    };
    let data =
        if zeros { "zeros (zero_buffers)" } else { "the same buffer again and again (no refill_buffers)" };
    Some(Doubt {
        severity: if zeros || compresses.is_some() { Severity::Caveat } else { Severity::Note },
        text: format!("The job writes {data}. {on} fewer bytes reach the device than the figure says."),
        remedy: "Set refill_buffers=1, or say how compressible the data is (buffer_compress_percentage)."
            .to_owned(),
    })
}

/// With `randrepeat`, which is fio's default, each run visits the same offsets in the same order.
fn repeated_offsets(facts: &Facts<'_>, jobs: &[&Options]) -> Option<Doubt> {
    let repeats = |o: &&Options| {
        let off = o.other.get("randrepeat").is_some_and(|value| value == "0");
        o.rw.is_random() && o.rw.reads() && !off && !o.other.contains_key("randseed")
    };
    if facts.read.asked <= 0.0 || !jobs.iter().any(repeats) {
        return None;
    }
    Some(Doubt {
        severity: Severity::Note,
        text: "Each run of the job reads the same random offsets in the same order (randrepeat, fio's default): a cache that is larger \
               than what one run reads may have served later runs."
            .to_owned(),
        remedy: "Set randrepeat=0, so that each run reads other offsets.".to_owned(),
    })
}
