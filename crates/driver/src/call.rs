//! Calls a driver: starts its program, sends one request, and hears its events up to the result.

use crate::program::Program;
use crate::protocol::{Answer, Blame, Event, Failure, Outcome, Request, Task, VERSION};
use host::{CommandFailure, Crowd, CrowdEvent, Ending, Input, Invocation, Stream};
use record::printable::{indented, make_printable, printable, printable_lines};
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use thiserror::Error;

/// The longest line of an event, in bytes.
const LONGEST_LINE: usize = 256 << 10;
/// The most events of one request.
const MOST_EVENTS: usize = 100_000;
/// How much of its standard error is kept for a failure, in bytes.
const LAST_WORDS: usize = 4096;
/// The variables that every driver gets besides `PATH`, `HOME` and `LC_ALL`: where a proxy is needed, nothing works without it.
const PROXIES: [&str; 8] = [
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
];

/// How a driver is called.
#[derive(Debug)]
pub struct How<'a> {
    /// The names of the environment variables that are passed on, as its capabilities name them.
    pub secrets: &'a [String],
    /// The driver is ended when it takes longer.
    pub limit: Duration,
    /// Ends the driver when it is set.
    pub cancel: Option<&'a AtomicBool>,
    /// How long a driver that was asked to end may go on before it is killed; zero: it is killed without being asked.
    pub grace: Duration,
    /// A file that holds the request while the driver reads it; `None`: one in memory. The driver keeps it open while it runs, so a lock
    /// on it lasts as long as the driver.
    pub request_file: Option<&'a File>,
    /// Whether the driver can't run ahead of what was heard: it blocks when it prints the second event after that.
    pub in_step: bool,
}

impl Default for How<'_> {
    fn default() -> Self {
        let (limit, grace) = (Duration::from_secs(60), Duration::from_secs(10));
        Self { secrets: &[], limit, cancel: None, grace, request_file: None, in_step: false }
    }
}

