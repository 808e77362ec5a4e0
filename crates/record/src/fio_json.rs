//! Reads fio's JSON and json+ output, of fio 2.1 and later, defensively: text before, between and after documents, truncated documents, several documents, `nan`
//! and huge numbers, missing fields. A missing value is `None`.

use crate::latency::{Latencies, LatencyHistogram};
use needed::Needed;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;

mod needed;

/// The most lines of text that are kept besides the documents.
const MAX_MESSAGES: usize = 1000;

/// The most places at which a document is tried; real output has one or two.
const MAX_ATTEMPTS: usize = 10_000;

/// The limit of a bin's count: a larger one is damage, and would overflow sums.
const MAX_BIN_COUNT: u64 = 1 << 40;

/// The content of fio's output.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reading {
    /// The last complete document; fio writes several with `--status-interval`, and the last is the final one.
    pub report: Option<Report>,
    /// The number of complete documents.
    pub documents: usize,
    /// Whether a document begins and never ends.
    pub cut_off: bool,
    /// All other lines of fio's output, without empty ones.
    pub messages: Vec<String>,
}

/// One json+ document.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    /// fio's version, e.g. `fio-3.33`.
    pub version: Option<String>,
    /// The end of the run, UTC, milliseconds since the epoch.
    pub ended_unix_ms: Option<u64>,
    /// The jobs, in fio's order; of a client's document those of all hosts, without fio's own sums over the hosts.
    pub jobs: Vec<JobReport>,
}

/// One job of a document.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JobReport {
    /// The name of its section.
    pub name: Option<String>,
    /// Its group: jobs of one group ran at the same time, groups one after the other.
    pub group: Option<u64>,
    /// The number of the error that ended it; `Some(0)` for none.
    pub error: Option<i64>,
    /// The number of errors that didn't end it (`continue_on_error`).
    pub total_errors: Option<u64>,
    /// The first of these errors.
    pub first_error: Option<i64>,
    /// User CPU time, in percent of one core.
    pub user_cpu_percent: Option<f64>,
    /// System CPU time, in percent of one core.
    pub system_cpu_percent: Option<f64>,
    /// Its reads; `None` when there were none.
    pub read: Option<JobDirection>,
    /// Its writes; `None` when there were none.
    pub write: Option<JobDirection>,
    /// Its trims; `None` when there were none.
    pub trim: Option<JobDirection>,
    /// Its fsync, fdatasync and sync_file_range calls; `None` when there were none, or this fio doesn't tell.
    pub sync: Option<Latencies>,
    /// The host that ran it, in a client's document.
    pub host: Option<String>,
    /// The options in force by fio's names as written, the global ones included; `None`: this fio doesn't tell.
    pub options: Option<BTreeMap<String, String>>,
}

/// One direction of one job.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JobDirection {
    /// I/Os *issued* in the measured time.
    pub issued: Option<u64>,
    /// Bytes completed.
    pub bytes: Option<u64>,
    /// Its measured time.
    pub runtime_ms: Option<u64>,
    /// The number of I/Os with a completion latency: those *completed* in the measured time.
    pub completed: Option<u64>,
    /// Mean completion latency.
    pub latency_mean_ns: Option<f64>,
    /// Mean time from the begin of the submission to the completion.
    pub whole_mean_ns: Option<f64>,
    /// Completion latencies.
    pub latency: LatencyHistogram,
    /// Percentiles of the completion latency as fio gives them: the share of I/Os that were not slower, and nanoseconds.
    pub percentiles_ns: Vec<(f64, u64)>,
    /// I/Os per second as fio gives them.
    pub iops: Option<f64>,
    /// Bytes per second as fio gives them.
    pub bytes_per_second: Option<f64>,
}

/// Reads fio's whole output.
#[must_use]
pub fn read(text: &str) -> Reading {
    let text = without_bare_nan(text);
    let mut reading = Reading::default();
    let mut rest = text.as_ref();
    let mut attempts = 0;
    while let Some(start) = next_start(rest) {
        attempts += 1;
        if attempts > MAX_ATTEMPTS {
            break;
        }
        let mut values = serde_json::Deserializer::from_str(&rest[start..]).into_iter::<Needed>();
        match values.next() {
            Some(Ok(Needed(Value::Object(object)))) if looks_like_fio(&object) => {
                reading.add_messages(&rest[..start]);
                reading.documents += 1;
                reading.report = Some(report(&object));
                rest = &rest[start + values.byte_offset()..];
            }
            outcome => {
                let ended = matches!(&outcome, Some(Err(error)) if error.is_eof());
                reading.cut_off |= ended && rest[start..].contains("\"fio version\"");
                if reading.cut_off {
                    reading.add_messages(&rest[..start]);
                    return reading;
                }
                reading.add_messages(&rest[..=start]);
                rest = &rest[start + 1..];
            }
        }
    }
    reading.add_messages(rest);
    reading
}

