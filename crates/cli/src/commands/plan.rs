//! `diskproof plan FILE`: what a run would do. Changes nothing.

use super::experiment;
use crate::args::PlanArgs;
use crate::exit::{Exit, Failure};
use crate::output;
use record::plan::Plan;
use record::quantity::{Bytes, Seconds};
use record::volume::{Volume, VolumeKind};
use spec::Forecast;
use std::fmt::Write as _;

/// No more cells than this are listed; their number always is.
const MAX_CELLS: usize = 60;

pub(crate) fn plan(args: &PlanArgs) -> Result<Exit, Failure> {
    let plan = experiment::load(&args.experiment)?;
    let forecast = spec::forecast(&plan);
    if args.json {
        let document = serde_json::json!({"plan": plan, "forecast": forecast, "order": orders(&plan)});
        let text = serde_json::to_string_pretty(&document).map_err(Failure::ours)?;
        output::answer(&text)?;
    } else {
        output::answer(&text(&plan, &forecast))?;
    }
    Ok(Exit::Fine)
}

/// For every round, the indices of the cells in the order they would be measured.
fn orders(plan: &Plan) -> Vec<Vec<usize>> {
    (0..plan.measure.rounds).map(|round| spec::order(plan, round)).collect()
}

fn text(plan: &Plan, forecast: &Forecast) -> String {
    let mut text = format!("experiment {}\n", plan.experiment);
    if let Some(question) = &plan.question {
        let _ = writeln!(text, "  {question}");
    }
    for (name, value) in &plan.parameters {
        let _ = writeln!(text, "  {name} = {value}");
    }
    text.push_str("\nvolumes\n");
    for volume in run::controller::volumes_of(plan) {
        let _ = writeln!(text, "  {}", describe(&volume));
    }
    let _ = writeln!(text, "\ncells ({}), numbered; each round measures all of them in its own order", plan.cells.len());
    let rows: Vec<[String; 3]> = plan
        .cells
        .iter()
        .enumerate()
        .take(MAX_CELLS)
        .map(|(index, cell)| [format!("  {}", index + 1), cell.stack.name.clone(), cell.workload.name.clone()])
        .collect();
    text.push_str(&output::columns(&rows));
    if plan.cells.len() > MAX_CELLS {
        let _ = writeln!(text, "  ... and {} more (--json lists all)", plan.cells.len() - MAX_CELLS);
    }
    order(&mut text, plan);
    totals(&mut text, plan, forecast);
    text
}

fn order(text: &mut String, plan: &Plan) {
    if plan.cells.len() > MAX_CELLS {
        return;
    }
    let _ = writeln!(text, "\norder (seed {})", plan.seed);
    for (round, order) in orders(plan).into_iter().enumerate().take(10) {
        let numbers: Vec<String> = order.iter().map(|index| (index + 1).to_string()).collect();
        let _ = writeln!(text, "  round {}: {}", round + 1, numbers.join(" "));
    }
}

fn totals(text: &mut String, plan: &Plan, forecast: &Forecast) {
    let measure = &plan.measure;
    let _ = writeln!(
        text,
        "\nforecast\n  {} trials: {} cells x {} rounds, each {} measured after {} of ramp",
        forecast.trials,
        plan.cells.len(),
        measure.rounds,
        Seconds(measure.trial_seconds),
        Seconds(measure.ramp_seconds)
    );
    let _ = writeln!(text, "  about {}", Seconds(forecast.seconds));
    if let Some(max) = measure.max_seconds {
        let _ = writeln!(text, "  at most {}: the budget", Seconds(max));
    }
    let _ = writeln!(text, "  about {} written", Bytes(forecast.bytes_written));
    let _ = writeln!(text, "  {} of space", Bytes(forecast.space_bytes));
    let root = if forecast.needs_root { "root, or sudo without a password" } else { "no root" };
    let _ = writeln!(text, "  needs {root}");
}

fn describe(volume: &Volume) -> String {
    match &volume.kind {
        VolumeKind::Emulate { size_bytes, limits } => {
            let all = [
                ("read IOPS", limits.read_iops.map(|n| n.to_string())),
                ("write IOPS", limits.write_iops.map(|n| n.to_string())),
                ("read", limits.read_bps.map(|n| format!("{}/s", Bytes(n)))),
                ("write", limits.write_bps.map(|n| format!("{}/s", Bytes(n)))),
            ];
            let limits: Vec<String> =
                all.into_iter().filter_map(|(what, limit)| Some(format!("{what} {}", limit?))).collect();
            let limits = if limits.is_empty() { "no limit".to_owned() } else { limits.join(", ") };
            format!("{}: emulated, {}, {limits}", volume.name, Bytes(*size_bytes))
        }
        VolumeKind::Disk { id } => format!("{}: disk {id}; everything on it will be lost", volume.name),
        VolumeKind::Directory { path } => format!("{}: lent directory {}", volume.name, path.display()),
    }
}
