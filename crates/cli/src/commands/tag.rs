//! `diskproof tag RUN NAME`: gives a run a name.

use super::judged::unreadable;
use super::show::{find, open_existing};
use crate::args::Tag;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;

pub(crate) fn tag(args: &Tag, settings: &Settings) -> Result<Exit, Failure> {
    let store = open_existing(settings)?;
    let run = find(&store, &args.run)?;
    if args.remove {
        store.untag(&run, &args.name).map_err(unreadable)?;
        output::answer(&format!("run {run} no longer has the tag {}", args.name))?;
        return Ok(Exit::Fine);
    }
    let from = store.tag(&run, &args.name, args.moves).map_err(unreadable)?;
    let experiment = store.head(&run).map_err(unreadable)?.plan.experiment;
    let before = from.map(|from| format!("; run {from} had this tag before")).unwrap_or_default();
    output::answer(&format!("{experiment}@{} is run {run}{before}", args.name))?;
    Ok(Exit::Fine)
}
