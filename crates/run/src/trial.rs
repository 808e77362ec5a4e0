//! One trial: build, prepare, settle, measure, undo.

use crate::flush;
use crate::mounted::{ServedGround, guarded};
use crate::node::{Failure, engine_for};
use crate::persistent_stacks::{PersistentStacks, Up};
use crate::protocol::{TrialRequest, Turn};
use crate::snapshot::{self, Before, residency};
use engine::Job;
use observe::Sampler;
use record::copy::Extents;
use record::id::CellId;
use record::plan::Cell;
use record::printable::Shown as _;
use record::printable::chain;
use record::stack::Rebuild;
use record::trial::{EngineOutput, Outcome, StepTime, TrialRecord};
use record::workload::CacheStart;
use record::zfs::PoolRecord;
use stack::{Built, Journal, Machine, Volumes};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// A callback for progress: the cell (if there is one), the step, and the share of it that is done (if known).
pub(crate) type Teller<'a> = Box<dyn Fn(Option<&CellId>, &str, Option<f64>) + 'a>;

/// What all trials of a node share.
pub(crate) struct Bench<'a> {
    /// The directory for the engines' own small files.
    pub(crate) scratch: PathBuf,
    /// Set to end the current work.
    pub(crate) cancel: &'a AtomicBool,
    /// Reports the current step.
    pub(crate) step: Teller<'a>,
    /// The node that serves the file system under test, if it is another one.
    pub(crate) server: Option<&'a dyn Server>,
}

/// The node that serves the file system under test, reached through the controller.
pub(crate) trait Server {
    /// Has the server do something and waits; returns the server's CLOCK_MONOTONIC in nanoseconds, or why it failed.
    fn turn(&self, turn: Turn) -> Result<u64, String>;
}

/// Performs one trial. A failed trial also gives a record; only a failed undo is an error, since then no further trial may run.
pub(crate) fn perform(
    machine: &Machine<'_>,
    journal: &mut Journal,
    volumes: &Volumes,
    bench: &Bench<'_>,
    standing: &mut PersistentStacks,
    request: &TrialRequest,
) -> Result<TrialRecord, Failure> {
    let mut record = blank(request);
    let mut steps = Steps { bench, cell: &request.cell.id, times: Vec::new() };
    let asked = &request.cell.stack;
    let stays = asked.rebuild == Rebuild::Run;
    let up = match standing.take(asked) {
        Some(up) => Ok(up),
        None => steps
            .time("build", || match &request.from {
                Some(source) => stack::mount(machine, journal, asked, source, bench.cancel),
                None => stack::build_unless(machine, journal, volumes, asked, bench.cancel),
            })
            .map(|built| Up::new(asked, built)),
    };
    match up {
        Ok(mut up) => {
            record.trials_before = stays.then_some(up.trials);
            record.built.clone_from(&up.built.argv);
            record.settings.clone_from(&up.built.settings);
            let mounted = up.built.nfs.clone();
            let measured = guarded(request.from.as_ref(), mounted, machine.runner, bench.cancel, || {
                measure(machine, journal, volumes, &mut up, request, &mut steps, &mut record)?;
                flush(machine, journal, &up, request, &mut steps, &mut record)
            });
            if let Err(reason) = measured {
                record.outcome = Outcome::Failed(reason);
            }
            if stays && record.outcome == Outcome::Measured {
                up.trials += 1;
                standing.keep(up);
            } else {
                // After a failure the state is unknown: the next trial builds the stack anew.
                standing.forget_above(&up);
                steps.time("undo", || up.built.undo(machine, journal)).map_err(|e| Failure::ours(&e))?;
            }
        }
        // The next stack would be built on top of what is left, so the run ends.
        Err(error) if error.left_something() => return Err(Failure::ours(&error)),
        Err(error) => {
            record.refused = error.is_refusal();
            record.outcome = Outcome::Failed(chain(&error));
        }
    }
    record.steps = steps.times;
    Ok(record)
}

pub(crate) fn blank(request: &TrialRequest) -> TrialRecord {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let started_unix_ms = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
    TrialRecord::new(request.id.clone(), request.seed, started_unix_ms, Outcome::Measured)
}

