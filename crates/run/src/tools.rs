//! Checks that the programs a plan needs are on this machine: before anything is built, and all at once.

use host::Tool;
use std::collections::BTreeSet;
use thiserror::Error;

/// Programs that are missing.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("this experiment needs {}, which this machine doesn't have: apt-get install {}", join(.tools), join(.packages))]
pub(crate) struct Missing {
    tools: BTreeSet<&'static str>,
    packages: BTreeSet<&'static str>,
}

fn join(words: &BTreeSet<&'static str>) -> String {
    words.iter().copied().collect::<Vec<_>>().join(" ")
}

/// Looks for the named programs. Names that diskproof doesn't know, e.g. of a user's own layer, are not checked.
///
/// # Errors
/// The programs that are missing.
pub(crate) fn check(needed: &[String]) -> Result<(), Missing> {
    check_with(needed, |tool| host::resolve(tool).is_ok())
}

fn check_with(needed: &[String], is_there: impl Fn(Tool) -> bool) -> Result<(), Missing> {
    let known = Tool::ALL.iter().copied().filter(|tool| needed.iter().any(|name| name == tool.name()));
    let missing: Vec<Tool> = known.filter(|tool| !is_there(*tool)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Missing {
        tools: missing.iter().map(|tool| tool.name()).collect(),
        packages: missing.iter().map(|tool| tool.package()).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::{Tool, check_with};

    #[test]
    fn all_that_is_missing_is_said_at_once() {
        let needed = ["fio", "mkfs.btrfs", "btrfs", "mount", "my-own-thing"].map(str::to_owned);
        assert_eq!(check_with(&needed, |_| true), Ok(()));
        let missing = check_with(&needed, |tool| tool == Tool::Mount).unwrap_err();
        assert_eq!(
            missing.to_string(),
            "this experiment needs btrfs fio mkfs.btrfs, which this machine doesn't have: apt-get install btrfs-progs fio"
        );
    }
}
