//! Exit codes, and the one place where an error is printed. See docs/exit-codes.md.

use fleet::FleetError;
use record::printable::{indented, printable_lines};
use run::fault::Fault;
use std::error::Error;
use std::fmt;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Success.
    Fine,
    /// An expectation was not met, or a run is worse than its baseline.
    NotMet,
    /// The user's input is wrong.
    Input,
    /// The machine refuses.
    Machine,
    /// A bug in diskproof, or an undo that failed.
    Ours,
    /// `gate` is undecided: the data exclude neither a regression nor its absence.
    Undecided,
    /// The exit code of a command on another machine.
    Theirs(u8),
    /// A signal asked diskproof to end; its number.
    Signal(u8),
}

impl Exit {
    /// The exit code.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::NotMet => 1,
            Self::Input => 2,
            Self::Machine => 3,
            Self::Ours => 4,
            Self::Undecided => 5,
            Self::Theirs(code) => code,
            Self::Signal(number) => 128 + number,
        }
    }
}

impl From<Fault> for Exit {
    fn from(blame: Fault) -> Self {
        match blame {
            Fault::User => Self::Input,
            Fault::Machine => Self::Machine,
            Fault::Ours => Self::Ours,
        }
    }
}

/// Why a command failed, and whose fault that is.
#[derive(Debug)]
pub(crate) struct Failure {
    /// How the program ends.
    pub(crate) exit: Exit,
    /// Why.
    pub(crate) error: Box<dyn Error + Send + Sync>,
    /// The error begins with `file:line:column`, so it needs no `diskproof:` before it.
    pub(crate) placed: bool,
}

impl Failure {
    /// Diagnostics of a file that the user can correct.
    pub(crate) fn diagnostics(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { exit: Exit::Input, error: error.into(), placed: true }
    }

    /// A wrong argument.
    pub(crate) fn input(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { exit: Exit::Input, error: error.into(), placed: false }
    }

    /// The machine refuses.
    pub(crate) fn machine(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { exit: Exit::Machine, error: error.into(), placed: false }
    }

    /// A bug in diskproof.
    pub(crate) fn ours(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { exit: Exit::Ours, error: error.into(), placed: false }
    }
}

impl From<FleetError> for Failure {
    fn from(error: FleetError) -> Self {
        Self { exit: Exit::from(error.fault()), error: Box::new(error), placed: false }
    }
}

impl fmt::Display for Failure {
    /// Writes the error and its causes, each once, outermost first. Further lines of an error are indented, so that they don't look like
    /// diskproof's own; diagnostics of a file keep their lines, with printable text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = self.error.to_string();
        f.write_str(&if self.placed { printable_lines(&first) } else { indented(&first) })?;
        let mut cause = self.error.source();
        while let Some(error) = cause {
            write!(f, "\n  because: {}", indented(&error.to_string()))?;
            cause = error.source();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Exit, Failure};
    use run::fault::Fault;
    use std::io;

    #[derive(Debug, thiserror::Error)]
    #[error("can't read {path}")]
    struct Outer {
        path: String,
        source: io::Error,
    }

    #[test]
    fn codes_are_the_documented_ones() {
        let all = [
            Exit::Fine,
            Exit::NotMet,
            Exit::Input,
            Exit::Machine,
            Exit::Ours,
            Exit::Undecided,
            Exit::Signal(2),
        ];
        assert_eq!(all.map(Exit::code), [0, 1, 2, 3, 4, 5, 130]);
        let document = include_str!("../../../docs/exit-codes.md");
        for exit in all {
            assert!(document.contains(&format!("| {} |", exit.code())), "{exit:?} is not documented");
        }
    }

    #[test]
    fn the_fault_decides_the_code() {
        let codes = [Fault::User, Fault::Machine, Fault::Ours].map(|b| Exit::from(b).code());
        assert_eq!(codes, [2, 3, 4]);
    }

    #[test]
    fn no_line_of_an_error_passes_for_ours() {
        let error =
            Outer { path: "/x".to_owned(), source: io::Error::other("a\ndiskproof: all is well\u{1b}[2J") };
        let said = Failure::machine(error).to_string();
        assert_eq!(said, "can't read /x\n  because: a\n    diskproof: all is well\\x1b[2J");
    }

    #[test]
    fn the_chain_is_printed_once() {
        let error = Outer { path: "/x".to_owned(), source: io::Error::other("disk on fire") };
        assert_eq!(Failure::machine(error).to_string(), "can't read /x\n  because: disk on fire");
    }
}
