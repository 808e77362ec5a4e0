//! Makes a run of many cells out of a real one: its trials are repeated with other names, stretched to a length, and scattered by 2 %.
//! `bench/report/run.sh` runs it.
//!
//! `wide_run SOURCE TARGET CELLS ROUNDS SECONDS`: the latest run of the store SOURCE becomes a run of the new store TARGET.
#![expect(clippy::unwrap_used, reason = "a benchmark that can't measure should stop")]

use diskproof_store::Store;
use record::counter::{BlockCounters, CpuTicks, Sample};
use record::event::Stopped;
use record::id::{CellId, RunId, TrialId};
use record::plan::Cell;
use record::trial::{Outcome, Series, Totals, TrialRecord};
use std::path::Path;

/// The cells whose workloads keep their names.
const TOGETHER: u32 = 100;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize| args[place].parse::<u32>().unwrap();
    let (cells, rounds, seconds) = (number(2), number(3), number(4));
    let source = Store::open(Path::new(&args[0])).unwrap();
    let run = source.load(&source.latest().unwrap().unwrap()).unwrap();
    let measured = |cell: &CellId| {
        let mut own = run.trials.iter().filter(|t| t.id.cell == *cell && t.outcome == Outcome::Measured);
        own.next().cloned()
    };
    let mut plan = run.plan.clone();
    let known: Vec<(Cell, TrialRecord)> =
        plan.cells.iter().filter_map(|cell| Some((cell.clone(), measured(&cell.id)?))).collect();
    plan.cells = (0..cells).zip(known.iter().cycle()).map(|(at, (cell, _))| renamed(cell, at)).collect();
    plan.measure.rounds = rounds;
    plan.measure.trial_seconds = f64::from(seconds);
    (plan.expectations, plan.contrasts, plan.derived) = (Vec::new(), Vec::new(), Vec::new());
    let store = Store::open(Path::new(&args[1])).unwrap();
    let id = RunId("20261126-000000-wide".to_owned());
    store.create_run(&id, &plan, &run.environment).unwrap();
    let long: Vec<TrialRecord> = known.iter().map(|(_, trial)| stretched(trial, seconds)).collect();
    for round in 0..rounds {
        for (at, trial) in (0..cells).zip(long.iter().cycle()) {
            store.append_trial(&id, &scattered(trial, at, round)).unwrap();
        }
    }
    store.finish_run(&id, &Stopped::RoundsDone { rounds }).unwrap();
}

fn cell_id(at: u32) -> CellId {
    CellId(format!("{at:016x}"))
}

fn renamed(cell: &Cell, at: u32) -> Cell {
    let mut cell = Cell { id: cell_id(at), ..cell.clone() };
    cell.stack.name = format!("{}-{at}", cell.stack.name);
    // Of many cells, those of one workload are compared with each other: not all with all.
    if at >= TOGETHER {
        cell.workload.name = format!("{}-{}", cell.workload.name, at / TOGETHER);
    }
    cell
}

/// The same trial, as another cell's and round's, with rates that differ by up to 2 %.
fn scattered(trial: &TrialRecord, at: u32, round: u32) -> TrialRecord {
    let mut trial = TrialRecord { id: TrialId { cell: cell_id(at), round }, ..trial.clone() };
    let factor = 1.0 + f64::from((at * 7919 + round * 104_729) % 401) / 10_000.0 - 0.02;
    let engine = trial.engine.as_mut().unwrap();
    let scatter = |totals: &mut Totals| {
        (totals.iops, totals.bytes_per_second) = (totals.iops * factor, totals.bytes_per_second * factor);
    };
    [&mut engine.read, &mut engine.write].into_iter().flatten().for_each(scatter);
    trial
}

/// The trial with its series and samples repeated until they cover so many seconds.
fn stretched(trial: &TrialRecord, seconds: u32) -> TrialRecord {
    let mut trial = trial.clone();
    let engine = trial.engine.as_mut().unwrap();
    engine.window.end_ns = engine.window.start_ns + u64::from(seconds) * 1_000_000_000;
    if let Some(series) = &mut engine.series {
        let steps =
            usize::try_from((engine.window.end_ns - engine.window.start_ns) / series.step_ns).unwrap();
        repeat(series, steps);
    }
    let end = engine.window.end_ns;
    let samples = std::mem::take(&mut trial.evidence.samples);
    let mut all = samples.clone();
    while all.last().unwrap().monotonic_ns < end {
        let (first, last) = (&samples[0], all.last().unwrap().clone());
        all.extend(samples.iter().skip(1).map(|sample| later(first, &last, sample)));
    }
    let after = all.iter().position(|sample| sample.monotonic_ns >= end).unwrap();
    all.truncate(after + 2);
    trial.evidence.samples = all;
    trial
}

fn repeat(series: &mut Series, steps: usize) {
    for list in [&mut series.read_ios, &mut series.write_ios, &mut series.trim_ios, &mut series.bytes] {
        *list = list.iter().copied().cycle().take(steps).collect();
    }
    let length_ns = series.step_ns * steps as u64;
    for latency in [&mut series.read_latency, &mut series.write_latency].into_iter().flatten() {
        let steps = usize::try_from(length_ns / latency.step_ns).unwrap();
        for list in [&mut latency.p50_ns, &mut latency.p99_ns, &mut latency.max_ns] {
            *list = list.iter().copied().cycle().take(steps).collect();
        }
    }
}

/// A sample that lies as far behind `last` as it lay behind `first`, with counters that grew as much.
fn later(first: &Sample, last: &Sample, sample: &Sample) -> Sample {
    let mut moved = sample.clone();
    moved.monotonic_ns = last.monotonic_ns + (sample.monotonic_ns - first.monotonic_ns);
    for (name, counters) in &mut moved.block {
        if let (Some(a), Some(b)) = (first.block.get(name), last.block.get(name)) {
            add(counters, a, b);
        }
    }
    if let (Some(ticks), Some(a), Some(b)) = (&mut moved.cpu, &first.cpu, &last.cpu) {
        add_ticks(ticks, a, b);
    }
    moved
}

fn add(to: &mut BlockCounters, a: &BlockCounters, b: &BlockCounters) {
    to.reads += b.reads - a.reads;
    to.read_bytes += b.read_bytes - a.read_bytes;
    to.writes += b.writes - a.writes;
    to.write_bytes += b.write_bytes - a.write_bytes;
    to.busy_ms += b.busy_ms - a.busy_ms;
    to.weighted_ms += b.weighted_ms - a.weighted_ms;
}

fn add_ticks(to: &mut CpuTicks, a: &CpuTicks, b: &CpuTicks) {
    to.user += b.user - a.user;
    to.system += b.system - a.system;
    to.idle += b.idle - a.idle;
}
