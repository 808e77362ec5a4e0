//! Another machine, by OpenSSH's own `ssh`, which honours everybody's `~/.ssh/config`, agent and known hosts. There, sshd and a POSIX
//! shell are all that is needed.

use crate::failure::CommandFailure;
use crate::invocation::Invocation;
use crate::runner::Runner;
use crate::tool::Tool;
use record::printable::Shown as _;
use sha2::{Digest as _, Sha256};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;
use thiserror::Error;

/// A line that is dead for this long ends: what is under way on the other side is undone there then.
const ALIVE: [&str; 4] = ["-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=4"];
/// Nobody is there to be asked for a password, and a machine that is off must not hang the others.
const UNATTENDED: [&str; 4] = ["-o", "BatchMode=yes", "-o", "ConnectTimeout=10"];
const PATIENCE: Duration = Duration::from_secs(60);
/// Copying 25 MB, on a slow line.
const COPY_PATIENCE: Duration = Duration::from_secs(600);

/// Tells architecture and user, and whether a program of this digest (`$0`) is there already.
const LOOK: &str = r#"d="${XDG_CACHE_HOME:-$HOME/.cache}/diskproof/$0"; uname -m; id -u; echo "$d/diskproof"
if [ -x "$d/diskproof" ] && [ "$(sha256sum "$d/diskproof" | cut -d" " -f1)" = "$0" ]; then echo there; else echo missing; fi"#;
/// Takes the program from its standard input; others may run the old one meanwhile, so it is never written in place.
const TAKE: &str = r#"set -e; d="${XDG_CACHE_HOME:-$HOME/.cache}/diskproof/$0"; mkdir -p -m 700 "$d"; t="$d/new.$$"
trap 'rm -f "$t"' EXIT; cat > "$t"; chmod 755 "$t"; mv "$t" "$d/diskproof""#;

/// A way to another machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ssh {
    /// Arguments of `ssh` up to and with the destination.
    args: Vec<OsString>,
    /// The destination, for messages.
    name: String,
}

/// The other machine can't be used.
#[derive(Debug, Error)]
pub enum SshError {
    /// It can't be reached, or a command failed there.
    #[error("{target}: {doing}")]
    Command {
        /// Which machine.
        target: String,
        /// What was to be done.
        doing: &'static str,
        /// Why not.
        source: CommandFailure,
    },
    /// Our own program doesn't run there.
    #[error("{target} is {theirs}; this diskproof is for {ours}: start it from a machine of the same kind")]
    Architecture {
        /// Which machine.
        target: String,
        /// `uname -m` there.
        theirs: String,
        /// What we are built for.
        ours: &'static str,
    },
    /// It said something else than was asked, e.g. since a login script prints.
    #[error(
        "{target} answered `{answer}` where four lines were expected; does a login script there print something?"
    )]
    Garbled {
        /// Which machine.
        target: String,
        /// What it said, cut.
        answer: String,
    },
    /// The copy isn't what was sent.
    #[error("{target}: the copy of diskproof there isn't what was sent; is its disk full?")]
    Copy {
        /// Which machine.
        target: String,
    },
    /// Our own program can't be read.
    #[error("cannot read {}", .path.shown())]
    Own {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Our program on another machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// Its absolute path there.
    pub path: String,
    /// The user it will run as, there.
    pub uid: u32,
}

impl Ssh {
    /// The way to what `ssh` itself calls by this name, `config` in the place of its own files.
    #[must_use]
    pub fn to(destination: &str, config: Option<&Path>) -> Self {
        let own = config.map(|path| ["-F".into(), path.as_os_str().to_owned()]);
        let options = own.into_iter().flatten().chain(ALIVE.iter().chain(&UNATTENDED).map(OsString::from));
        Self::with(options.collect(), destination)
    }

    /// The way to a destination with these options.
    #[must_use]
    pub fn with(mut options: Vec<OsString>, destination: &str) -> Self {
        options.extend(["--".into(), destination.into()]);
        Self { args: options, name: destination.to_owned() }
    }

    /// The way that an argument vector of `ssh` names, up to and with its destination.
    #[must_use]
    pub fn through(argv: Vec<OsString>, name: &str) -> Self {
        Self { args: argv.into_iter().skip(1).collect(), name: name.to_owned() }
    }

