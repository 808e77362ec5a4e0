//! fio's total latencies. fio's completion latency, which is in the record, begins when the call that submits has returned;
//! native's latency begins before that call. To compare the same thing, fio's total latencies are read from its own output.

use crate::span::float;
use record::agreement::Definition;
use record::latency::LatencyHistogram;
use record::trial::{EngineOutput, Totals, TrialRecord};
use serde_json::Value;

/// If the submission takes less than this share of the median latency, it doesn't matter to a percentile.
const NEGLIGIBLE: f64 = 0.001;

/// Returns the record with fio's total latencies, if fio's output has them, else unchanged.
pub(super) fn with_total(trial: &TrialRecord) -> TrialRecord {
    let mut trial = trial.clone();
    if let Some(engine) = &mut trial.engine {
        let found = document(&engine.raw).and_then(|document| sides(engine, &document));
        if let Some([read, write]) = found {
            (engine.read, engine.write) = (read, write);
        }
    }
    trial
}

/// The definition of fio's latencies in trials from [`with_total`].
pub(super) fn definition(engine: &EngineOutput) -> Definition {
    let total = document(&engine.raw).is_some_and(|document| sides(engine, &document).is_some());
    if total { Definition::Total } else { Definition::AfterSubmission }
}

/// The JSON document in fio's output; `None` if there is none.
pub(super) fn document(raw: &str) -> Option<Value> {
    let begin = raw.find('{')?;
    serde_json::Deserializer::from_str(raw.get(begin..)?).into_iter().next()?.ok()
}

/// The jobs in fio's JSON document.
pub(super) fn jobs(document: &Value) -> impl Iterator<Item = &Value> {
    document.get("jobs").and_then(Value::as_array).into_iter().flatten()
}

/// Both directions with total latencies; `None` unless each has latencies for all its I/Os.
fn sides(engine: &EngineOutput, document: &Value) -> Option<[Option<Totals>; 2]> {
    let side = |name: &str, totals: &Option<Totals>| match totals {
        Some(totals) if totals.ios > 0 => Some(Some(replaced(totals, name, document)?)),
        other => Some(other.clone()),
    };
    Some([side("read", &engine.read)?, side("write", &engine.write)?])
}

fn replaced(totals: &Totals, name: &str, document: &Value) -> Option<Totals> {
    let mut latency = LatencyHistogram::default();
    let (mut submission_ns, mut count) = (0.0, 0.0);
    for job in jobs(document) {
        let side = job.get(name)?;
        let slat = side.get("slat_ns")?;
        let n = slat.get("N")?.as_f64()?;
        submission_ns += slat.get("mean")?.as_f64()? * n;
        count += n;
        for (ns, ios) in side.get("lat_ns")?.get("bins").and_then(Value::as_object).into_iter().flatten() {
            *latency.bins_ns.entry(ns.parse().ok()?).or_default() += ios.as_u64()?;
        }
    }
    if latency.count() == 0 || count <= 0.0 {
        return None;
    }
    let submission_ns = submission_ns / count;
    let median_ns = float(totals.latency.percentile_ns(0.5)?);
    Some(Totals {
        // The record's latencies are without the ramp.
        latency: if submission_ns < NEGLIGIBLE * median_ns { totals.latency.clone() } else { latency },
        latency_mean_ns: Some(totals.latency_mean_ns? + submission_ns),
        ..totals.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::{definition, with_total};
    use crate::testing::{Truth, filesystem, totals};
    use record::agreement::Definition;
    use record::stack::FsKind;
    use record::trial::TrialRecord;
    use record::workload::Rw;

    fn trial(raw: &str) -> TrialRecord {
        let truth = Truth::new(Rw::Randread, 4096, true, filesystem(FsKind::Ext4), 1);
        let mut trial = truth.record();
        let engine = trial.engine.as_mut().unwrap();
        engine.read = Some(totals(300, 4096));
        engine.raw = raw.to_owned();
        trial
    }

    /// Of two jobs, the second with twice the I/Os: mean submission 4 us.
    const RAW: &str = "fio: a word before\n{ \"jobs\": [
        { \"read\": { \"slat_ns\": { \"mean\": 2000.0, \"N\": 100 }, \"lat_ns\": { \"bins\": { \"2000\": 100 } } } },
        { \"read\": { \"slat_ns\": { \"mean\": 5000.0, \"N\": 200 }, \"lat_ns\": { \"bins\": { \"2000\": 50, \"6000\": 150 } } } } ] }";

    #[test]
    fn total_latencies_of_all_jobs_are_taken_from_the_document() {
        let engine = with_total(&trial(RAW)).engine.unwrap();
        let read = engine.read.as_ref().unwrap();
        assert_eq!(
            (read.ios, read.latency_mean_ns),
            (300, Some(1e6 + 4000.0)),
            "the record's mean and the submission"
        );
        assert_eq!(read.latency.bins_ns.iter().collect::<Vec<_>>(), [(&2000, &150), (&6000, &150)]);
        assert_eq!(definition(&engine), Definition::Total);
    }

    #[test]
    fn percentiles_without_the_ramp_are_kept_where_the_submission_makes_no_difference() {
        let mut slow = trial(RAW);
        let read = slow.engine.as_mut().unwrap().read.as_mut().unwrap();
        read.latency.bins_ns = [(200_000_000, 300)].into_iter().collect();
        let kept = with_total(&slow).engine.unwrap();
        assert_eq!(kept.read.as_ref().unwrap().latency.count(), 300);
        assert_eq!(kept.read.unwrap().latency.percentile_ns(0.5), Some(200_000_000));
    }

    #[test]
    fn without_them_the_record_stays_as_it_is() {
        for raw in [
            "",
            "{}",
            "{\"issued_by\":\"io_uring\"}",
            "{\"jobs\":[{\"read\":{\"lat_ns\":{\"mean\":1.0,\"N\":9}}}]}",
            "{\"jobs\":[",
        ] {
            let before = trial(raw);
            let after = with_total(&before);
            assert_eq!(after, before);
            assert_eq!(definition(&after.engine.unwrap()), Definition::AfterSubmission, "{raw}");
        }
    }
}
