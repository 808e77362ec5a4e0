//! `diskproof show [RUN]`: the answer again.

use super::judged;
use crate::args::Show;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;
use record::id::RunId;
use record::printable::Shown as _;
use store::Store;

pub(crate) fn show(args: &Show, settings: &Settings) -> Result<Exit, Failure> {
    let store = open_existing(settings)?;
    let run = find(&store, &args.run)?;
    let view = judged::view(&store, &run)?;
    match args.json {
        true => output::json(&report::json(&view).map_err(Failure::ours)?)?,
        false => output::painted(&judged::terminal(&view, settings)?)?,
    }
    Ok(Exit::Fine)
}

/// The store, which must be there already: looking makes nothing.
///
/// # Errors
/// There is none yet, or it can't be opened.
pub(crate) fn open_existing(settings: &Settings) -> Result<Store, Failure> {
    let path = &settings.store.value;
    if !path.exists() {
        return Err(Failure::input(format!("no run is kept yet: {} is not there", path.shown())));
    }
    Store::open(path).map_err(judged::unreadable)
}

/// The run a user means by a name, its beginning, or `latest`.
///
/// # Errors
/// None or several match.
pub(crate) fn find(store: &Store, name: &str) -> Result<RunId, Failure> {
    store.find(name).map_err(judged::unreadable)
}