    /// The argument vector, `ssh` included, that runs a program there. Its words reach the program as they are: they are quoted for
    /// the shell through which sshd runs everything.
    #[must_use]
    pub fn argv(&self, program: &[&str]) -> Vec<OsString> {
        let path = crate::resolve(Tool::Ssh).unwrap_or_else(|_| Tool::Ssh.name().into());
        std::iter::once(path.into_os_string()).chain(self.arguments("-T", program)).collect()
    }

    /// Runs a program there on our own standard input and output; `terminal`: on a terminal there as well.
    ///
    /// # Errors
    /// `ssh` can't be started.
    pub fn hand_over(&self, program: &[&str], terminal: bool) -> io::Result<ExitStatus> {
        let path = crate::resolve(Tool::Ssh).map_err(io::Error::other)?;
        let terminal = if terminal { "-t" } else { "-T" };
        Command::new(path).args(self.arguments(terminal, program)).status()
    }

    fn arguments(&self, terminal: &str, program: &[&str]) -> Vec<OsString> {
        let words: Vec<String> = program.iter().map(|word| quoted(word)).collect();
        let (before, after) = (OsString::from(terminal), OsString::from(words.join(" ")));
        std::iter::once(before).chain(self.args.iter().cloned()).chain([after]).collect()
    }

    /// Runs a program there and returns what it printed.
    ///
    /// # Errors
    /// The machine can't be reached, or the program failed.
    pub fn run(
        &self,
        runner: &dyn Runner,
        doing: &'static str,
        program: &[&str],
        stdin: Option<Vec<u8>>,
    ) -> Result<String, SshError> {
        let patience = if stdin.is_some() { COPY_PATIENCE } else { PATIENCE };
        let mut call = Invocation::new(Tool::Ssh).args(self.arguments("-T", program)).timeout(patience);
        if let Some(bytes) = stdin {
            call = call.stdin(bytes);
        }
        let output = runner.run(&call).map_err(|source| SshError::Command {
            target: self.name.clone(),
            doing,
            source,
        })?;
        Ok(output.stdout)
    }

    /// The host's name or address in the network, as `ssh` has it from its configuration; no connection is made.
    ///
    /// # Errors
    /// `ssh` can't be started, or doesn't understand its configuration.
    pub fn host(&self, runner: &dyn Runner) -> Result<String, SshError> {
        let doing = "ask ssh for its address";
        let call = Invocation::new(Tool::Ssh).arg("-G").args(self.args.iter().cloned()).timeout(PATIENCE);
        let said = runner.run(&call).map_err(|source| SshError::Command {
            target: self.name.clone(),
            doing,
            source,
        })?;
        let name = said.stdout.lines().find_map(|line| line.strip_prefix("hostname "));
        Ok(name.map_or_else(|| self.name.clone(), str::to_owned))
    }

    /// Puts a program of ours there, unless it is there already, into the user's cache under its own digest.
    ///
    /// # Errors
    /// The machine can't be reached, is of another kind, or the copy failed.
    pub fn install(&self, runner: &dyn Runner, program: &Path) -> Result<Installed, SshError> {
        let own = |source| SshError::Own { path: program.to_owned(), source };
        let bytes = std::fs::read(program).map_err(own)?;
        let digest = hex(&Sha256::digest(&bytes));
        let look = || {
            let answer = self.run(runner, "look for diskproof there", &["sh", "-c", LOOK, &digest], None)?;
            self.read(&answer)
        };
        let (installed, there) = look()?;
        if there {
            return Ok(installed);
        }
        self.run(runner, "copy diskproof there", &["sh", "-c", TAKE, &digest], Some(bytes))?;
        match look()? {
            (installed, true) => Ok(installed),
            (_, false) => Err(SshError::Copy { target: self.name.clone() }),
        }
    }

    fn read(&self, answer: &str) -> Result<(Installed, bool), SshError> {
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

/// One word of a POSIX shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '=' | ':' | ',');
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn hex(bytes: &[u8]) -> String {
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

    /// What sshd does with its words: a shell gets them joined. `HOME` is a folder of the test's own.
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
