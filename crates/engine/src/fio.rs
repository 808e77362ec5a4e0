//! fio as an engine.

mod command;
mod durable;
mod exact;
pub(crate) mod forbidden;
mod gate;
mod histlog;
mod ini;
mod jobfile;
mod layout;
mod limits;
pub mod log;
mod mixed;
mod output;
mod perform;
mod phases;
mod read_back;
mod series;
mod times;
mod userfile;
mod verify;
mod version;

#[cfg(test)]
mod json_tests;

pub use forbidden::Forbidden;
pub use perform::FioEngine;
pub use userfile::{UserFileError, as_run};
