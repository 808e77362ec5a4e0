//! Reads fio's json+ output defensively: text before, between and after documents, truncated documents, several documents, `nan`
//! and huge numbers, missing fields. A missing value is `None`.

use record::latency::{Latencies, LatencyHistogram};
use serde_json::{Map, Value};

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
    /// The jobs, in fio's order.
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
}

/// Reads fio's whole output.
#[must_use]
pub fn read(text: &str) -> Reading {
    let text = &without_bare_nan(text);
    let mut reading = Reading::default();
    let mut rest = text.as_str();
    let mut attempts = 0;
    while let Some(start) = next_start(rest) {
        attempts += 1;
        if attempts > MAX_ATTEMPTS {
            break;
        }
        let mut values = serde_json::Deserializer::from_str(&rest[start..]).into_iter::<Value>();
        match values.next() {
            Some(Ok(Value::Object(object))) if looks_like_fio(&object) => {
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
    object.contains_key("jobs") || object.contains_key("fio version")
}

/// Replaces `nan`, `-nan` and `inf`, which C prints and JSON doesn't allow, by `null`; not in strings.
fn without_bare_nan(text: &str) -> String {
    const WORDS: [&str; 5] = ["-nan", "nan", "-inf", "inf", "+inf"];
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
    out
}

fn report(object: &Map<String, Value>) -> Report {
    let jobs = object.get("jobs").and_then(Value::as_array);
    Report {
        version: object.get("fio version").and_then(Value::as_str).map(str::to_owned),
        jobs: jobs.into_iter().flatten().filter_map(Value::as_object).map(job).collect(),
    }
}

fn job(object: &Map<String, Value>) -> JobReport {
    JobReport {
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
    let clat = object.get("clat_ns").and_then(Value::as_object);
    let whole = object.get("lat_ns").and_then(Value::as_object);
    let found = JobDirection {
        issued: number(object, "total_ios"),
        bytes: number(object, "io_bytes"),
        runtime_ms: number(object, "runtime"),
        completed: clat.and_then(|c| number(c, "N")),
        latency_mean_ns: clat.and_then(|c| float(c, "mean")),
        whole_mean_ns: whole.filter(|l| number(l, "N").is_some_and(|n| n > 0)).and_then(|l| float(l, "mean")),
        latency: clat.map(histogram).unwrap_or_default(),
    };
    let idle = |n: Option<u64>| n.unwrap_or(0) == 0;
    let nothing = idle(found.issued) && idle(found.bytes) && idle(found.completed);
    (!nothing).then_some(found)
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
mod tests;
