//! Runs a command on many machines: its output line by line as it comes, and its end on each of them.

use crate::drive::{Done, Drive, Errand, Fanout, Task};
use crate::link::Reach;
use crate::status::state;
use host::{Copied, Ending, Input, Installed, Ssh, SshError, Stream, last_words};
use record::machine::{Machine, MachineState};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Longest line that is passed on whole, in bytes; a longer one is cut into several.
const LONGEST: usize = 64 << 10;
/// Most bytes of ssh's own words that are kept.
const MOST: usize = 64 << 10;
/// Time limit for looking for the copy of this program there.
const LOOK: Duration = Duration::from_secs(60);
/// Time limit for copying 25 MB over a slow connection.
const COPY: Duration = Duration::from_secs(600);
/// Becomes root by sudo unless the user is root already. The command follows as arguments.
const AS_ROOT: &str = r#"if [ "$(id -u)" = 0 ]; then exec "$@"; else exec sudo -n -- "$@"; fi"#;
/// The same, but goes on as the user if sudo is missing or wants a password.
pub(crate) const AS_ROOT_IF_POSSIBLE: &str =
    r#"if [ "$(id -u)" != 0 ] && sudo -n true 2>/dev/null; then exec sudo -n -- "$@"; else exec "$@"; fi"#;

/// What to run.
#[derive(Debug, Clone)]
pub struct Command {
    /// The program and its arguments. They reach the program unchanged.
    pub words: Vec<String>,
    /// Whether to run it as root.
    pub root: AsRoot,
    /// Whether the program is diskproof itself, which is copied there first: then the words are its arguments.
    pub diskproof: bool,
    /// Time limit on each machine.
    pub limit: Option<Duration>,
}

/// Whether a command runs as root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AsRoot {
    /// As the user that ssh connects as.
    No,
    /// As root if that needs no password, else as the user.
    IfPossible,
    /// As root, by `sudo -n` where the user isn't root.
    Must,
}

/// How a command ended on a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// With this exit code.
    Code(i32),
    /// It took longer than its limit; ssh was ended here.
    TimedOut,
    /// The machine can't be reached, or the connection broke.
    NotReached {
        /// Whether it is on.
        state: MachineState,
        /// Why.
        reason: String,
    },
    /// This program can't be copied there.
    NotCopied {
        /// Why.
        reason: String,
    },
}

/// Something that happened on a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandEvent {
    /// The command printed a line; bytes that aren't UTF-8 are replaced.
    Line {
        /// Whether to standard error.
        to_stderr: bool,
        /// The line, without its end.
        text: String,
    },
    /// The command ended there.
    Ended {
        /// How.
        outcome: Outcome,
        /// Since its start.
        took: Duration,
    },
}

/// Runs a command on machines; `tell` gets what happens, with the machine's place in the list. Returns whether it ran everywhere; `false`
/// when it was cancelled.
///
/// # Errors
/// This program can't be read, the directory of the sockets can't be made, or the kernel refuses to wait.
pub fn run(
    machines: &[Machine],
    command: &Command,
    reach: &Reach,
    fanout: usize,
    tell: &mut dyn FnMut(usize, CommandEvent),
    cancel: &AtomicBool,
) -> io::Result<bool> {
    let copied =
        command.diskproof.then(|| Copied::of(Path::new(OWN))).transpose().map_err(io::Error::other)?;
    let mut drive =
        if command.diskproof { Drive::shared(machines, reach)? } else { Drive::single(machines, reach) };
    let far = (0..machines.len()).map(|_| Far::default()).collect();
    let mut running = Running { command, copied, far, tell };
    drive.errand(0..machines.len(), Fanout { most: fanout, skips_silent: false }, &mut running, cancel)
}

/// The running program's own file, even if another has replaced it since.
const OWN: &str = "/proc/self/exe";

/// What is under way on a machine.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Step {
    #[default]
    Begin,
    Look,
    Copy,
    LookAgain,
    Run,
}

/// A machine, while a command runs there.
#[derive(Debug, Default)]
struct Far {
    step: Step,
    /// What is printed and not yet passed on.
    out: Vec<u8>,
    err: Vec<u8>,
    /// The last words on standard error.
    words: Vec<u8>,
}

struct Running<'a> {
    command: &'a Command,
    copied: Option<Copied>,
    far: Vec<Far>,
    tell: &'a mut dyn FnMut(usize, CommandEvent),
}

impl Errand for Running<'_> {
    fn next(&mut self, machine: usize, ssh: &Ssh, before: Option<Done>) -> Option<Task> {
        let Some(done) = before else { return self.begin(machine, ssh) };
        let (ending, took) = match done {
            Done::Ended { ending, took } => (ending, took),
            Done::NotStarted(failure) => {
                let reason = record::printable::chain(&failure);
                self.ended(
                    machine,
                    Outcome::NotReached { state: MachineState::Unknown, reason },
                    Duration::ZERO,
                );
                return None;
            }
        };
        let step = self.far.get(machine).map(|far| far.step).unwrap_or_default();
        if step == Step::Run {
            self.flush(machine);
        }
        match (step, ending) {
            (Step::Look | Step::LookAgain, Ending::Status(0)) => self.looked(machine, ssh, step, took),
            (Step::Copy, Ending::Status(0)) => self.look(machine, ssh, Step::LookAgain),
            (Step::Run, Ending::Status(code)) if code != UNREACHED => {
                self.ended(machine, Outcome::Code(code), took);
                None
            }
            (Step::Look | Step::LookAgain | Step::Copy, Ending::Status(code)) if code != UNREACHED => {
                let reason = self.last_words(machine);
                self.ended(machine, Outcome::NotCopied { reason }, took);
                None
            }
            (Step::Run, Ending::TimedOut) => {
                self.ended(machine, Outcome::TimedOut, took);
                None
            }
            (_, ending) => {
                let reason = match ending {
                    Ending::Signal(number) => format!("ssh was ended by signal {number}"),
                    Ending::TimedOut => "it took too long".to_owned(),
                    Ending::Status(_) => self.last_words(machine),
                };
                self.ended(machine, Outcome::NotReached { state: state(ending, &reason), reason }, took);
                None
            }
        }
    }

    fn hears(&mut self, machine: usize, stream: Stream, bytes: &[u8]) {
        let Some(far) = self.far.get_mut(machine) else { return };
        if stream == Stream::Err {
            let room = MOST.saturating_sub(far.words.len());
            far.words.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
        let kept = if stream == Stream::Out { &mut far.out } else { &mut far.err };
        if far.step != Step::Run {
            let room = MOST.saturating_sub(kept.len());
            kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
            return;
        }
        kept.extend_from_slice(bytes);
        for line in lines(kept) {
            (self.tell)(machine, CommandEvent::Line { to_stderr: stream == Stream::Err, text: line });
        }
    }
}

