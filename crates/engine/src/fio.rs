//! Jens Axboe's fio as an engine.

mod errno;
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
mod process;
mod regions;
mod userfile;
mod version;

pub use perform::FioEngine;
