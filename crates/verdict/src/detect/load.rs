//! Claims about other processes on the devices, and about I/O errors.

use crate::detected::{Detected, evidence};
use crate::figures::{bytes, counted, percent, rate};
use crate::foreign_io::surplus;
use crate::scene::Scene;
use crate::span::float;
use crate::{foreign, limit};
use record::counter::OtherProcess;
use record::finding::{Claim, Severity};
use record::judged::LimitKind;

/// The most processes in the text.
const NAMED: usize = 3;
/// A device that works for others for this share of the time works mostly for others.
const MOST: f64 = 0.5;

/// Other processes used the same devices: those of the ground or any below them.
pub(super) fn interference(scene: &Scene<'_>) -> Option<Detected> {
    neighbour(scene).or_else(|| on_ground(scene))
}

/// Others kept a device below the ground busy. If something other than a device is shown to be the limit, they changed nothing.
fn neighbour(scene: &Scene<'_>) -> Option<Detected> {
    let facts = scene.facts;
    let foreign = foreign::strongest(facts)?;
    let limit = limit::of_trial(scene);
    let unharmed = match limit.by {
        LimitKind::Throttle
        | LimitKind::Memory
        | LimitKind::Network
        | LimitKind::CpuQuota
        | LimitKind::Cpu
        | LimitKind::Generator => limit.shown,
        // The rate was reached, but the latency suffers if the device was busy most of the time.
        LimitKind::AskedRate => foreign.busy < MOST,
        _ => false,
    };
    if unharmed {
        return None;
    }
    let named: Vec<String> = foreign.processes.iter().take(NAMED).map(|p| process(p)).collect();
    let who = match named.as_slice() {
        [] => "; no visible process moved that much".to_owned(),
        all => match foreign.processes.len().saturating_sub(NAMED) {
            0 => format!("; {}", all.join(", ")),
            more => format!("; {} and {more} more processes", all.join(", ")),
        },
    };
    let factor =
        foreign.factor.map_or(String::new(), |f| format!(", {} times what the load asked for", rate(f)));
    Some(Detected {
        claim: Claim::Interference,
        severity: Severity::Caveat,
        strength: foreign.busy,
        evidence: evidence([
            ("foreign_busy_share", Some(foreign.busy)),
            ("foreign_share", Some(foreign.share)),
            ("foreign_read_bytes", Some(foreign.read)),
            ("foreign_write_bytes", Some(foreign.written)),
            ("foreign_ios", Some(foreign.ios)),
            ("shared_device_bytes", Some(foreign.device_bytes)),
            ("shared_device_ios", Some(foreign.device_ios)),
            ("shared_device_busy_share", Some(foreign.device_busy)),
            ("shared_device_bytes_per_asked", foreign.factor),
        ]),
        text: format!(
            "Others used {device} during the trial: it moved {}{factor}, and was busy {} of the time; {} of its work was not for the load{who}.",
            bytes(foreign.device_bytes),
            percent(foreign.device_busy),
            percent(foreign.share),
            device = foreign.device
        ),
        remedy: format!(
            "Stop what else uses {device}, or move the load to a disk that nobody else uses; then run it again. A ramp or \
             a longer trial does not help.",
            device = foreign.device
        ),
    })
}

fn process(process: &OtherProcess) -> String {
    format!(
        "{} (pid {}) moved {}",
        process.comm,
        process.pid,
        bytes(float(process.read_bytes.saturating_add(process.write_bytes)))
    )
}

/// Others used the ground's own devices.
fn on_ground(scene: &Scene<'_>) -> Option<Detected> {
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
            if p.on_ground == Some(true) { " or a child of it had files under test open and" } else { "" },
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

/// I/O errors after which the engine went on.
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
