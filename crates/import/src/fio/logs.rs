//! fio's logs: `PREFIX_bw.1.log`, `_iops`, `_lat`, `_clat`, `_slat`, `_clat_hist`, one file per job or one for all.
//!
//! With a JSON document whose job wrote them they give its trial a time series. Alone they make a trial, as far as they count I/Os.

use super::log::{KINDS, Kind, Log};
use super::rows::{DIRECTIONS, Row, binned, is_of_fio_3, rows};
use super::totals::{float, whole};
use crate::error::ReadError;
use crate::measured::{Found, Measured};
use crate::source::Source;
use record::latency::LatencyHistogram;
use record::trial::{EngineOutput, Outcome, Series, Totals, Window};
use record::workload::{Ask, EngineKind, Options};
use std::collections::BTreeMap;

/// The format's name.
pub(crate) const FORMAT: &str = "fio logs";

/// The options that name a job's logs.
const OPTIONS: [&str; 4] = ["write_bw_log", "write_iops_log", "write_lat_log", "write_hist_log"];
/// What is said of latencies without a unit.
const NO_UNIT: &str = "its latencies are left out: fio before version 3 writes microseconds, later versions nanoseconds, and no JSON document in \
                       its folder tells the version";
/// The step of a series that is made of single I/Os, in ms.
const STEP_MS: u64 = 1000;
/// The most steps of a series: eleven days of seconds.
const MOST_STEPS: u64 = 1_000_000;

/// Whether a file has the name of a log.
pub(crate) fn is(source: &Source) -> bool {
    parts(&source.path).is_some()
}

/// The prefix, the job and the kind of a log, by its path.
fn parts(path: &str) -> Option<(&str, &str, Kind)> {
    let stem = path.strip_suffix(".log")?;
    let (stem, job) = match stem.rsplit_once('.') {
        Some((stem, job)) if !job.is_empty() && job.bytes().all(|byte| byte.is_ascii_digit()) => (stem, job),
        _ => (stem, ""),
    };
    KINDS.iter().find_map(|(end, kind)| Some((stem.strip_suffix(end)?, job, *kind)))
}

/// Reads a log.
pub(crate) fn read(source: &Source) -> Result<Found, ReadError> {
    let (prefix, job, kind) = parts(&source.path).ok_or(ReadError::Unknown)?;
    Ok(Found::Log(Log {
        file: source.path.clone(),
        folders: source.folders.clone(),
        modified_unix_ms: source.modified_unix_ms,
        prefix: prefix.to_owned(),
        job: job.to_owned(),
        kind,
        is_of_fio_3: is_of_fio_3(&source.text),
        rows: rows(&source.text, kind == Kind::Bins)?,
    }))
}

/// Adds logs to the trials whose jobs wrote them, and makes trials of the others. Returns the logs that are left, with the reason.
pub(crate) fn join(logs: Vec<Log>, trials: &mut Vec<Measured>) -> Vec<(String, ReadError)> {
    let mut sets: BTreeMap<String, Vec<Log>> = BTreeMap::new();
    for log in logs {
        sets.entry(log.prefix.clone()).or_default().push(log);
    }
    let mut left = Vec::new();
    for (prefix, logs) in sets {
        let unit = Unit::of(&prefix, &logs, trials);
        let Some(counted) = Counted::of(&logs, unit) else {
            left.extend(logs.into_iter().map(|log| (log.file, ReadError::NoCount)));
            continue;
        };
        match owner(&prefix, trials) {
            Some(trial) => trial.output.series = counted.series(),
            None => trials.extend(counted.trial(&prefix, &logs, unit)),
        }
    }
    left
}

/// The unit of the latencies of single I/Os.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    /// Nanoseconds: of fio 3 and later.
    Nanoseconds,
    /// Microseconds: of fio before 3.
    Microseconds,
    /// Neither the rows nor a document tell.
    Unknown,
}

