//! Puts results of blocks into the store: only trials of runs that were made here, and each of them once.

use fleet::queue::{Accepted, Answer, Begin, Line, Packed};
use record::environment::Environment;
use record::event::Stopped;
use record::id::{RunId, TrialId};
use record::plan::Plan;
use record::printable::chain;
use record::trial::TrialRecord;
use record::volume::VolumeFacts;
use run::controller::targets_of;
use store::{Store, StoreError};

/// Takes the lines of one sender.
pub(super) struct Taker<'a> {
    store: &'a Store,
    current: Option<Current>,
}

/// The block that the lines belong to.
struct Current {
    begin: Begin,
    plan: Plan,
}

/// Refuses a line that this machine may take another time, or from another sender.
fn not_now(reason: String) -> Answer {
    Answer::Refused { reason, everywhere: false }
}

/// Refuses a block whoever does it.
fn never(reason: String) -> Answer {
    Answer::Refused { reason, everywhere: true }
}

impl<'a> Taker<'a> {
    pub(super) fn new(store: &'a Store) -> Self {
        Self { store, current: None }
    }

    /// The run that the lines belong to.
    pub(super) fn run(&self) -> Option<&RunId> {
        self.current.as_ref().map(|current| &current.begin.run)
    }

    /// Takes a line, and answers it when what is in it is stored.
    pub(super) fn take(&mut self, line: Line) -> Answer {
        let taken = match (line, &self.current) {
            (Line::Begin(begin), _) => return self.begin(begin).unwrap_or_else(|refusal| refusal),
            (_, None) => Err("a block must begin first".to_owned()),
            (Line::Machine { environment }, Some(current)) => self.machine(current, *environment),
            (Line::Volumes { volumes }, Some(current)) => self.volumes(current, volumes),
            (Line::Trial { record }, Some(current)) => self.trial(current, &record),
        };
        taken.unwrap_or_else(not_now)
    }

    /// Begins a block, or refuses it.
    fn begin(&mut self, begin: Begin) -> Result<Answer, Answer> {
        self.current = None;
        if !begin.is_readable() {
            return Err(not_now(format!(
                "the results have format {}: use the same version on both machines",
                begin.format
            )));
        }
        let plan = self.store.plan_as_made(&begin.run).map_err(|error| match error {
            StoreError::NoSuchRun { .. } => {
                never(format!("{}; results go to the store in which the run was made", chain(&error)))
            }
            error => not_now(chain(&error)),
        })?;
        let packed = Packed::of(&plan).map_err(|error| not_now(chain(&error)))?;
        if packed.digest != begin.plan_digest {
            return Err(never(format!(
                "run {} has another plan here: its digest is {}, and that of the block is {}",
                begin.run, packed.digest, begin.plan_digest
            )));
        }
        let done = self.store.done(&begin.run).map_err(|error| not_now(chain(&error)))?;
        let of_block = |id: &TrialId| {
            let is_here = plan.cells.iter().any(|cell| cell.id == id.cell && cell.target == begin.target);
            id.round == begin.round && is_here
        };
        let accepted = Accepted {
            done: done.into_iter().filter(of_block).map(|id| id.cell).collect(),
            plan: begin.wants_plan.then_some(packed.text),
        };
        self.current = Some(Current { begin, plan });
        Ok(Answer::Accepted(accepted))
    }

    /// Stores the machine if none of its target is stored yet. Each trial names the machine of its block besides.
    fn machine(&self, current: &Current, environment: Environment) -> Result<Answer, String> {
        let run = &current.begin.run;
        let stored = self.store.head(run).map_err(|error| chain(&error))?.environment;
        let is_first = targets_of(&current.plan).first() == Some(&current.begin.target.as_str());
        let changed = match is_first {
            true if stored.kernel.is_none() || stored.boot_id == environment.boot_id => {
                Environment { elsewhere: stored.elsewhere, ..environment }
            }
            false if !stored.elsewhere.contains_key(&current.begin.target) => {
                let mut changed = stored;
                changed.elsewhere.insert(current.begin.target.clone(), environment);
                changed
            }
            _ => return Ok(Answer::Kept),
        };
        self.store.set_environment(run, &changed).map_err(|error| chain(&error))?;
        Ok(Answer::Kept)
    }

