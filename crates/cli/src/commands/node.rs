//! `diskproof node` (hidden): the agent process on the measured machine.

use crate::exit::{Exit, Failure};
use crate::settings::Settings;
use std::io::{BufReader, stdin, stdout};

pub(crate) fn node(settings: &Settings) -> Result<Exit, Failure> {
    run::node::serve(BufReader::new(stdin()), stdout(), &settings.state.value).map_err(Failure::ours)?;
    Ok(Exit::Fine)
}
