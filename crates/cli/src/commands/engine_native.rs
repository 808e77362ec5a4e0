//! `diskproof engine-native TASK` (hidden): the native engine's worker, started by the agent process.

use crate::exit::{Exit, Failure};
use std::io::{stderr, stdout};
use std::path::Path;

/// `diskproof engine-corpus TASK` (hidden): the corpus engine's worker.
pub(crate) fn engine_corpus(task: &Path) -> Result<Exit, Failure> {
    engine::corpus::serve(task, &mut stdout().lock()).map_err(Failure::machine)?;
    Ok(Exit::Fine)
}

pub(crate) fn engine_native(task: &Path) -> Result<Exit, Failure> {
    engine::native::serve(task, &mut stdout().lock(), &mut stderr()).map_err(Failure::machine)?;
    Ok(Exit::Fine)
}