pub(crate) struct Steps<'a> {
    pub(crate) bench: &'a Bench<'a>,
    pub(crate) cell: &'a CellId,
    pub(crate) times: Vec<StepTime>,
}

impl Steps<'_> {
    pub(crate) fn time<T>(&mut self, step: &str, act: impl FnOnce() -> T) -> T {
        (self.bench.step)(Some(self.cell), step, None);
        let begun = Instant::now();
        let result = act();
        self.times.push(StepTime { step: step.to_owned(), seconds: begun.elapsed().as_secs_f64() });
        result
    }
}

/// Does everything between build and undo. An error is the reason as text.
fn measure(
    machine: &Machine<'_>,
    journal: &mut Journal,
    volumes: &Volumes,
    up: &mut Up,
    request: &TrialRequest,
    steps: &mut Steps<'_>,
    record: &mut TrialRecord,
) -> Result<(), String> {
    let built = &up.built;
    let (bench, steps_cell) = (steps.bench, steps.cell);
    let engine = engine_for(request.cell.workload.engine, machine.state_dir);
    let throttle = volumes.throttle();
    std::fs::create_dir_all(&bench.scratch)
        .map_err(|e| format!("can't make {}: {e}", bench.scratch.shown()))?;
    let prepare = Job {
        ground: &built.ground,
        workload: &request.cell.workload,
        seed: request.seed,
        trial_seconds: request.measure.trial_seconds,
        ramp_seconds: request.measure.ramp_seconds,
        cgroup_procs: throttle.as_ref().map(|t| t.cgroup_procs.as_path()),
        cancel: bench.cancel,
        started: &|_| {},
        progress: &|done| (bench.step)(Some(steps_cell), "prepare", Some(done)),
        scratch: &bench.scratch,
    };
    let (files, cache) = match up.files.take() {
        Some(files) => (files, request.cell.workload.cache),
        None => {
            let files = steps.time("prepare", || engine.prepare(&prepare)).map_err(|e| chain(&e))?;
            if request.cell.stack.attaches_late() {
                let attached = steps.time("attach", || built.attach_caches(machine, journal));
                up.attached = attached.map_err(|e| chain(&e))?;
            }
            (files, first_cache(&request.cell))
        }
    };
    record.built.extend_from_slice(&up.attached);
    record.topology = snapshot::topology(built);
    let cgroup = throttle.as_ref().and_then(|t| t.cgroup_procs.parent().map(PathBuf::from));
    let config = snapshot::config(machine, built, request, &record.topology, cgroup);
    let apart = ServedGround::of(bench.server, built, &files);
    steps.time("settle", || match &apart {
        Some(apart) => apart.settle(machine, journal, &request.cell.stack, &files, cache),
        None => settle(machine, journal, built, &files, cache),
    })?;
    // The node that has the devices examines the files.
    let stored = if apart.is_some() { Vec::new() } else { at_server(built, &files) };
    record.cache_before = residency(&files, &mut record.unread);
    let before = Before::look(machine, built, stored, record);
    let clock = apart.as_ref().map(ServedGround::begin).transpose()?;

    let sampler = Sampler::start(&config).map_err(|e| chain(&e))?;
    let output: Result<EngineOutput, _> = steps.time("measure", || {
        let started = |pid: u32| sampler.engine_pid(pid);
        engine.run(&Job { started: &started, ..prepare })
    });
    record.evidence = sampler.stop();
    record.evidence.server_clock = clock;
    let ended = apart.as_ref().map_or(Ok(()), ServedGround::end);
    record.cache_after = residency(&files, &mut record.unread);
    before.look_again(machine, built, record)?;
    up.files = Some(files);
    match output {
        Ok(mut output) => {
            if let (Some(copied), Some(pool)) = (&mut output.copied, &record.pool) {
                copied.extents = copied.extents.or(by_ratio(copied.logical_bytes, pool));
            }
            record.engine = Some(output);
        }
        Err(error) => {
            let reason = chain(&error);
            record.engine = error.into_output();
            return Err(reason);
        }
    }
    ended
}

