//! One trial: build, prepare, settle, measure, undo.

use crate::context::{Bench, MeetError, Others, Steps, TurnError, engine_for};
use crate::flush::{self, FlushError};
use crate::live::LiveLoad;
use crate::meeting;
use crate::mounted::{ServedGround, guarded};
use crate::persistent_stacks::{PersistentStacks, Up};
use crate::protocol::TrialRequest;
use crate::settle::{SettleError, settle};
use crate::snapshot::{self, Before, residency};
use engine::{EngineError, Job, Progress};
use observe::{Sampler, Unobservable};
use record::copy::Extents;
use record::plan::Cell;
use record::printable::Shown as _;
use record::printable::chain;
use record::stack::Rebuild;
use record::trial::{Outcome, TrialRecord, TrialStep};
use record::workload::CacheStart;
use record::zfs::PoolRecord;
use stack::{ActError, Built, Journal, Machine, StackError, UndoError, Volumes};
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};
use thiserror::Error;

/// Why a trial is no measurement.
#[derive(Debug, Error)]
enum TrialError {
    #[error("can't make {}", .path.shown())]
    Scratch { path: PathBuf, source: std::io::Error },
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Caches could not be attached after the data were laid out.
    #[error(transparent)]
    Attach(#[from] StackError),
    /// Caches could not be brought to the state in which the load begins.
    #[error(transparent)]
    Settle(#[from] SettleError),
    /// The node that serves the file system under test failed.
    #[error(transparent)]
    Server(#[from] TurnError),
    /// The machines that load together didn't meet.
    #[error(transparent)]
    Others(#[from] MeetError),
    /// Counters can't be sampled.
    #[error(transparent)]
    Sample(#[from] Unobservable),
    /// The disk usage of files on a ZFS pool can't be brought up to date.
    #[error(transparent)]
    Pool(#[from] ActError),
    /// Caches could not be flushed and removed after the load.
    #[error(transparent)]
    Flush(#[from] FlushError),
}

impl TrialError {
    /// Whether the trial was cut off from outside, so that the same trial may succeed later.
    fn is_cut_off(&self) -> bool {
        match self {
            Self::Engine(error) if error.is_cut_off() => true,
            Self::Others(MeetError::Gone) => true,
            other => is_disk_full(other),
        }
    }
}

/// Whether an error or one of its causes is that a disk is full.
pub(crate) fn is_disk_full(error: &(dyn std::error::Error + 'static)) -> bool {
    let full = |error: &(dyn std::error::Error + 'static)| {
        let io = error.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
        io == Some(std::io::ErrorKind::StorageFull)
            || error.downcast_ref::<rustix::io::Errno>() == Some(&rustix::io::Errno::NOSPC)
    };
    std::iter::successors(Some(error), |error| error.source()).any(full)
}

/// The least free space of the state folder, in bytes: what a trial writes there besides its data (journal, job file, output).
const LEAST_FREE_BYTES: u64 = 64 << 10;

/// Adds to a failed trial that the state folder has no space left: then a program's output may be cut short, which tells no cause.
fn note_full_disk(machine: &Machine<'_>, record: &mut TrialRecord) {
    let is_full = device::free_bytes(machine.state_dir).is_ok_and(|free_bytes| free_bytes < LEAST_FREE_BYTES);
    if let (Outcome::Failed(why), true) = (&mut record.outcome, is_full) {
        *why = format!("{why}; {} has no space left", machine.state_dir.shown());
        record.cut_off = !has_wrong_content(record);
    }
}

/// What the storage did wrong is a result, whatever ended the trial.
pub(crate) fn has_wrong_content(record: &TrialRecord) -> bool {
    let verified = record.engine.as_ref().and_then(|engine| engine.verified.as_ref());
    verified.is_some_and(|verified| !verified.faults.is_empty())
        || record.parts.iter().any(|part| has_wrong_content(&part.record))
}

/// Why something of a trial's stack is left. The next stack would be built on top of it, so the run ends.
#[derive(Debug, Error)]
pub(crate) enum LeftError {
    /// The stack could not be taken down.
    #[error(transparent)]
    Undo(#[from] UndoError),
    /// The stack could not be built, and the part that was built could not be taken down.
    #[error(transparent)]
    Build(#[from] StackError),
}

/// Performs one trial. A failed trial also gives a record; only a failed undo is an error, since then no further trial may run.
pub(crate) fn perform(
    machine: &Machine<'_>,
    journal: &mut Journal,
    volumes: &Volumes,
    bench: &Bench<'_>,
    standing: &mut PersistentStacks,
    request: &TrialRequest,
) -> Result<TrialRecord, LeftError> {
    let mut record = blank(request);
    let mut steps = Steps { bench, cell: &request.cell.id, times: Vec::new() };
    let asked = &request.cell.stack;
    let stays = asked.rebuild == Rebuild::Run;
    let up = match standing.take(asked) {
        Some(up) => Ok(up),
        None => steps
            .time(TrialStep::Build, || match &request.from {
                Some(source) => stack::mount(machine, journal, asked, source, bench.cancel),
                None => stack::build_unless(machine, journal, volumes, asked, bench.cancel),
            })
            .map(|built| Up::new(asked, built)),
    };
    match up {
        Ok(mut up) => {
            bench.tell_changes(journal);
            record.trials_before = stays.then_some(up.trials);
            record.built.clone_from(&up.built.argv);
            record.settings.clone_from(&up.built.settings);
            let mounted = up.built.nfs.clone();
            let measured = guarded(request.from.as_ref(), mounted, machine.runner, bench.cancel, || {
                measure(machine, journal, volumes, &mut up, request, &mut steps, &mut record)?;
                flush(machine, journal, &up, request, &mut steps, &mut record)
            });
            if let Err(error) = measured {
                record.cut_off = error.is_cut_off() && !has_wrong_content(&record);
                record.outcome = Outcome::Failed(chain(&error));
                note_full_disk(machine, &mut record);
            }
            if stays && record.outcome == Outcome::Measured {
                up.trials += 1;
                standing.keep(up);
            } else {
                // After a failure the state is unknown: the next trial builds the stack anew.
                standing.forget_above(&up);
                steps.time(TrialStep::Undo, || up.built.undo(machine, journal))?;
                bench.tell_changes(journal);
            }
        }
        Err(error) if error.left_something() => return Err(error.into()),
        Err(error) => {
            record.refused = error.is_refusal();
            record.cut_off = is_disk_full(&error);
            record.outcome = Outcome::Failed(chain(&error));
            note_full_disk(machine, &mut record);
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

/// Does everything between build and undo.
fn measure(
    machine: &Machine<'_>,
    journal: &mut Journal,
    volumes: &Volumes,
    up: &mut Up,
    request: &TrialRequest,
    steps: &mut Steps<'_>,
    record: &mut TrialRecord,
) -> Result<(), TrialError> {
    let built = &up.built;
    let (bench, steps_cell) = (steps.bench, steps.cell);
    meeting::shares(machine, journal, volumes, request)?;
    let engine = engine_for(request.cell.workload.engine, machine.state_dir);
    let throttle = volumes.throttle();
    std::fs::create_dir_all(&bench.scratch)
        .map_err(|source| TrialError::Scratch { path: bench.scratch.clone(), source })?;
    let prepare = Job {
        ground: &built.ground,
        workload: &request.cell.workload,
        seed: request.seed,
        trial_seconds: request.measure.trial_seconds,
        ramp_seconds: request.measure.ramp_seconds,
        cgroup_procs: throttle.as_ref().map(|t| t.cgroup_procs.as_path()),
        cancel: bench.cancel,
        started: &|_| {},
        progress: &|done| (bench.step)(Some(steps_cell), TrialStep::Prepare.name(), Some(done)),
        running: &|_| {},
        begins_at_ns: None,
        follows: false,
        scratch: &bench.scratch,
    };
    let (files, cache) = match up.files.take() {
        Some(files) => (files, request.cell.workload.cache),
        None => {
            let files = steps.time(TrialStep::Prepare, || engine.prepare(&prepare))?;
            if request.cell.stack.attaches_late() {
                up.attached = steps.time(TrialStep::Attach, || built.attach_caches(machine, journal))?;
            }
            (files, first_cache(&request.cell))
        }
    };
    record.built.extend_from_slice(&up.attached);
    record.topology = snapshot::topology(built);
    let cgroup = throttle.as_ref().and_then(|t| t.cgroup_procs.parent().map(PathBuf::from));
    let config = snapshot::config(machine, built, request, &record.topology, cgroup);
    let apart = ServedGround::of(bench.server, built, &files);
    steps.time(TrialStep::Settle, || match &apart {
        Some(apart) => apart.settle(machine, journal, &request.cell.stack, &files, cache),
        None => settle(machine, journal, built, &files, cache),
    })?;
    // The node that has the devices examines the files.
    let stored = if apart.is_some() { Vec::new() } else { at_server(built, &files) };
    record.cache_before = residency(&files, &mut record.unread);
    let before = Before::look(machine, built, stored, record);
    let clock = apart.as_ref().map(ServedGround::begin).transpose()?;

    let live = request.live.then(|| LiveLoad::new(steps_cell, &record.topology));
    let begins_at_ns = bench.others.map(Others::meet).transpose()?;
    let prepare = Job { begins_at_ns, ..prepare };
    let sampler = Sampler::start(&config)?;
    if let Some(start_ns) = begins_at_ns.filter(|_| !engine.waits_itself(&prepare)) {
        meeting::wait_until(start_ns, bench.cancel);
    }
    let began = meeting::reading();
    let output = steps.time(TrialStep::Measure, || {
        let started = |pid: u32| sampler.engine_pid(pid);
        let running = |progress: Option<Progress>| {
            if let Some(live) = &live {
                live.tell(&sampler, bench, progress);
            }
        };
        engine.run(&Job { started: &started, running: &running, follows: live.is_some(), ..prepare })
    });
    let after_load = meeting::reading();
    record.evidence = sampler.stop();
    record.evidence.server_clock = clock;
    let ended = apart.as_ref().map_or(Ok(()), ServedGround::end);
    // Nobody reads files or takes its stack down while another machine is still loading.
    let parted = match bench.others {
        Some(others) if output.is_ok() => others.part(began, after_load),
        _ => Ok(()),
    };
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
        Err(mut error) => {
            record.engine = error.take_output();
            return Err(error.into());
        }
    }
    parted?;
    Ok(ended?)
}

/// Flushes and removes the caches that the stack removes after the measured time.
fn flush(
    machine: &Machine<'_>,
    journal: &mut Journal,
    up: &Up,
    request: &TrialRequest,
    steps: &mut Steps<'_>,
    record: &mut TrialRecord,
) -> Result<(), TrialError> {
    if !request.cell.stack.flushes() {
        return Ok(());
    }
    let cancel = steps.bench.cancel;
    let (files, workload) = (up.files.as_deref(), &request.cell.workload);
    steps.time(TrialStep::Flush, || {
        flush::caches(machine, journal, &up.built, files, workload, cancel, &mut record.caches)
    })?;
    Ok(())
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

/// The data files by their paths on the server, where they are mounted from it.
fn at_server(built: &Built, files: &[PathBuf]) -> Vec<PathBuf> {
    let at = |file: &PathBuf| built.nfs.as_ref()?.at_server(file);
    files.iter().map(|file| at(file).unwrap_or_else(|| file.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::{TrialError, by_ratio, is_disk_full};
    use record::copy::Extents;
    use record::zfs::{PoolRecord, PoolState};

    #[test]
    fn a_full_disk_is_found_among_the_causes() {
        let scratch =
            |kind: std::io::ErrorKind| TrialError::Scratch { path: "/s".into(), source: kind.into() };
        assert!(scratch(std::io::ErrorKind::StorageFull).is_cut_off());
        assert!(!scratch(std::io::ErrorKind::PermissionDenied).is_cut_off());
        assert!(is_disk_full(&rustix::io::Errno::NOSPC) && !is_disk_full(&rustix::io::Errno::IO));
    }

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
