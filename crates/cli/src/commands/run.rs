//! `diskproof run FILE`.

use super::copying::Copying;
use super::session::{Session, answer};
use super::{created, experiment};
use crate::args::RunArgs;
use crate::exit::{Exit, Failure};
use crate::settings::Settings;

pub(crate) fn run(args: &RunArgs, settings: &Settings) -> Result<Exit, Failure> {
    let mut plan = experiment::load(&args.experiment)?;
    let run = experiment::run_id();
    let machines = created::prepare(&mut plan, &args.experiment.file, args.destroy, settings)?;
    let copying = Copying::of_new_run(&run, &mut plan, settings)?;
    let provision_anew = args.provision;
    answer(Session { run, plan: &plan, earlier: None, provision_anew, machines, copying, settings })
}
