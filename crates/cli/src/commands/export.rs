//! `diskproof export RUN --FORMAT`; the formats are in `formats`.

use super::judged;
use super::show::{find, open_existing};
use crate::args::Export;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;
use record::printable::Shown as _;

pub(crate) fn export(args: &Export, settings: &Settings) -> Result<Exit, Failure> {
    let store = open_existing(settings)?;
    let run = find(&store, &args.run)?;
    let format = args.format.0;
    let text = format.text(&judged::view(&store, &run)?)?;
    match &args.output {
        None if format.is_json() => output::json(&text)?,
        None => output::answer(&text)?,
        Some(path) => std::fs::write(path, text)
            .map_err(|e| Failure::machine(format!("can't write {}: {e}", path.shown())))?,
    }
    Ok(Exit::Fine)
}
