//! `diskproof run FILE`.

use super::experiment;
use super::session::{Session, answer};
use crate::args::RunArgs;
use crate::exit::{Exit, Failure};
use crate::settings::Settings;

pub(crate) fn run(args: &RunArgs, settings: &Settings) -> Result<Exit, Failure> {
    let plan = experiment::load(&args.experiment)?;
    let run = experiment::run_id();
    answer(Session { run, plan: &plan, earlier: None, provision_anew: args.provision, settings })
}
