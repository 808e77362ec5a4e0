//! Jens Axboe's fio as an engine.

mod exact;
mod forbidden;
mod histlog;
mod ini;
mod jobfile;
pub mod json;
mod layout;
pub mod log;
mod output;
mod perform;
mod userfile;
mod version;

pub(crate) use forbidden::unsafe_text;
pub use perform::FioEngine;
