//! A trial's summary: what the ledger needs to decide what comes next.

use super::course::{Course, course, float};
use super::told::told;
use record::counter::Sample;
use record::plan::{Cell, Plan};
use record::trial::{EngineOutput, Outcome, TrialRecord, TrialStep};
use record::workload::Layout;
use stats::SearchTrial;

/// A trial's summary.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// Whether it was measured in full.
    pub(crate) measured: bool,
    /// The value of the metric that decides when to stop; `None` when the trial failed or doesn't have it.
    pub(crate) figure: Option<f64>,
    /// The values of the metrics that a cell's limits are about, in the order of the limits.
    pub(crate) wanted: Vec<Option<f64>>,
    /// The duration of all its steps.
    pub(crate) seconds: f64,
    /// The measured time.
    pub(crate) window_seconds: f64,
    /// Bytes that the layout of its data wrote.
    pub(crate) laid_out_bytes: f64,
    /// Bytes that its load wrote, ramp included.
    pub(crate) load_bytes: f64,
    /// What it tells its cell's search.
    pub(crate) searched: Option<SearchTrial>,
    /// Its rate over time; only for trials that may choose the length of later ones.
    pub(crate) course: Option<Course>,
}

impl Seen {
    pub(crate) fn of(plan: &Plan, cell: &Cell, record: &TrialRecord) -> Self {
        let engine = record.engine.as_ref();
        let measured = engine.filter(|_| record.outcome == Outcome::Measured);
        let chooses = plan.measure.max_trial_seconds.is_some() && record.id.round < record::pilot::ROUNDS;
        Self {
            measured: measured.is_some(),
            // The trials of a search have different levels, so their figures are no repetitions.
            figure: measured.filter(|_| cell.find().is_none()).and_then(|_| plan.figure(cell, record)),
            wanted: measured
                .filter(|_| cell.find().is_none())
                .map(|_| plan.wanted(cell, record))
                .unwrap_or_default(),
            seconds: record.steps.iter().map(|step| step.seconds).sum(),
            window_seconds: engine.map_or(0.0, |engine| engine.window.seconds()),
            laid_out_bytes: laid_out(cell, record),
            load_bytes: on_devices(record).or_else(|| engine.map(|e| by_engine(plan, e))).unwrap_or(0.0),
            searched: told(cell, record),
            course: measured
                .filter(|_| chooses && cell.find().is_none())
                .and_then(|engine| course(record, engine)),
        }
    }

    /// Bytes that it wrote.
    pub(crate) fn written_bytes(&self) -> f64 {
        self.laid_out_bytes + self.load_bytes
    }
}

/// The bytes of the layout, counted once the trial has prepared its data.
fn laid_out(cell: &Cell, record: &TrialRecord) -> f64 {
    let prepared = record.steps.iter().any(|step| step.step == TrialStep::Prepare);
    if prepared && cell.workload.layout == Layout::Written {
        // Each machine that loads lays out its own data.
        float(cell.workload.data_bytes().saturating_mul(cell.loading().len() as u64))
    } else {
        0.0
    }
}

/// Bytes that the direct devices wrote during the load; `None` when one of them has no counters.
fn on_devices(record: &TrialRecord) -> Option<f64> {
    let samples = &record.evidence.samples;
    let (first, last) = (samples.first()?, samples.last()?);
    let written = |sample: &Sample, name: &str| sample.block.get(name).map(|counters| counters.write_bytes);
    let grown = record
        .topology
        .direct()
        .map(|node| Some(float(written(last, &node.name)?.checked_sub(written(first, &node.name)?)?)));
    let all: Vec<f64> = grown.collect::<Option<_>>()?;
    (!all.is_empty()).then(|| all.iter().sum())
}

/// Bytes that the engine wrote in the measured time, plus the same rate for the ramp.
fn by_engine(plan: &Plan, engine: &EngineOutput) -> f64 {
    let written = engine.write.as_ref().map_or(0.0, |totals| float(totals.bytes));
    let seconds = engine.window.seconds();
    if seconds > 0.0 { written * (1.0 + plan.measure.ramp_seconds / seconds) } else { written }
}
