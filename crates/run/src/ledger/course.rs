//! The rate of a trial over time, in equal steps.

use record::counter::Sample;
use record::trial::{EngineOutput, Series, TrialRecord};

/// The least number of steps: fewer don't show how neighbouring steps correlate ([`stats::trial_length`]).
const FEWEST: usize = 10;

/// I/Os per second in equal steps of the measured time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Course {
    pub(crate) step_seconds: f64,
    pub(crate) rates: Vec<f64>,
}

/// The time series from the engine, or else from the counters of the direct devices; `None` where there are too few steps.
pub(crate) fn course(record: &TrialRecord, engine: &EngineOutput) -> Option<Course> {
    let told = engine.series.as_ref().and_then(of_series);
    told.filter(|c| c.rates.len() >= FEWEST)
        .or_else(|| of_samples(record, engine))
        .filter(|c| c.rates.len() >= FEWEST)
}

fn of_series(series: &Series) -> Option<Course> {
    let step_seconds = float(series.step_ns) / 1e9;
    let steps = series.read_ios.iter().zip(&series.write_ios).zip(&series.trim_ios);
    let rates = steps.map(|((read, write), trim)| float(read + write + trim) / step_seconds).collect();
    (step_seconds > 0.0).then_some(Course { step_seconds, rates })
}

/// From the samples, which count as evenly spaced because the sampler keeps a fixed interval.
fn of_samples(record: &TrialRecord, engine: &EngineOutput) -> Option<Course> {
    let window = engine.window;
    let inside = |s: &&Sample| (window.start_ns..=window.end_ns).contains(&s.monotonic_ns);
    let ios = |sample: &Sample| {
        let counters = record.topology.direct().map(|node| sample.block.get(&node.name));
        let all: Option<Vec<u64>> = counters.map(|c| c.map(|c| c.reads + c.writes)).collect();
        all.filter(|all| !all.is_empty()).map(|all| all.iter().sum::<u64>())
    };
    let points: Vec<(u64, u64)> = record
        .evidence
        .samples
        .iter()
        .filter(inside)
        .map(|sample| Some((sample.monotonic_ns, ios(sample)?)))
        .collect::<Option<_>>()?;
    let (first, last) = (points.first()?, points.last()?);
    let rates: Option<Vec<f64>> = points
        .windows(2)
        .map(|w| Some(float(w[1].1.checked_sub(w[0].1)?) / (float(w[1].0.checked_sub(w[0].0)?) / 1e9)))
        .collect();
    let rates = rates.filter(|rates| !rates.is_empty())?;
    let step_seconds = float(last.0 - first.0) / 1e9 / float(rates.len() as u64);
    Some(Course { step_seconds, rates })
}

#[expect(clippy::cast_precision_loss, reason = "bytes of one trial stay far below 2^53")]
pub(super) fn float(n: u64) -> f64 {
    n as f64
}
