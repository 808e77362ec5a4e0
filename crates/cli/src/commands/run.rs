//! `diskproof run FILE`.

use super::experiment;
use super::sitting::{Sitting, sit};
use crate::args::RunArgs;
use crate::exit::{Exit, Failure};
use crate::settings::Settings;

pub(crate) fn run(args: &RunArgs, settings: &Settings) -> Result<Exit, Failure> {
    let plan = experiment::load(&args.experiment)?;
    sit(Sitting { run: experiment::run_id(), plan: &plan, earlier: None, settings })
}