/// What a driver said.
#[derive(Debug)]
pub enum Heard<'a> {
    /// An event that is not the result. Its texts are printable.
    Event(&'a Event),
    /// A printable line of its standard error.
    Line(&'a str),
}

/// Why a call gave no answer.
#[derive(Debug, Error)]
pub enum CallError {
    /// Its program doesn't start.
    #[error("driver {driver}: {source}")]
    Command {
        /// The driver.
        driver: String,
        /// Why.
        source: CommandFailure,
    },
    /// The request can't be handed over, or its output can't be read.
    #[error("driver {driver}: {source}")]
    Io {
        /// The driver.
        driver: String,
        /// Why.
        source: io::Error,
    },
    /// It says that the request was not done.
    #[error("driver {driver}: {}{}", .failure.text, .failure.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default())]
    Failed {
        /// The driver.
        driver: String,
        /// What it says, printable.
        failure: Failure,
    },
    /// It doesn't keep to the protocol.
    #[error("driver {driver} breaks the protocol: {what}{}", said(.last))]
    Broken {
        /// The driver.
        driver: String,
        /// How.
        what: String,
        /// Its last words on standard error.
        last: String,
    },
    /// It took too long.
    #[error("driver {driver} took longer than {} s and was ended{}", .limit.as_secs(), said(.last))]
    TimedOut {
        /// The driver.
        driver: String,
        /// The limit.
        limit: Duration,
        /// Its last words on standard error.
        last: String,
    },
    /// The user cancelled.
    #[error("driver {driver} was ended, as the user asked")]
    Cancelled {
        /// The driver.
        driver: String,
    },
}

impl CallError {
    /// Who can mend it.
    #[must_use]
    pub fn blame(&self) -> Blame {
        match self {
            Self::Failed { failure, .. } => failure.blame,
            Self::Broken { .. } => Blame::Driver,
            Self::Command { .. } | Self::Io { .. } | Self::TimedOut { .. } | Self::Cancelled { .. } => {
                Blame::Provider
            }
        }
    }
}

fn said(last: &str) -> String {
    let last = last.trim();
    if last.is_empty() {
        String::new()
    } else {
        format!("; its standard error ends with: {}", indented(last))
    }
}

/// Has a driver do a task. `heard` gets its events and its standard error as they come.
///
/// # Errors
/// The driver fails, breaks the protocol, takes too long, or the user cancelled. What it created until then stays.
pub fn call(
    program: &Program,
    task: Task,
    how: &How<'_>,
    heard: &mut dyn FnMut(Heard<'_>),
) -> Result<Answer, CallError> {
    let request = Request { protocol: VERSION.to_owned(), task };
    let io = |source: io::Error| CallError::Io { driver: program.name.clone(), source };
    let text = serde_json::to_vec(&request).map_err(io::Error::from).map_err(io)?;
    let answer = converse(program, &text, how, heard)?;
    if fits(&request.task, &answer) {
        return Ok(answer);
    }
    let what = "its result belongs to another task".to_owned();
    Err(CallError::Broken { driver: program.name.clone(), what, last: String::new() })
}

/// Sends any bytes as the request, also wrong ones.
///
/// # Errors
/// As of [`call`].
pub fn converse(
    program: &Program,
    request: &[u8],
    how: &How<'_>,
    heard: &mut dyn FnMut(Heard<'_>),
) -> Result<Answer, CallError> {
    let mut talk = Talk { driver: &program.name, ..Talk::default() };
    let failed = |source: io::Error| CallError::Io { driver: program.name.clone(), source };
    let input = request_file(request, how.request_file).map_err(failed)?;
    let mut crowd = Crowd::default();
    let command = |source| CallError::Command { driver: program.name.clone(), source };
    let call = invocation(program, how);
    let input = Input::File(input);
    let id = if how.in_step { crowd.start_in_step(&call, input) } else { crowd.start(&call, input) };
    let id = id.map_err(command)?;
    let deadline = Instant::now() + how.limit;
    let mut ending: Option<(Instant, bool)> = None;
    loop {
        let now = Instant::now();
        let cancelled = how.cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed));
        if ending.is_none() && (cancelled || now >= deadline) {
            if !how.grace.is_zero() {
                crowd.ask_to_end(id);
            }
            ending = Some((now + how.grace, cancelled));
        }
        if ending.is_some_and(|(until, _)| now >= until) || talk.broken.is_some() {
            crowd.kill(id);
        }
        match crowd.next(Some(now + Duration::from_millis(100))).map_err(failed)? {
            Some(CrowdEvent::Output { stream: Stream::Out, bytes, .. }) => talk.output(&bytes, heard),
            Some(CrowdEvent::Output { stream: Stream::Err, bytes, .. }) => talk.errors(&bytes, heard),
            Some(CrowdEvent::Ended { ending: how_it_ended, .. }) => {
                return talk.end(how_it_ended, ending.map(|(_, cancelled)| cancelled), how.limit);
            }
            None => {}
        }
    }
}

fn invocation(program: &Program, how: &How<'_>) -> Invocation {
    let call = Invocation::program(&program.path).args(&program.args).bare();
    let names = PROXIES.into_iter().chain(how.secrets.iter().map(String::as_str));
    names
        .filter_map(|name| Some((name, std::env::var_os(name)?)))
        .fold(call, |call, (name, value)| call.env(name, value))
}

fn request_file(request: &[u8], file: Option<&File>) -> io::Result<File> {
    let mut file = match file {
        Some(file) => file.try_clone()?,
        None => File::from(memfd_create("request", MemfdFlags::CLOEXEC)?),
    };
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(request)?;
    file.rewind()?;
    Ok(file)
}

fn fits(task: &Task, answer: &Answer) -> bool {
    matches!(
        (task, answer),
        (Task::Capabilities, Answer::Capabilities(_))
            | (Task::Validate { .. }, Answer::Valid(_))
            | (Task::Create { .. }, Answer::Created { .. })
            | (Task::Status { .. }, Answer::Status { .. })
            | (Task::Destroy { .. }, Answer::Destroyed { .. })
            | (Task::List { .. }, Answer::Listed { .. })
    )
}

/// What a driver has said so far.
#[derive(Default)]
struct Talk<'a> {
    driver: &'a str,
    line: Vec<u8>,
    count: usize,
    result: Option<Outcome>,
    broken: Option<String>,
    error_line: Vec<u8>,
    last: String,
}

