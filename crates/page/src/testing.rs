//! A run for tests: three stacks, one workload, a sweep, a ratio and a search, with figures that come from its trials.

use crate::{Pairs, Reading, TrialPart, Trials};
use record::counter::{BlockCounters, CgroupIo, CpuTicks, Sample};
use record::environment::Environment;
use record::event::Stopped;
use record::find::{FindBy, FindLimit, TriedWhy};
use record::finding::{Claim, Finding, Served, Severity};
use record::id::{CellId, RunId, TrialId};
use record::judged::{
    Answer, CellView, ComparisonView, ContrastView, ExpectationView, Found, Interval, Metric, NodeView,
    RUN_FORMAT, RatioView, Relation, RunView, SearchView, Status, SweepView, TrialCount, TriedView,
};
use record::latency::{LatencyHistogram, LatencySteps};
use record::plan::{Bound, Measure, Prices};
use record::topology::{BlockKind, BlockNode};
use record::trial::{EngineOutput, Outcome, Series, Totals, TrialRecord, Window};
use std::collections::{BTreeMap, BTreeSet};

const S: u64 = 1_000_000_000;
/// Measured rounds of each cell.
pub(crate) const ROUNDS: u32 = 4;

/// A run with everything that a page can show, and its trials.
pub(crate) struct Made {
    pub(crate) view: RunView,
    pub(crate) trials: Trials,
    pub(crate) source: String,
    pub(crate) pairs: Vec<Pairs>,
}

impl Made {
    /// The page.
    pub(crate) fn html(&self) -> String {
        let document = report::result(&self.view);
        self.page(&document).html()
    }

    pub(crate) fn page<'a>(&'a self, document: &'a report::Document) -> crate::RunPage<'a> {
        crate::RunPage {
            view: &self.view,
            document,
            trials: &self.trials,
            source: &self.source,
            pairs: &self.pairs,
        }
    }
}

/// The run; `name` names its experiment, its stacks and its workload.
pub(crate) fn made(name: &str) -> Made {
    let mut trials = Trials::default();
    let mut cells = Vec::new();
    for (at, base) in (0..3_u32).zip([100.0, 133.0, 134.0]) {
        let records: Vec<TrialRecord> = (0..ROUNDS).map(|round| trial(at, round, base)).collect();
        records.iter().for_each(|record| trials.add(part(record)));
        cells.push(cell(at, name, &records));
    }
    let mut failed = TrialRecord::new(
        TrialId { cell: cell_id(0), round: ROUNDS },
        1,
        0,
        Outcome::Failed(format!("no space: {name}")),
    );
    failed.engine = None;
    trials.add(part(&failed));
    Made {
        view: view(name, cells),
        trials,
        pairs: pairs(name),
        source: format!("experiment: {name}\n# ]]> </pre><b>\n"),
    }
}

pub(crate) fn cell_id(at: u32) -> CellId {
    CellId(format!("{at:016x}"))
}

fn part(record: &TrialRecord) -> TrialPart {
    let readings: Vec<Reading> = record.evidence.samples.iter().map(Reading::from).collect();
    TrialPart::of(record, &readings)
}

fn trial(at: u32, round: u32, base: f64) -> TrialRecord {
    let id = TrialId { cell: cell_id(at), round };
    let mut trial = TrialRecord::new(id, 1, 0, Outcome::Measured);
    let window = Window { start_ns: 100 * S, end_ns: 104 * S };
    let mut engine = EngineOutput::new("native-0.1.0".to_owned(), window);
    let iops = base + f64::from((round * 7 + at) % 5);
    let bins_ns = (0..40_u64).map(|bin| (S / 1000 * (bin + 1 + u64::from(round)), 20 + 40 - bin)).collect();
    engine.read = Some(Totals {
        ios: 400,
        bytes: 400 * 4096,
        seconds: 4.0,
        iops,
        bytes_per_second: iops * 4096.0,
        latency: LatencyHistogram { bins_ns },
        latency_mean_ns: None,
    });
    engine.series = Some(Series {
        start_ns: 100 * S,
        step_ns: S / 10,
        read_ios: (0..40).map(|step| 10 + (step * 3 + u64::from(round)) % 4).collect(),
        write_ios: vec![0; 40],
        trim_ios: vec![0; 40],
        bytes: (0..40).map(|step| 4096 * (10 + (step * 3 + u64::from(round)) % 4)).collect(),
        read_latency: Some(latency()),
        write_latency: None,
    });
    engine.argv = vec!["diskproof".to_owned(), "engine-native".to_owned(), "/a b".to_owned()];
    engine.input = "[job0]\nrw=randread\n".to_owned();
    trial.engine = Some(engine);
    trial.built = vec![vec!["mkfs.ext4".to_owned(), "-L".to_owned(), "x".to_owned()]];
    trial.topology.nodes = vec![BlockNode {
        name: "loop0".to_owned(),
        devno: (7, 0),
        depth: 0,
        kind: BlockKind::Disk,
        rotational: None,
        scheduler: None,
        size_bytes: None,
    }];
    trial.evidence.samples = (990..=1041_u64).map(sample).collect();
    trial
}

