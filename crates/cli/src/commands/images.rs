//! `diskproof images`: images for guests on this and other machines.

mod avail;
mod import;
mod list;
mod push;
mod registry;

use crate::args::{Images, ImagesVerb};
use crate::exit::{Exit, Failure};
use crate::settings::Settings;

/// Runs one command of `images`.
pub(crate) fn images(args: &Images, settings: &Settings) -> Result<Exit, Failure> {
    let from = &args.from;
    match &args.verb {
        ImagesVerb::Avail(args) => avail::avail(args),
        ImagesVerb::Import(args) if registry::is_address(&args.source) => {
            registry::import(args, from, settings)
        }
        ImagesVerb::Import(args) => import::import(args, from, settings),
        ImagesVerb::Push(args) => push::push(args, settings),
        ImagesVerb::List(args) => list::list(args, from, settings),
        ImagesVerb::Build(args) => import::build(args, from, settings),
        ImagesVerb::Remove(args) => list::remove(args, from, settings),
    }
}
