//! fio as an engine.

mod command;
mod durable;
mod exact;
pub(crate) mod forbidden;
mod histlog;
mod ini;
mod jobfile;
pub mod json;
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

pub use forbidden::Forbidden;
pub use perform::FioEngine;
pub use userfile::{UserFileError, as_run};
