//! Claims about the engine's and other processes' load.

use super::{Detected, Scene, evidence};
use crate::facts::Facts;
use crate::figures::{bytes, counted, percent};
use crate::span::float;
use crate::strangers::surplus;
use record::counter::{CpuTicks, Sample};
use record::finding::{Claim, Severity};

/// The share of a core from which a thread has no time left to wait for storage.
const THREAD_FULL: f64 = 0.90;
/// The share of all cores from which the machine has no CPU left.
const MACHINE_FULL: f64 = 0.95;

/// The engine ran out of CPU.
pub(super) fn engine_cpu_bound(scene: &Scene<'_>) -> Option<Detected> {
    let facts = scene.facts;
    let thread = busiest_thread(facts);
    let machine = machine_busy(facts);
    let polls = facts.options().is_some_and(|o| {
        ["hipri", "sqthread_poll"].iter().any(|k| o.other.get(*k).is_some_and(|v| v != "0"))
    });
    let thread_full = !polls && thread.is_some_and(|t| t >= THREAD_FULL);
    let machine_full = machine.is_some_and(|m| m >= MACHINE_FULL);
    if !thread_full && !machine_full {
        return None;
    }
    let jobs = facts.options().map_or(1, |o| o.numjobs);
    let busy = thread
        .map_or(String::new(), |t| format!("the engine's busiest thread used {} of a core", percent(t)));
    let (text, remedy) = if machine_full {
        let machine = percent(machine.unwrap_or(1.0));
        let and = if busy.is_empty() { String::new() } else { format!("; {busy}") };
        (
            format!(
                "The machine ran out of CPU: all cores together were {machine} busy{and}. The storage may do more."
            ),
            "Use a machine with more cores, larger blocks, or fewer jobs; see what else uses its CPU."
                .to_owned(),
        )
    } else {
        (
            format!("The engine ran out of CPU: {busy}. The storage may do more."),
            format!("Use more jobs than numjobs: {jobs}, or larger blocks."),
        )
    };
    Some(Detected {
        claim: Claim::EngineCpuBound,
        severity: Severity::Caveat,
        strength: thread.unwrap_or(0.0).max(machine.unwrap_or(0.0)),
        evidence: evidence([
            ("busiest_thread_cores", thread),
            ("machine_busy_share", machine),
            ("busiest_device_busy_share", busiest_device(facts)),
        ]),
        text,
        remedy,
    })
}

/// Share of a core that the engine's busiest thread used; of the whole engine when it is one job and threads weren't counted.
fn busiest_thread(facts: &Facts<'_>) -> Option<f64> {
    let ticks = facts.span.grown(|s| s.engine?.busiest_thread_ticks);
    let per_second = float(facts.trial.evidence.ticks_per_second);
    let seconds = facts.span.seconds();
    if let Some(ticks) = ticks
        && per_second > 0.0
        && seconds > 0.0
    {
        return Some((ticks / per_second / seconds).min(1.0));
    }
    let one_job = facts.options().is_some_and(|o| o.numjobs == 1);
    let (user, system) = (facts.engine.cpu_user_share?, facts.engine.cpu_system_share?);
    one_job.then_some((user + system).min(1.0))
}

/// Share of all cores' time that was neither idle nor waiting.
fn machine_busy(facts: &Facts<'_>) -> Option<f64> {
    let idle = |c: CpuTicks| c.idle + c.iowait.unwrap_or(0);
    let all = |c: CpuTicks| c.user + c.system + idle(c) + c.irq.unwrap_or(0) + c.steal.unwrap_or(0);
    let idle = facts.span.grown(|s: &Sample| s.cpu.map(idle))?;
    let all = facts.span.grown(|s: &Sample| s.cpu.map(all))?;
    (all > 0.0).then(|| (1.0 - idle / all).clamp(0.0, 1.0))
}

fn busiest_device(facts: &Facts<'_>) -> Option<f64> {
    let share = |name: &str| {
        let ms = facts.span.grown(|s| s.block.get(name).map(|b| b.busy_ms))?;
        Some((ms / 1000.0 / facts.span.seconds()).min(1.0))
    };
    facts.trial.topology.direct().filter_map(|n| share(&n.name)).reduce(f64::max)
}

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
            "; {} (pid {}) moved {} meanwhile",
            p.comm,
            p.pid,
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
    let ios = scene.facts.read.ios + scene.facts.write.ios;
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