impl Talk<'_> {
    fn output(&mut self, bytes: &[u8], heard: &mut dyn FnMut(Heard<'_>)) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.broken.is_some() {
                return;
            }
            self.line.extend_from_slice(part);
            if self.line.len() > LONGEST_LINE {
                self.broken = Some(format!("it sent a line of more than {LONGEST_LINE} bytes"));
            } else if self.line.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                if let Err(what) = self.take(&line, heard) {
                    self.broken = Some(what);
                }
            }
        }
    }

    /// Takes one line.
    fn take(&mut self, line: &[u8], heard: &mut dyn FnMut(Heard<'_>)) -> Result<(), String> {
        let quoted = || {
            printable(&String::from_utf8_lossy(line).trim_end().chars().take(200).collect::<String>())
                .into_owned()
        };
        if self.result.is_some() {
            return Err(format!("it sent a line after its result: {}", quoted()));
        }
        self.count += 1;
        if self.count > MOST_EVENTS {
            return Err(format!("it sent more than {MOST_EVENTS} events"));
        }
        let wrong =
            |error: serde_json::Error| format!("it sent a line that is not an event ({error}): {}", quoted());
        let mut value: serde_json::Value = serde_json::from_slice(line).map_err(wrong)?;
        // Host keys and the like have no such characters, so this changes only what would harm a terminal.
        make_printable(&mut value);
        match serde_json::from_value(value).map_err(wrong)? {
            Event::Result { outcome } => self.result = Some(outcome),
            event => heard(Heard::Event(&event)),
        }
        Ok(())
    }

    fn errors(&mut self, bytes: &[u8], heard: &mut dyn FnMut(Heard<'_>)) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.error_line.extend_from_slice(part);
            if self.error_line.ends_with(b"\n") || self.error_line.len() > LAST_WORDS {
                self.speak(heard);
            }
        }
    }

    fn speak(&mut self, heard: &mut dyn FnMut(Heard<'_>)) {
        let line = std::mem::take(&mut self.error_line);
        let text = String::from_utf8_lossy(&line).trim_end().to_owned();
        let text = printable_lines(&text).into_owned();
        if !text.is_empty() {
            heard(Heard::Line(&text));
            self.last.push_str(&text);
            self.last.push('\n');
            let over = self.last.len().saturating_sub(LAST_WORDS);
            let cut = (over..self.last.len()).find(|at| self.last.is_char_boundary(*at)).unwrap_or(0);
            self.last.drain(..cut);
        }
    }

    fn end(mut self, ending: Ending, asked: Option<bool>, limit: Duration) -> Result<Answer, CallError> {
        self.speak(&mut |_| {});
        let driver = self.driver.to_owned();
        let last = self.last;
        if let Some(what) = self.broken {
            return Err(CallError::Broken { driver, what, last });
        }
        if !self.line.is_empty() {
            let what = "its last line has no end".to_owned();
            return Err(CallError::Broken { driver, what, last });
        }
        match (self.result, asked) {
            (Some(Outcome::Done(answer)), _) => Ok(answer),
            (Some(Outcome::Failed(failure)), None | Some(false)) => {
                Err(CallError::Failed { driver, failure })
            }
            (_, Some(true)) => Err(CallError::Cancelled { driver }),
            (None, Some(false)) => Err(CallError::TimedOut { driver, limit, last }),
            (None, None) => {
                let how = match ending {
                    Ending::Status(status) => format!("with status {status}"),
                    Ending::Signal(signal) => format!("by signal {signal}"),
                    Ending::TimedOut => "too late".to_owned(),
                };
                Err(CallError::Broken { driver, what: format!("it ended {how} without a result"), last })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CallError, Heard, How, call};
    use crate::program::Program;
    use crate::protocol::{Answer, Blame, Event, Task};
    use std::sync::atomic::AtomicBool;
    use std::time::{Duration, Instant};

    fn shell(script: &str) -> Program {
        Program { name: "t".to_owned(), path: "/bin/sh".into(), args: vec!["-c".into(), script.into()] }
    }

    fn list() -> Task {
        Task::List { settings: Default::default() }
    }

    const RESULT: &str = r#"{"event":"result","done":{"listed":{"resources":[]}}}"#;

    fn said(script: &str) -> (Result<Answer, CallError>, Vec<String>) {
        let mut all = Vec::new();
        let how = How { limit: Duration::from_secs(20), ..How::default() };
        let answer = call(&shell(script), list(), &how, &mut |heard| {
            all.push(match heard {
                Heard::Event(Event::Step { text, .. }) => format!("step {text}"),
                Heard::Event(event) => format!("{event:?}"),
                Heard::Line(line) => format!("line {line}"),
            });
        });
        (answer, all)
    }

    #[test]
    fn a_request_comes_by_stdin_and_events_come_in_order() {
        let script = format!(
            r#"read r; case "$r" in *'"do":"list"'*) echo '{{"event":"step","text":"a\u001b[2J"}}'; echo 'so' >&2; sleep 0.2; echo '{RESULT}';; esac"#
        );
        let (answer, all) = said(&script);
        assert_eq!(answer.unwrap(), Answer::Listed { resources: vec![] });
        assert_eq!(all.len(), 2, "{all:?}");
        assert!(all.contains(&r"step a\x1b[2J".to_owned()), "{all:?}");
        assert!(all.contains(&"line so".to_owned()), "{all:?}");
    }

    #[test]
    fn what_breaks_the_protocol_is_named() {
        let done = format!("echo '{RESULT}'");
        for (script, part) in [
            ("true".to_owned(), "ended with status 0 without a result"),
            ("echo no >&2; exit 3".to_owned(), "status 3 without a result; its standard error ends with: no"),
            ("kill -9 $$".to_owned(), "by signal 9"),
            (format!("{done}; {done}"), "after its result"),
            (format!("printf '%s' '{RESULT}'"), "has no end"),
            ("echo hello".to_owned(), "not an event"),
            ("head -c 300000 /dev/zero | tr '\\0' a; sleep 60".to_owned(), "more than 262144 bytes"),
            (
                "echo '{\"event\":\"result\",\"done\":{\"status\":{\"machines\":[]}}}'".to_owned(),
                "another task",
            ),
        ] {
            let error = said(&script).0.unwrap_err();
            assert!(error.to_string().contains(part), "{script}: {error}");
            assert_eq!(error.blame(), Blame::Driver, "{script}");
        }
    }

    #[test]
    fn a_failure_is_the_drivers_own() {
        let script = r#"echo '{"event":"result","failed":{"blame":"user","text":"no region","help":"set it"}}'; exit 1"#;
        let error = said(script).0.unwrap_err();
        assert_eq!(error.to_string(), "driver t: no region; set it");
        assert_eq!(error.blame(), Blame::User);
    }

    #[test]
    fn a_cancelled_driver_has_its_grace_and_then_ends_with_its_children() {
        let cancel = AtomicBool::new(true);
        let how = |grace| How { cancel: Some(&cancel), grace, ..How::default() };
        let polite = format!("R='{RESULT}'; trap 'echo \"$R\"; exit 0' TERM; while :; do sleep 0.05; done");
        let answer = call(&shell(&polite), list(), &how(Duration::from_secs(20)), &mut |_| {});
        assert!(matches!(answer, Ok(_) | Err(CallError::Cancelled { .. })), "{answer:?}");
        let began = Instant::now();
        let stubborn = "trap '' TERM; sleep 600 & wait; sleep 600";
        let answer = call(&shell(stubborn), list(), &how(Duration::from_millis(300)), &mut |_| {});
        assert!(matches!(answer, Err(CallError::Cancelled { .. })), "{answer:?}");
        assert!(began.elapsed() < Duration::from_secs(60));
    }

    #[test]
    fn the_environment_holds_only_what_is_named() {
        let script = format!("env | cut -d= -f1 | sort | tr '\\n' ' ' >&2; echo >&2; echo '{RESULT}'");
        let all = said(&script).1.join(" ");
        assert!(all.contains("PATH") && all.contains("LC_ALL"), "{all}");
        assert!(!all.contains("CARGO"), "{all}");
    }
}
