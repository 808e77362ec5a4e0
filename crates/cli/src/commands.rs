//! One module per command.

pub(crate) mod calibrate;
pub(crate) mod choose;
pub(crate) mod claim;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod cost;
pub(crate) mod devices;
pub(crate) mod doctor;
pub(crate) mod engine_native;
pub(crate) mod export;
pub(crate) mod gate;
pub(crate) mod generate;
pub(crate) mod history;
pub(crate) mod import;
pub(crate) mod job;
pub(crate) mod judge;
pub(crate) mod lab;
pub(crate) mod list;
pub(crate) mod look;
pub(crate) mod machines;
pub(crate) mod new;
pub(crate) mod node;
pub(crate) mod on;
pub(crate) mod plan;
pub(crate) mod quick;
pub(crate) mod report;
pub(crate) mod resume;
pub(crate) mod run;
pub(crate) mod show;
pub(crate) mod tag;
pub(crate) mod undo;

mod experiment;
mod job_file;
mod judged;
mod session;
mod under;