impl Unit {
    /// The unit of a set of logs: by their columns, else by the versions of the JSON documents in the same folder, if they agree.
    fn of(prefix: &str, logs: &[Log], trials: &[Measured]) -> Self {
        let mut latencies = logs.iter().filter(|log| log.kind.is_latency() && is_of_each(log)).peekable();
        if latencies.peek().is_some() && latencies.all(|log| log.is_of_fio_3) {
            return Self::Nanoseconds;
        }
        let folder = split(prefix).0;
        let documents = trials.iter().filter(|trial| split(&trial.file).0 == folder);
        let mut units = documents.filter_map(|trial| Self::of_version(&trial.output.engine));
        match units.next() {
            Some(first) if units.all(|unit| unit == first) => first,
            _ => Self::Unknown,
        }
    }

    /// The unit of a version, e.g. `fio-2.1.10`; `None`: it tells none.
    fn of_version(engine: &str) -> Option<Self> {
        let major: u32 = engine.strip_prefix("fio-")?.split(['.', '-']).next()?.parse().ok()?;
        Some(if major < 3 { Self::Microseconds } else { Self::Nanoseconds })
    }

    /// The nanoseconds of a unit.
    fn nanoseconds(self) -> Option<u64> {
        match self {
            Self::Nanoseconds => Some(1),
            Self::Microseconds => Some(1000),
            Self::Unknown => None,
        }
    }
}

/// The trial whose job wrote the logs of this prefix, in the same folder; `None`: there is none, or there are several.
fn owner<'t>(prefix: &str, trials: &'t mut [Measured]) -> Option<&'t mut Measured> {
    let (folder, name) = split(prefix);
    let names = |options: &Options| {
        let names = |option: &&str| options.other.get(*option).is_some_and(|value| split(value).1 == name);
        OPTIONS.iter().any(names)
    };
    let wrote = |trial: &Measured| {
        split(&trial.file).0 == folder
            && match &trial.ask {
                Ask::Options(options) => names(options),
                Ask::JobFile { jobs, .. } => jobs.iter().any(|job| names(&job.options)),
                Ask::Copy(_) | Ask::Bonnie(_) => false,
            }
    };
    let mut found = trials.iter_mut().filter(|trial| wrote(trial));
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

/// The folder and the name of a path.
fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// I/Os and bytes over time.
#[derive(Debug, Default)]
struct Counted {
    step_ms: u64,
    seconds: f64,
    /// I/Os of each direction by step.
    ios: [BTreeMap<u64, f64>; DIRECTIONS],
    /// Bytes of each direction by step.
    bytes: [BTreeMap<u64, f64>; DIRECTIONS],
    latency: [LatencyHistogram; DIRECTIONS],
}

/// Whether a log has a row for each I/O.
fn is_of_each(log: &Log) -> bool {
    log.kind != Kind::Bins && log.rows.iter().all(|row| row.bytes > 0)
}

impl Counted {
    /// Counts the I/Os of a set of logs: by each job's histograms, else by its rows for each I/O, else by its I/Os per second.
    fn of(logs: &[Log], unit: Unit) -> Option<Self> {
        let mut jobs: BTreeMap<&str, Vec<&Log>> = BTreeMap::new();
        for log in logs {
            jobs.entry(&log.job).or_default().push(log);
        }
        let mut counted = Self { step_ms: step(logs), ..Self::default() };
        for logs in jobs.values_mut() {
            logs.sort_by_key(|log| log.kind);
            counted.add(logs, unit)?;
        }
        Some(counted)
    }

    /// Adds one job's logs; `None`: they don't tell I/Os and bytes.
    fn add(&mut self, logs: &[&Log], unit: Unit) -> Option<()> {
        let counts = |log: &&&Log| log.kind == Kind::Bins || is_of_each(log) || log.kind == Kind::Iops;
        let log = logs.iter().find(counts)?;
        let last = log.rows.iter().map(|row| row.time_ms).max().unwrap_or(0);
        self.seconds = self.seconds.max(float(last) / 1e3);
        match log.kind {
            Kind::Bins => self.add_bins(log),
            _ if is_of_each(log) => self.add_each(log, unit),
            _ => spans(log, |row, seconds| self.put(row, float(row.value) * seconds, 0.0))?,
        }
        if log.rows.iter().all(|row| row.bytes > 0) {
            return Some(());
        }
        let bandwidth = logs.iter().find(|log| log.kind == Kind::Bandwidth && !is_of_each(log))?;
        spans(bandwidth, |row, seconds| self.put(row, 0.0, float(row.value) * 1024.0 * seconds))
    }

