//! `diskproof show [RUN]`: prints the result again.

use super::judged;
use crate::args::Show;
use crate::exit::{Exit, Failure};
use crate::settings::Settings;
use crate::{output, page};
use record::id::RunId;
use record::printable::Shown as _;
use store::Store;

pub(crate) fn show(args: &Show, settings: &Settings) -> Result<Exit, Failure> {
    let store = open_existing(settings)?;
    let run = find(&store, &args.run)?;
    let view = judged::view(&store, &run)?;
    match args.json {
        true => output::json(&report::json(&view).map_err(Failure::ours)?)?,
        false => page::show(&report::result(&view), settings)?,
    }
    if let Some(origin) = store.origin(&run).map_err(judged::unreadable)? {
        let signer = origin.signer.map(|who| format!("signed by {}", who.shown()));
        let signer = signer.unwrap_or_else(|| "no signature was checked".to_owned());
        output::aside(&format!("run {run} was pulled from {}; {signer}", origin.from.shown()));
    }
    Ok(Exit::Fine)
}

/// Opens the store, which must exist already: reading creates nothing.
///
/// # Errors
/// There is no store yet, or it can't be opened.
pub(crate) fn open_existing(settings: &Settings) -> Result<Store, Failure> {
    let path = &settings.store.value;
    if !path.exists() {
        return Err(Failure::input(format!("no run is kept yet: {} is not there", path.shown())));
    }
    Store::open(path).map_err(judged::unreadable)
}

/// Finds a run by its name, the beginning of it, `latest`, `EXPERIMENT@last` or `EXPERIMENT@TAG`.
///
/// # Errors
/// No run matches, or several do.
pub(crate) fn find(store: &Store, name: &str) -> Result<RunId, Failure> {
    store.find(name).map_err(judged::unreadable)
}
