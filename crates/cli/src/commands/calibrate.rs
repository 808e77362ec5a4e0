//! `diskproof calibrate [VOLUME]`: checks the native engine against fio. See docs/calibrate.md.

mod text;

use super::experiment;
use super::judged;
use super::session::{Session, measure};
use crate::args::Calibrate;
use crate::exit::{Exit, Failure};
use crate::settings::Settings;
use crate::settings::keys::Progress;
use crate::{output, page};
use record::agreement::{Agreement, AgreementStatus, Margins};
use record::id::RunId;
use record::plan::Plan;
use record::printable::Shown as _;
use record::quantity::{Bytes, Seconds};
use std::path::Path;
use store::Store;

pub(crate) fn calibrate(args: &Calibrate, settings: &Settings) -> Result<Exit, Failure> {
    if let Some(name) = &args.run {
        let store = super::show::open_existing(settings)?;
        let run = super::show::find(&store, name)?;
        return answer(&store, &run, args, settings);
    }
    let plan = plan(args)?;
    let forecast = spec::forecast(&plan);
    output::aside(&format!(
        "{} workloads by native and by fio, {} rounds: about {}, {} written",
        plan.cells.len() / 2,
        plan.measure.rounds,
        Seconds(forecast.seconds),
        Bytes(forecast.bytes_written)
    ));
    let run = experiment::run_id();
    let session = Session {
        run: run.clone(),
        plan: &plan,
        earlier: None,
        provision_anew: false,
        machines: None,
        copying: None,
        settings,
    };
    let ended = measure(&session, &mut None)?;
    let exit = answer(&ended.store, &run, args, settings);
    output::aside(&format!("\nkept in {}", settings.store.value.shown()));
    match ended.by_signal(&run) {
        Some(signalled) => Ok(signalled),
        None => exit,
    }
}

/// The plan of an experiment that exists only in memory; it is stored, shown, resumed and undone like any other.
fn plan(args: &Calibrate) -> Result<Plan, Failure> {
    let made = text::experiment(args)?;
    let mut plan = spec::parse(&made.text, "calibrate.yaml", Path::new("/"), &made.set)
        .map_err(experiment::failure)?
        .plan;
    plan.seed = experiment::seed_of_the_clock();
    Ok(plan)
}

/// Judges a run's trials, prints the agreement and returns the exit code.
fn answer(store: &Store, run: &RunId, args: &Calibrate, settings: &Settings) -> Result<Exit, Failure> {
    let margins = Margins { rate: args.rate_margin / 100.0, latency: args.latency_margin / 100.0 };
    let agreement = judge(store, run, margins)?;
    let view = judged::view(store, run)?;
    if args.json {
        let document = if settings.progress.value == Progress::Json {
            serde_json::to_string(&agreement)
        } else {
            serde_json::to_string_pretty(&agreement)
        };
        output::json(&document.map_err(Failure::ours)?)?;
    } else if settings.progress.value != Progress::Json {
        page::show(&report::agreement(&agreement), settings)?;
    }
    // A workload that could not be measured at all is an error here, as after any run.
    judged::exit_of(&view)?;
    if agreement.lines.is_empty() {
        return Err(Failure::machine(format!(
            "run {run}: there is no round in which both engines measured the same"
        )));
    }
    Ok(if agreement.count(AgreementStatus::Beyond) > 0 { Exit::NotMet } else { Exit::Fine })
}

fn judge(store: &Store, run: &RunId, margins: Margins) -> Result<Agreement, Failure> {
    let head = store.head(run).map_err(judged::unreadable)?;
    if !verdict::is_calibration(&head.plan) {
        return Err(Failure::input(format!(
            "run {run} has no workload for both engines: two that differ in nothing but `engine: native` and `engine: fio`"
        )));
    }
    let mut trials = Vec::new();
    store.trials(run, |trial| trials.push(trial)).map_err(judged::unreadable)?;
    Ok(verdict::agreement(&judged::input(run, &head, &trials), margins))
}
