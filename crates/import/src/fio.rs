//! fio's results: its JSON documents and its logs.

pub(crate) mod document;
pub(crate) mod log;
pub(crate) mod logs;
pub(crate) mod options;
mod rows;
mod totals;
