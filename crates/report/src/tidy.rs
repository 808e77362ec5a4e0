//! Tidy CSV of a run's trials: one row per trial and metric, or one row per step of a trial's time series.
//!
//! Written trial by trial, so that a run of any size needs the memory of one trial. Texts are as they were written, for programs (no
//! apostrophes, as in `--csv-raw`); control characters are shown as escapes. RFC 4180, UTF-8, lines end in CR LF, absent values are empty.

use crate::csv::{Formulas, Rows};
use record::counter::{BlockCounters, Sample};
use record::id::{CellId, RunId};
use record::metric::info;
use record::plan::{Cell, Plan};
use record::printable::printable;
use record::trial::{Outcome, Series, TrialRecord, Window};
use std::collections::{BTreeMap, BTreeSet};

const HEAD: [&str; 6] = ["run", "experiment", "cell", "target", "stack", "workload"];
const TRIAL: [&str; 7] = ["round", "started_unix_ms", "failed", "imported_from", "metric", "value", "unit"];
const SERIES: [&str; 9] = [
    "round",
    "source",
    "seconds",
    "step_seconds",
    "measured",
    "read_iops",
    "write_iops",
    "trim_iops",
    "bytes_per_second",
];

/// Writes the rows of a run's trials.
#[derive(Debug)]
pub struct Tidy<'p> {
    run: String,
    plan: &'p Plan,
    cells: BTreeMap<&'p CellId, &'p Cell>,
    factors: BTreeSet<&'p str>,
}

impl<'p> Tidy<'p> {
    /// Writes rows of this run's trials.
    #[must_use]
    pub fn new(run: &RunId, plan: &'p Plan) -> Self {
        let cells = plan.cells.iter().map(|cell| (&cell.id, cell)).collect();
        let factors = plan.cells.iter().flat_map(|cell| cell.levels.keys()).map(String::as_str).collect();
        Self { run: run.to_string(), plan, cells, factors }
    }

    /// The header of the table of trials.
    #[must_use]
    pub fn trials_header(&self) -> String {
        self.header(&TRIAL)
    }

    /// The header of the table of time series.
    #[must_use]
    pub fn series_header(&self) -> String {
        self.header(&SERIES)
    }

    fn header(&self, tail: &[&str]) -> String {
        let factors = self.factors.iter().map(|factor| format!("level_{factor}"));
        let names =
            HEAD.iter().map(ToString::to_string).chain(factors).chain(tail.iter().map(ToString::to_string));
        text([names.collect()])
    }

    /// A trial's rows: one per metric. A trial without metrics has one row with an empty metric.
    #[must_use]
    pub fn trial(&self, trial: &TrialRecord) -> String {
        let Some(head) = self.head(trial) else { return String::new() };
        let failed = matches!(trial.outcome, Outcome::Failed(_));
        let own = [
            trial.id.round.to_string(),
            trial.started_unix_ms.to_string(),
            u8::from(failed).to_string(),
            trial.imported.as_ref().map(|from| from.file.clone()).unwrap_or_default(),
        ];
        let head: Vec<String> = head.into_iter().chain(own).collect();
        let mut metrics = trial.metrics();
        let derived = self.plan.derived.iter().filter_map(|derived| {
            Some((derived.name.clone(), derived.cells.get(&trial.id.cell)?.value(&metrics)?))
        });
        let derived: Vec<(String, f64)> = derived.collect();
        metrics.extend(derived);
        if metrics.is_empty() {
            return text([[head, vec![String::new(); 3]].concat()]);
        }
        text(metrics.iter().map(|(name, value)| {
            let unit = info(name).map_or_else(String::new, |metric| metric.unit.to_owned());
            [head.clone(), vec![name.clone(), value.to_string(), unit]].concat()
        }))
    }

    /// A trial's time series: one row per step of the engine's series, and one per interval of the kernel's counters and device.
    #[must_use]
    pub fn series(&self, trial: &TrialRecord) -> String {
        let (Some(head), Some(engine)) = (self.head(trial), &trial.engine) else { return String::new() };
        let row = |step: Step| -> Vec<String> {
            let Step { source, seconds, length, measured, read, write, trim, bytes } = step;
            let rate = |n: Option<f64>| n.map(|n| (n / length).to_string()).unwrap_or_default();
            let own = [
                trial.id.round.to_string(),
                source,
                seconds.to_string(),
                length.to_string(),
                u8::from(measured).to_string(),
                rate(read),
                rate(write),
                rate(trim),
                rate(bytes),
            ];
            head.iter().cloned().chain(own).collect()
        };
        let of_engine = engine.series.iter().flat_map(|series| of_engine(series, engine.window));
        let of_devices = of_devices(&trial.evidence.samples, engine.window);
        text(of_engine.chain(of_devices).map(row))
    }

