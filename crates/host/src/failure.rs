//! Failures of running a program.

use record::printable::{Shown as _, printable, printable_lines};
use std::fmt::{self, Write as _};
use std::path::PathBuf;
use std::time::Duration;
use thiserror::Error;

/// Number of bytes of each output that a failure quotes.
const QUOTED_BYTES: usize = 4096;

/// A program could not be run, or failed. `Display` quotes the argument vector, the status and the output.
#[derive(Debug, Error)]
pub enum CommandFailure {
    /// The program is not installed.
    #[error("{}", not_found(.program, .package, .looked_in))]
    NotFound {
        /// Name of the program.
        program: String,
        /// The Debian package with the program; `None` for a user's program.
        package: Option<&'static str>,
        /// The directories that were searched.
        looked_in: Vec<PathBuf>,
    },
    /// The program could not be started, or communication with it failed.
    #[error("cannot run {}", quote(.argv))]
    Spawn {
        /// The argument vector.
        argv: Vec<String>,
        /// The error.
        source: std::io::Error,
    },
    /// The program ended with a status that isn't accepted, or by a signal.
    #[error("{}", failed(.argv, *.status, .stdout, .stderr))]
    Failed {
        /// The argument vector.
        argv: Vec<String>,
        /// Exit status, or the negative number of the signal that ended it.
        status: i32,
        /// Standard output.
        stdout: String,
        /// Standard error.
        stderr: String,
    },
    /// The program exceeded its time limit; it and its process group were killed.
    #[error("{} did not end within {} s and was killed{}", quote(.argv), .limit.as_secs_f64(), said("stderr", .stderr))]
    TimedOut {
        /// The argument vector.
        argv: Vec<String>,
        /// The time limit.
        limit: Duration,
        /// Standard error until then.
        stderr: String,
    },
    /// The user cancelled; the program and its process group were ended.
    #[error("{} was ended, as the user asked", quote(.argv))]
    Cancelled {
        /// The argument vector.
        argv: Vec<String>,
    },
    /// The program wrote more than its limit; it and its process group were killed.
    #[error("{} wrote more than {limit_bytes} bytes and was killed", quote(.argv))]
    TooMuchOutput {
        /// The argument vector.
        argv: Vec<String>,
        /// The limit in bytes.
        limit_bytes: usize,
    },
}

fn not_found(program: &str, package: &Option<&'static str>, looked_in: &[PathBuf]) -> String {
    let places: Vec<_> = looked_in.iter().map(|p| p.shown().to_string()).collect();
    let mut text = format!("{program} was not found in {}", places.join(", "));
    if let Some(package) = package {
        let _ = write!(text, "; on Debian: apt-get install {package}");
    }
    text
}

fn failed(argv: &[String], status: i32, stdout: &str, stderr: &str) -> String {
    let ended = if status < 0 {
        format!("was ended by signal {}", -status)
    } else {
        format!("ended with status {status}")
    };
    format!("{} {ended}{}{}", quote(argv), said("stderr", stderr), said("stdout", stdout))
}

fn said(name: &str, text: &str) -> String {
    let text = text.trim();
    if text.is_empty() {
        return String::new();
    }
    let mut end = text.len().min(QUOTED_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let cut = if end < text.len() { "..." } else { "" };
    let text = printable_lines(&text[..end]);
    // a program's output must not look like a line of diskproof
    let begin = if text.contains('\n') { "\n    | " } else { " " };
    format!("; {name}:{begin}{}{cut}", text.replace('\n', "\n    | "))
}

/// Quotes an argument vector so that a person can read it and a shell would split it the same way, except for control characters,
/// which are escaped.
pub(crate) fn quote(argv: &[String]) -> Quoted<'_> {
    Quoted(argv)
}

pub(crate) struct Quoted<'a>(&'a [String]);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_=+./,:@%".contains(c);
        for (index, arg) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_char(' ')?;
            }
            if !arg.is_empty() && arg.chars().all(plain) {
                f.write_str(arg)?;
            } else {
                write!(f, "'{}'", printable(arg).replace('\'', r"'\''"))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::CommandFailure;

    #[test]
    fn a_failure_quotes_argv_status_and_stderr() {
        let failure = CommandFailure::Failed {
            argv: vec!["mkfs.xfs".into(), "-L".into(), "two words".into(), "it's".into()],
            status: 1,
            stdout: String::new(),
            stderr: "mkfs.xfs: no such disk\n".into(),
        };
        assert_eq!(
            failure.to_string(),
            r"mkfs.xfs -L 'two words' 'it'\''s' ended with status 1; stderr: mkfs.xfs: no such disk"
        );
    }

    #[test]
    fn what_a_program_says_forges_no_line() {
        let failure = CommandFailure::Failed {
            argv: vec!["x".into(), "a\n\u{1b}]0;x\u{7}".into()],
            status: 1,
            stdout: String::new(),
            stderr: "odd\u{1b}[2J\ndiskproof: all is well\r\u{9b}A\n".into(),
        };
        assert_eq!(
            failure.to_string(),
            "x 'a\\n\\x1b]0;x\\x07' ended with status 1; stderr:\n    | odd\\x1b[2J\n    | diskproof: all is well\\r\\u{9b}A"
        );
    }

    #[test]
    fn a_signal_is_named_as_one() {
        let failure = CommandFailure::Failed {
            argv: vec!["fio".into()],
            status: -9,
            stdout: "half".into(),
            stderr: String::new(),
        };
        assert_eq!(failure.to_string(), "fio was ended by signal 9; stdout: half");
    }

    #[test]
    fn a_missing_tool_names_its_package() {
        let failure = CommandFailure::NotFound {
            program: "fio".into(),
            package: Some("fio"),
            looked_in: vec!["/usr/bin".into(), "/bin".into()],
        };
        assert_eq!(
            failure.to_string(),
            "fio was not found in /usr/bin, /bin; on Debian: apt-get install fio"
        );
    }

    #[test]
    fn long_output_is_cut_at_a_character() {
        let failure = CommandFailure::Failed {
            argv: vec!["x".into()],
            status: 2,
            stdout: String::new(),
            stderr: format!("a{}", "é".repeat(4000)),
        };
        let text = failure.to_string();
        assert!(text.ends_with("é..."), "{text}");
        assert!(text.len() < 4200);
    }
}
