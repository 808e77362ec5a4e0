//! A run of fio: its command, and what it says besides its document.

use super::gate::is_of_the_gate;
use crate::contract::Job;
use crate::error::EngineError;
use crate::process::Ended;
use host::{CommandFailure, Tool};
use record::fio_json::Reading;
use record::workload::{Ask, Options};
use std::ffi::OsString;
use std::time::Duration;

/// The most lines of fio's text that are kept, and the most characters of each.
pub(super) const MAX_MESSAGES: usize = 1000;
const MAX_MESSAGE_CHARS: usize = 500;

/// A workload's options, unless it is a job file.
pub(super) fn options<'a>(job: &Job<'a>) -> Option<&'a Options> {
    match &job.workload.ask {
        Ask::Options(options) => Some(options),
        Ask::JobFile { .. } | Ask::Copy(_) | Ask::Bonnie(_) => None,
    }
}

/// Writes a job file and returns the command that runs it.
pub(super) fn argv(
    job: &Job<'_>,
    name: &str,
    text: &str,
    format: &str,
) -> Result<Vec<OsString>, EngineError> {
    let missing = |source: CommandFailure| EngineError::Missing { engine: "fio", source: Box::new(source) };
    let program = host::resolve(Tool::Fio).map_err(missing)?;
    let path = job.scratch.join(name);
    std::fs::write(&path, text).map_err(|source| EngineError::Io {
        action: "write",
        path: path.clone(),
        source,
    })?;
    Ok(vec![
        program.into_os_string(),
        format!("--output-format={format}").into(),
        "--eta=never".into(),
        path.into_os_string(),
    ])
}

/// fio's text besides its document, limited in length because fio may repeat itself a thousand times.
pub(super) fn messages(reading: &Reading, ended: &Ended) -> Vec<String> {
    let stderr = ended.stderr.lines().map(str::trim).filter(|line| !line.is_empty());
    let stdout = reading.messages.iter().map(String::as_str).filter(|line| !is_of_the_gate(line));
    let all = stdout.chain(stderr);
    all.take(MAX_MESSAGES).map(|line| line.chars().take(MAX_MESSAGE_CHARS).collect()).collect()
}

/// A duration in seconds; zero for negative values and NaN.
pub(super) fn seconds(value: f64) -> Duration {
    Duration::try_from_secs_f64(value.max(0.0)).unwrap_or(Duration::MAX)
}