    fn add_bins(&mut self, log: &Log) {
        for row in &log.rows {
            let ios: u64 = row.bins_ns.iter().map(|(_, count)| count).sum();
            self.put(row, float(ios), float(ios) * float(row.bytes));
            for (ns, count) in &row.bins_ns {
                *self.latency[row.direction].bins_ns.entry(*ns).or_default() += count;
            }
        }
    }

    fn add_each(&mut self, log: &Log, unit: Unit) {
        for row in &log.rows {
            self.put(row, 1.0, float(row.bytes));
            if let Some(ns) = unit.nanoseconds().filter(|_| log.kind.is_latency()) {
                let ns = row.value.saturating_mul(ns);
                *self.latency[row.direction].bins_ns.entry(binned(ns)).or_default() += 1;
            }
        }
    }

    fn put(&mut self, row: &Row, ios: f64, bytes: f64) {
        let step = row.time_ms.saturating_sub(1) / self.step_ms.max(1);
        *self.ios[row.direction].entry(step).or_default() += ios;
        *self.bytes[row.direction].entry(step).or_default() += bytes;
    }

    /// The series in whole steps.
    fn series(&self) -> Option<Series> {
        let steps = whole(self.seconds * 1e3) / self.step_ms.max(1);
        // A log whose times jump, as one of two logs does, would fill the memory.
        if steps > MOST_STEPS {
            return None;
        }
        let of = |by_step: &BTreeMap<u64, f64>| -> Vec<u64> {
            (0..steps).map(|step| whole(by_step.get(&step).copied().unwrap_or(0.0))).collect()
        };
        let [reads, writes, trims] = &self.ios;
        let (read_bytes, write_bytes) = (of(&self.bytes[0]), of(&self.bytes[1]));
        (steps > 0).then(|| Series {
            start_ns: 0,
            step_ns: self.step_ms * 1_000_000,
            read_ios: of(reads),
            write_ios: of(writes),
            trim_ios: of(trims),
            bytes: read_bytes.iter().zip(&write_bytes).map(|(read, write)| read + write).collect(),
            ..Series::default()
        })
    }

    fn totals(&self, direction: usize) -> Option<Totals> {
        let sum = |by_step: &BTreeMap<u64, f64>| by_step.values().sum::<f64>();
        let ios = sum(&self.ios[direction]);
        let bytes = sum(&self.bytes[direction]);
        let rate = |n: f64| if self.seconds > 0.0 { n / self.seconds } else { 0.0 };
        (ios > 0.0).then(|| Totals {
            ios: whole(ios),
            bytes: whole(bytes),
            seconds: self.seconds,
            iops: rate(ios),
            bytes_per_second: rate(bytes),
            latency: self.latency[direction].clone(),
            latency_mean_ns: None,
        })
    }

    /// The trial that logs without a document make.
    fn trial(&self, prefix: &str, logs: &[Log], unit: Unit) -> Option<Measured> {
        let first = logs.first()?;
        let [read, write, trim] = [0, 1, 2].map(|direction| self.totals(direction));
        let files: Vec<&str> = logs.iter().map(|log| log.file.as_str()).collect();
        let job = split(prefix).1.to_owned();
        let has_latencies = logs.iter().any(|log| log.kind.is_latency() && is_of_each(log));
        let is_untold = has_latencies && unit == Unit::Unknown;
        let mut messages = vec![format!("counted from {}", files.join(", "))];
        messages.extend(is_untold.then(|| NO_UNIT.to_owned()));
        Some(Measured {
            file: first.file.clone(),
            format: FORMAT,
            folders: first.folders.clone(),
            place: None,
            job,
            engine: EngineKind::Fio,
            ask: Ask::JobFile {
                path: first.file.clone(),
                text: String::new(),
                size_bytes: 0,
                jobs: Vec::new(),
            },
            options: BTreeMap::new(),
            started_unix_ms: first.modified_unix_ms.saturating_sub(whole(self.seconds * 1e3)),
            outcome: Outcome::Measured,
            notes: if is_untold { vec![NO_UNIT.to_owned()] } else { Vec::new() },
            output: EngineOutput {
                messages,
                read,
                write,
                trim,
                series: self.series(),
                ..EngineOutput::new(
                    "fio".to_owned(),
                    Window { start_ns: 0, end_ns: whole(self.seconds * 1e9) },
                )
            },
        })
    }
}

