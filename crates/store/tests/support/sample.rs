//! Small runs and trials for the store, with every kind of value.

use record::counter::{BlockCounters, CpuTicks, Evidence, OtherProcess, Sample};
use record::environment::Environment;
use record::id::{CellId, RunId, TrialId};
use record::plan::{Cell, Measure, Plan};
use record::stack::{Rebuild, Stack};
use record::trial::{EngineOutput, Outcome, StepTime, Totals, TrialRecord, TrialStep, Window};
use record::workload::{Ask, CacheStart, EngineKind, Layout, Workload};
use std::collections::BTreeMap;

pub(crate) fn run_id(text: &str) -> RunId {
    RunId(text.to_owned())
}

pub(crate) fn plan(cells: u32, rounds: u32) -> Plan {
    Plan {
        question: Some("does it read back?".to_owned()),
        parameters: BTreeMap::from([("n".to_owned(), "3".to_owned())]),
        source: "experiment: sample\n".to_owned(),
        seed: u64::MAX,
        ..Plan::new("sample".to_owned(), (0..cells).map(cell).collect(), Measure::new(20.0, 0.1, rounds))
    }
}

fn cell(index: u32) -> Cell {
    let ask = Ask::JobFile {
        path: "a.fio".to_owned(),
        text: "[a]\nrw=read\n".to_owned(),
        size_bytes: 1 << 20,
        jobs: Vec::new(),
    };
    Cell {
        id: cell_id(index),
        target: "local".to_owned(),
        stack: Stack {
            name: format!("stack-{index}"),
            volumes: Vec::new(),
            beside: Vec::new(),
            layers: Vec::new(),
            rebuild: Rebuild::Trial,
        },
        workload: Workload {
            name: "a".to_owned(),
            engine: EngineKind::Fio,
            ask,
            layout: Layout::Written,
            cache: CacheStart::Cold,
            on: Vec::new(),
        },
        levels: BTreeMap::new(),
    }
}

pub(crate) fn cell_id(index: u32) -> CellId {
    CellId(format!("{index:016x}"))
}

pub(crate) fn environment(kernel: &str) -> Environment {
    Environment { kernel: Some(kernel.to_owned()), memory_bytes: Some(1 << 40), ..Environment::default() }
}

pub(crate) fn trial(cell: u32, round: u32) -> TrialRecord {
    let id = TrialId { cell: cell_id(cell), round };
    let started = 1_795_000_000_000 + u64::from(round);
    TrialRecord {
        // A careless reader returns neither of these floats exactly.
        steps: vec![
            StepTime { step: TrialStep::Build, seconds: 0.1 + 0.2 },
            StepTime { step: TrialStep::Measure, seconds: 20.000_000_000_000_004 },
        ],
        built: vec![vec!["mkfs.xfs".to_owned(), "-f".to_owned()]],
        engine: Some(engine(round)),
        evidence: Evidence {
            host: Vec::new(),
            ticks_per_second: 100,
            samples: (0..5).map(|beat| sample(u64::from(round) * 1000 + beat)).collect(),
            others: vec![OtherProcess {
                pid: 7,
                comm: "a \"b\"\n".to_owned(),
                read_bytes: 1,
                ..OtherProcess::default()
            }],
            others_complete: true,
            ..Evidence::default()
        },
        ..TrialRecord::new(id, u64::MAX - u64::from(round), started, Outcome::Measured)
    }
}

fn engine(round: u32) -> EngineOutput {
    let mut latency = record::latency::LatencyHistogram::default();
    latency.bins_ns.insert(u64::MAX, 3);
    latency.bins_ns.insert(1024, u64::from(round));
    EngineOutput {
        argv: vec!["fio".to_owned(), "--output-format=json+".to_owned()],
        input: format!("[job]\nrandseed={round}\n"),
        raw: format!("{{\"fio version\": \"fio-3.33\", \"round\": {round}}}\n"),
        messages: vec!["fio: a warning".to_owned()],
        read: Some(Totals { ios: 10, bytes: 163_840, seconds: 1.0 / 3.0, latency, ..Totals::default() }),
        cpu_user_share: Some(0.017),
        ..EngineOutput::new("fio-3.33".to_owned(), Window { start_ns: 1, end_ns: u64::MAX })
    }
}

fn sample(at: u64) -> Sample {
    let counters =
        BlockCounters { reads: at, read_bytes: at * 4096, discards: None, ..BlockCounters::default() };
    Sample {
        monotonic_ns: at * 100_000_000,
        block: BTreeMap::from([("loop0".to_owned(), counters)]),
        cpu: Some(CpuTicks { user: at, steal: None, ..CpuTicks::default() }),
        ..Sample::default()
    }
}
