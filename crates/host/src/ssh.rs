//! Connects to another machine through OpenSSH's `ssh`, which uses the user's `~/.ssh/config`, agent and known hosts. The other
//! machine needs only sshd and a POSIX shell.

use crate::failure::CommandFailure;
use crate::invocation::Invocation;
use crate::runner::Runner;
use crate::tool::Tool;
use record::printable::{Shown as _, printable};
use sha2::{Digest as _, Sha256};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;
use thiserror::Error;

/// Ends a dead connection after this time; the agent process on the other side then undoes what is under way.
const ALIVE: [&str; 4] = ["-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=4"];
/// Time limit for a connection, in seconds: a machine that is off must not block the others.
const CONNECT_SECONDS: u32 = 10;
const PATIENCE: Duration = Duration::from_secs(60);
/// Time limit for copying 25 MB over a slow connection.
const COPY_PATIENCE: Duration = Duration::from_secs(600);

/// Prints architecture and user, and whether a program with this digest (`$0`) is already there.
const LOOK: &str = r#"d="${XDG_CACHE_HOME:-$HOME/.cache}/diskproof/$0"; uname -m; id -u; echo "$d/diskproof"
if [ -x "$d/diskproof" ] && [ "$(sha256sum "$d/diskproof" | cut -d" " -f1)" = "$0" ]; then echo there; else echo missing; fi"#;
/// Reads the program from standard input. Other processes may run the old one meanwhile, so it is never overwritten in place.
const TAKE: &str = r#"set -e; d="${XDG_CACHE_HOME:-$HOME/.cache}/diskproof/$0"; mkdir -p -m 700 "$d"; t="$d/new.$$"
trap 'rm -f "$t"' EXIT; cat > "$t"; chmod 755 "$t"; mv "$t" "$d/diskproof""#;

/// A connection to another machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ssh {
    /// Arguments of `ssh`, up to and including the destination.
    args: Vec<OsString>,
    /// The destination, for messages.
    name: String,
}

/// An error with another machine.
#[derive(Debug, Error)]
pub enum SshError {
    /// The connection failed, or a command failed there.
    #[error("{target}: {doing}")]
    Command {
        /// Name of the machine.
        target: String,
        /// What was to be done.
        doing: &'static str,
        /// The failure.
        source: CommandFailure,
    },
    /// ssh itself failed: its own exit status is 255.
    #[error("{target} can't be reached: {said}; {}", way_to(target, said))]
    Unreachable {
        /// Name of the machine.
        target: String,
        /// The last line that ssh printed.
        said: String,
    },
    /// The diskproof program doesn't run on that architecture.
    #[error("{target} is {theirs}; this diskproof is for {ours}: start it from a machine of the same kind")]
    Architecture {
        /// Name of the machine.
        target: String,
        /// `uname -m` on that machine.
        theirs: String,
        /// The architecture of this program.
        ours: &'static str,
    },
    /// Its answer had another form, e.g. because a login script prints something.
    #[error(
        "{target} answered `{answer}` where four lines were expected; does a login script there print something?"
    )]
    Garbled {
        /// Name of the machine.
        target: String,
        /// Its answer, shortened.
        answer: String,
    },
    /// The copy differs from the original.
    #[error("{target}: the copy of diskproof there isn't what was sent; is its disk full?")]
    Copy {
        /// Name of the machine.
        target: String,
    },
    /// The program file on this machine can't be read.
    #[error("cannot read {}", .path.shown())]
    Own {
        /// Path of the file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
}

impl SshError {
    fn own(path: &Path, source: io::Error) -> Self {
        Self::Own { path: path.to_owned(), source }
    }
}

/// The one thing to do if ssh doesn't reach a machine.
fn way_to(target: &str, said: &str) -> String {
    if said.contains("Could not resolve hostname") {
        return "correct the name, or give its address as `HostName` in ~/.ssh/config".to_owned();
    }
    format!("try `ssh {target} true`, which must work without a password")
}

/// The diskproof program on another machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// Absolute path on that machine.
    pub path: String,
    /// User id that it will run as on that machine.
    pub uid: u32,
}

impl Ssh {
    /// Returns a connection to a destination of `ssh`; `config` replaces ssh's own configuration files.
    #[must_use]
    pub fn to(destination: &str, config: Option<&Path>) -> Self {
        Self::with(Self::unattended(config, CONNECT_SECONDS), destination)
    }

