//! Upper bounds of the duration of a workload's trial and of the bytes that it writes: for forecasts.

use crate::block_sizes::mean;
use crate::forecast::rates::{LAYOUT_RATE, UNLIMITED_RATE};
use record::copy::Corpus;
use record::plan::{Cell, Measure};
use record::stack::Stack;
use record::volume::{Limits, Volume, VolumeKind};
use record::workload::{Ask, Options};

/// Returns the seconds of load in one trial: its ramp, its measured time, and the time to read data back for verification.
pub(crate) fn seconds(cell: &Cell, measure: &Measure) -> f64 {
    let of_measure = measure.ramp_seconds + measure.trial_seconds;
    if let Some(seconds) = to_completion(&cell.workload.ask, &cell.stack) {
        return seconds;
    }
    let all = cell.workload.all_options();
    let load = all.iter().map(|options| load_seconds(options, &cell.stack, measure)).reduce(f64::max);
    let read_back = all.iter().filter(|options| options.verify.is_some());
    load.unwrap_or(of_measure) + read_back.map(|options| data(options) / LAYOUT_RATE).sum::<f64>()
}

/// Returns the bytes that one trial's load writes.
pub(crate) fn written(cell: &Cell, measure: &Measure) -> f64 {
    if let Ask::Copy(_) | Ask::Bonnie(_) = cell.workload.ask {
        return float(cell.workload.made_bytes());
    }
    let writers = cell.workload.all_options().into_iter().filter(|options| options.rw.writes());
    writers.map(|options| written_by(options, &cell.stack, measure)).sum()
}

/// Rough rate of a copier in files per second.
const FILES_PER_SECOND: f64 = 15_000.0;
const BONNIE_PASSES: f64 = 5.0;
/// Number of seeks of Bonnie++, for any data size.
const BONNIE_SEEKS: f64 = 8192.0;

/// Returns the seconds of a load that ends when its work is done; `None` if it has a fixed duration.
fn to_completion(ask: &Ask, stack: &Stack) -> Option<f64> {
    // Small files are written back in larger requests.
    let bytes_per_second = || volumes_rate(stack, write_limits, 65_536.0).max(1.0);
    match ask {
        Ask::Options(_) | Ask::JobFile { .. } => None,
        Ask::Copy(copy) => {
            let files = match copy.corpus {
                Corpus::Generated { files, .. } => files.saturating_mul(copy.whole_copies()),
                Corpus::Directory { .. } => 0,
            };
            let bytes = float(copy.data_bytes());
            let read_back = if copy.verify { bytes / LAYOUT_RATE } else { 0.0 };
            Some((float(files) / FILES_PER_SECOND).max(bytes / bytes_per_second()) + read_back)
        }
        Ask::Bonnie(bonnie) => {
            let data = float(bonnie.data_bytes());
            let seeks = if data > 0.0 { BONNIE_SEEKS } else { 0.0 };
            Some(
                data * BONNIE_PASSES / bytes_per_second()
                    + seeks / volumes_rate(stack, read_limits, 1.0).max(1.0),
            )
        }
    }
}

/// Returns the seconds after which a load ends, including its ramp, in trials of `trial_seconds`.
pub(crate) fn ends_after(options: &Options, measure: &Measure, trial_seconds: f64) -> f64 {
    let ramp = options.ramp_time_ms.map_or(measure.ramp_seconds, milliseconds);
    ramp + options.runtime_ms.map_or(trial_seconds, milliseconds)
}

fn load_seconds(options: &Options, stack: &Stack, measure: &Measure) -> f64 {
    let end = ends_after(options, measure, measure.trial_seconds);
    if options.time_based {
        return end;
    }
    // One pass over the data, unless the time is up earlier.
    let reads = if options.rw.reads() { rate(options, stack, read_limits) } else { f64::INFINITY };
    let writes = if options.rw.writes() { rate(options, stack, write_limits) } else { f64::INFINITY };
    let slowest = reads.min(writes).min(UNLIMITED_RATE * 4.0);
    end.min(load_bytes(options) / slowest)
}

fn written_by(options: &Options, stack: &Stack, measure: &Measure) -> f64 {
    let written = rate(options, stack, write_limits) * load_seconds(options, stack, measure);
    let once = if options.rw.is_mixed() {
        load_bytes(options) * f64::from(100 - options.rwmixread.min(100)) / 100.0
    } else {
        load_bytes(options)
    };
    if options.time_based { written } else { written.min(once) }
}

/// Returns the most bytes per second that the volumes and the workload's own rate limits allow.
fn rate(options: &Options, stack: &Stack, limits_of: LimitsOf) -> f64 {
    let block = mean(options);
    volumes_rate(stack, limits_of, block).min(held_to(options, block)).min(UNLIMITED_RATE * 4.0)
}

/// Returns the bytes per second that all volumes allow together, in requests of `block` bytes.
pub(crate) fn volumes_rate(stack: &Stack, limits_of: LimitsOf, block: f64) -> f64 {
    let rate = |volume: &Volume| match &volume.kind {
        VolumeKind::Emulate { limits, .. } | VolumeKind::Guest { limits, .. } => {
            let (iops, bps) = limits_of(limits);
            iops.map_or(UNLIMITED_RATE, |iops| float(iops) * block).min(bps.map_or(UNLIMITED_RATE, float))
        }
        VolumeKind::Disk { .. } | VolumeKind::Directory { .. } => UNLIMITED_RATE,
    };
    stack.volumes.iter().map(rate).sum()
}

/// Returns the rate limits of all jobs together.
fn held_to(options: &Options, block: f64) -> f64 {
    let by_iops = options.rate_iops.map_or(f64::INFINITY, |iops| float(iops) * block);
    let by_bytes = options.rate_bytes_per_second.map_or(f64::INFINITY, float);
    let by_pauses = match options.thinktime_us {
        0 => f64::INFINITY,
        pause => f64::from(options.thinktime_blocks) * block / (float(pause) / 1e6),
    };
    by_iops.min(by_bytes).min(by_pauses) * f64::from(options.numjobs)
}

/// Returns the limits of requests and bytes per second in one direction.
type LimitsOf = fn(&Limits) -> (Option<u64>, Option<u64>);

fn read_limits(limits: &Limits) -> (Option<u64>, Option<u64>) {
    (limits.read_iops.or(limits.total_iops), limits.read_bps.or(limits.total_bps))
}

pub(crate) fn write_limits(limits: &Limits) -> (Option<u64>, Option<u64>) {
    (limits.write_iops.or(limits.total_iops), limits.write_bps.or(limits.total_bps))
}

/// Returns the bytes of one pass over the regions of all jobs.
fn load_bytes(options: &Options) -> f64 {
    float(options.size_bytes) * f64::from(options.numjobs)
}

/// Returns the bytes of the regions themselves.
fn data(options: &Options) -> f64 {
    if options.filename.is_some() { float(options.size_bytes) } else { load_bytes(options) }
}

fn milliseconds(ms: u64) -> f64 {
    float(ms) / 1000.0
}

#[expect(clippy::cast_precision_loss, reason = "a forecast has two good digits")]
fn float(n: u64) -> f64 {
    n as f64
}
