//! One machine that several commands run on, one after the other: this machine, or another one over one shared ssh connection.

use crate::command::AS_ROOT_IF_POSSIBLE;
use crate::link::{Links, Reach, of};
use host::{CommandFailure, Invocation, LocalRunner, Runner as _, Ssh, last_words};
use record::machine::Machine;
use std::ffi::OsString;
use std::io::{self, BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;
use thiserror::Error;

/// The name of this machine among machines.
pub const LOCAL: &str = "local";
/// Time limit of a short command.
const PATIENCE: Duration = Duration::from_secs(60);
/// Begins a command that prints English, whatever locale the machine or its root has.
const ENGLISH: [&str; 2] = ["env", "LC_ALL=C"];
/// Prints the URI of libvirt, the state directory, the architecture, and which programs are there.
const ABOUT: &str = r#"echo "${LIBVIRT_DEFAULT_URI:-qemu:///system}"; echo "${DISKPROOF_STATE:-/var/lib/diskproof}"; uname -m
for p in virsh qemu-img sha256sum curl wget; do command -v "$p" >/dev/null && echo "$p"; done; exit 0"#;

/// A command on a machine fails.
#[derive(Debug, Error)]
pub enum AtError {
    /// It can't be reached.
    #[error("{machine} can't be reached: {said}")]
    NotReached {
        /// The machine.
        machine: String,
        /// ssh's last words.
        said: String,
    },
    /// The command fails.
    #[error("{machine}: can't {doing}: {said}")]
    Failed {
        /// The machine.
        machine: String,
        /// What was to be done.
        doing: &'static str,
        /// The command's own words.
        said: String,
    },
    /// It lacks a program.
    #[error("{machine} has no {program}; on Debian: apt-get install {package}")]
    Lacks {
        /// The machine.
        machine: String,
        /// The program.
        program: &'static str,
        /// Its package in Debian.
        package: &'static str,
    },
    /// Its answer has another form.
    #[error("{machine} answers `{said}`, which has another form; does a login script there print something?")]
    Garbled {
        /// The machine.
        machine: String,
        /// The answer, shortened.
        said: String,
    },
    /// A file or program of this machine.
    #[error("{what}")]
    Here {
        /// What can't be done.
        what: String,
        /// Why.
        source: io::Error,
    },
}

/// How to work on machines.
#[derive(Debug, Clone)]
pub struct AtOptions {
    /// How to connect.
    pub reach: Reach,
    /// The state directory of this machine.
    pub state_dir: PathBuf,
    /// Whether to become root on this machine by `sudo -n`.
    pub sudo: bool,
}

/// A machine that commands run on.
#[derive(Debug)]
pub struct At {
    machine: Machine,
    way: Way,
    options: AtOptions,
    uri: String,
    state: String,
    arch: String,
    programs: Vec<String>,
}

#[derive(Debug)]
enum Way {
    Here,
    Far { ssh: Ssh, _master: Held, _links: Box<Links> },
}

/// A program that lives as long as this value: its standard input is a pipe that closes on drop.
#[derive(Debug)]
pub(crate) struct Held(Child);

impl Held {
    /// Starts a program and waits until it prints its first line.
    ///
    /// # Errors
    /// It can't be started, or ends before; then the text is what it said.
    pub(crate) fn start(call: &Invocation) -> Result<Self, String> {
        let path = host::resolve(host::Tool::Ssh).map_err(|error| error.to_string())?;
        let started = Command::new(path)
            .args(&call.args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut held = Self(started.map_err(|error| error.to_string())?);
        let mut line = String::new();
        let read = held.0.stdout.take().map(|out| BufReader::new(out).read_line(&mut line));
        if matches!(read, Some(Ok(read)) if read > 0) {
            return Ok(held);
        }
        let mut said = String::new();
        if let Some(err) = held.0.stderr.take() {
            let _ = io::Read::read_to_string(&mut BufReader::new(err), &mut said);
        }
        Err(last_words(&said))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// This machine, as one of the machines that guests are on.
#[must_use]
pub fn here() -> Machine {
    Machine::named(LOCAL, "this machine")
}

impl At {
    /// Connects to a machine, and asks what it has.
    ///
    /// # Errors
    /// It can't be reached, or answers in another form.
    pub fn open(machine: &Machine, options: &AtOptions) -> Result<Self, AtError> {
        let way = if machine.name == LOCAL { Way::Here } else { far(machine, &options.reach)? };
        let mut at = Self {
            machine: machine.clone(),
            way,
            options: options.clone(),
            uri: String::new(),
            state: String::new(),
            arch: String::new(),
            programs: Vec::new(),
        };
        let said = at.run("look at it", &["sh", "-c", ABOUT])?;
        let mut lines = said.lines().map(str::to_owned);
        let (Some(uri), Some(state), Some(arch)) = (lines.next(), lines.next(), lines.next()) else {
            return Err(at.garbled(&said));
        };
        if !state.starts_with('/') {
            return Err(at.garbled(&said));
        }
        at.uri = uri;
        at.state = match at.way {
            Way::Here => options.state_dir.to_string_lossy().into_owned(),
            Way::Far { .. } => state,
        };
        at.arch = arch;
        at.programs = lines.collect();
        Ok(at)
    }

    /// The machine.
    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.machine.name
    }

    /// Whether it is this machine.
    #[must_use]
    pub fn is_here(&self) -> bool {
        matches!(self.way, Way::Here)
    }

    pub(crate) fn arch(&self) -> &str {
        &self.arch
    }

    pub(crate) fn options(&self) -> &AtOptions {
        &self.options
    }

    /// The connection; `None`: it is this machine.
    pub(crate) fn ssh(&self) -> Option<&Ssh> {
        match &self.way {
            Way::Here => None,
            Way::Far { ssh, .. } => Some(ssh),
        }
    }

    /// A path in the state directory there.
    pub(crate) fn state(&self, below: &str) -> String {
        format!("{}/{below}", self.state.trim_end_matches('/'))
    }

    pub(crate) fn has(&self, program: &str) -> bool {
        self.programs.iter().any(|there| there == program)
    }

    /// Checks that a program is there.
    pub(crate) fn needs(&self, program: &'static str, package: &'static str) -> Result<(), AtError> {
        match self.has(program) {
            true => Ok(()),
            false => Err(AtError::Lacks { machine: self.name().to_owned(), program, package }),
        }
    }

    /// Runs a program there, as root where that needs no password, and returns what it prints.
    pub(crate) fn run(&self, doing: &'static str, words: &[&str]) -> Result<String, AtError> {
        self.call(doing, words, None, PATIENCE)
    }

    /// Runs a program that reads `bytes`.
    pub(crate) fn feed(
        &self,
        doing: &'static str,
        words: &[&str],
        bytes: Vec<u8>,
    ) -> Result<String, AtError> {
        self.call(doing, words, Some(bytes), PATIENCE * 10)
    }

    /// Runs a program that may take long.
    pub(crate) fn run_long(
        &self,
        doing: &'static str,
        words: &[&str],
        limit: Duration,
    ) -> Result<String, AtError> {
        self.call(doing, words, None, limit)
    }

    /// Runs `virsh` there.
    pub(crate) fn virsh(&self, doing: &'static str, words: &[&str]) -> Result<String, AtError> {
        self.needs("virsh", "libvirt-clients")?;
        self.run(doing, &[&["virsh", "-q", "-c", &self.uri], words].concat())
    }

    /// The words that run `virsh` there.
    pub(crate) fn virsh_words<'w>(&'w self, words: &[&'w str]) -> Vec<&'w str> {
        [&["virsh", "-q", "-c", self.uri.as_str()], words].concat()
    }

    /// Runs a program there on this process's terminal.
    ///
    /// # Errors
    /// It can't be started.
    pub(crate) fn hand_over(&self, words: &[&str]) -> io::Result<ExitStatus> {
        let words = self.wrapped(words);
        match &self.way {
            Way::Far { ssh, .. } => ssh.hand_over(&words, true),
            Way::Here => Command::new(words[0]).args(&words[1..]).status(),
        }
    }

    fn wrapped<'w>(&self, words: &[&'w str]) -> Vec<&'w str> {
        match &self.way {
            Way::Here if !self.options.sudo => words.to_vec(),
            _ => [&["sh", "-c", AS_ROOT_IF_POSSIBLE, "diskproof"], words].concat(),
        }
    }

    fn call(
        &self,
        doing: &'static str,
        words: &[&str],
        stdin: Option<Vec<u8>>,
        limit: Duration,
    ) -> Result<String, AtError> {
        // Its answers are compared in English. sshd starts a program with the locale of that machine.
        let words = self.wrapped(&[&ENGLISH, words].concat());
        let mut call = match &self.way {
            Way::Here => Invocation::program(words[0]).args(&words[1..]),
            Way::Far { ssh, .. } => ssh.call(&words),
        }
        .timeout(limit);
        if let Some(bytes) = stdin {
            call = call.stdin(bytes);
        }
        match LocalRunner.run(&call) {
            Ok(output) => Ok(output.stdout),
            Err(error) => Err(self.failure(doing, &error)),
        }
    }

    fn failure(&self, doing: &'static str, error: &CommandFailure) -> AtError {
        let machine = self.name().to_owned();
        match error {
            CommandFailure::Failed { status: 255, stderr, .. } if !self.is_here() => {
                AtError::NotReached { machine, said: last_words(stderr) }
            }
            CommandFailure::Failed { stderr, status, .. } => {
                AtError::Failed { machine, doing, said: words_of(stderr, *status) }
            }
            error => AtError::Failed { machine, doing, said: record::printable::chain(error) },
        }
    }

    pub(crate) fn garbled(&self, said: &str) -> AtError {
        let said = said.chars().take(200).collect::<String>();
        AtError::Garbled { machine: self.name().to_owned(), said: record::printable::one_line(&said) }
    }
}

/// What a program printed before it failed, as one line.
fn words_of(stderr: &str, status: i32) -> String {
    // virsh begins each of its lines so.
    let bare = |line: &'_ str| line.trim().trim_start_matches("error: ").to_owned();
    let lines: Vec<String> = stderr.lines().map(bare).filter(|line| !line.is_empty()).collect();
    match lines.is_empty() {
        true => format!("status {status}, without a word"),
        false => record::printable::one_line(&lines.join("; ")),
    }
}

fn far(machine: &Machine, reach: &Reach) -> Result<Way, AtError> {
    let links = Links::shared(reach).map_err(|source| AtError::Here {
        what: "can't make the folder of ssh's sockets".to_owned(),
        source,
    })?;
    let not_reached = |said| AtError::NotReached { machine: machine.name.clone(), said };
    let master = links.master(machine, 0).ok_or_else(|| not_reached("no socket".to_owned()))?;
    let held = Held::start(&master).map_err(not_reached)?;
    let ssh = links.ssh(machine, 0);
    Ok(Way::Far { ssh, _master: held, _links: Box::new(links) })
}

/// The options of a connection of its own, without a person who could enter a password.
pub(crate) fn own_connection(machine: &Machine, reach: &Reach) -> Vec<OsString> {
    let mut options = Ssh::unattended(reach.ssh_config.as_deref(), reach.connect_seconds);
    options.extend(of(machine));
    options
}

/// Does something on several machines at once; the results are in the order of the machines.
pub fn on_each<T: Send, R: Send>(items: Vec<T>, fanout: usize, act: &(dyn Fn(T) -> R + Sync)) -> Vec<R> {
    let slots: Vec<std::sync::Mutex<Option<T>>> =
        items.into_iter().map(|item| std::sync::Mutex::new(Some(item))).collect();
    let next = std::sync::atomic::AtomicUsize::new(0);
    let results: Vec<std::sync::Mutex<Option<R>>> =
        slots.iter().map(|_| std::sync::Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..fanout.min(slots.len()) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    let (Some(slot), Some(result)) = (slots.get(at), results.get(at)) else { return };
                    let item = slot.lock().ok().and_then(|mut item| item.take());
                    if let (Some(item), Ok(mut result)) = (item, result.lock()) {
                        *result = Some(act(item));
                    }
                }
            });
        }
    });
    results.into_iter().filter_map(|result| result.into_inner().ok().flatten()).collect()
}

