//! Tidy tables of a run's trials: one row per trial and metric, or one row per step of a trial's time series.
//!
//! Made trial by trial, so that a run of any size needs the memory of one trial. Texts are as they were written, for programs (no
//! apostrophes, as in `--csv-raw`); control characters are shown as escapes.

use crate::csv::{Formulas, Rows};
use record::counter::{BlockCounters, Sample};
use record::id::{CellId, RunId};
use record::latency::LatencySteps;
use record::metric::{MONEY, info};
use record::plan::{Cell, Plan};
use record::printable::printable;
use record::trial::{Outcome, Part, Series, TrialRecord, Window};
use std::collections::{BTreeMap, BTreeSet};

const HEAD: [&str; 6] = ["run", "experiment", "cell", "target", "stack", "workload"];
const TRIAL: [(&str, Kind); 10] = [
    ("round", Kind::Integer),
    ("started_unix_ms", Kind::Integer),
    ("failed", Kind::Flag),
    ("cut_off", Kind::Flag),
    ("imported_from", Kind::Text),
    ("metric", Kind::Text),
    ("value", Kind::Number),
    ("unit", Kind::Text),
    ("machine", Kind::Text),
    ("volumes", Kind::Text),
];
const SERIES: [(&str, Kind); 13] = [
    ("round", Kind::Integer),
    ("source", Kind::Text),
    ("seconds", Kind::Number),
    ("step_seconds", Kind::Number),
    ("measured", Kind::Flag),
    ("read_iops", Kind::Number),
    ("write_iops", Kind::Number),
    ("trim_iops", Kind::Number),
    ("bytes_per_second", Kind::Number),
    ("lat_p50", Kind::Number),
    ("lat_p99", Kind::Number),
    ("lat_max", Kind::Number),
    ("machine", Kind::Text),
];

/// What the fields of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// [`Field::Text`].
    Text,
    /// [`Field::Integer`].
    Integer,
    /// [`Field::Flag`].
    Flag,
    /// [`Field::Number`].
    Number,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name in the header.
    pub name: String,
    /// What its fields are.
    pub kind: Kind,
}

/// A field of a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Field {
    /// A text without control characters; empty where it is absent.
    Text(String),
    /// A whole number.
    Integer(u64),
    /// Yes or no.
    Flag(bool),
    /// A figure; `None`: it is absent.
    Number(Option<f64>),
}

impl Field {
    fn text(text: &str) -> Self {
        Self::Text(printable(text).into_owned())
    }
}

/// A row: as many fields as there are columns, of their kinds.
pub type Row = Vec<Field>;

/// Makes the rows of a run's trials.
#[derive(Debug)]
pub struct Tidy<'p> {
    run: String,
    plan: &'p Plan,
    cells: BTreeMap<&'p CellId, &'p Cell>,
    factors: BTreeSet<&'p str>,
}

impl<'p> Tidy<'p> {
    /// Makes rows of this run's trials.
    #[must_use]
    pub fn new(run: &RunId, plan: &'p Plan) -> Self {
        let cells = plan.cells.iter().map(|cell| (&cell.id, cell)).collect();
        let factors = plan.cells.iter().flat_map(|cell| cell.levels.keys()).map(String::as_str).collect();
        Self { run: run.to_string(), plan, cells, factors }
    }

    /// The columns of the table of trials.
    #[must_use]
    pub fn trial_columns(&self) -> Vec<Column> {
        self.columns(&TRIAL)
    }

    /// The columns of the table of time series.
    #[must_use]
    pub fn series_columns(&self) -> Vec<Column> {
        self.columns(&SERIES)
    }

    fn columns(&self, own: &[(&str, Kind)]) -> Vec<Column> {
        let factors = self.factors.iter().map(|factor| printable(&format!("level_{factor}")).into_owned());
        let texts = HEAD.iter().map(ToString::to_string).chain(factors);
        let texts = texts.map(|name| Column { name, kind: Kind::Text });
        texts.chain(own.iter().map(|(name, kind)| Column { name: (*name).to_owned(), kind: *kind })).collect()
    }