    /// Returns the options of a connection without a person who could enter a password, and with a time limit in seconds; `config`
    /// replaces ssh's own configuration files. Keys of hosts are checked as that configuration says.
    #[must_use]
    pub fn unattended(config: Option<&Path>, connect_seconds: u32) -> Vec<OsString> {
        let own = config.map(|path| ["-F".into(), path.as_os_str().to_owned()]);
        let limit = format!("ConnectTimeout={connect_seconds}");
        let options = ["-o", "BatchMode=yes", "-o", limit.as_str()];
        own.into_iter().flatten().chain(ALIVE.iter().chain(&options).map(OsString::from)).collect()
    }

    /// Returns a connection to a destination with these options.
    #[must_use]
    pub fn with(mut options: Vec<OsString>, destination: &str) -> Self {
        options.extend(["--".into(), destination.into()]);
        Self { args: options, name: destination.to_owned() }
    }

    /// Returns a connection from an argument vector of `ssh`, up to and including its destination.
    #[must_use]
    pub fn through(argv: Vec<OsString>, name: &str) -> Self {
        Self { args: argv.into_iter().skip(1).collect(), name: name.to_owned() }
    }

    /// Returns the argument vector, including `ssh`, that runs a program there. The words are quoted for the shell that sshd
    /// uses, so they reach the program unchanged.
    #[must_use]
    pub fn argv(&self, program: &[&str]) -> Vec<OsString> {
        let path = crate::resolve(Tool::Ssh).unwrap_or_else(|_| Tool::Ssh.name().into());
        std::iter::once(path.into_os_string()).chain(self.arguments("-T", program)).collect()
    }

    /// Runs a program there on this process's standard input and output; with `terminal`, on a terminal there as well.
    ///
    /// # Errors
    /// `ssh` can't be started.
    pub fn hand_over(&self, program: &[&str], terminal: bool) -> io::Result<ExitStatus> {
        let path = crate::resolve(Tool::Ssh).map_err(io::Error::other)?;
        let terminal = if terminal { "-t" } else { "-T" };
        Command::new(path).args(self.arguments(terminal, program)).status()
    }

    /// Returns the invocation of `ssh` that runs a program there, without a time limit.
    #[must_use]
    pub fn call(&self, program: &[&str]) -> Invocation {
        Invocation::new(Tool::Ssh).args(self.arguments("-T", program))
    }

    /// Returns the invocation of `ssh` that prints its configuration for this destination, without a connection.
    #[must_use]
    pub fn configuration(&self) -> Invocation {
        Invocation::new(Tool::Ssh).arg("-G").args(self.args.iter().cloned()).timeout(PATIENCE)
    }

    fn arguments(&self, terminal: &str, program: &[&str]) -> Vec<OsString> {
        let words: Vec<String> = program.iter().map(|word| quoted(word)).collect();
        let (before, after) = (OsString::from(terminal), OsString::from(words.join(" ")));
        std::iter::once(before).chain(self.args.iter().cloned()).chain([after]).collect()
    }

    /// Runs a program there and returns what it printed.
    ///
    /// # Errors
    /// The connection failed, or the program failed.
    pub fn run(
        &self,
        runner: &dyn Runner,
        doing: &'static str,
        program: &[&str],
        stdin: Option<Vec<u8>>,
    ) -> Result<String, SshError> {
        let patience = if stdin.is_some() { COPY_PATIENCE } else { PATIENCE };
        let mut call = self.call(program).timeout(patience);
        if let Some(bytes) = stdin {
            call = call.stdin(bytes);
        }
        let output = runner.run(&call).map_err(|source| self.failure(doing, source))?;
        Ok(output.stdout)
    }

    fn failure(&self, doing: &'static str, source: CommandFailure) -> SshError {
        let target = self.name.clone();
        match &source {
            CommandFailure::Failed { status: 255, stderr, .. } => {
                SshError::Unreachable { target, said: last_words(stderr) }
            }
            _ => SshError::Command { target, doing, source },
        }
    }

    /// Returns the network name or address of the host from ssh's configuration, without a connection.
    ///
    /// # Errors
    /// `ssh` can't be started, or rejects its configuration.
    pub fn host(&self, runner: &dyn Runner) -> Result<String, SshError> {
        let doing = "ask ssh for its address";
        let said = runner.run(&self.configuration()).map_err(|source| self.failure(doing, source))?;
        let name = said.stdout.lines().find_map(|line| line.strip_prefix("hostname "));
        Ok(name.map_or_else(|| self.name.clone(), str::to_owned))
    }

