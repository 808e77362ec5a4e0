//! The table of fio's options: each with its form, who may set it, how fio is told, and what the native engine makes of it.
//!
//! The experiment's schema, its reader, the reader of job files, the checks before a trial and the job files that fio gets are all made
//! of this table. To add an option is to add its row, and the native engine's code if it performs the option. docs/engine.md lists
//! all rows; a test compares them.

mod differing;
mod jobs;
mod keys;
mod passed;
mod refused;
mod row;

use jobs::SEARCH;

pub use differing::differing;
pub use jobs::BUFFER_KINDS;
pub use keys::{IOENGINES, KEYS, RW_WORDS, SYNC_WORDS, VERIFY_WORDS};
pub use row::{Access, Alias, Field, FioOption, Key, Native};

/// Returns all options.
pub fn all() -> impl Iterator<Item = &'static FioOption> {
    [KEYS, passed::PASSED, jobs::JOB_FILE, jobs::OURS, jobs::LEFT_OUT, jobs::ALIASES, refused::REFUSED]
        .into_iter()
        .flatten()
}

/// Returns an option by its name or alias.
#[must_use]
pub fn find(name: &str) -> Option<&'static FioOption> {
    all().find(|option| option.name == name)
}

/// Whether diskproof performs this value of a job file's option itself, so that it may stand in a job file although fio never gets it.
#[must_use]
pub fn is_own(name: &str, value: &str) -> bool {
    matches!((name, value), ("io_submit_mode", "offload")) || (name == "latency_target" && value != "0")
}

/// Why fio may not get an option with this value; `None`: it may.
#[must_use]
pub fn refused_value(name: &str, value: &str) -> Option<&'static str> {
    match name {
        "buffer_pattern" | "verify_pattern" if value.contains('\'') => {
            Some("it would read the pattern from another file; write the pattern itself")
        }
        "io_submit_mode" if value == "offload" => Some(
            "fio 3.33 often hangs at the end of such a job (9 of 15 runs); the native engine issues the I/Os of a rate when they are due \
             without it",
        ),
        "latency_target" if value != "0" => Some(SEARCH),
        "mem" if !BUFFER_KINDS.contains(&value) => Some(
            "it would map another file; write one of malloc, shm, shmhuge, mmap, mmapshared, or leave it out",
        ),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
