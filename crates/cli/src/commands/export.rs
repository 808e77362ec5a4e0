//! `diskproof export RUN --json|--csv|--csv-raw|--markdown`.

use super::judged;
use super::show::{find, open_existing};
use crate::args::Export;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;
use record::printable::Shown as _;
use report::Formulas;

pub(crate) fn export(args: &Export, settings: &Settings) -> Result<Exit, Failure> {
    let store = open_existing(settings)?;
    let run = find(&store, &args.run)?;
    let view = judged::view(&store, &run)?;
    let text = if args.json {
        report::json(&view).map_err(Failure::ours)?
    } else if args.csv_raw {
        report::csv(&judged::for_people(&view)?, Formulas::Raw)
    } else if args.csv {
        report::csv(&judged::for_people(&view)?, Formulas::AsText)
    } else {
        report::markdown(&judged::for_people(&view)?)
    };
    match &args.output {
        None if args.json => output::json(&text)?,
        None => output::answer(&text)?,
        Some(path) => std::fs::write(path, text)
            .map_err(|e| Failure::machine(format!("can't write {}: {e}", path.shown())))?,
    }
    Ok(Exit::Fine)
}
