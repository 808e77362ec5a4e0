//! What became of a copy, and the answers of machines meanwhile.

use crate::drive::Done;
use crate::status::state;
use host::{Ending, Stream, last_words};
use record::machine::MachineState;
use std::io;
use std::path::PathBuf;
use std::time::Duration;
use thiserror::Error;

/// What a file is called while it isn't whole.
pub(super) const PART: &str = ".diskproof-part";
/// Time limit for what is small: a digest of a large file takes its time.
pub(super) const LOOK: Duration = Duration::from_secs(3600);
/// Most bytes of an answer that are kept.
const MOST: usize = 64 << 10;

/// What became of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copied {
    /// Its whole size in bytes.
    pub bytes: u64,
    /// Bytes that crossed the network now; the rest was there already.
    pub sent_bytes: u64,
    /// SHA-256 of the whole file on both sides.
    pub digest: String,
    /// Where it is now.
    pub path: String,
    /// Since the first question.
    pub took: Duration,
}

/// Why a file isn't copied.
#[derive(Debug, Error)]
pub enum CopyError {
    /// A file on this machine can't be read or written.
    #[error("{}", record::printable::Shown::shown(.path))]
    Here {
        /// The file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// The machine can't be reached, or the connection broke; what arrived is kept, and the next try goes on from there.
    #[error("{state}: {reason}")]
    NotReached {
        /// Whether it is on.
        state: MachineState,
        /// Why.
        reason: String,
    },
    /// A command there failed.
    #[error("{0}")]
    There(String),
    /// The copy differs from the original.
    #[error("the copy is not what was sent, and is removed; is the file being written?")]
    Differs,
}

/// What a machine has printed in answer to a question.
#[derive(Debug, Clone, Default)]
pub(super) struct Said {
    out: Vec<u8>,
    err: Vec<u8>,
}

impl Said {
    pub(super) fn hears(&mut self, stream: Stream, bytes: &[u8]) {
        let kept = if stream == Stream::Out { &mut self.out } else { &mut self.err };
        let room = MOST.saturating_sub(kept.len());
        kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// Returns what was printed if the command succeeded.
    pub(super) fn answer(&self, done: &Done) -> Result<String, CopyError> {
        match done {
            Done::NotStarted(failure) => {
                let reason = record::printable::chain(failure);
                Err(CopyError::NotReached { state: MachineState::Unknown, reason })
            }
            Done::Ended { ending: Ending::Status(0), .. } => {
                Ok(String::from_utf8_lossy(&self.out).into_owned())
            }
            Done::Ended { ending, .. } => {
                let words = last_words(&String::from_utf8_lossy(&self.err));
                Err(match ending {
                    Ending::Status(DIFFERS) => CopyError::Differs,
                    Ending::Status(255) | Ending::TimedOut | Ending::Signal(_) => {
                        CopyError::NotReached { state: state(*ending, &words), reason: words }
                    }
                    Ending::Status(_) => CopyError::There(words),
                })
            }
        }
    }
}

/// The exit code of a script that finds another digest.
const DIFFERS: i32 = 9;

/// Splits an answer into its words.
pub(super) fn words<const N: usize>(answer: &str) -> Result<[&str; N], CopyError> {
    let found: Vec<&str> = answer.split_whitespace().collect();
    found.try_into().map_err(|_| {
        let shown: String = record::printable::printable(answer).chars().take(200).collect();
        CopyError::There(format!(
            "its answer has another form: `{shown}`; does a login script there print something?"
        ))
    })
}
