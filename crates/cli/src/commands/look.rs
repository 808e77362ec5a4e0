//! `diskproof look` (hidden): what this machine lacks for the plan on standard input. `plan --here` asks it on other machines.

use super::plan::here;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;
use record::plan::Plan;
use run::controller::targets_of;
use spec::GuestFiles;
use std::io::Read as _;

/// The most bytes of a plan.
const MAX_BYTES: u64 = 64 << 20;

pub(crate) fn look(settings: &Settings) -> Result<Exit, Failure> {
    let mut text = String::new();
    let read = std::io::stdin().take(MAX_BYTES).read_to_string(&mut text);
    read.map_err(|error| Failure::input(format!("can't read the plan: {error}")))?;
    let plan: Plan = serde_json::from_str(&text)
        .map_err(|error| Failure::input(format!("this is not a plan: {error}")))?;
    let missing = here::missing(&plan, &targets_of(&plan), GuestFiles::default(), &settings.state.value);
    output::json(&serde_json::to_string(&missing).map_err(Failure::ours)?)?;
    Ok(Exit::Fine)
}