impl Reading {
    fn add_messages(&mut self, text: &str) {
        let room = MAX_MESSAGES.saturating_sub(self.messages.len());
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        self.messages.extend(lines.take(room).map(str::to_owned));
    }
}

/// The position of the next line that begins with `{`.
fn next_start(text: &str) -> Option<usize> {
    if text.starts_with('{') {
        return Some(0);
    }
    text.find("\n{").map(|at| at + 1)
}

fn looks_like_fio(object: &Map<String, Value>) -> bool {
    ["jobs", "client_stats", "fio version"].iter().any(|key| object.contains_key(*key))
}

/// Replaces `nan`, `-nan` and `inf`, which C prints and JSON doesn't allow, by `null`; not in strings.
fn without_bare_nan(text: &str) -> Cow<'_, str> {
    const WORDS: [&str; 5] = ["-nan", "nan", "-inf", "inf", "+inf"];
    // Values of most documents end in a digit, a quotation mark or a bracket.
    let may_be_one = |line: &str| line.trim_end().trim_end_matches(',').ends_with(['n', 'N', 'f', 'F']);
    if !text.lines().any(may_be_one) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let value_at = line.rfind(" : ").map(|at| at + 3);
        let value = value_at.and_then(|at| line.get(at..)).map(|v| v.trim_end().trim_end_matches(','));
        match (value_at, value) {
            (Some(at), Some(value)) if WORDS.iter().any(|w| w.eq_ignore_ascii_case(value)) => {
                out.push_str(&line[..at]);
                out.push_str("null");
                out.push_str(&line[at + value.len()..]);
            }
            _ => out.push_str(line),
        }
    }
    Cow::Owned(out)
}

fn report(object: &Map<String, Value>) -> Report {
    let list = |key: &str| object.get(key).and_then(Value::as_array).into_iter().flatten();
    let global = global_options(object.get("global options"));
    let jobs = list("jobs").chain(list("client_stats")).filter_map(Value::as_object);
    let mut jobs: Vec<JobReport> = jobs.map(|one| job(one, global.as_ref())).collect();
    if jobs.iter().any(|job| !is_sum(job)) {
        jobs.retain(|job| !is_sum(job));
    }
    let seconds = number(object, "timestamp").and_then(|seconds| seconds.checked_mul(1000));
    Report {
        version: object.get("fio version").and_then(Value::as_str).map(str::to_owned),
        ended_unix_ms: number(object, "timestamp_ms").or(seconds),
        jobs,
    }
}

/// Whether a job of a client's document is fio's own sum over all hosts.
fn is_sum(job: &JobReport) -> bool {
    job.host.is_some() && job.name.as_deref() == Some("All clients")
}

/// The options of the global section: a map, or with a client a list of maps, one for each host.
fn global_options(value: Option<&Value>) -> Option<BTreeMap<String, String>> {
    match value? {
        Value::Array(list) => list.first().and_then(Value::as_object).map(options),
        value => value.as_object().map(options),
    }
}