    /// Copies a program into the user's cache there under its own digest, unless it is already there.
    ///
    /// # Errors
    /// The connection failed, the architecture differs, or the copy failed.
    pub fn install(&self, runner: &dyn Runner, program: &Path) -> Result<Installed, SshError> {
        let copy = Copied::of(program)?;
        let look = || {
            let answer = self.run(runner, "look for diskproof there", &copy.look(), None)?;
            self.read(&answer)
        };
        let (installed, there) = look()?;
        if there {
            return Ok(installed);
        }
        let bytes = std::fs::read(program).map_err(|source| SshError::own(program, source))?;
        self.run(runner, "copy diskproof there", &copy.take(), Some(bytes))?;
        match look()? {
            (installed, true) => Ok(installed),
            (_, false) => Err(SshError::Copy { target: self.name.clone() }),
        }
    }

    /// Reads the answer of [`Copied::look`]: where the program is or will be, and whether it is there.
    ///
    /// # Errors
    /// The architecture differs, or the answer has another form.
    pub fn read(&self, answer: &str) -> Result<(Installed, bool), SshError> {
        let ours = std::env::consts::ARCH;
        let garbled =
            || SshError::Garbled { target: self.name.clone(), answer: answer.chars().take(200).collect() };
        let lines: Vec<&str> = answer.lines().collect();
        let [theirs, uid, path, there] = lines.as_slice() else { return Err(garbled()) };
        if *theirs != ours {
            let theirs = (*theirs).to_owned();
            return Err(SshError::Architecture { target: self.name.clone(), theirs, ours });
        }
        let uid = uid.parse().map_err(|_| garbled())?;
        let there = match *there {
            "there" => true,
            "missing" => false,
            _ => return Err(garbled()),
        };
        Ok((Installed { path: (*path).to_owned(), uid }, there))
    }
}

/// A program of this machine that other machines get a copy of, by its digest.
#[derive(Debug, Clone)]
pub struct Copied {
    digest: String,
}

impl Copied {
    /// Computes the digest of a program.
    ///
    /// # Errors
    /// The program can't be read.
    pub fn of(program: &Path) -> Result<Self, SshError> {
        let digest = std::fs::File::open(program).and_then(|file| sha256(file, u64::MAX));
        Ok(Self { digest: digest.map_err(|source| SshError::own(program, source))?.0 })
    }

    /// The command that looks for the copy there. [`Ssh::read`] reads its answer.
    #[must_use]
    pub fn look(&self) -> [&str; 4] {
        ["sh", "-c", LOOK, &self.digest]
    }

    /// The command that takes the program from its standard input.
    #[must_use]
    pub fn take(&self) -> [&str; 4] {
        ["sh", "-c", TAKE, &self.digest]
    }
}

/// Reads at most `most` bytes, and returns their SHA-256 in hexadecimal and their number.
///
/// # Errors
/// They can't be read.
pub fn sha256(from: impl io::Read, most: u64) -> io::Result<(String, u64)> {
    let (mut from, mut digest, mut buffer, mut bytes) = (from.take(most), Sha256::new(), vec![0; 1 << 18], 0);
    loop {
        let read = from.read(&mut buffer)?;
        if read == 0 {
            return Ok((hex(&digest.finalize()), bytes));
        }
        digest.update(&buffer[..read]);
        bytes += read as u64;
    }
}

/// Returns the last line that ssh printed, without its own name.
#[must_use]
pub fn last_words(stderr: &str) -> String {
    let last = stderr.lines().rev().map(str::trim).find(|line| !line.is_empty());
    let said = last.unwrap_or("ssh said nothing").trim_start_matches("ssh: ");
    printable(said).into_owned()
}

