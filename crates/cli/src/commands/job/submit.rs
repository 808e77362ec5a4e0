//! `diskproof job submit`: gives blocks to a queue.

use super::make::{Made, counted, lines, new_or_found, own_program};
use crate::args::JobSubmit;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;
use fleet::queue::{self, Nodes, gearman};
use host::LocalRunner;

pub(super) fn submit(args: &JobSubmit, settings: &Settings) -> Result<Exit, Failure> {
    let made = new_or_found(&args.experiment, &args.cut, settings)?;
    if made.blocks.is_empty() {
        output::answer(&format!("run {} lacks no trial: nothing to submit", made.run))?;
        return Ok(Exit::Fine);
    }
    let program = match &args.program {
        Some(program) => program.clone(),
        None => own_program()?,
    };
    let nodes = Nodes { program: &program, results: args.results.as_deref() };
    match &args.engine.gearman {
        Some(server) => to_gearman(args, &made, server),
        None if args.engine.slurm => to_slurm(args, &made, nodes),
        None => {
            output::own(&queue::manifest(&made.run, &made.blocks, nodes)?)?;
            output::aside("this manifest is untested: its first lines say what it lacks");
            Ok(Exit::Fine)
        }
    }
}

fn to_gearman(args: &JobSubmit, made: &Made, server: &str) -> Result<Exit, Failure> {
    if args.dry_run {
        output::own(&lines(&made.blocks)?)?;
        return Ok(Exit::Fine);
    }
    let mut connection = gearman::Connection::open(server)?;
    for block in &made.blocks {
        connection.submit(&block.block, block.line()?.as_bytes())?;
    }
    submitted(made, &format!("{server}, function `{}`", gearman::FUNCTION))
}

fn to_slurm(args: &JobSubmit, made: &Made, nodes: Nodes<'_>) -> Result<Exit, Failure> {
    let has_way = nodes.results.is_some() || made.blocks.iter().all(|block| block.to.is_some());
    if !has_way {
        return Err(Failure::input(
            "say where the results go: `--to DEST`, or `--results DIR` on a shared folder",
        ));
    }
    let script = queue::script(&made.run, &made.blocks, nodes)?;
    if args.dry_run {
        output::own(&script)?;
        return Ok(Exit::Fine);
    }
    let folder = std::env::current_dir().map_err(Failure::machine)?;
    let said = queue::submit(&LocalRunner, &script, &folder)?;
    submitted(made, &format!("Slurm: {said}"))
}

fn submitted(made: &Made, to: &str) -> Result<Exit, Failure> {
    let Made { run, blocks } = made;
    output::answer(&format!("run {run}: {} submitted to {to}", counted(blocks.len())))?;
    output::aside(&format!(
        "its result: diskproof show {run}; what a queue lost, once more: diskproof job submit {run} ..."
    ));
    Ok(Exit::Fine)
}