/// Passes each row of means with the seconds since the row before it of the same direction. `None`: several rows follow each other much too
/// soon, as where several jobs write one log (`per_job_logs=0`). Only the last row may come early.
fn spans(log: &Log, mut each: impl FnMut(&Row, f64)) -> Option<()> {
    let interval = interval(log);
    let mut before = [0_u64; DIRECTIONS];
    let mut early = [false; DIRECTIONS];
    for row in &log.rows {
        let since = row.time_ms.saturating_sub(before[row.direction]);
        if std::mem::replace(&mut early[row.direction], since.saturating_mul(4) < interval) {
            return None;
        }
        before[row.direction] = row.time_ms;
        each(row, float(since) / 1e3);
    }
    Some(())
}

/// The interval of a log of means, in ms: the median distance of its rows. Rows of several jobs lie a few milliseconds apart and don't count.
fn interval(log: &Log) -> u64 {
    const TOGETHER_MS: u64 = 4;
    let Some(first) = log.rows.first() else { return STEP_MS };
    let of_one = log.rows.iter().filter(|row| row.direction == first.direction).map(|row| row.time_ms);
    let times: Vec<u64> = std::iter::once(0).chain(of_one).collect();
    let mut gaps: Vec<u64> = times.windows(2).map(|two| two[1].saturating_sub(two[0])).collect();
    gaps.retain(|gap| *gap > TOGETHER_MS);
    gaps.sort_unstable();
    gaps.get(gaps.len() / 2).copied().unwrap_or(STEP_MS)
}

/// The step of the series: the longest interval of logs of means, else a second.
fn step(logs: &[Log]) -> u64 {
    logs.iter().filter(|log| !is_of_each(log)).map(interval).max().unwrap_or(STEP_MS)
}

#[cfg(test)]
mod tests {
    use super::{Kind, Log, join, parts, read};
    use crate::error::ReadError;
    use crate::measured::{Found, Measured};
    use crate::source::Source;

    fn log(path: &str, text: &str) -> Log {
        let source = Source {
            path: path.to_owned(),
            text: text.to_owned(),
            modified_unix_ms: 60_000,
            ..Source::default()
        };
        match read(&source) {
            Ok(Found::Log(log)) => log,
            other => panic!("{other:?}"),
        }
    }

    fn joined(logs: Vec<Log>) -> (Vec<Measured>, Vec<(String, ReadError)>) {
        let mut trials = Vec::new();
        let left = join(logs, &mut trials);
        (trials, left)
    }

    #[test]
    fn logs_are_told_by_their_names() {
        assert_eq!(parts("d/a_bw.1.log"), Some(("d/a", "1", Kind::Bandwidth)));
        assert_eq!(parts("a_b_clat_hist.12.log"), Some(("a_b", "12", Kind::Bins)));
        assert_eq!(parts("x_lat.log"), Some(("x", "", Kind::Whole)));
        assert_eq!(parts("x_clat.2.log").map(|p| p.2), Some(Kind::Completion));
        assert_eq!((parts("x.log"), parts("x_bw.txt")), (None, None));
    }

    #[test]
    fn means_over_intervals_are_weighted_by_their_length() {
        let iops = log("d/a_iops.1.log", "1000, 100, 0, 0\n2000, 200, 0, 0\n4000, 50, 0, 0\n");
        let bw = log("d/a_bw.1.log", "1000, 400, 0, 0\n2000, 800, 0, 0\n4000, 200, 0, 0\n");
        let (trials, left) = joined(vec![bw, iops]);
        assert!(left.is_empty(), "{left:?}");
        let read = trials[0].output.read.as_ref().unwrap();
        assert_eq!((read.ios, read.iops, read.seconds), (400, 100.0, 4.0));
        assert_eq!(read.bytes, 400 * 4096);
        assert_eq!((trials[0].job.as_str(), trials[0].started_unix_ms), ("a", 56_000));
        let series = trials[0].output.series.as_ref().unwrap();
        assert_eq!((series.step_ns, series.read_ios.iter().sum::<u64>()), (1_000_000_000, 400));
    }

