//! The native engine's ceiling: the highest IOPS that it makes on this machine, measured on file holes and kept in the state folder.

use engine::native::NativeEngine;
use engine::native::ceiling::{self, Measured, StoredCeiling};
use record::environment::{Ceiling, Environment};
use serde::Serialize;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

/// Few, since people wait for it; three are enough for an interval.
const REPETITIONS: u32 = 3;
const EACH: Duration = Duration::from_millis(700);
const CONFIDENCE: f64 = 0.95;

/// If the job's busiest thread has less than this share of a CPU, it had to wait for one.
const UNDISTURBED: f64 = 0.9;

/// What was found.
#[derive(Debug, Serialize)]
pub(super) struct CeilingReport {
    /// The ceiling, measured now or stored earlier and still valid for this machine.
    ceiling: Option<Ceiling>,
    measured_now: bool,
    /// The file that holds it.
    file: String,
    /// Why there is no ceiling, or why it wasn't stored.
    note: Option<String>,
}

/// Measures the ceiling and stores it, unless the stored one was measured on a quieter machine.
pub(super) fn measure(state: &Path, cancel: &AtomicBool) -> CeilingReport {
    let machine = observe::environment(&observe::Roots::default());
    let found = |ceiling, note| CeilingReport {
        ceiling,
        measured_now: true,
        file: ceiling::path(state).to_string_lossy().into_owned(),
        note,
    };
    match NativeEngine::default().measure_ceiling(state, REPETITIONS, EACH, cancel) {
        Err(error) => found(None, Some(record::printable::chain(&error))),
        Ok(measured) => {
            let ceiling = of(&measured, state);
            let trouble = match ceiling::current(state, &machine) {
                Some(kept) if is_disturbed(&ceiling) && !is_disturbed(&kept) => {
                    Some("the one kept before was measured while the machine was quiet".to_owned())
                }
                _ => ceiling::keep(state, &machine, &ceiling).err().map(|e| record::printable::chain(&e)),
            };
            found(Some(ceiling), trouble)
        }
    }
}

/// Reads the stored ceiling.
pub(super) fn look(state: &Path, machine: &Environment) -> CeilingReport {
    let (ceiling, note) = match ceiling::kept(state, machine) {
        StoredCeiling::Current(ceiling) => (Some(ceiling), None),
        StoredCeiling::Nothing => (None, Some("never measured on this machine".to_owned())),
        StoredCeiling::Stale(why) => (None, Some(format!("the one that is kept no longer counts: {why}"))),
    };
    CeilingReport {
        ceiling,
        measured_now: false,
        file: ceiling::path(state).to_string_lossy().into_owned(),
        note,
    }
}

fn of(measured: &Measured, state: &Path) -> Ceiling {
    let all = &measured.repetitions;
    let rates: Vec<f64> = all.iter().map(|r| r.iops).collect();
    let estimate = stats::mean_t(&rates, CONFIDENCE);
    let bounded = estimate.filter(stats::Estimate::is_bounded);
    let mean = |values: Vec<Option<f64>>| {
        let values = values.into_iter().collect::<Option<Vec<f64>>>()?;
        stats::mean_t(&values, CONFIDENCE).map(|e| e.value)
    };
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Ceiling {
        measured_unix_ms: u64::try_from(now.as_millis()).unwrap_or(u64::MAX),
        rw: "randread".to_owned(),
        bs_bytes: measured.bs_bytes,
        iodepth: measured.iodepth,
        direct: measured.direct,
        issued_by: measured.issued_by.clone(),
        fs_type: observe::topology(&observe::Roots::default(), &[], Some(state)).fs_type,
        iops: estimate.map_or(0.0, |e| e.value),
        low: bounded.map(|e| e.low.max(0.0)),
        high: bounded.map(|e| e.high),
        confidence: CONFIDENCE,
        repetitions: rates,
        busiest_thread_share: mean(all.iter().map(|r| r.busiest_thread_share).collect()),
        cpu_ns_per_io: mean(all.iter().map(|r| r.cpu_ns_per_io).collect()),
        user_instructions_per_io: mean(all.iter().map(|r| r.user_instructions_per_io).collect()),
    }
}

fn is_disturbed(ceiling: &Ceiling) -> bool {
    ceiling.busiest_thread_share.is_some_and(|share| share < UNDISTURBED)
}

impl CeilingReport {
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        if let Some(ceiling) = &self.ceiling {
            text.push_str(&figures(ceiling));
        }
        match (&self.note, self.measured_now) {
            (Some(note), true) if self.ceiling.is_some() => {
                let _ = writeln!(text, "  not kept: {note}");
            }
            (Some(note), true) => {
                let _ = writeln!(text, "  can't be measured: {note}");
            }
            (Some(note), false) => {
                let _ = writeln!(text, "  {note}; `diskproof doctor` without --no-ceiling measures it");
            }
            (None, true) => {
                let _ = writeln!(text, "  kept in {}, for runs on this machine", self.file);
            }
            (None, false) => {
                let _ = writeln!(text, "  kept in {}; not measured anew", self.file);
            }
        }
        text
    }
}