    /// The first columns of a trial's rows; `None`: its cell isn't in the plan.
    fn head(&self, trial: &TrialRecord) -> Option<Vec<String>> {
        let cell = self.cells.get(&trial.id.cell)?;
        let names = [
            &self.run,
            &self.plan.experiment,
            &cell.id.0,
            &cell.target,
            &cell.stack.name,
            &cell.workload.name,
        ];
        let levels = self.factors.iter().map(|factor| cell.levels.get(*factor).cloned().unwrap_or_default());
        Some(names.into_iter().cloned().chain(levels).collect())
    }
}

/// One row of a time series.
struct Step {
    /// `engine`, or the name of a device.
    source: String,
    /// Begin of the step, from the begin of the measured time.
    seconds: f64,
    length: f64,
    /// Whether the whole step lies in the measured time.
    measured: bool,
    read: Option<f64>,
    write: Option<f64>,
    trim: Option<f64>,
    bytes: Option<f64>,
}

fn of_engine(series: &Series, window: Window) -> impl Iterator<Item = Step> + '_ {
    let length = float(series.step_ns) / 1e9;
    let begin = (float(series.start_ns) - float(window.start_ns)) / 1e9;
    let at = |list: &[u64], step: usize| list.get(step).copied().map(float);
    (0..series.bytes.len()).map(move |step| Step {
        source: "engine".to_owned(),
        seconds: begin + length * float(u64::try_from(step).unwrap_or(u64::MAX)),
        length,
        measured: true,
        read: at(&series.read_ios, step),
        write: at(&series.write_ios, step),
        trim: at(&series.trim_ios, step),
        bytes: at(&series.bytes, step),
    })
}

/// The intervals between the samples of each device. Samples of a server have its own devices.
fn of_devices(samples: &[Sample], window: Window) -> impl Iterator<Item = Step> + '_ {
    let mut before: BTreeMap<&str, (u64, BlockCounters)> = BTreeMap::new();
    samples.iter().flat_map(move |sample| {
        let steps: Vec<Step> = sample
            .block
            .iter()
            .filter_map(|(name, now)| {
                let (since_ns, then) = before.insert(name, (sample.monotonic_ns, *now))?;
                interval(name, (since_ns, &then), (sample.monotonic_ns, now), window)
            })
            .collect();
        steps
    })
}

/// One interval; `None` if no time passed. A counter that went backwards is absent.
fn interval(
    name: &str,
    (since_ns, then): (u64, &BlockCounters),
    (until_ns, now): (u64, &BlockCounters),
    window: Window,
) -> Option<Step> {
    let length = until_ns.checked_sub(since_ns).filter(|ns| *ns > 0)?;
    let grown = |of: fn(&BlockCounters) -> u64| of(now).checked_sub(of(then)).map(float);
    Some(Step {
        source: name.to_owned(),
        seconds: (float(since_ns) - float(window.start_ns)) / 1e9,
        length: float(length) / 1e9,
        measured: since_ns >= window.start_ns && until_ns <= window.end_ns,
        read: grown(|counters| counters.reads),
        write: grown(|counters| counters.writes),
        trim: now.discards.zip(then.discards).and_then(|(now, then)| now.checked_sub(then)).map(float),
        bytes: grown(|counters| counters.read_bytes)
            .zip(grown(|counters| counters.write_bytes))
            .map(|(r, w)| r + w),
    })
}

fn text(rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut out = Rows::new(Formulas::Raw);
    for row in rows {
        let safe: Vec<String> = row.iter().map(|field| printable(field).into_owned()).collect();
        out.row(&safe);
    }
    out.text
}

