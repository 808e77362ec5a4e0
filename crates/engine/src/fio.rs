//! fio as an engine.

mod exact;
mod forbidden;
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
mod read_back;
mod series;
mod userfile;
mod verify;
mod version;

pub(crate) use forbidden::unsafe_text;
pub use perform::FioEngine;
