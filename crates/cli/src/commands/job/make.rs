//! `diskproof job make`: cuts a run into blocks.

use crate::args::{Cut, Experiment, JobMake};
use crate::commands::{experiment, judged, show};
use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;
use fleet::queue::{self, Descriptor, Submitter};
use record::environment::Environment;
use record::event::Stopped;
use record::id::{RunId, TrialId};
use record::plan::Plan;
use record::printable::Shown as _;
use store::Store;

/// A run that is cut into blocks.
pub(super) struct Made {
    pub(super) run: RunId,
    /// The blocks that lack a trial.
    pub(super) blocks: Vec<Descriptor>,
}

pub(super) fn make(args: &JobMake, settings: &Settings) -> Result<Exit, Failure> {
    let made = new_run(&args.experiment, &args.cut, settings)?;
    let lines = lines(&made.blocks)?;
    match &args.output {
        Some(path) => std::fs::write(path, lines)
            .map_err(|error| Failure::machine(format!("cannot write {}: {error}", path.shown())))?,
        None => output::own(&lines)?,
    }
    output::aside(&format!("run {}: {} to be measured", made.run, counted(made.blocks.len())));
    Ok(Exit::Fine)
}

/// The blocks, one a line.
pub(super) fn lines(blocks: &[Descriptor]) -> Result<String, Failure> {
    let mut text = String::new();
    for block in blocks {
        text.push_str(&block.line()?);
        text.push('\n');
    }
    Ok(text)
}

/// The number of blocks, in words.
pub(super) fn counted(blocks: usize) -> String {
    if blocks == 1 { "1 block".to_owned() } else { format!("{blocks} blocks") }
}

/// Makes a run of an experiment, or finds an earlier run. Its blocks are those that lack a trial.
///
/// # Errors
/// The experiment or the run can't be cut.
pub(super) fn new_or_found(args: &Experiment, cut: &Cut, settings: &Settings) -> Result<Made, Failure> {
    if args.file.exists() || args.on.is_some() {
        return new_run(args, cut, settings);
    }
    let name = args.file.to_string_lossy();
    if [".yaml", ".yml", ".fio"].iter().any(|end| name.ends_with(end)) {
        return Err(Failure::input(format!("there is no experiment file {}", args.file.shown())));
    }
    let store = show::open_existing(settings)?;
    let run = show::find(&store, &name)?;
    if cut.blocks.is_some() {
        return Err(Failure::input(format!(
            "run {run} has its number of blocks: `--blocks` is for a new run"
        )));
    }
    found(&store, run, cut, settings)
}

fn found(store: &Store, run: RunId, cut: &Cut, settings: &Settings) -> Result<Made, Failure> {
    let head = store.head(&run).map_err(judged::unreadable)?;
    if let Stopped::Imported { .. } = head.stopped {
        return Err(Failure::input(format!("run {run} was imported: diskproof can't go on with it")));
    }
    let plan = store.plan_as_made(&run).map_err(judged::unreadable)?;
    let done = store.done(&run).map_err(judged::unreadable)?;
    let to = submitter(cut, settings)?;
    let blocks = queue::blocks(&run, &plan, to.as_ref(), |cell, round| {
        head.plan.skipped.contains_key(&cell.id) || done.contains(&TrialId { cell: cell.id.clone(), round })
    })?;
    Ok(Made { run, blocks })
}

fn new_run(args: &Experiment, cut: &Cut, settings: &Settings) -> Result<Made, Failure> {
    let mut plan = experiment::load(args)?;
    if let Some(blocks) = cut.blocks {
        plan.measure.rounds = blocks;
    }
    let run = experiment::run_id();
    // A run that can't be cut must not be stored.
    check(&run, &plan, cut, settings)?;
    let store = Store::open(&settings.store.value).map_err(judged::unreadable)?;
    let unknown = Environment { diskproof: env!("CARGO_PKG_VERSION").to_owned(), ..Environment::default() };
    store.create_run(&run, &plan, &unknown).map_err(judged::unreadable)?;
    let made = found(&store, run, cut, settings)?;
    let queued = Stopped::Queued { blocks: made.blocks.len() as u64 };
    store.finish_run(&made.run, &queued).map_err(judged::unreadable)?;
    Ok(made)
}

fn check(run: &RunId, plan: &Plan, cut: &Cut, settings: &Settings) -> Result<(), Failure> {
    let to = submitter(cut, settings)?;
    queue::blocks(run, plan, to.as_ref(), |_, round| round > 0)?;
    Ok(())
}

fn submitter(cut: &Cut, settings: &Settings) -> Result<Option<Submitter>, Failure> {
    let Some(ssh) = cut.to.clone() else { return Ok(None) };
    let store = std::path::absolute(&settings.store.value).map_err(Failure::machine)?;
    let store = store.to_str().map(str::to_owned);
    let store = store.ok_or_else(|| Failure::input("with `--to`, the store's path must be UTF-8"))?;
    Ok(Some(Submitter { ssh, program: own_program()?, store }))
}

/// The path of this program.
///
/// # Errors
/// It isn't known, or no UTF-8.
pub(super) fn own_program() -> Result<String, Failure> {
    let program = std::env::current_exe().map_err(Failure::machine)?;
    let program = program.to_str().map(str::to_owned);
    program.ok_or_else(|| Failure::machine("the path of diskproof must be UTF-8"))
}