/// Latencies in steps of half a second: the third one has a stall, in the fourth too few I/Os complete for a p99, in the fifth none.
fn latency() -> LatencySteps {
    let us = |list: [u64; 8]| list.map(|us| Some(us * 1000).filter(|ns| *ns > 0)).to_vec();
    LatencySteps {
        step_ns: S / 2,
        p50_ns: us([1000, 1000, 1000, 1000, 0, 1000, 1000, 1000]),
        p99_ns: us([2000, 2000, 90_000, 0, 0, 2000, 2000, 2000]),
        max_ns: us([2000, 2000, 99_000, 2000, 0, 2000, 2000, 2000]),
    }
}

fn sample(tenth: u64) -> Sample {
    let block = BlockCounters {
        reads: tenth * 11,
        read_bytes: tenth * 4096 * 11,
        read_wait_ms: tenth * 22,
        ..BlockCounters::default()
    };
    let charged =
        CgroupIo { read_bytes: Some(tenth * 4096 * 10), write_bytes: Some(0), ..CgroupIo::default() };
    Sample {
        monotonic_ns: tenth * S / 10,
        block: [("loop0".to_owned(), block)].into(),
        cgroup_io: [("7:0".to_owned(), charged)].into(),
        cpu: Some(CpuTicks { user: tenth * 4, idle: tenth * 16, ..CpuTicks::default() }),
        ..Sample::default()
    }
}

/// A metric of these values; the interval is a stand-in, since this crate computes none.
fn metric(values: Vec<f64>, unit: &str) -> Metric {
    let n = u32::try_from(values.len()).unwrap();
    let estimate = values.iter().sum::<f64>() / f64::from(n);
    let half = values.iter().map(|value| (value - estimate).abs()).fold(0.0, f64::max);
    Metric {
        estimate,
        low: Some(estimate - half),
        high: Some(estimate + half),
        confidence: 0.95,
        n,
        unit: unit.to_owned(),
        values,
        median: None,
        trimmed: None,
    }
}

fn cell(at: u32, name: &str, records: &[TrialRecord]) -> CellView {
    let all: Vec<BTreeMap<String, f64>> = records.iter().map(TrialRecord::metrics).collect();
    let of = |metric_name: &String| {
        let values = all.iter().map(|metrics| metrics[metric_name]).collect();
        let unit = record::metric::info(metric_name).map_or("1", |info| info.unit);
        (metric_name.clone(), metric(values, unit))
    };
    let served = Served { device: 0.75, page_cache: 0.25, ..Served::default() };
    CellView {
        id: cell_id(at),
        target: "local".to_owned(),
        stack: format!("{name}-{at}"),
        workload: name.to_owned(),
        levels: [("n".to_owned(), (at + 1).to_string())].into(),
        asked: None,
        options: BTreeMap::new(),
        layers: Vec::new(),
        engines: BTreeSet::from(["native-0.1.0".to_owned()]),
        trials: TrialCount { done: ROUNDS, failed: u32::from(at == 0), cut_off: 0, planned: ROUNDS + 1 },
        void: false,
        rounds: (0..ROUNDS).collect(),
        paired_rounds: Vec::new(),
        metrics: all[0].keys().map(of).collect(),
        too_fast: BTreeMap::new(),
        served: Some(served),
        served_read: Some(served),
        served_write: None,
        verified: None,
        limited_by: None,
        model: None,
        leaves: vec![NodeView {
            name: "loop0".to_owned(),
            kind: format!("loop device, {name}"),
            depth: 0,
            read_per_asked: Some(1.0625),
            write_per_asked: None,
            iops: Some(104.5),
            busy_share: Some(0.5),
        }],
        phases: Vec::new(),
        together: None,
    }
}

fn ratio(ratio: f64) -> Option<RatioView> {
    Some(RatioView { ratio, low: Some(ratio - 0.02), high: Some(ratio + 0.03), confidence: 0.95, n: ROUNDS })
}

/// The ratio of one cell to another.
fn comparison(a: u32, b: u32, of: f64, relation: Relation) -> ComparisonView {
    ComparisonView {
        a: cell_id(a),
        b: cell_id(b),
        metric: "iops".to_owned(),
        ratio: ratio(of),
        relation,
        excluded_difference: None,
        text: String::new(),
    }
}

