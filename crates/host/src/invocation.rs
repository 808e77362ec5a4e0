//! A program and its arguments, to be run.

use crate::tool::Tool;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Largest output of each kind (stdout, stderr) that is kept, unless the caller sets another limit.
const DEFAULT_CAPTURE_BYTES: usize = 16 << 20;

/// The program to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Program {
    /// A program that diskproof itself uses.
    Tool(Tool),
    /// A user's program: an absolute path, or a name that is searched in [`crate::DIRECTORIES`].
    User(PathBuf),
}

/// A program and its argument vector. No shell ever interprets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    /// The program.
    pub program: Program,
    /// Arguments, without the program itself.
    pub args: Vec<OsString>,
    /// Data for its stdin; `None`: none (`/dev/null`).
    pub stdin: Option<Vec<u8>>,
    /// Environment variables besides `LC_ALL=C` and `PATH`.
    pub env: Vec<(OsString, OsString)>,
    /// Whether a user's program gets only `PATH`, `HOME`, `LC_ALL` and the variables of [`Self::env`], not diskproof's environment.
    pub bare: bool,
    /// Working directory; `None`: `/`, so that no mount point is kept busy.
    pub directory: Option<PathBuf>,
    /// Exit statuses that are not failures.
    pub accepted: Vec<i32>,
    /// Time limit; `None`: no limit.
    pub timeout: Option<Duration>,
    /// Most bytes that are kept of stdout and of stderr. More on stdout is a failure; more on stderr is dropped.
    pub capture_bytes: usize,
}

impl Invocation {
    fn of(program: Program) -> Self {
        Self {
            program,
            args: Vec::new(),
            stdin: None,
            env: Vec::new(),
            bare: false,
            directory: None,
            accepted: vec![0],
            timeout: None,
            capture_bytes: DEFAULT_CAPTURE_BYTES,
        }
    }

    /// Creates an invocation of a tool. Its environment has only `LC_ALL=C`, `PATH` and the variables of [`Self::env`] (sudo,
    /// ssh and sshfs get diskproof's environment).
    #[must_use]
    pub fn new(tool: Tool) -> Self {
        Self::of(Program::Tool(tool))
    }

    /// Creates an invocation of a user's program. It gets diskproof's environment, with `LC_ALL=C`.
    #[must_use]
    pub fn program(path: impl AsRef<Path>) -> Self {
        Self::of(Program::User(path.as_ref().to_path_buf()))
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_os_string());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<I, S>(mut self, args: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        self.args.extend(args.into_iter().map(|a| a.as_ref().to_os_string()));
        self
    }

    /// Sets the data for its stdin.
    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(bytes.into());
        self
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.env.push((name.as_ref().to_os_string(), value.as_ref().to_os_string()));
        self
    }

    /// Gives a user's program only `PATH`, `HOME`, `LC_ALL` and the variables of [`Self::env`]: others may hold secrets.
    #[must_use]
    pub fn bare(mut self) -> Self {
        self.bare = true;
        self
    }

    /// Runs it in this directory.
    #[must_use]
    pub fn directory(mut self, path: impl AsRef<Path>) -> Self {
        self.directory = Some(path.as_ref().to_path_buf());
        self
    }

    /// Sets the exit statuses that are not failures (including 0 if wanted).
    #[must_use]
    pub fn accept(mut self, statuses: impl IntoIterator<Item = i32>) -> Self {
        self.accepted = statuses.into_iter().collect();
        self
    }

    /// Sets the time after which it is killed, with its whole process group.
    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }

    /// Sets how many bytes of stdout and of stderr are kept.
    #[must_use]
    pub fn capture(mut self, bytes: usize) -> Self {
        self.capture_bytes = bytes;
        self
    }

    /// Returns the argument vector for quoting: the program's name as given, then the arguments.
    #[must_use]
    pub fn argv(&self) -> Vec<String> {
        let program = match &self.program {
            Program::Tool(tool) => tool.name().to_owned(),
            Program::User(path) => path.to_string_lossy().into_owned(),
        };
        std::iter::once(program).chain(self.args.iter().map(|a| a.to_string_lossy().into_owned())).collect()
    }
}