#[cfg(test)]
mod tests {
    use super::{At, AtOptions, here, on_each, words_of};
    use crate::link::Reach;

    #[test]
    fn this_machine_is_a_machine_without_ssh() {
        let options = AtOptions {
            reach: Reach { ssh_config: None, connect_seconds: 3 },
            state_dir: "/nowhere".into(),
            sudo: false,
        };
        let at = At::open(&here(), &options).unwrap();
        assert!(at.is_here() && at.ssh().is_none());
        assert_eq!(at.state("images"), "/nowhere/images");
        assert_eq!(at.run("print", &["printf", "%s|", "a b", "c'd"]).unwrap(), "a b|c'd|");
        assert_eq!(at.run("print", &["printenv", "LC_ALL"]).unwrap(), "C\n");
        assert_eq!(at.feed("print", &["cat"], b"x".to_vec()).unwrap(), "x");
        let error = at.run("list it", &["ls", "/nowhere-at-all"]).unwrap_err().to_string();
        assert!(error.starts_with("local: can't list it: ") && error.contains("/nowhere-at-all"), "{error}");
    }

    #[test]
    fn what_a_program_says_stays_on_one_line() {
        assert_eq!(words_of("error: a\n\n error: b\u{1b}[2J\n", 1), "a; b\\x1b[2J");
        assert_eq!(words_of("\n", 7), "status 7, without a word");
    }

    #[test]
    fn results_are_in_the_order_of_the_machines() {
        let numbers: Vec<u32> = (0..50).collect();
        assert_eq!(
            on_each(numbers.clone(), 7, &|n| n * 2),
            numbers.iter().map(|n| n * 2).collect::<Vec<_>>()
        );
        assert_eq!(on_each(Vec::<u32>::new(), 7, &|n| n), [0; 0]);
    }
}