    /// Stores the volumes if none of their target are stored yet.
    fn volumes(&self, current: &Current, volumes: Vec<VolumeFacts>) -> Result<Answer, String> {
        let run = &current.begin.run;
        let mut stored = self.store.head(run).map_err(|error| chain(&error))?.volumes;
        if stored.iter().any(|volume| volume.target == current.begin.target) {
            return Ok(Answer::Kept);
        }
        stored.extend(volumes);
        self.store.set_volumes(run, &stored).map_err(|error| chain(&error))?;
        Ok(Answer::Kept)
    }

    fn trial(&self, current: &Current, record: &TrialRecord) -> Result<Answer, String> {
        let Current { begin, plan } = current;
        let id = &record.id;
        let is_of_block = plan.cells.iter().any(|cell| cell.id == id.cell && cell.target == begin.target);
        let block = record.block.as_ref().map(|block| block.id.as_str());
        if !is_of_block
            || id.round != begin.round
            || record.seed != spec::trial_seed(plan, id)
            || block != Some(begin.block.as_str())
        {
            return Err(format!(
                "the trial of cell {} in round {} is not one of block {}",
                id.cell, id.round, begin.block
            ));
        }
        match self.store.append_trial(&begin.run, record) {
            Ok(()) => {}
            Err(StoreError::DuplicateTrial { .. }) => return Ok(Answer::Duplicate),
            Err(error) => return Err(chain(&error)),
        }
        let rounds = plan.measure.rounds;
        let done = self.store.done(&begin.run).map_err(|error| chain(&error))?.len();
        if done == plan.cells.len() * rounds as usize {
            let finished = self.store.finish_run(&begin.run, &Stopped::RoundsDone { rounds });
            finished.map_err(|error| chain(&error))?;
        }
        Ok(Answer::Kept)
    }
}

#[cfg(test)]
mod tests {
    use super::Taker;
    use fleet::queue::{Answer, Begin, Descriptor, Line, blocks};
    use record::block::Block;
    use record::environment::Environment;
    use record::event::Stopped;
    use record::id::{RunId, TrialId};
    use record::plan::Plan;
    use record::trial::{Outcome, TrialRecord};
    use std::path::Path;
    use store::Store;

    fn plan(rounds: u32) -> Plan {
        let text = format!(
            "experiment: demo\nvolumes: {{ vol: {{ emulate: {{ size: 1g }} }} }}\nstacks: {{ raw: {{ on: vol }} }}\n\
             workloads:\n  read: {{ rw: read, size: 64m }}\n  write: {{ rw: write, size: 64m }}\nmeasure: {{ rounds: {rounds} }}\n"
        );
        spec::parse(&text, "demo.yaml", Path::new("/"), &Default::default()).unwrap().plan
    }

    struct Scene {
        _dir: tempfile::TempDir,
        store: Store,
        run: RunId,
        plan: Plan,
        blocks: Vec<Descriptor>,
    }