/// Quotes one word for a POSIX shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '=' | ':' | ',');
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::{LOOK, Ssh, SshError, TAKE, hex, quoted};
    use crate::{CommandFailure, Invocation, LocalRunner, Output, Runner};
    use sha2::{Digest as _, Sha256};
    use std::path::Path;

    /// Imitates sshd: a shell gets the joined words. `HOME` is a directory of the test.
    struct Far<'d> {
        home: &'d Path,
    }

    impl Runner for Far<'_> {
        fn run(&self, call: &Invocation) -> Result<Output, CommandFailure> {
            let words = call.args.last().unwrap();
            let mut shell = Invocation::program("sh").args(["-c".as_ref(), words.as_os_str()]);
            shell.stdin.clone_from(&call.stdin);
            LocalRunner.run(&shell.env("HOME", self.home).env("XDG_CACHE_HOME", ""))
        }
    }

    #[test]
    fn words_reach_the_program_as_they_are() {
        let home = tempfile::tempdir().unwrap();
        let far = Far { home: home.path() };
        let words = ["printf", "%s|", "a b", "it's", "$HOME", "`id`", "", "\\", "-n", "*"];
        let said = Ssh::to("nas", None).run(&far, "print", &words, None).unwrap();
        assert_eq!(said, "a b|it's|$HOME|`id`||\\|-n|*|");
        assert_eq!(quoted("/usr/bin/x"), "/usr/bin/x");
    }

    #[test]
    fn a_program_is_copied_once_and_mended_when_it_was_damaged() {
        let home = tempfile::tempdir().unwrap();
        let far = Far { home: home.path() };
        let own = home.path().join("own");
        std::fs::write(&own, b"#!/bin/sh\n").unwrap();
        let ssh = Ssh::to("nas", None);
        let first = ssh.install(&far, &own).unwrap();
        let digest = hex(&Sha256::digest(b"#!/bin/sh\n"));
        assert_eq!(
            Path::new(&first.path),
            home.path().join(".cache/diskproof").join(digest).join("diskproof")
        );
        assert_eq!(std::fs::read(&first.path).unwrap(), b"#!/bin/sh\n");
        assert_eq!(ssh.install(&far, &own).unwrap(), first);
        std::fs::write(&first.path, b"half").unwrap();
        assert_eq!(ssh.install(&far, &own).unwrap(), first);
        assert_eq!(std::fs::read(&first.path).unwrap(), b"#!/bin/sh\n");
        let left: Vec<_> = std::fs::read_dir(Path::new(&first.path).parent().unwrap()).unwrap().collect();
        assert_eq!(left.len(), 1, "no half copies: {left:?}");
    }

    #[test]
    fn answers_that_are_none_are_refused() {
        let ssh = Ssh::to("nas", None);
        let text = ssh.read("Welcome!\nx86_64\n0\n/root/x\nthere\n").unwrap_err().to_string();
        assert!(text.contains("login script") && text.contains("nas"), "{text}");
        assert!(matches!(ssh.read("sparc\n0\n/x\nthere\n"), Err(SshError::Architecture { .. })));
        assert!(matches!(
            ssh.read(&format!("{}\n0\n/x\nmaybe\n", std::env::consts::ARCH)),
            Err(SshError::Garbled { .. })
        ));
        assert!(LOOK.contains("sha256sum") && TAKE.contains("mv"));
    }

    #[test]
    fn a_machine_that_ssh_cannot_reach_is_named_with_the_reason() {
        struct Down(&'static str);
        impl Runner for Down {
            fn run(&self, call: &Invocation) -> Result<Output, CommandFailure> {
                let refuse = format!("echo 'ssh: {}' >&2; exit 255", self.0);
                assert_eq!(call.args.last().unwrap(), "true");
                LocalRunner.run(&Invocation::program("sh").args(["-c", &refuse]))
            }
        }
        let told =
            |said| Ssh::to("nas", None).run(&Down(said), "look", &["true"], None).unwrap_err().to_string();
        assert_eq!(
            told("Could not resolve hostname nas: Name or service not known"),
            "nas can't be reached: Could not resolve hostname nas: Name or service not known; correct the name, or give its address \
             as `HostName` in ~/.ssh/config"
        );
        assert_eq!(
            told("connect to host nas port 22: Connection refused"),
            "nas can't be reached: connect to host nas port 22: Connection refused; try `ssh nas true`, which must work without a \
             password"
        );
    }

    #[test]
    fn nobody_is_asked_and_dead_lines_end() {
        let argv: Vec<String> = Ssh::to("root@nas", None)
            .argv(&["id"])
            .iter()
            .map(|a| a.to_string_lossy().into_owned())
            .collect();
        let text = argv.join(" ");
        assert!(text.contains("BatchMode=yes") && text.contains("ServerAliveInterval=15"), "{text}");
        assert!(text.contains(" -T ") && text.ends_with(" -- root@nas id"), "{text}");
    }
}
