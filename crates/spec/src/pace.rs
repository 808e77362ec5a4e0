//! The duration of a workload's trial and the bytes that it writes, for forecasts: by limits that the plan states, else by assumed rates.

use crate::block_sizes::mean;
use crate::forecast::rates::{Assumed, DURABLE_SECONDS, LAYOUT_RATE, UNLIMITED_RATE};
use record::copy::Corpus;
use record::plan::{Cell, Measure};
use record::stack::Stack;
use record::volume::{Limits, Volume, VolumeKind};
use record::workload::{Ask, Options, SyncMode};

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
    let writes = if options.rw.writes() { write_rate(options, stack) } else { f64::INFINITY };
    let slowest = reads.min(writes).min(UNLIMITED_RATE * 4.0);
    end.min(load_bytes(options) / slowest)
}

fn written_by(options: &Options, stack: &Stack, measure: &Measure) -> f64 {
    let written = write_rate(options, stack) * load_seconds(options, stack, measure);
    if options.time_based { written } else { written.min(once(options)) }
}

/// Returns the bytes that one pass writes.
fn once(options: &Options) -> f64 {
    if options.rw.is_mixed() {
        load_bytes(options) * f64::from(100 - options.rwmixread.min(100)) / 100.0
    } else {
        load_bytes(options)
    }
}

/// Returns what the bytes that one trial's load writes rest on, besides limits that the plan states.
pub(crate) fn assumed(cell: &Cell, measure: &Measure) -> Assumed {
    let writers = cell.workload.all_options().into_iter().filter(|options| options.rw.writes());
    let mut assumed = Assumed::default();
    for options in writers {
        let (rate, durable) = (rate(options, &cell.stack, write_limits), durable_rate(options));
        let is_whole = !options.time_based
            && rate.min(durable) * load_seconds(options, &cell.stack, measure) >= 0.999 * once(options);
        let by_volumes = volumes_rate(&cell.stack, write_limits, mean(options));
        let is_unlimited =
            cell.stack.volumes.iter().any(|volume| limit_of(volume, write_limits, 1.0).is_none());
        assumed.durable |= !is_whole && durable < rate;
        assumed.rate |= !is_whole && durable >= rate && by_volumes <= rate && is_unlimited;
    }
    assumed
}

/// Returns the most bytes per second that limits and syncs allow.
fn write_rate(options: &Options, stack: &Stack) -> f64 {
    rate(options, stack, write_limits).min(durable_rate(options))
}

/// Returns the bytes per second of writes that wait until they are durable, in all jobs. Those in flight together wait together.
fn durable_rate(options: &Options) -> f64 {
    if !options.writes_become_durable() {
        return f64::INFINITY;
    }
    let syncs = [options.fsync, options.fdatasync].into_iter().filter(|every| *every > 0).min();
    let every = if options.sync == SyncMode::None { syncs.unwrap_or(1) } else { 1 };
    let together = if options.syncs_each_write() { 1 } else { options.iodepth.max(1) };
    let writes = f64::from(every) * f64::from(together) * f64::from(options.numjobs);
    writes * mean(options) / DURABLE_SECONDS
}

/// Returns the most bytes per second that the volumes and the workload's own rate limits allow.
fn rate(options: &Options, stack: &Stack, limits_of: LimitsOf) -> f64 {
    let block = mean(options);
    volumes_rate(stack, limits_of, block).min(held_to(options, block)).min(UNLIMITED_RATE * 4.0)
}

/// Returns the bytes per second that all volumes allow together, in requests of `block` bytes.
pub(crate) fn volumes_rate(stack: &Stack, limits_of: LimitsOf, block: f64) -> f64 {
    let rate =
        |volume: &Volume| limit_of(volume, limits_of, block).unwrap_or(UNLIMITED_RATE).min(UNLIMITED_RATE);
    stack.volumes.iter().map(rate).sum()
}

/// Returns the bytes per second that a volume's own limits allow, in requests of `block` bytes; `None` without such limits.
fn limit_of(volume: &Volume, limits_of: LimitsOf, block: f64) -> Option<f64> {
    let (VolumeKind::Emulate { limits, .. }
    | VolumeKind::Guest { limits, .. }
    | VolumeKind::Created { limits, .. }) = &volume.kind
    else {
        return None;
    };
    let (iops, bps) = limits_of(limits);
    let by_iops = iops.map(|iops| float(iops) * block);
    by_iops.into_iter().chain(bps.map(float)).reduce(f64::min)
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