fn pairs(name: &str) -> Vec<Pairs> {
    let words =
        |pair: ComparisonView| ComparisonView { text: format!("{} to {}: {name}", pair.a, pair.b), ..pair };
    let comparisons = [
        comparison(2, 1, 1.006, Relation::NotApart),
        comparison(2, 0, 1.334, Relation::Apart),
        comparison(1, 0, 1.326, Relation::Apart),
    ];
    vec![Pairs {
        workload: name.to_owned(),
        metric: "iops".to_owned(),
        comparisons: comparisons.map(words).to_vec(),
    }]
}

fn view(name: &str, cells: Vec<CellView>) -> RunView {
    let ids: Vec<CellId> = cells.iter().map(|cell| cell.id.clone()).collect();
    RunView {
        choice: None,
        format: RUN_FORMAT.to_owned(),
        run: RunId("20261126-050000-abcd".to_owned()),
        experiment: name.to_owned(),
        tags: Vec::new(),
        question: Some(format!("How fast is {name}?")),
        parameters: [("n".to_owned(), name.to_owned())].into(),
        seed: 7,
        measure: Measure::new(4.0, 1.0, ROUNDS),
        findings: vec![Finding {
            claim: Claim::DoubleCaching,
            severity: Severity::Caveat,
            cell: cell_id(0),
            trials: 1,
            rounds: vec![1],
            evidence: [("cached_bytes".to_owned(), 123_456.0)].into(),
            text: format!("Cached: {name}."),
            remedy: "Use direct I/O.".to_owned(),
        }],
        expectations: vec![ExpectationView {
            cell: cell_id(0),
            of: "iops".to_owned(),
            expression: "80 * n".to_owned(),
            expected: 80.0,
            bound: Bound::Within,
            within: 0.05,
            estimate: Some(102.0),
            low: Some(100.0),
            high: Some(104.0),
            status: Status::Missed,
            text: format!("iops: expected 80 of {name}"),
        }],
        fronts: Vec::new(),
        answers: vec![Answer {
            workload: name.to_owned(),
            metric: "iops".to_owned(),
            best: cell_id(2),
            tied: vec![cell_id(1)],
            comparisons: vec![
                comparison(2, 0, 1.334, Relation::Apart),
                comparison(2, 1, 1.006, Relation::NotApart),
            ],
            text: format!("{name}-2 and {name}-1 can't be told apart"),
        }],
        contrasts: vec![ContrastView {
            name: name.to_owned(),
            metric: "iops".to_owned(),
            a: vec![cell_id(2)],
            b: vec![cell_id(0)],
            ratio: ratio(1.34),
            relation: Relation::Apart,
            text: "1.34x".to_owned(),
        }],
        sweeps: vec![SweepView {
            name: name.to_owned(),
            factor: "n".to_owned(),
            metric: "iops".to_owned(),
            levels: ["1", "2", "3"].map(str::to_owned).to_vec(),
            cells: ids,
            scales_to: Some("2".to_owned()),
            is_decided: true,
            beyond: ratio(1.006),
            latency: None,
            latency_beyond: None,
            text: "it scales to n = 2".to_owned(),
        }],
        effects: Vec::new(),
        searches: vec![search()],
        stopped: Stopped::RoundsDone { rounds: ROUNDS },
        reached: None,
        prices: Prices::default(),
        environment: Environment { kernel: Some(name.to_owned()), ..Environment::default() },
        emulated: Vec::new(),
        volumes: Vec::new(),
        judged_by: "diskproof 0.1.0, judge 1".to_owned(),
        cells,
    }
}

fn search() -> SearchView {
    let tried = |round, level, p99: f64| TriedView {
        round,
        level,
        why: TriedWhy::Near,
        value: Some(f64::from(round) * 10.0 + 1.0),
        limited: [("read_lat_p99".to_owned(), p99)].into(),
        kept: Some(p99 <= 10_000.0),
        reached: None,
    };
    let interval = Some(Interval { estimate: 120.0, low: 110.0, high: 130.0 });
    SearchView {
        cell: cell_id(1),
        most: "iops".to_owned(),
        limits: vec![FindLimit {
            of: "read_lat_p99".to_owned(),
            at_most: 10_000.0,
            written: "10ms".to_owned(),
        }],
        by: FindBy::RateIops,
        from: 1,
        to: 1000,
        within: 0.05,
        found: Found::Found,
        level: interval,
        value: interval,
        confidence: 0.95,
        n: 3,
        is_exact: true,
        tried: vec![tried(0, 1000, 98_000.0), tried(1, 60, 2_400.0), tried(2, 125, 9_800.0)],
        text: "120 IOPS at read_lat_p99 of 10ms".to_owned(),
    }
}
