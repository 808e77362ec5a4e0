//! Claims about others on our devices, and about errors.

use super::{Detected, Scene, evidence};
use crate::figures::{bytes, counted, percent};
use crate::span::float;
use crate::strangers::surplus;
use record::finding::{Claim, Severity};

/// Others used the same devices.
pub(super) fn interference(scene: &Scene<'_>) -> Option<Detected> {
    let facts = scene.facts;
    let (read, write) = (surplus(facts, true), surplus(facts, false));
    let total = read.bytes + write.bytes;
    if facts.read.asked + facts.write.asked <= 0.0 || total <= 0.0 {
        return None;
    }
    let moved = facts.read.device.unwrap_or(0.0) + facts.write.device.unwrap_or(0.0);
    let share = total / moved.max(total);
    let suspect = if read.bytes >= write.bytes {
        read.suspect.or(write.suspect)
    } else {
        write.suspect.or(read.suspect)
    };
    let who = match suspect {
        Some(p) => format!(
            "; {} (pid {}){} moved {} meanwhile",
            p.comm,
            p.pid,
            if p.on_ground == Some(true) { " or a child of it had files of the ground open and" } else { "" },
            bytes(float(p.read_bytes.saturating_add(p.write_bytes)))
        ),
        None => String::new(),
    };
    Some(Detected {
        claim: Claim::Interference,
        severity: Severity::Caveat,
        strength: share,
        evidence: evidence([
            ("surplus_read_bytes", Some(read.bytes)),
            ("surplus_write_bytes", Some(write.bytes)),
            ("read_asked_bytes", Some(facts.read.asked)),
            ("write_asked_bytes", Some(facts.write.asked)),
            ("read_device_bytes", facts.read.device),
            ("write_device_bytes", facts.write.device),
            ("engine_read_bytes", facts.read.own),
            ("engine_write_bytes", facts.write.own),
            ("suspect_read_bytes", suspect.map(|p| float(p.read_bytes))),
            ("suspect_write_bytes", suspect.map(|p| float(p.write_bytes))),
        ]),
        text: format!(
            "Others used the same devices during the trial: {} of the bytes on them ({}) were not the engine's{who}.",
            percent(share),
            bytes(total)
        ),
        remedy: "Stop the other process or move it to other disks, then resume the run or run it again."
            .to_owned(),
    })
}

/// Errors that the engine went on after.
pub(super) fn io_errors(scene: &Scene<'_>) -> Option<Detected> {
    let errors = &scene.facts.engine.errors;
    let total: u64 = errors.iter().map(|e| e.count).sum();
    if total == 0 {
        return None;
    }
    let kinds: Vec<String> = errors.iter().map(|e| format!("{} x {}", e.count, e.errno)).collect();
    let ios = scene.facts.read.ios + scene.facts.write.ios + scene.facts.trim_ios;
    Some(Detected {
        claim: Claim::IoErrors,
        severity: if float(total) >= 0.01 * ios { Severity::Void } else { Severity::Caveat },
        strength: float(total),
        evidence: evidence([("errors", Some(float(total))), ("ios", Some(ios))]),
        text: format!(
            "The engine counted {} and went on: {}.",
            counted(total, "I/O error"),
            kinds.join(", ")
        ),
        remedy: "See the kernel's log (dmesg) for the device; a figure with errors in it is not comparable."
            .to_owned(),
    })
}
