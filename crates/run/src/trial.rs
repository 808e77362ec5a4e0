//! One trial: build, prepare, settle, measure, undo.

use crate::blame::chain;
use crate::node::{Failure, engine_for};
use crate::protocol::TrialRequest;
use crate::standing::{Standing, Up};
use device::Place;
use engine::Job;
use observe::{Config, Exclusive, Sampler, Subjects};
use record::copy::Extents;
use record::counter::Evidence;
use record::extents::{FileExtents, Residency};
use record::id::CellId;
use record::plan::Cell;
use record::stack::{Layer, Rebuild, Stack};
use record::topology::{BlockKind, BlockNode, Topology};
use record::trial::{EngineOutput, Outcome, StepTime, TrialRecord};
use record::version::FormatVersion;
use record::workload::CacheStart;
use record::zfs::PoolRecord;
use stack::{Built, Journal, Machine, Volumes};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Is told the cell (if there is one), the step, and the share of it that is done (if known).
pub(crate) type Teller<'a> = Box<dyn Fn(Option<&CellId>, &str, Option<f64>) + 'a>;

/// What every trial of a node shares.
pub(crate) struct Bench<'a> {
    /// Where engines may keep their own small files.
    pub(crate) scratch: PathBuf,
    /// Ends what is under way.
    pub(crate) cancel: &'a AtomicBool,
    /// Tells what is being done.
    pub(crate) step: Teller<'a>,
}

/// Performs one trial. A trial that fails is a record too; only a failed undo is an error, since then nothing may follow.
pub(crate) fn perform(
    machine: &Machine<'_>,
    journal: &mut Journal,
    volumes: &Volumes,
    bench: &Bench<'_>,
    standing: &mut Standing,
    request: &TrialRequest,
) -> Result<TrialRecord, Failure> {
    let mut record = blank(request);
    let mut steps = Steps { bench, cell: &request.cell.id, times: Vec::new() };
    let asked = &request.cell.stack;
    let stays = asked.rebuild == Rebuild::Run;
    let up = match standing.take(asked) {
        Some(up) => Ok(up),
        None => steps
            .time("build", || stack::build_unless(machine, journal, volumes, asked, bench.cancel))
            .map(|built| Up::new(asked, built)),
    };
    match up {
        Ok(mut up) => {
            record.trials_before = stays.then_some(up.trials);
            record.built.clone_from(&up.built.argv);
            record.settings.clone_from(&up.built.settings);
            if let Err(reason) = measure(machine, journal, volumes, &mut up, request, &mut steps, &mut record)
            {
                record.outcome = Outcome::Failed(reason);
            }
            if stays && record.outcome == Outcome::Measured {
                up.trials += 1;
                standing.keep(up);
            } else {
                // After a failure nobody knows what state it is in: the next trial builds it anew.
                standing.forget_above(&up);
                steps.time("undo", || up.built.undo(machine, journal)).map_err(|e| Failure::ours(&e))?;
            }
        }
        Err(error) => record.outcome = Outcome::Failed(chain(&error)),
    }
    record.steps = steps.times;
    Ok(record)
}

fn blank(request: &TrialRequest) -> TrialRecord {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    TrialRecord {
        backing_before: Vec::new(),
        backing_after: Vec::new(),
        server_before: Vec::new(),
        server_after: Vec::new(),
        format: FormatVersion::RECORD,
        id: request.id.clone(),
        seed: request.seed,
        started_unix_ms: u64::try_from(now.as_millis()).unwrap_or(u64::MAX),
        outcome: Outcome::Measured,
        steps: Vec::new(),
        built: Vec::new(),
        settings: Vec::new(),
        pool: None,
        caches: Vec::new(),
        trials_before: None,
        topology: Topology::default(),
        files_before: Vec::new(),
        files_after: Vec::new(),
        cache_before: Vec::new(),
        cache_after: Vec::new(),
        engine: None,
        evidence: Evidence::default(),
    }
}

struct Steps<'a> {
    bench: &'a Bench<'a>,
    cell: &'a CellId,
    times: Vec<StepTime>,
}

impl Steps<'_> {
    fn time<T>(&mut self, step: &str, act: impl FnOnce() -> T) -> T {
        (self.bench.step)(Some(self.cell), step, None);
        let begun = Instant::now();
        let result = act();
        self.times.push(StepTime { step: step.to_owned(), seconds: begun.elapsed().as_secs_f64() });
        result
    }
}