/// Options as text; a switch that stands alone has no value, which means 1.
fn options(object: &Map<String, Value>) -> BTreeMap<String, String> {
    let text = |value: &Value| match value {
        Value::String(text) if text.is_empty() => "1".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    object.iter().map(|(name, value)| (name.clone(), text(value))).collect()
}

fn job(object: &Map<String, Value>, global: Option<&BTreeMap<String, String>>) -> JobReport {
    let own = object.get("job options").and_then(Value::as_object).map(options);
    let options = match (global, own) {
        (Some(global), Some(own)) => {
            let mut all = global.clone();
            all.extend(own);
            Some(all)
        }
        (global, own) => own.or_else(|| global.cloned()),
    };
    JobReport {
        host: object.get("hostname").and_then(Value::as_str).map(str::to_owned),
        options,
        name: object.get("jobname").and_then(Value::as_str).map(str::to_owned),
        group: number(object, "groupid"),
        error: object.get("error").and_then(Value::as_i64),
        total_errors: number(object, "total_err"),
        first_error: object.get("first_error").and_then(Value::as_i64),
        user_cpu_percent: float(object, "usr_cpu"),
        system_cpu_percent: float(object, "sys_cpu"),
        read: object.get("read").and_then(Value::as_object).and_then(direction),
        write: object.get("write").and_then(Value::as_object).and_then(direction),
        trim: object.get("trim").and_then(Value::as_object).and_then(trim),
        sync: object.get("sync").and_then(Value::as_object).and_then(syncs),
    }
}

/// The number is that of the latencies: fio leaves `total_ios` at 0.
fn syncs(object: &Map<String, Value>) -> Option<Latencies> {
    let latency = object.get("lat_ns").and_then(Value::as_object)?;
    let count = number(latency, "N").filter(|n| (1..MAX_BIN_COUNT).contains(n))?;
    Some(Latencies {
        count,
        mean_ns: float(latency, "mean"),
        max_ns: number(latency, "max"),
        histogram: histogram(latency),
    })
}

/// fio counts one trim that it never issued where it can't trim.
fn trim(object: &Map<String, Value>) -> Option<JobDirection> {
    direction(object).filter(|found| found.bytes.unwrap_or(0) > 0)
}

fn direction(object: &Map<String, Value>) -> Option<JobDirection> {
    let clat = Times::of(object, "clat");
    let whole = Times::of(object, "lat");
    // Up to fio 2.x the key holds KiB; since 3.0 there is one of its own for them.
    let kib = !object.contains_key("io_kbytes") && clat.is_some_and(|clat| clat.ns_per_unit > 1);
    let bytes = number(object, "io_bytes").map(|n| if kib { n.saturating_mul(1024) } else { n });
    let found = JobDirection {
        issued: number(object, "total_ios"),
        bytes,
        runtime_ms: number(object, "runtime"),
        completed: clat.and_then(|c| number(c.object, "N")),
        latency_mean_ns: clat.and_then(|c| c.float("mean")),
        whole_mean_ns: whole
            .filter(|l| number(l.object, "N").is_some_and(|n| n > 0))
            .and_then(|l| l.float("mean")),
        latency: clat.map(Times::histogram).unwrap_or_default(),
        percentiles_ns: clat.map(Times::percentiles).unwrap_or_default(),
        iops: float(object, "iops"),
        bytes_per_second: float(object, "bw_bytes").or_else(|| float(object, "bw").map(|kib| kib * 1024.0)),
    };
    let idle = |n: Option<u64>| n.unwrap_or(0) == 0;
    let nothing = idle(found.issued) && idle(found.bytes) && idle(found.completed);
    (!nothing).then_some(found)
}

/// A group of latencies: in nanoseconds since fio 3.0, before that in microseconds.
#[derive(Debug, Clone, Copy)]
struct Times<'a> {
    object: &'a Map<String, Value>,
    ns_per_unit: u64,
}

impl<'a> Times<'a> {
    fn of(direction: &'a Map<String, Value>, name: &str) -> Option<Self> {
        let named = |key: &str| direction.get(key).and_then(Value::as_object);
        let ns = named(&format!("{name}_ns")).map(|object| Self { object, ns_per_unit: 1 });
        ns.or_else(|| named(name).map(|object| Self { object, ns_per_unit: 1000 }))
    }

    fn float(self, name: &str) -> Option<f64> {
        let factor = if self.ns_per_unit > 1 { 1e3 } else { 1.0 };
        float(self.object, name).map(|value| value * factor)
    }

    fn histogram(self) -> LatencyHistogram {
        let mut found = histogram(self.object);
        if self.ns_per_unit > 1 {
            let scaled =
                found.bins_ns.iter().map(|(us, count)| (us.saturating_mul(self.ns_per_unit), *count));
            found.bins_ns = scaled.collect();
        }
        found
    }

    fn percentiles(self) -> Vec<(f64, u64)> {
        let all = self.object.get("percentile").and_then(Value::as_object).into_iter().flatten();
        all.filter_map(|(share, value)| {
            let share: f64 = share.parse().ok()?;
            Some((share / 100.0, value.as_u64()?.saturating_mul(self.ns_per_unit)))
        })
        .collect()
    }
}