/// Flushes and removes the caches that the stack removes after the measured time.
fn flush(
    machine: &Machine<'_>,
    journal: &mut Journal,
    up: &Up,
    request: &TrialRequest,
    steps: &mut Steps<'_>,
    record: &mut TrialRecord,
) -> Result<(), String> {
    if !request.cell.stack.flushes() {
        return Ok(());
    }
    let cancel = steps.bench.cancel;
    let (files, workload) = (up.files.as_deref(), &request.cell.workload);
    steps.time("flush", || {
        flush::caches(machine, journal, &up.built, files, workload, cancel, &mut record.caches)
    })
}

/// The cache state for a trial that has just laid out the data. A persistent stack keeps what its trials leave in caches, but
/// starts cold: the layout's data aren't cached by the load.
fn first_cache(cell: &Cell) -> CacheStart {
    match cell.workload.cache {
        CacheStart::Keep if cell.stack.rebuild == Rebuild::Run => CacheStart::Cold,
        asked => asked,
    }
}

/// The disk usage of a copy on ZFS, where extents don't tell it: from the compression ratio of its dataset, which holds nothing
/// else.
pub(crate) fn by_ratio(logical_bytes: u64, pool: &PoolRecord) -> Option<Extents> {
    let percent = pool.after.compress_ratio_percent.filter(|percent| *percent > 0)?;
    let disk_bytes = u128::from(logical_bytes) * 100 / u128::from(percent);
    Some(Extents { uncompressed_bytes: logical_bytes, disk_bytes: u64::try_from(disk_bytes).ok()? })
}

/// Brings the page cache to the state the workload asks for.
pub(crate) fn settle(
    machine: &Machine<'_>,
    journal: &mut Journal,
    built: &Built,
    files: &[PathBuf],
    cache: CacheStart,
) -> Result<(), String> {
    match cache {
        CacheStart::Keep => {}
        CacheStart::Cold => stack::settle::drop_caches(machine, files).map_err(|e| chain(&e))?,
        CacheStart::Warm => stack::settle::read_all(files).map_err(|e| chain(&e))?,
    }
    let cold = cache == CacheStart::Cold;
    match (&built.pool, &built.nfs) {
        // ZFS can't export a pool, and so empty its cache, while NFS exports a directory of it.
        (Some(pool), Some(nfs)) if cold => {
            nfs.while_down(machine, journal, || pool.settle(machine, cold)).map_err(|e| chain(&e))
        }
        (Some(pool), _) => pool.settle(machine, cold).map_err(|e| chain(&e)),
        (None, _) => Ok(()),
    }
}

/// The data files by their paths on the server, where they are mounted from it.
fn at_server(built: &Built, files: &[PathBuf]) -> Vec<PathBuf> {
    let at = |file: &PathBuf| built.nfs.as_ref()?.at_server(file);
    files.iter().map(|file| at(file).unwrap_or_else(|| file.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::by_ratio;
    use record::copy::Extents;
    use record::zfs::{PoolRecord, PoolState};

    #[test]
    fn what_a_copy_takes_on_zfs_follows_from_the_ratio_after_it() {
        let taken = |logical, before, after| {
            let state = |percent| PoolState { compress_ratio_percent: percent, ..PoolState::default() };
            let pool = PoolRecord {
                implementation: "OpenZFS 2.1.11-1".to_owned(),
                guid: "1".to_owned(),
                before: state(before),
                after: state(after),
            };
            by_ratio(logical, &pool).map(|Extents { uncompressed_bytes, disk_bytes }| {
                assert_eq!(uncompressed_bytes, logical);
                disk_bytes
            })
        };
        assert_eq!(taken(1000, Some(100), Some(250)), Some(400));
        assert_eq!(taken(1000, Some(300), Some(100)), Some(1000));
        assert_eq!(taken(1000, None, Some(300)), Some(333));
        assert_eq!(taken(1 << 60, None, Some(200)), Some(1 << 59), "a hundred times as much is no u64");
        assert_eq!(taken(1000, Some(250), None), None, "not told");
        assert_eq!(taken(1000, Some(250), Some(0)), None);
        assert_eq!(taken(u64::MAX, None, Some(50)), None, "no such device");
    }
}
