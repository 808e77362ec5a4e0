//! `diskproof job`: runs that are cut into blocks for a queue.

mod block;
mod collect;
mod make;
mod receive;
mod run;
mod submit;
mod taker;
mod work;

use crate::args::JobVerb;
use crate::exit::{Exit, Failure};
use crate::settings::Settings;
use fleet::queue::QueueError;

pub(crate) fn job(verb: &JobVerb, settings: &Settings) -> Result<Exit, Failure> {
    match verb {
        JobVerb::Make(args) => make::make(args, settings),
        JobVerb::Run(args) => run::run(args, settings),
        JobVerb::Submit(args) => submit::submit(args, settings),
        JobVerb::Work(args) => work::work(args, settings),
        JobVerb::Receive => receive::receive(settings),
        JobVerb::Collect(args) => collect::collect(args, settings),
    }
}

impl From<QueueError> for Failure {
    fn from(error: QueueError) -> Self {
        Self { exit: Exit::from(error.fault()), error: Box::new(error), placed: false }
    }
}