fn histogram(clat: &Map<String, Value>) -> LatencyHistogram {
    let mut histogram = LatencyHistogram::default();
    let bins = clat.get("bins").and_then(Value::as_object);
    for (key, count) in bins.into_iter().flatten() {
        if let (Ok(ns), Some(count)) = (key.parse::<u64>(), count.as_u64().filter(|n| *n < MAX_BIN_COUNT)) {
            histogram.bins_ns.insert(ns, count);
        }
    }
    histogram
}

fn number(object: &Map<String, Value>, name: &str) -> Option<u64> {
    object.get(name).and_then(Value::as_u64)
}

fn float(object: &Map<String, Value>, name: &str) -> Option<f64> {
    object.get(name).and_then(Value::as_f64).filter(|f| f.is_finite())
}

#[cfg(test)]
mod tests {
    use super::read;

    /// A document with one job, as fio 2.x prints it: KiB and microseconds.
    const OLD: &str = r#"{
  "fio version" : "fio-2.1.4",
  "jobs" : [ { "jobname" : "a", "groupid" : 0, "error" : 0,
      "read" : { "io_bytes" : 4096, "bw" : 1024, "iops" : 256.0, "runtime" : 4000, "total_ios" : 1024,
        "clat" : { "min" : 10, "max" : 90, "mean" : 50.5, "percentile" : { "99.000000" : 80, "0.00" : 0 } } } } ]
}"#;

    #[test]
    fn old_versions_count_in_kib_and_microseconds() {
        let report = read(OLD).report.unwrap();
        let found = report.jobs[0].read.clone().unwrap();
        assert_eq!((found.bytes, found.latency_mean_ns), (Some(4 << 20), Some(50_500.0)));
        assert_eq!((found.iops, found.bytes_per_second), (Some(256.0), Some(1024.0 * 1024.0)));
        assert!(found.percentiles_ns.contains(&(0.99, 80_000)), "{:?}", found.percentiles_ns);
        assert_eq!(report.jobs[0].options, None, "this fio doesn't tell its options");
    }

    #[test]
    fn since_3_0_they_are_bytes_and_nanoseconds() {
        let new = OLD.replace("\"clat\"", "\"clat_ns\"").replace("\"bw\" :", "\"io_kbytes\" : 4, \"bw\" :");
        let found = read(&new).report.unwrap().jobs[0].read.clone().unwrap();
        assert_eq!((found.bytes, found.latency_mean_ns), (Some(4096), Some(50.5)));
        assert!(found.percentiles_ns.contains(&(0.99, 80)));
    }

    #[test]
    fn a_client_has_one_job_per_host_and_no_sum() {
        let text = r#"{ "fio version" : "fio-3.36", "timestamp" : 100,
            "global options" : [ { "bs" : "4k", "iodepth" : "4" } ],
            "client_stats" : [
              { "jobname" : "a", "hostname" : "n1", "job options" : { "iodepth" : "8", "time_based" : "" }, "read" : { "total_ios" : 1 } },
              { "jobname" : "a", "hostname" : "n2", "read" : { "total_ios" : 2 } },
              { "jobname" : "All clients", "hostname" : "", "read" : { "total_ios" : 3 } } ] }"#;
        let report = read(text).report.unwrap();
        let hosts: Vec<_> = report.jobs.iter().map(|job| job.host.as_deref()).collect();
        assert_eq!((hosts, report.ended_unix_ms), (vec![Some("n1"), Some("n2")], Some(100_000)));
        let options = report.jobs[0].options.as_ref().unwrap();
        assert_eq!(
            (options["bs"].as_str(), options["iodepth"].as_str()),
            ("4k", "8"),
            "the job's own come last"
        );
        assert_eq!(options["time_based"], "1");
        let alone = text.replace("\"a\"", "\"All clients\"");
        assert_eq!(read(&alone).report.unwrap().jobs.len(), 3, "without the hosts the sum is all there is");
    }

    #[test]
    fn a_map_of_global_options_and_keys_that_occur_twice_are_read() {
        let text = r#"{ "global options" : { "bs" : "4k" }, "jobs" : [ { "jobname" : "a", "jobname" : "b",
            "read" : { "total_ios" : 1, "iops" : 2.5, "iops" : 3.5 } } ] }"#;
        let job = read(text).report.unwrap().jobs.remove(0);
        assert_eq!(
            (job.name.as_deref(), job.read.unwrap().iops),
            (Some("b"), Some(3.5)),
            "the last one counts"
        );
        assert_eq!(job.options.unwrap()["bs"], "4k");
    }
}
