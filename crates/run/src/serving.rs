//! The server's end of a file system that other nodes load: builds, exports, samples on request, and takes it down.

use crate::context::{Bench, Steps};
use crate::protocol::{TrialRequest, Turn};
use crate::settle::{SettleError, settle};
use crate::snapshot::{self, Before};
use crate::trial::{blank, is_disk_full};
use observe::{Sampler, Unobservable};
use record::printable::Shown as _;
use record::printable::chain;
use record::trial::{Outcome, TrialRecord, TrialStep};
use record::workload::CacheStart;
use stack::{ActError, Built, Journal, Machine, NfsClient, UndoError, Volumes};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why this node could not do what a node that loads its file system asked for.
#[derive(Debug, Error)]
pub(crate) enum ServingError {
    /// Caches could not be brought to the state in which the load begins.
    #[error(transparent)]
    Settle(#[from] SettleError),
    /// Counters can't be sampled.
    #[error(transparent)]
    Sample(#[from] Unobservable),
    /// The disk usage of files on a ZFS pool can't be brought up to date.
    #[error(transparent)]
    Pool(#[from] ActError),
    #[error("{} is not below what is exported", .0.shown())]
    Outside(PathBuf),
}

/// The folder of a client among several, by its place: each mounts a folder of its own in the export.
pub(crate) fn folder(place: usize) -> String {
    format!("client-{}", place + 1)
}

/// A stack that is up for other nodes.
pub(crate) struct Serving {
    request: TrialRequest,
    built: Built,
    directory: PathBuf,
    /// This node's data, in the form of a trial's record.
    record: TrialRecord,
    /// Set while the other node measures.
    watching: Option<(Sampler, Before)>,
}

impl Serving {
    /// Builds the stack and exports it. If several clients load it together, each gets a folder.
    ///
    /// # Errors
    /// The record of the failed trial.
    pub(crate) fn begin(
        machine: &Machine<'_>,
        journal: &mut Journal,
        volumes: &Volumes,
        bench: &Bench<'_>,
        request: TrialRequest,
        clients: &[NfsClient],
    ) -> Result<Self, Box<TrialRecord>> {
        let mut record = blank(&request);
        let mut steps = Steps { bench, cell: &request.cell.id, times: Vec::new() };
        let asked = &request.cell.stack;
        let built = steps
            .time(TrialStep::Build, || stack::serve(machine, journal, volumes, asked, clients, bench.cancel));
        record.steps = steps.times;
        let failed =
            |record: TrialRecord, why| Box::new(TrialRecord { outcome: Outcome::Failed(why), ..record });
        let built = match built {
            Ok(built) => {
                bench.tell_changes(journal);
                built
            }
            Err(error) => {
                record.refused = error.is_refusal();
                record.cut_off = is_disk_full(&error);
                return Err(failed(record, chain(&error)));
            }
        };
        let exported = built.nfs.as_ref().and_then(|nfs| nfs.directory.clone());
        let ready = exported.ok_or_else(|| "nothing was exported".to_owned()).and_then(|directory| {
            let folders = if request.cell.is_together() { clients.len() } else { 0 };
            make_folders(&directory, folders).map_err(|(full, why)| {
                record.cut_off = full;
                why
            })?;
            Ok(directory)
        });
        let directory = match ready {
            Ok(directory) => directory,
            Err(why) => {
                return Err(match built.undo(machine, journal) {
                    Ok(()) => failed(record, why),
                    Err(undo) => {
                        failed(record, format!("{why}; and taking it down failed: {}", chain(&undo)))
                    }
                });
            }
        };
        record.built.clone_from(&built.argv);
        record.settings.clone_from(&built.settings);
        record.topology = snapshot::topology(&built);
        Ok(Self { request, built, directory, record, watching: None })
    }

    /// The exported directory.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Does what the other node asks for.
    pub(crate) fn turn(
        &mut self,
        machine: &Machine<'_>,
        journal: &mut Journal,
        turn: &Turn,
    ) -> Result<(), ServingError> {
        match turn {
            Turn::Clock => Ok(()),
            Turn::Settle { files, cache } => {
                // For a warm cache the other node has already read the files, through this one's memory.
                let cache = if *cache == CacheStart::Cold { CacheStart::Cold } else { CacheStart::Keep };
                settle(machine, journal, &self.built, &self.stored(files)?, cache)?;
                Ok(())
            }
            Turn::Begin { files } => {
                let stored = self.stored(files)?;
                let before = Before::look(machine, &self.built, stored, &mut self.record);
                let config =
                    snapshot::config(machine, &self.built, &self.request, &self.record.topology, None);
                let sampler = Sampler::start(&config)?;
                self.watching = Some((sampler, before));
                Ok(())
            }
            Turn::End => Ok(self.look_again(machine)?),
        }
    }

    fn look_again(&mut self, machine: &Machine<'_>) -> Result<(), ActError> {
        let Some((sampler, before)) = self.watching.take() else { return Ok(()) };
        self.record.evidence = sampler.stop();
        before.look_again(machine, &self.built, &mut self.record)
    }

    /// The paths of the data files here. Refuses any path outside the export.
    fn stored(&self, files: &[PathBuf]) -> Result<Vec<PathBuf>, ServingError> {
        let plain =
            |file: &Path| file.components().all(|part| matches!(part, std::path::Component::Normal(_)));
        match files.iter().find(|file| !plain(file)) {
            Some(file) => Err(ServingError::Outside(file.clone())),
            None => Ok(files.iter().map(|file| self.directory.join(file)).collect()),
        }
    }

    /// Takes the export and its stack down.
    ///
    /// # Errors
    /// When it can't be taken down: then no further trial may run.
    pub(crate) fn end(
        mut self,
        machine: &Machine<'_>,
        journal: &mut Journal,
        bench: &Bench<'_>,
    ) -> Result<TrialRecord, UndoError> {
        if let Err(error) = self.look_again(machine) {
            self.record.outcome = Outcome::Failed(chain(&error));
        }
        let Self { request, built, mut record, .. } = self;
        let mut steps = Steps { bench, cell: &request.cell.id, times: std::mem::take(&mut record.steps) };
        steps.time(TrialStep::Undo, || built.undo(machine, journal))?;
        record.steps = steps.times;
        bench.tell_changes(journal);
        Ok(record)
    }
}

/// Makes the folders of several clients. They are data in the file system under test, and go with it.
///
/// # Errors
/// Whether the disk is full, and what happened.
fn make_folders(directory: &Path, clients: usize) -> Result<(), (bool, String)> {
    (0..clients).map(|place| directory.join(folder(place))).try_for_each(|path| {
        let made = std::fs::DirBuilder::new().mode(0o700).create(&path);
        made.map_err(|error| (is_disk_full(&error), format!("can't make {}: {error}", path.shown())))
    })
}