    #[test]
    fn rows_of_single_ios_give_a_histogram() {
        let rows: String = (1..=200_u64)
            .map(|n| format!("{}, {}, 1, 8192, 0\n", n * 10, if n > 198 { 900_000 } else { 100_000 }))
            .collect();
        let (trials, left) = joined(vec![log("a_clat.1.log", &rows), log("a_clat.2.log", &rows)]);
        assert!(left.is_empty());
        let write = trials[0].output.write.as_ref().unwrap();
        assert_eq!((write.ios, write.bytes, write.iops), (400, 400 * 8192, 200.0));
        let p50 = write.latency.percentile_ns(0.5).unwrap();
        assert!(
            (99_000..101_000).contains(&p50) && write.latency.percentile_ns(1.0).unwrap() > 890_000,
            "{p50}"
        );
        assert_eq!(trials[0].output.series.as_ref().unwrap().write_ios, [200, 200]);
    }

    /// fio 2.x and 3.0 write the same rows, in microseconds and in nanoseconds.
    #[test]
    fn the_unit_of_latencies_is_that_of_the_documents_beside_them() {
        let rows: String = (1..=200_u64).map(|n| format!("{}, 700, 0, 4096\n", n * 10)).collect();
        let beside = |folder: &str, version: &str| {
            let text = format!(
                r#"{{ "fio version" : "{version}", "jobs" : [ {{ "jobname" : "j", "read" : {{ "iops" : 5, "total_ios" : 5 }} }} ] }}"#
            );
            let source = Source { path: format!("{folder}/j.json"), text, ..Source::default() };
            match crate::format::read(source) {
                Ok(Found::Trials(trials)) => trials,
                other => panic!("{other:?}"),
            }
        };
        let p50 = |mut trials: Vec<Measured>| {
            let documents = trials.len();
            assert_eq!(join(vec![log("d/a_lat.1.log", &rows)], &mut trials), []);
            let made = trials.swap_remove(documents);
            let read = made.output.read.unwrap();
            assert_eq!(read.ios, 200);
            (read.latency.percentile_ns(0.5), made.notes.len())
        };
        let near = |found: (Option<u64>, usize), ns: u64| {
            found.1 == 0 && found.0.is_some_and(|p| p.abs_diff(ns) <= ns / 100)
        };
        assert!(near(p50(beside("d", "fio-2.1.10")), 700_000));
        assert!(near(p50(beside("d", "fio-3.16")), 700));
        assert_eq!(p50(Vec::new()), (None, 1), "nobody knows, and it is said");
        assert_eq!(p50(beside("elsewhere", "fio-2.14")), (None, 1));
        assert_eq!(
            p50([beside("d", "fio-2.14"), beside("d", "fio-3.1")].concat()),
            (None, 1),
            "two versions"
        );
    }

    #[test]
    fn logs_that_count_nothing_are_left() {
        let (trials, left) =
            joined(vec![log("a_bw.1.log", "1000, 5, 0, 0\n"), log("b_lat.1.log", "1000, 5, 0, 0\n")]);
        assert!(trials.is_empty());
        assert_eq!(
            left.iter().map(|(file, _)| file.as_str()).collect::<Vec<_>>(),
            ["a_bw.1.log", "b_lat.1.log"]
        );
        assert!(left.iter().all(|(_, why)| *why == ReadError::NoCount));
        let two = "1000, 100, 0, 0\n1002, 100, 0, 0\n2000, 100, 0, 0\n2003, 100, 0, 0\n3000, 100, 0, 0\n3001, 100, 0, 0\n";
        let (trials, left) = joined(vec![log("a_iops.log", two), log("a_bw.log", two)]);
        assert!(trials.is_empty() && left.len() == 2, "two jobs in one log have no intervals of their own");
        let iops = "1000, 100, 0, 0\n2000, 100, 0, 0\n";
        assert_eq!(joined(vec![log("a_iops.1.log", iops)]).1.len(), 1, "no bytes are unknown bytes, not 0");
        let idle = "2000, 3, 0, 0\n3000, 3, 0, 0\n3999, 1, 0, 0\n4499, 1, 0, 0\n";
        assert_eq!(
            joined(vec![log("a_iops.1.log", idle), log("a_bw.1.log", idle)]).1,
            [],
            "rows may be late, and the last one early"
        );
    }
}