    /// A trial's rows: one per metric. A trial without metrics has one row with an empty metric. If several machines ran the workload together,
    /// the rows of all of them are followed by those of each.
    #[must_use]
    pub fn trial(&self, trial: &TrialRecord) -> Vec<Row> {
        let cell = self.cells.get(&trial.id.cell);
        let mut metrics = cell.map(|cell| self.plan.metrics(cell, trial)).unwrap_or_default();
        let derived = self.plan.derived.iter().filter_map(|derived| {
            Some((derived.name.clone(), derived.cells.get(&trial.id.cell)?.value(&metrics)?))
        });
        let derived: Vec<(String, f64)> = derived.collect();
        metrics.extend(derived);
        let all = self.metric_rows(("", &trial.drawn), trial, &metrics);
        let machine = |part: &Part| {
            self.metric_rows((&part.target, &trial.drawn), &part.record, &part.record.metrics())
        };
        all.into_iter().chain(trial.parts.iter().flat_map(machine)).collect()
    }

    /// The rows of these metrics. `machine`: the one that measured them; empty for all machines of the trial. `drawn`: the volumes of the
    /// whole trial.
    fn metric_rows(
        &self,
        (machine, drawn): (&str, &[String]),
        trial: &TrialRecord,
        metrics: &BTreeMap<String, f64>,
    ) -> Vec<Row> {
        let Some(mut head) = self.head(trial) else { return Vec::new() };
        head.push(Field::Integer(trial.started_unix_ms));
        head.push(Field::Flag(matches!(trial.outcome, Outcome::Failed(_))));
        head.push(Field::Flag(trial.cut_off));
        head.push(Field::text(trial.imported.as_ref().map_or("", |from| &from.file)));
        let row = |name: &str, value: Option<f64>, unit: &str| {
            let own = [
                Field::text(name),
                Field::Number(value),
                Field::text(unit),
                Field::text(machine),
                Field::text(&drawn.join(" ")),
            ];
            head.iter().cloned().chain(own).collect()
        };
        if metrics.is_empty() {
            return vec![row("", None, "")];
        }
        let currency = self.plan.prices.currency.as_deref();
        let unit = |name: &str| match info(name).map_or("", |metric| metric.unit) {
            MONEY => currency.unwrap_or(MONEY),
            unit => unit,
        };
        metrics.iter().map(|(name, value)| row(name, Some(*value), unit(name))).collect()
    }

    /// A trial's time series: one row per step of the engine's series, one per step of its latencies of reads and of writes, and one per
    /// interval of the kernel's counters and device. If several machines ran the workload together, the rows of all of them are followed by
    /// those of each, whose seconds count from the begin of its own measured time.
    #[must_use]
    pub fn series(&self, trial: &TrialRecord) -> Vec<Row> {
        let machine = |part: &Part| self.step_rows(&part.target, &part.record);
        let all = self.step_rows("", trial);
        all.into_iter().chain(trial.parts.iter().flat_map(machine)).collect()
    }

    fn step_rows(&self, machine: &str, trial: &TrialRecord) -> Vec<Row> {
        let (Some(head), Some(engine)) = (self.head(trial), &trial.engine) else { return Vec::new() };
        let row = |step: Step| -> Row {
            let Step { source, seconds, length, measured, read, write, trim, bytes, latency_ns } = step;
            let rate = |n: Option<f64>| Field::Number(n.map(|n| n / length));
            let [p50, p99, max] = latency_ns.map(|ns| Field::Number(ns.map(|ns| float(ns) / 1e3)));
            let own = [
                Field::text(&source),
                Field::Number(Some(seconds)),
                Field::Number(Some(length)),
                Field::Flag(measured),
                rate(read),
                rate(write),
                rate(trim),
                rate(bytes),
                p50,
                p99,
                max,
                Field::text(machine),
            ];
            head.iter().cloned().chain(own).collect()
        };
        let of_engine = engine.series.iter().flat_map(|series| of_engine(series, engine.window));
        let of_devices = of_devices(&trial.evidence.samples, engine.window);
        of_engine.chain(of_devices).map(row).collect()
    }

    /// The first fields of a trial's rows, to its round; `None`: its cell isn't in the plan.
    fn head(&self, trial: &TrialRecord) -> Option<Row> {
        let cell = self.cells.get(&trial.id.cell)?;
        let names = [
            &self.run,
            &self.plan.experiment,
            &cell.id.0,
            &cell.target,
            &cell.stack.name,
            &cell.workload.name,
        ];
        let levels = self.factors.iter().map(|factor| cell.levels.get(*factor).map_or("", String::as_str));
        let texts = names.into_iter().map(String::as_str).chain(levels).map(Field::text);
        Some(texts.chain([Field::Integer(u64::from(trial.id.round))]).collect())
    }
}