/// Everything between build and undo. The error is the reason in words.
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
    let roots = observe::Roots::default();
    record.topology = match &built.nfs {
        Some(nfs) => observe::topology_exported(&roots, &direct(built), &nfs.directory, &nfs.target),
        None => observe::topology(&roots, &direct(built), directory(built)),
    };
    let watched = record.topology.nodes.iter().map(|n| n.name.clone()).collect();
    let cgroup = throttle.as_ref().and_then(|t| t.cgroup_procs.parent().map(PathBuf::from));
    let config = Config {
        hz: request.measure.sample_hz,
        subjects: Subjects {
            devices: watched,
            cgroup,
            exclusive: exclusive(built, &request.cell.stack),
            network: observe::networked(&roots, &record.topology),
            arc: built.pool.is_some(),
            nfs: built.nfs.as_ref().map(|nfs| nfs.target.clone()),
        },
        roots,
        engine_pid: None,
        servers: built.pool.iter().filter_map(|pool| pool.process(machine)).collect(),
    };
    std::fs::create_dir_all(&bench.scratch)
        .map_err(|e| format!("can't make {}: {e}", bench.scratch.display()))?;
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
            (files, first_cache(&request.cell))
        }
    };
    steps.time("settle", || settle(machine, journal, built, &files, cache))?;
    let stored = at_server(built, &files);
    let served = if built.nfs.is_some() { stored.as_slice() } else { &[] };
    let pool_before = built.pool.as_ref().map(|pool| pool.state(machine)).unwrap_or_default();
    record.files_before = extents(&stored);
    record.cache_before = residency(&files);
    record.server_before = residency(served);
    let backing = backing_files(&record.topology);
    record.backing_before = residency(&backing);
    let caches_before: Vec<_> = built.caches.iter().map(|cache| cache.state(machine)).collect();

    let sampler = Sampler::start(&config).map_err(|e| chain(&e))?;
    let output: Result<EngineOutput, _> = steps.time("measure", || {
        let started = |pid: u32| sampler.engine_pid(pid);
        engine.run(&Job { started: &started, ..prepare })
    });
    record.evidence = sampler.stop();
    record.caches =
        built.caches.iter().zip(caches_before).map(|(cache, before)| cache.record(machine, before)).collect();
    record.backing_after = residency(&backing);
    record.cache_after = residency(&files);
    record.server_after = residency(served);
    if let Some(pool) = &built.pool {
        // what files take is known once it is on the devices
        pool.settle(machine, false).map_err(|e| chain(&e))?;
        record.pool = Some(PoolRecord {
            implementation: pool.implementation.clone(),
            guid: pool.guid.clone(),
            before: pool_before,
            after: pool.state(machine),
        });
    }
    record.files_after = extents(&stored);
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
    Ok(())
}

/// What caches hold when the trial begins that laid the data out. A stack that stays up keeps what its trials leave, and
/// begins without what was laid out: that would be cached by no doing of the load.
fn first_cache(cell: &Cell) -> CacheStart {
    match cell.workload.cache {
        CacheStart::Keep if cell.stack.rebuild == Rebuild::Run => CacheStart::Cold,
        asked => asked,
    }
}

/// What a copy takes on ZFS, whose files don't tell: by the ratio of its dataset, which holds nothing else.
fn by_ratio(logical_bytes: u64, pool: &PoolRecord) -> Option<Extents> {
    let percent = pool.after.compress_ratio_percent.filter(|percent| *percent > 0)?;
    let disk_bytes = u128::from(logical_bytes) * 100 / u128::from(percent);
    Some(Extents { uncompressed_bytes: logical_bytes, disk_bytes: u64::try_from(disk_bytes).ok()? })
}

/// Where nobody but the engine should be: nothing in a lent directory, where others are at home.
fn exclusive(built: &Built, stack: &Stack) -> Option<Exclusive> {
    let devices = built.ground.devices();
    if devices.is_empty() {
        return None;
    }
    // What the user's own programs built may be served by a process that has the devices open: that one belongs there.
    let served = stack.layers.iter().any(|layer| matches!(layer, Layer::Command(_) | Layer::Zfs(_)));
    let mut held = if served { Vec::new() } else { devices.to_vec() };
    if let Place::Block(path) = built.ground.place() {
        held.push(path.clone());
    }
    held.sort();
    held.dedup();
    Some(Exclusive { directory: directory(built).map(Path::to_path_buf), devices: held })
}

/// The devices the ground uses directly: the block device that is loaded, else those of the mount and the volumes.
fn direct(built: &Built) -> Vec<PathBuf> {
    match built.ground.place() {
        Place::Block(path) => vec![path.clone()],
        Place::Directory(_) => built.ground.devices().to_vec(),
    }
}

fn directory(built: &Built) -> Option<&Path> {
    match built.ground.place() {
        Place::Directory(path) => Some(path),
        Place::Block(_) => None,
    }
}

/// Files behind loop devices under the ground, none twice.
fn backing_files(topology: &Topology) -> Vec<PathBuf> {
    let file = |node: &BlockNode| match &node.kind {
        BlockKind::Loop { backing_file, .. } => backing_file.clone(),
        _ => None,
    };
    let mut files: Vec<PathBuf> = topology.nodes.iter().filter_map(file).collect();
    files.sort();
    files.dedup();
    files
}

/// Brings the page cache to the state the workload asks for.
fn settle(
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
        // a pool that NFS exports can't be exported itself, as ZFS calls what empties its cache
        (Some(pool), Some(nfs)) if cold => {
            nfs.while_down(machine, journal, || pool.settle(machine, cold)).map_err(|e| chain(&e))
        }
        (Some(pool), _) => pool.settle(machine, cold).map_err(|e| chain(&e)),
        (None, _) => Ok(()),
    }
}

/// The data files by the paths under which they can be looked into: those of the server, where they are mounted from it.
fn at_server(built: &Built, files: &[PathBuf]) -> Vec<PathBuf> {
    let at = |file: &PathBuf| built.nfs.as_ref()?.at_server(file);
    files.iter().map(|file| at(file).unwrap_or_else(|| file.clone())).collect()
}

/// All files or none: a partial list would be taken for the whole.
fn extents(files: &[PathBuf]) -> Vec<FileExtents> {
    files.iter().map(|f| device::extents::of_file(f)).collect::<Result<_, _>>().unwrap_or_default()
}

/// All files or none, likewise.
fn residency(files: &[PathBuf]) -> Vec<Residency> {
    files.iter().map(|f| device::extents::residency(f)).collect::<Result<_, _>>().unwrap_or_default()
}