/// ssh's own exit code.
const UNREACHED: i32 = 255;

/// Takes the complete lines out of what was printed.
fn lines(kept: &mut Vec<u8>) -> Vec<String> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(end) = kept[at..].iter().position(|byte| *byte == b'\n') {
        found.push(text(&kept[at..at + end]));
        at += end + 1;
    }
    while kept.len() - at > LONGEST {
        found.push(text(&kept[at..at + LONGEST]));
        at += LONGEST;
    }
    kept.drain(..at);
    found
}

fn text(line: &[u8]) -> String {
    String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line)).into_owned()
}

impl Running<'_> {
    fn begin(&mut self, machine: usize, ssh: &Ssh) -> Option<Task> {
        if self.copied.is_some() {
            return self.look(machine, ssh, Step::Look);
        }
        let words: Vec<&str> = self.command.words.iter().map(String::as_str).collect();
        self.start(machine, ssh, &words)
    }

    fn look(&mut self, machine: usize, ssh: &Ssh, step: Step) -> Option<Task> {
        self.enter(machine, step);
        let call = ssh.call(&self.copied.as_ref()?.look()).timeout(LOOK);
        Some(Task { call, input: Input::None })
    }

    fn looked(&mut self, machine: usize, ssh: &Ssh, step: Step, took: Duration) -> Option<Task> {
        let answer = self.far.get(machine).map(|far| String::from_utf8_lossy(&far.out).into_owned());
        let found: Result<(Installed, bool), SshError> = ssh.read(&answer.unwrap_or_default());
        let reason = match (found, step) {
            (Ok((installed, true)), _) => {
                let mut words = vec![installed.path.as_str()];
                words.extend(self.command.words.iter().map(String::as_str));
                return self.start(machine, ssh, &words);
            }
            (Ok(_), Step::Look) => match File::open(OWN) {
                Ok(file) => {
                    self.enter(machine, Step::Copy);
                    let call = ssh.call(&self.copied.as_ref()?.take()).timeout(COPY);
                    return Some(Task { call, input: Input::File(file) });
                }
                Err(error) => error.to_string(),
            },
            (Ok(_), _) => "the copy of diskproof there isn't what was sent; is its disk full?".to_owned(),
            (Err(error), _) => record::printable::chain(&error),
        };
        self.ended(machine, Outcome::NotCopied { reason }, took);
        None
    }

    fn start(&mut self, machine: usize, ssh: &Ssh, words: &[&str]) -> Option<Task> {
        self.enter(machine, Step::Run);
        let words = match self.command.root {
            AsRoot::No => words.to_vec(),
            AsRoot::IfPossible => [&["sh", "-c", AS_ROOT_IF_POSSIBLE, "diskproof"], words].concat(),
            AsRoot::Must => [&["sh", "-c", AS_ROOT, "diskproof"], words].concat(),
        };
        let call = ssh.call(&words);
        let call = match self.command.limit {
            Some(limit) => call.timeout(limit),
            None => call,
        };
        Some(Task { call, input: Input::None })
    }

    fn enter(&mut self, machine: usize, step: Step) {
        if let Some(far) = self.far.get_mut(machine) {
            *far = Far { step, ..Far::default() };
        }
    }

    /// Passes on the last lines, which have no end.
    fn flush(&mut self, machine: usize) {
        let Some(far) = self.far.get_mut(machine) else { return };
        for (kept, to_stderr) in [(&mut far.out, false), (&mut far.err, true)] {
            if !kept.is_empty() {
                let text = text(&std::mem::take(kept));
                (self.tell)(machine, CommandEvent::Line { to_stderr, text });
            }
        }
    }

    fn last_words(&self, machine: usize) -> String {
        self.far.get(machine).map(|far| last_words(&String::from_utf8_lossy(&far.words))).unwrap_or_default()
    }

    fn ended(&mut self, machine: usize, outcome: Outcome, took: Duration) {
        (self.tell)(machine, CommandEvent::Ended { outcome, took });
    }
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, lines};

    #[test]
    fn lines_are_complete_and_none_grows_without_end() {
        let mut kept = b"a\r\nb\nhalf".to_vec();
        assert_eq!(lines(&mut kept), ["a", "b"]);
        assert_eq!(kept, b"half");
        kept.extend(vec![b'x'; 2 * LONGEST]);
        assert_eq!(lines(&mut kept).len(), 2);
        assert_eq!(kept.len(), 4);
        assert_eq!(lines(&mut b"\xff\n".to_vec()), ["\u{fffd}"]);
    }
}