fn figures(c: &Ceiling) -> String {
    let mut text = String::new();
    let times = c.repetitions.len();
    let interval = match (c.low, c.high) {
        (Some(low), Some(high)) => {
            let confidence = c.confidence * 100.0;
            format!(" ({} to {}, the {confidence:.0} % interval of {times} times)", count(low), count(high))
        }
        _ => format!(" ({times} time)"),
    };
    let _ = writeln!(text, "  {} I/Os per second{interval}", count(c.iops));
    let _ = writeln!(
        text,
        "  of one job of the native engine without any storage: {} of {} bytes of a hole, depth {}, {}on {}",
        c.rw,
        c.bs_bytes,
        c.iodepth,
        if c.direct { "direct, " } else { "through the page cache, " },
        c.fs_type.as_deref().unwrap_or("an unknown file system"),
    );
    let _ = writeln!(text, "  {}", c.issued_by);
    let cost = [
        c.cpu_ns_per_io.map(|ns| format!("{} ns of CPU per I/O", count(ns))),
        Some(c.user_instructions_per_io.map_or_else(
            || "instructions can't be counted here".to_owned(),
            |n| format!("{} instructions in user mode per I/O", count(n)),
        )),
        c.busiest_thread_share.map(|share| format!("its thread ran {:.0} % of the time", share * 100.0)),
    ];
    let cost: Vec<String> = cost.into_iter().flatten().collect();
    let _ = writeln!(text, "  {}", cost.join(", "));
    if is_disturbed(c) {
        text.push_str("  others had the CPU meanwhile: a quiet machine does more\n");
    }
    text
}

/// Formats a count, as in `378,576`.
fn count(value: f64) -> String {
    let digits = format!("{:.0}", value.max(0.0));
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{CeilingReport, look, of};
    use engine::native::ceiling::{Measured, Repetition, keep};
    use record::environment::Environment;
    use std::path::Path;

    fn measured(rates: &[f64], share: f64) -> Measured {
        let repetition = |iops: &f64| Repetition {
            iops: *iops,
            busiest_thread_share: Some(share),
            cpu_ns_per_io: Some(1000.0),
            user_instructions_per_io: None,
        };
        Measured {
            repetitions: rates.iter().map(repetition).collect(),
            issued_by: "io_uring".to_owned(),
            direct: true,
            bs_bytes: 4096,
            iodepth: 128,
        }
    }

    #[test]
    fn the_mean_has_its_interval_and_what_is_not_counted_is_said() {
        let ceiling = of(&measured(&[900_000.0, 1_000_000.0, 1_100_000.0], 0.97), Path::new("/"));
        assert_eq!(ceiling.iops, 1_000_000.0);
        assert!((ceiling.high.unwrap() - 1_000_000.0 - 4.302_65 * 1e5 / 3.0_f64.sqrt()).abs() < 10.0);
        assert_eq!(ceiling.user_instructions_per_io, None);
        let found = CeilingReport {
            ceiling: Some(ceiling),
            measured_now: true,
            file: "/s/native-ceiling.json".into(),
            note: None,
        };
        let text = found.text();
        for words in [
            "1,000,000 I/Os per second (751,",
            "the 95 % interval of 3 times",
            "of 4096 bytes of a hole, depth 128, direct",
            "1,000 ns of CPU per I/O, instructions can't be counted here, its thread ran 97 %",
            "kept in /s/native-ceiling.json",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert!(!text.contains("quiet machine"));
        let disturbed = of(&measured(&[1e5], 0.4), Path::new("/"));
        assert_eq!(disturbed.low, None, "one gives no interval");
        let found =
            CeilingReport { ceiling: Some(disturbed), measured_now: false, file: String::new(), note: None };
        assert!(found.text().contains("quiet machine"));
    }

    #[test]
    fn what_is_kept_is_shown_until_it_is_stale() {
        let state = tempfile::tempdir().unwrap();
        let machine = Environment { kernel: Some("6.1.0".to_owned()), ..Environment::default() };
        assert!(look(state.path(), &machine).text().contains("never measured"));
        keep(state.path(), &machine, &of(&measured(&[1e5, 1e5], 1.0), state.path())).unwrap();
        assert!(look(state.path(), &machine).text().contains("100,000 I/Os per second"));
        let text = look(state.path(), &Environment::default()).text();
        assert!(text.contains("no longer counts") && !text.contains("100,000"), "{text}");
    }
}