/// The header of a table as CSV: RFC 4180, UTF-8, the line ends in CR LF.
#[must_use]
pub fn csv_header(columns: &[Column]) -> String {
    let mut out = Rows::new(Formulas::Raw);
    out.row(&columns.iter().map(|column| column.name.clone()).collect::<Vec<_>>());
    out.text
}

/// Rows as CSV. What is absent is empty, a flag is 1 or 0.
#[must_use]
pub fn csv_rows(rows: &[Row]) -> String {
    let field = |field: &Field| match field {
        Field::Text(text) => text.clone(),
        Field::Integer(number) => number.to_string(),
        Field::Flag(is) => u8::from(*is).to_string(),
        Field::Number(number) => number.map(|number| number.to_string()).unwrap_or_default(),
    };
    let mut out = Rows::new(Formulas::Raw);
    for row in rows {
        out.row(&row.iter().map(field).collect::<Vec<_>>());
    }
    out.text
}

/// One row of a time series.
struct Step {
    /// `engine`, `read_latency`, `write_latency`, or the name of a device.
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
    /// Of the I/Os that completed: the median, the 99th percentile and the longest.
    latency_ns: [Option<u64>; 3],
}

impl Step {
    /// The step at this place of a list that begins with the series, without any figure.
    fn of_engine(source: &str, (series, window): (&Series, Window), step_ns: u64, place: usize) -> Self {
        let length = float(step_ns) / 1e9;
        let begin = (float(series.start_ns) - float(window.start_ns)) / 1e9;
        Self {
            source: source.to_owned(),
            seconds: begin + length * float(u64::try_from(place).unwrap_or(u64::MAX)),
            length,
            measured: true,
            read: None,
            write: None,
            trim: None,
            bytes: None,
            latency_ns: [None; 3],
        }
    }
}

fn of_engine(series: &Series, window: Window) -> impl Iterator<Item = Step> + '_ {
    let at = |list: &[u64], step: usize| list.get(step).copied().map(float);
    let counts = (0..series.bytes.len()).map(move |step| Step {
        read: at(&series.read_ios, step),
        write: at(&series.write_ios, step),
        trim: at(&series.trim_ios, step),
        bytes: at(&series.bytes, step),
        ..Step::of_engine("engine", (series, window), series.step_ns, step)
    });
    let sides = [("read_latency", &series.read_latency), ("write_latency", &series.write_latency)];
    let known = sides.into_iter().filter_map(|(source, steps)| Some((source, steps.as_ref()?)));
    counts.chain(known.flat_map(move |(source, steps)| of_latency(source, steps, (series, window))))
}

fn of_latency<'s>(
    source: &'static str,
    steps: &'s LatencySteps,
    of: (&'s Series, Window),
) -> impl Iterator<Item = Step> + 's {
    let at = |list: &[Option<u64>], step: usize| list.get(step).copied().flatten();
    (0..steps.p50_ns.len()).map(move |step| Step {
        latency_ns: [at(&steps.p50_ns, step), at(&steps.p99_ns, step), at(&steps.max_ns, step)],
        ..Step::of_engine(source, of, steps.step_ns, step)
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
        latency_ns: [None; 3],
    })
}