#[expect(clippy::cast_precision_loss, reason = "counts, bytes and nanoseconds of a trial are far below 2^52")]
fn float(n: u64) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use super::Tidy;
    use record::counter::{BlockCounters, Sample};
    use record::id::{CellId, LOCAL, RunId, TrialId};
    use record::imported::Imported;
    use record::plan::{Cell, Derived, Formula, Measure, Plan};
    use record::stack::{Rebuild, Stack};
    use record::trial::{EngineOutput, Outcome, Series, Totals, TrialRecord, Window};
    use record::workload::{Ask, CacheStart, EngineKind, Layout, Options, Rw, Workload};

    fn plan() -> Plan {
        let cell = Cell {
            id: CellId("c1".to_owned()),
            target: LOCAL.to_owned(),
            stack: Stack {
                name: "ext4, \"fast\"\u{1b}".to_owned(),
                volumes: Vec::new(),
                beside: Vec::new(),
                layers: Vec::new(),
                rebuild: Rebuild::Trial,
            },
            workload: Workload {
                name: "=randread".to_owned(),
                engine: EngineKind::Fio,
                ask: Ask::Options(Options::new(Rw::Randread, 4096, 1 << 20)),
                layout: Layout::Written,
                cache: CacheStart::Keep,
            },
            levels: [("iodepth".to_owned(), "4".to_owned())].into(),
        };
        let of = |name: &str| Some(name.to_owned());
        let formula = Formula { factor: 2.0, over: of("iops"), under: None };
        let twice = Derived {
            name: "twice".to_owned(),
            expression: "2 * iops".to_owned(),
            cells: [(cell.id.clone(), formula)].into(),
        };
        Plan { derived: vec![twice], ..Plan::new("x".to_owned(), vec![cell], Measure::new(2.0, 0.0, 1)) }
    }

    fn trial() -> TrialRecord {
        let id = TrialId { cell: CellId("c1".to_owned()), round: 0 };
        let mut trial = TrialRecord::new(id, 1, 77, Outcome::Measured);
        let window = Window { start_ns: 5_000_000_000, end_ns: 7_000_000_000 };
        let mut engine = EngineOutput::new("fio-3.33".to_owned(), window);
        engine.read = Some(Totals { ios: 30, iops: 15.0, bytes_per_second: 61440.0, ..Totals::default() });
        engine.series = Some(Series {
            start_ns: 5_000_000_000,
            step_ns: 1_000_000_000,
            read_ios: vec![10, 20],
            write_ios: vec![0, 0],
            trim_ios: vec![0, 0],
            bytes: vec![40_960, 81_920],
        });
        trial.engine = Some(engine);
        let sample = |second: u64, reads: u64| Sample {
            monotonic_ns: second * 1_000_000_000,
            block: [(
                "sda".to_owned(),
                BlockCounters { reads, read_bytes: reads * 4096, ..BlockCounters::default() },
            )]
            .into(),
            ..Sample::default()
        };
        trial.evidence.samples = vec![sample(4, 0), sample(5, 7), sample(7, 47)];
        trial
    }

    fn rows(text: &str) -> Vec<Vec<&str>> {
        text.split_terminator("\r\n").map(|line| line.split(',').collect()).collect()
    }

    #[test]
    fn one_row_per_trial_and_metric_with_derived_ones() {
        let (plan, run) = (plan(), RunId("r".to_owned()));
        let tidy = Tidy::new(&run, &plan);
        assert_eq!(
            tidy.trials_header(),
            "run,experiment,cell,target,stack,workload,level_iodepth,round,started_unix_ms,failed,imported_from,metric,value,unit\r\n"
        );
        let text = tidy.trial(&trial());
        let first = "r,x,c1,local,\"ext4, \"\"fast\"\"\\x1b\",=randread,4,0,77,0,,";
        assert!(text.lines().all(|line| line.starts_with(first)), "{text}");
        for end in ["iops,15,1/s", "read_bw,61440,B/s", "twice,30,"] {
            assert!(text.contains(&format!(",{end}\r\n")), "{end} in {text}");
        }
        assert!(!text.contains("write_"), "what wasn't measured has no row: {text}");
    }

    #[test]
    fn a_failed_trial_is_a_row_and_an_imported_one_names_its_file() {
        let (plan, run) = (plan(), RunId("r".to_owned()));
        let imported = Some(Imported { file: "a.json".to_owned(), format: "fio JSON".to_owned() });
        let failed =
            TrialRecord { outcome: Outcome::Failed("no".to_owned()), engine: None, imported, ..trial() };
        assert!(Tidy::new(&run, &plan).trial(&failed).ends_with(",4,0,77,1,a.json,,,\r\n"));
        let other = TrialRecord { id: TrialId { cell: CellId("other".to_owned()), round: 0 }, ..trial() };
        assert_eq!(Tidy::new(&run, &plan).trial(&other), "", "a cell that isn't planned has no names");
    }

    #[test]
    fn a_series_has_rates_by_step_and_by_device() {
        let (mut plan, run) = (plan(), RunId("r".to_owned()));
        plan.cells[0].stack.name = "ext4".to_owned();
        let tidy = Tidy::new(&run, &plan);
        let text = tidy.series(&trial());
        let tails: Vec<String> = rows(&text).iter().map(|row| row[8..].join(",")).collect();
        assert_eq!(
            tails,
            [
                "engine,0,1,1,10,0,0,40960",
                "engine,1,1,1,20,0,0,81920",
                "sda,-1,1,0,7,0,,28672",
                "sda,0,2,1,20,0,,81920"
            ],
            "discards that the kernel doesn't count are absent"
        );
        assert_eq!(rows(&tidy.series_header())[0].len(), rows(&text)[0].len());
        let mut back = trial();
        back.evidence.samples[2].block.get_mut("sda").unwrap().reads = 1;
        let text = tidy.series(&back);
        assert!(text.ends_with("sda,0,2,1,,0,,81920\r\n"), "a counter that was reset gives no rate: {text}");
    }
}
