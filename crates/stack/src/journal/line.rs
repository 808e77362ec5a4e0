//! The journal's format: JSON lines, appended and fsynced one by one, never rewritten.
//!
//! * 1.0: the first version.
//! * 1.1: adds the identity of an existing directory and of ours in it, and the identity of a claimed disk.
//! * 1.2: adds when the run ends at the latest.

use crate::act::Act;
use crate::error::JournalError;
use record::id::RunId;
use record::version::FormatVersion;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The version that this build writes.
pub(crate) const FORMAT: FormatVersion = FormatVersion { major: 1, minor: 2 };

/// A line of the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub(crate) enum JournalLine {
    /// A process has opened the journal. All lines up to the next session are by this process, in this boot.
    Session {
        format: FormatVersion,
        run: RunId,
        prefix: String,
        boot_id: String,
        pid: u32,
        /// When the run's time budget is spent, in seconds since 1970 by this machine's clock. `machines watch` reads it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ends_unix_s: Option<u64>,
    },
    /// An act is about to begin.
    Intent { step: u32, act: Act },
    /// The act is done. A missing line means nothing: an act that never began is undone all the same.
    Done { step: u32 },
    /// The act is undone, for good.
    Undone { step: u32 },
}

/// An act that is not undone.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub(crate) step: u32,
    pub(crate) act: Act,
    /// The boot in which it was done.
    pub(crate) boot_id: String,
}

/// The content of a journal.
#[derive(Debug, Default)]
pub(crate) struct Content {
    /// The acts that are not undone, oldest first.
    pub(crate) open: Vec<Entry>,
    /// The number of the next step.
    pub(crate) next_step: u32,
    /// The process that wrote last.
    pub(crate) pid: Option<u32>,
    /// The bytes of complete lines; a torn one may follow.
    pub(crate) whole_bytes: u64,
    /// The errors of lines that can't be parsed and aren't the last.
    pub(crate) corrupt: Vec<JournalError>,
}

/// Parses a journal. A last line without newline is torn: its fsync never returned, so its act never began.
pub(crate) fn parse(text: &str, path: &Path, run: &RunId, prefix: &str) -> Result<Content, JournalError> {
    let whole = text.rfind('\n').map_or(0, |end| end + 1);
    let mut content = Content { whole_bytes: whole as u64, ..Content::default() };
    let mut boot = String::new();
    for (index, line) in text[..whole].lines().enumerate() {
        match serde_json::from_str(line) {
            Ok(JournalLine::Session { format, run: of, prefix: with, boot_id, pid, .. }) => {
                let ours = check(format, &of, &with, run, prefix);
                ours.map_err(|what| JournalError::Foreign { path: path.to_owned(), what })?;
                boot = boot_id;
                content.pid = Some(pid);
            }
            Ok(line) => content.apply(line, &boot),
            Err(_) if line.bytes().all(|byte| byte == 0) => {} // a file system may leave zeros after a power cut
            Err(source) => {
                content.corrupt.push(JournalError::Corrupt {
                    path: path.to_owned(),
                    line: index + 1,
                    source,
                });
            }
        }
    }
    Ok(content)
}

fn check(format: FormatVersion, of: &RunId, with: &str, run: &RunId, prefix: &str) -> Result<(), String> {
    if !FORMAT.reads(format) {
        return Err(format!("written in format {format}, this diskproof reads {FORMAT}"));
    }
    if of != run {
        return Err(format!("is the journal of run {of}, not {run}"));
    }
    if with != prefix {
        return Err(format!("its names begin with {with:?}, not {prefix:?}"));
    }
    Ok(())
}

impl Content {
    fn apply(&mut self, line: JournalLine, boot: &str) {
        match line {
            JournalLine::Intent { step, act } => {
                self.next_step = self.next_step.max(step + 1);
                self.open.push(Entry { step, act, boot_id: boot.to_owned() });
            }
            JournalLine::Undone { step } => self.open.retain(|entry| entry.step != step),
            JournalLine::Done { .. } | JournalLine::Session { .. } => {}
        }
    }
}