    fn scene(rounds: u32) -> Scene {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("r.db")).unwrap();
        let (run, plan) = (RunId("20261126-131500-3f9a".to_owned()), plan(rounds));
        store.create_run(&run, &plan, &Environment::default()).unwrap();
        let blocks = blocks(&run, &store.plan_as_made(&run).unwrap(), None, |_, _| false).unwrap();
        Scene { _dir: dir, store, run, plan, blocks }
    }

    fn trial(scene: &Scene, place: usize, block: &Descriptor) -> Line {
        let id = TrialId { cell: scene.plan.cells[place].id.clone(), round: block.round };
        let seed = spec::trial_seed(&scene.plan, &id);
        let mut record = TrialRecord::new(id, seed, 1, Outcome::Measured);
        record.block = Some(Block { id: block.block.clone(), ..Block::default() });
        Line::Trial { record: Box::new(record) }
    }

    fn reason(answer: Answer) -> String {
        match answer {
            Answer::Refused { reason, .. } => reason,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_block_that_is_done_twice_is_stored_once_and_the_last_trial_ends_the_run() {
        let scene = scene(1);
        let block = &scene.blocks[0];
        let (mut one, mut two) = (Taker::new(&scene.store), Taker::new(&scene.store));
        for taker in [&mut one, &mut two] {
            assert!(
                matches!(taker.take(Line::Begin(Begin::of(block))), Answer::Accepted(a) if a.done.is_empty())
            );
        }
        assert_eq!(one.take(trial(&scene, 0, block)), Answer::Kept);
        assert_eq!(two.take(trial(&scene, 0, block)), Answer::Duplicate);
        assert_eq!(scene.store.head(&scene.run).unwrap().stopped, Stopped::Unfinished);
        assert_eq!(two.take(trial(&scene, 1, block)), Answer::Kept);
        assert_eq!(one.take(trial(&scene, 1, block)), Answer::Duplicate);
        assert_eq!(scene.store.done(&scene.run).unwrap().len(), 2);
        assert_eq!(scene.store.head(&scene.run).unwrap().stopped, Stopped::RoundsDone { rounds: 1 });
        let Answer::Accepted(accepted) = one.take(Line::Begin(Begin::of(block))) else { panic!() };
        assert_eq!(accepted.done.len(), 2, "who comes later needs to measure nothing");
    }

    #[test]
    fn what_is_not_of_a_run_that_was_made_here_is_refused() {
        let scene = scene(2);
        let (first, second) = (&scene.blocks[0], &scene.blocks[1]);
        let mut taker = Taker::new(&scene.store);
        assert!(reason(taker.take(trial(&scene, 0, first))).contains("must begin first"));
        let begin = Begin::of(first);
        let elsewhere = Begin { run: RunId("other".to_owned()), ..begin.clone() };
        let refused = taker.take(Line::Begin(elsewhere));
        assert!(
            matches!(refused, Answer::Refused { everywhere: true, .. }),
            "no worker can do it: {refused:?}"
        );
        assert!(reason(refused).contains("there is no run"));
        let changed = Begin { plan_digest: "0".to_owned(), ..begin.clone() };
        assert!(reason(taker.take(Line::Begin(changed))).contains("another plan"));
        let newer = Begin { format: "diskproof.results/9.0".to_owned(), ..begin.clone() };
        let refused = taker.take(Line::Begin(newer));
        assert!(
            matches!(refused, Answer::Refused { everywhere: false, .. }),
            "another worker can: {refused:?}"
        );
        assert!(reason(refused).contains("same version"));
        taker.take(Line::Begin(begin));
        assert!(reason(taker.take(trial(&scene, 0, second))).contains("is not one of block"));
        let Line::Trial { mut record } = trial(&scene, 0, first) else { panic!() };
        record.seed ^= 1;
        assert!(reason(taker.take(Line::Trial { record })).contains("is not one of block"));
        assert!(scene.store.done(&scene.run).unwrap().is_empty());
    }

    #[test]
    fn the_first_machine_is_that_of_the_run_and_the_plan_is_given_to_who_lacks_it() {
        let scene = scene(2);
        let begin = Begin { wants_plan: true, ..Begin::of(&scene.blocks[0]) };
        let mut taker = Taker::new(&scene.store);
        let Answer::Accepted(accepted) = taker.take(Line::Begin(begin)) else { panic!() };
        assert_eq!(accepted.plan, scene.blocks[0].plan);
        for kernel in ["6.1", "6.2"] {
            let environment = Environment {
                kernel: Some(kernel.to_owned()),
                boot_id: Some(kernel.to_owned()),
                ..Environment::default()
            };
            assert_eq!(taker.take(Line::Machine { environment: Box::new(environment) }), Answer::Kept);
        }
        assert_eq!(scene.store.head(&scene.run).unwrap().environment.kernel.as_deref(), Some("6.1"));
    }
}