#[expect(clippy::cast_precision_loss, reason = "counts, bytes and nanoseconds of a trial are far below 2^52")]
fn float(n: u64) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use super::{Field, Kind, Tidy, csv_header, csv_rows};
    use record::counter::{BlockCounters, Sample};
    use record::id::{CellId, LOCAL, RunId, TrialId};
    use record::imported::Imported;
    use record::latency::LatencySteps;
    use record::plan::{Cell, Derived, Formula, Measure, Plan};
    use record::stack::{Rebuild, Stack};
    use record::trial::{EngineOutput, Outcome, Part, Series, Totals, TrialRecord, Window};
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
                on: Vec::new(),
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
        trial.drawn = vec!["vol[2]".to_owned(), "vol[0]".to_owned()];
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
            read_latency: Some(LatencySteps {
                step_ns: 2_000_000_000,
                p50_ns: vec![Some(1500)],
                p99_ns: vec![None],
                max_ns: vec![Some(2000)],
            }),
            write_latency: None,
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
            csv_header(&tidy.trial_columns()),
            "run,experiment,cell,target,stack,workload,level_iodepth,round,started_unix_ms,failed,cut_off,imported_from,metric,value,unit,machine,volumes\r\n"
        );
        let text = csv_rows(&tidy.trial(&trial()));
        let first = "r,x,c1,local,\"ext4, \"\"fast\"\"\\x1b\",=randread,4,0,77,0,0,,";
        assert!(text.lines().all(|line| line.starts_with(first)), "{text}");
        for end in
            ["iops,15,1/s,,vol[2] vol[0]", "read_bw,61440,B/s,,vol[2] vol[0]", "twice,30,,,vol[2] vol[0]"]
        {
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
        assert!(
            csv_rows(&Tidy::new(&run, &plan).trial(&failed))
                .ends_with(",4,0,77,1,0,a.json,,,,,vol[2] vol[0]\r\n")
        );
        let other = TrialRecord { id: TrialId { cell: CellId("other".to_owned()), round: 0 }, ..trial() };
        assert!(Tidy::new(&run, &plan).trial(&other).is_empty(), "a cell that isn't planned has no names");
    }

    /// Machines that loaded together: the whole has no machine, each machine its name.
    #[test]
    fn machines_that_ran_together_have_rows_of_their_own() {
        let (plan, run) = (plan(), RunId("r".to_owned()));
        let part = |target: &str, iops: f64| {
            let mut record = trial();
            if let Some(read) = record.engine.as_mut().and_then(|engine| engine.read.as_mut()) {
                read.iops = iops;
            }
            Part {
                target: target.to_owned(),
                clock_before: None,
                clock_after: None,
                agreed_ns: None,
                began: None,
                ended: None,
                record: Box::new(record),
            }
        };
        let mut lost = part("c", 0.0);
        lost.record.outcome = Outcome::Failed("it is lost".to_owned());
        lost.record.engine = None;
        let whole = TrialRecord { parts: vec![part("a", 10.0), part("b", 5.0), lost], ..trial() };
        let tidy = Tidy::new(&run, &plan);
        let text = csv_rows(&tidy.trial(&whole));
        for end in
            [",0,77,0,0,,iops,15,1/s,", ",iops,10,1/s,a", ",iops,5,1/s,b", ",0,77,1,0,,,,,c", ",twice,30,,"]
        {
            assert!(text.contains(&format!("{end},vol[2] vol[0]\r\n")), "{end} in {text}");
        }
        assert_eq!(text.matches("twice").count(), 1, "what the experiment derives is of the whole");
        let lines = |tail: &str| csv_rows(&tidy.series(&whole)).matches(tail).count();
        let of = |machine: &str| lines(&format!(",{machine}\r\n"));
        assert_eq!((of(""), of("a"), of("b"), of("c")), (5, 5, 5, 0));
    }

    #[test]
    fn fields_are_of_the_kinds_of_their_columns() {
        let (plan, run) = (plan(), RunId("r".to_owned()));
        let tidy = Tidy::new(&run, &plan);
        let tables =
            [(tidy.trial_columns(), tidy.trial(&trial())), (tidy.series_columns(), tidy.series(&trial()))];
        for (columns, rows) in tables {
            assert!(!rows.is_empty());
            for row in rows {
                let kinds = row.iter().map(|field| match field {
                    Field::Text(_) => Kind::Text,
                    Field::Integer(_) => Kind::Integer,
                    Field::Flag(_) => Kind::Flag,
                    Field::Number(_) => Kind::Number,
                });
                assert!(kinds.eq(columns.iter().map(|column| column.kind)), "{row:?}");
            }
        }
    }

    #[test]
    fn a_series_has_rates_by_step_and_by_device() {
        let (mut plan, run) = (plan(), RunId("r".to_owned()));
        plan.cells[0].stack.name = "ext4".to_owned();
        let tidy = Tidy::new(&run, &plan);
        let text = csv_rows(&tidy.series(&trial()));
        let tails: Vec<String> = rows(&text).iter().map(|row| row[8..].join(",")).collect();
        assert_eq!(
            tails,
            [
                "engine,0,1,1,10,0,0,40960,,,,",
                "engine,1,1,1,20,0,0,81920,,,,",
                "read_latency,0,2,1,,,,,1.5,,2,",
                "sda,-1,1,0,7,0,,28672,,,,",
                "sda,0,2,1,20,0,,81920,,,,"
            ],
            "discards that the kernel doesn't count are absent"
        );
        assert_eq!(rows(&csv_header(&tidy.series_columns()))[0].len(), rows(&text)[0].len());
        let mut back = trial();
        back.evidence.samples[2].block.get_mut("sda").unwrap().reads = 1;
        let text = csv_rows(&tidy.series(&back));
        assert!(
            text.ends_with("sda,0,2,1,,0,,81920,,,,\r\n"),
            "a counter that was reset gives no rate: {text}"
        );
    }
}
