//! Reads the trials of a run in part: for what needs few counters of many samples.

use crate::error::StoreError;
use crate::open::Store;
use crate::pack;
use crate::read::{Stored, readable};
use record::id::{CellId, RunId};
use record::trial::TrialRecord;
use serde::de::DeserializeOwned;
use std::num::NonZero;
use std::path::Path;

/// Number of trials that are unpacked together, and so are in memory at a time.
const TOGETHER: usize = 64;

impl Store {
    /// Passes the trials of a run to `each` in the order of measurement, as `reduce` makes them: from a record without samples and without
    /// the engine's raw output, and from its samples, of which only what `S` has is read. All processors unpack them.
    ///
    /// # Errors
    /// If there is no such run, or a trial can't be read; `each` has then received trials before it.
    pub fn reduced<S: DeserializeOwned, T: Send>(
        &self,
        run: &RunId,
        reduce: impl Fn(TrialRecord, Vec<S>) -> T + Sync,
        mut each: impl FnMut(T),
    ) -> Result<(), StoreError> {
        self.batches(run, i64::try_from(TOGETHER).unwrap_or(i64::MAX), |batch| {
            self.reduce(run, &batch, &reduce)?.into_iter().for_each(&mut each);
            Ok(())
        })
    }

    /// The same for some cells only: the trials of one cell after those of the other, each cell's in the order of measurement.
    ///
    /// # Errors
    /// As [`Store::reduced`].
    pub fn reduced_cells<S: DeserializeOwned, T: Send>(
        &self,
        run: &RunId,
        cells: &[CellId],
        reduce: impl Fn(TrialRecord, Vec<S>) -> T + Sync,
        mut each: impl FnMut(T),
    ) -> Result<(), StoreError> {
        let mut batch = Vec::new();
        let mut pass = |batch: &mut Vec<Stored>| -> Result<(), StoreError> {
            self.reduce(run, &std::mem::take(batch), &reduce)?.into_iter().for_each(&mut each);
            Ok(())
        };
        for cell in cells {
            self.of_cell(run, cell, |stored| {
                batch.push(stored);
                if batch.len() < TOGETHER { Ok(()) } else { pass(&mut batch) }
            })?;
        }
        pass(&mut batch)
    }

    /// Unpacks trials on all processors.
    fn reduce<S: DeserializeOwned, T: Send>(
        &self,
        run: &RunId,
        batch: &[Stored],
        reduce: &(impl Fn(TrialRecord, Vec<S>) -> T + Sync),
    ) -> Result<Vec<T>, StoreError> {
        let path = self.path.as_path();
        let workers = std::thread::available_parallelism().map_or(1, NonZero::get);
        let one =
            |stored: &Stored| unpacked(stored, run, path).map(|(trial, samples)| reduce(trial, samples));
        let some = |part: &[Stored]| part.iter().map(one).collect::<Result<Vec<T>, StoreError>>();
        let share = batch.len().div_ceil(workers).max(1);
        let parts = std::thread::scope(|scope| {
            let workers: Vec<_> = batch.chunks(share).map(|part| scope.spawn(move || some(part))).collect();
            let joined = workers.into_iter().map(|worker| worker.join());
            joined.collect::<Result<Vec<_>, _>>()
        });
        // A panic of a worker is this thread's.
        let parts = parts.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        parts.into_iter().collect::<Result<Vec<_>, _>>().map(|parts| parts.into_iter().flatten().collect())
    }
}

fn unpacked<S: DeserializeOwned>(
    stored: &Stored,
    run: &RunId,
    path: &Path,
) -> Result<(TrialRecord, Vec<S>), StoreError> {
    let what = || format!("trial {} of run {run}", stored.seq);
    readable(stored.format, what)?;
    let both = || Ok((pack::unpack(&stored.record)?, pack::unpack(&stored.samples)?));
    both().map_err(|source| StoreError::Damaged { what: what(), path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use crate::sample::{environment, plan, run_id, trial};
    use crate::{Store, StoreError};
    use record::counter::Sample;
    use serde::Deserialize;

    /// A part of a sample.
    #[derive(Deserialize)]
    struct When {
        monotonic_ns: u64,
    }

    #[test]
    fn all_trials_come_in_their_order_with_the_parts_that_are_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("s.db")).unwrap();
        let run = run_id("r");
        // More than are unpacked together.
        store.create_run(&run, &plan(3, 50), &environment("6.1")).unwrap();
        for round in 0..50 {
            (0..3).for_each(|cell| store.append_trial(&run, &trial(cell, round)).unwrap());
        }
        let mut expected = store.load(&run).unwrap().trials;
        let mut whole = Vec::new();
        let put_back = |mut trial: record::trial::TrialRecord, samples: Vec<Sample>| {
            trial.evidence.samples = samples;
            trial
        };
        store.reduced(&run, put_back, |trial| whole.push(trial)).unwrap();
        for engine in expected.iter_mut().filter_map(|trial| trial.engine.as_mut()) {
            engine.raw.clear();
        }
        assert_eq!(whole, expected);
        let mut times = Vec::new();
        let when = |_, samples: Vec<When>| samples.first().map(|sample| sample.monotonic_ns);
        store.reduced(&run, when, |first| times.push(first)).unwrap();
        let all: Vec<Option<u64>> =
            expected.iter().map(|trial| trial.evidence.samples.first().map(|s| s.monotonic_ns)).collect();
        assert_eq!(times, all);
        let by_cell = |at: u32| trial(at, 0).id.cell;
        let cells = [by_cell(2), by_cell(0)];
        let mut some = Vec::new();
        store.reduced_cells(&run, &cells, put_back, |trial| some.push(trial)).unwrap();
        let of = |cell| expected.iter().filter(move |trial| trial.id.cell == cell).cloned();
        assert_eq!(some, cells.into_iter().flat_map(of).collect::<Vec<_>>());
        let unknown = store.reduced(&run_id("no"), |_, _: Vec<When>| (), |()| ());
        assert!(matches!(unknown, Err(StoreError::NoSuchRun { .. })), "{unknown:?}");
    }
}
