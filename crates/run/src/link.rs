//! The controller's end of a connection to a node: a child process and its pipes.

use crate::heard;
use crate::protocol::{ALIVE_EVERY, Reply, Request, SILENT_AFTER};
use record::printable::{Printable, printable};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use thiserror::Error;

/// The most bytes of a line of standard error that are passed on at once.
const LINE_BYTES: u64 = 4096;
/// The most lines of standard error that are passed on for one node. More are read and dropped, in case a machine floods us.
const MOST_LINES: usize = 1000;
/// The number of last lines that the error quotes when a node is lost.
const LAST_LINES: usize = 5;
/// How often a link that ends looks for the end of its node.
const LOOK: Duration = Duration::from_millis(20);
/// The wait for these last lines.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// What is to be done about a node that hangs.
const AFTER_HANG: &str =
    "when that machine answers again (it may need a restart), `diskproof undo` puts back what is left there";

/// Why the connection to a node broke.
#[derive(Debug, Error)]
pub enum LinkError {
    /// The node's program could not be started.
    #[error("can't start the agent process `{argv}`")]
    Spawn {
        /// The command.
        argv: String,
        /// Why.
        source: std::io::Error,
    },
    /// The node has exited.
    #[error("the agent process ended unexpectedly ({status}); `diskproof undo` puts back what it left{}", last(.said))]
    Gone {
        /// Its exit status, if known.
        status: String,
        /// The last lines on standard error, from the node or ssh.
        said: Vec<String>,
    },
    /// The node says nothing.
    #[error(
        "the agent process has said nothing for {silent_seconds} s: its machine hangs, or it was stopped; {AFTER_HANG}"
    )]
    Silent {
        /// The least number of seconds.
        silent_seconds: u64,
    },
    /// The node's work hangs in the kernel.
    #[error("{what}; {AFTER_HANG}")]
    Hung {
        /// What hangs, and what it waits for.
        what: String,
    },
    /// The node sent a line that is no valid reply.
    #[error("the agent process sent a line that is not a reply: {line}")]
    Garbled {
        /// The line, truncated.
        line: String,
        /// The parser's error.
        source: serde_json::Error,
    },
}

/// A running node.
pub(crate) struct Link {
    child: Child,
    input: Arc<Mutex<Option<ChildStdin>>>,
    /// Ends the thread that says regularly that the controller is there.
    beats: Option<Sender<()>>,
    replies: Receiver<Result<Reply, LinkError>>,
    /// Whether the node is there, as far as its words tell.
    heard: Arc<heard::Heard>,
    /// The longest silence of a node that speaks regularly.
    patience: Duration,
    said: Receiver<String>,
    /// The last lines of standard error that were passed on.
    passed: VecDeque<String>,
}

/// The result of [`Link::wait`].
pub(crate) enum Heard {
    /// A reply.
    Reply(Reply),
    /// A printable line from standard error: ssh, sudo or the node wrote it.
    Said(String),
    /// Nothing yet.
    Silence,
}

impl Link {
    /// Starts the node in its own process group, so that the terminal's Ctrl-C reaches only the controller.
    pub(crate) fn start(argv: &[OsString]) -> Result<Self, LinkError> {
        Self::start_with(argv, SILENT_AFTER)
    }

    /// The same, with the longest silence of a node that speaks regularly.
    fn start_with(argv: &[OsString], patience: Duration) -> Result<Self, LinkError> {
        let shown = || argv.iter().map(|a| a.to_string_lossy()).collect::<Vec<_>>().join(" ");
        let Some((program, args)) = argv.split_first() else {
            return Err(LinkError::Spawn { argv: shown(), source: std::io::ErrorKind::InvalidInput.into() });
        };
        let mut child = Command::new(program)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|source| LinkError::Spawn { argv: shown(), source })?;
        let input = Arc::new(Mutex::new(child.stdin.take()));
        let (sender, replies) = channel();
        let (speaker, said) = channel();
        if let Some(errors) = child.stderr.take() {
            std::thread::spawn(move || relay(errors, &speaker));
        }
        let heard = heard::Heard::begin(patience, || ());
        let hearing = Arc::clone(&heard);
        if let Some(output) = child.stdout.take() {
            std::thread::spawn(move || {
                let output = Hearing { output, heard: Arc::clone(&hearing) };
                for line in BufReader::new(output).lines() {
                    let Ok(line) = line else { break };
                    let reply = serde_json::from_str(&line).map(Reply::shown).map_err(|source| {
                        let cut: String = line.chars().take(200).collect();
                        LinkError::Garbled { line: printable(&cut).into_owned(), source }
                    });
                    let (reply, hangs) = match reply {
                        Ok(Reply::Alive) => {
                            hearing.word(true);
                            continue;
                        }
                        Ok(Reply::Hung { what }) => (Err(LinkError::Hung { what }), true),
                        reply => (reply, false),
                    };
                    if sender.send(reply).is_err() {
                        break;
                    }
                    if hangs {
                        hearing.lose();
                    }
                }
            });
        }
        Ok(Self { child, input, beats: None, replies, heard, patience, said, passed: VecDeque::new() })
    }

    /// Has a thread say regularly that the controller is there, from now on.
    pub(crate) fn keep_alive(&mut self) -> Result<(), LinkError> {
        self.send(&Request::Alive)?;
        let (ender, ended) = channel();
        let input = Arc::clone(&self.input);
        std::thread::spawn(move || {
            while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(ALIVE_EVERY) {
                // Who holds the lock is about to say something, which is as good.
                if let Ok(mut input) = input.try_lock() {
                    beat(input.as_mut());
                }
            }
        });
        self.beats = Some(ender);
        Ok(())
    }

    /// Sends a request.
    pub(crate) fn send(&mut self, request: &Request) -> Result<(), LinkError> {
        let sent = serde_json::to_vec(request).map_err(std::io::Error::from).and_then(|mut line| {
            line.push(b'\n');
            let mut input = self.input.lock().unwrap_or_else(PoisonError::into_inner);
            let input = input.as_mut().ok_or(std::io::ErrorKind::BrokenPipe)?;
            input.write_all(&line)?;
            input.flush()
        });
        match sent {
            Ok(()) => Ok(()),
            Err(_) => Err(self.gone()),
        }
    }

    /// Waits up to `patience` for the next reply.
    pub(crate) fn wait(&mut self, patience: Duration) -> Result<Heard, LinkError> {
        if let Ok(line) = self.said.try_recv() {
            self.passed.push_back(line.clone());
            if self.passed.len() > LAST_LINES {
                self.passed.pop_front();
            }
            return Ok(Heard::Said(line));
        }
        match self.replies.recv_timeout(patience) {
            Ok(reply) => reply.map(Heard::Reply),
            Err(RecvTimeoutError::Timeout) if !self.heard.is_lost() => Ok(Heard::Silence),
            // The reply that says why came before.
            Err(RecvTimeoutError::Timeout) => match self.replies.try_recv() {
                Ok(reply) => reply.map(Heard::Reply),
                Err(TryRecvError::Disconnected) => Err(self.gone()),
                Err(TryRecvError::Empty) => Err(self.silent()),
            },
            Err(RecvTimeoutError::Disconnected) => Err(self.gone()),
        }
    }

    /// Why the connection is broken; `None` while the node runs and has nothing to say.
    pub(crate) fn broken(&mut self) -> Option<LinkError> {
        let is_lost = self.heard.is_lost();
        match self.replies.try_recv() {
            Ok(Err(error)) => Some(error),
            Err(TryRecvError::Disconnected) => Some(self.gone()),
            Err(TryRecvError::Empty) if is_lost => Some(self.silent()),
            Ok(Ok(_)) | Err(TryRecvError::Empty) => None,
        }
    }

    fn silent(&self) -> LinkError {
        LinkError::Silent { silent_seconds: self.patience.as_secs() }
    }

    fn gone(&mut self) -> LinkError {
        let until = Instant::now() + Duration::from_secs(2);
        let status = loop {
            match self.child.try_wait() {
                Ok(Some(status)) => break status.to_string(),
                Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(20)),
                _ => break "still running, but its output is closed".to_owned(),
            }
        };
        // Its standard error closes when it exits, unless a child of it keeps it open.
        let mut said: Vec<String> = std::mem::take(&mut self.passed).into();
        while let Ok(line) = self.said.recv_timeout(LAST_WORDS) {
            said.push(line);
        }
        said.drain(..said.len().saturating_sub(LAST_LINES));
        LinkError::Gone { status, said }
    }
}

/// A node's output. A long line that arrives slowly is no silence.
struct Hearing {
    output: ChildStdout,
    heard: Arc<heard::Heard>,
}

impl Read for Hearing {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.output.read(buffer)?;
        self.heard.word(false);
        Ok(read)
    }
}

/// Says that the controller is there, unless the pipe is full: then nobody reads it, and the write would block.
fn beat(input: Option<&mut ChildStdin>) {
    let Some(input) = input else { return };
    let mut polled = [PollFd::new(&*input, PollFlags::OUT)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let has_room = poll(&mut polled, Some(&now)).is_ok_and(|ready| ready > 0)
        && polled[0].revents().contains(PollFlags::OUT);
    if let (true, Ok(mut line)) = (has_room, serde_json::to_vec(&Request::Alive)) {
        line.push(b'\n');
        // A broken pipe is noticed by whoever waits for a reply.
        let _ = input.write_all(&line).and_then(|()| input.flush());
    }
}

/// Passes a node's standard error on, line by line. Another program may write there, so each line is made printable first.
fn relay(errors: ChildStderr, speaker: &Sender<String>) {
    let mut errors = BufReader::new(errors);
    for _ in 0..MOST_LINES {
        let mut line = Vec::new();
        // The limit keeps a line without an end from filling the memory.
        match (&mut errors).take(LINE_BYTES).read_until(b'\n', &mut line) {
            Ok(read) if read > 0 => {}
            _ => return,
        }
        let text = Printable(line.trim_ascii_end()).to_string();
        if !text.is_empty() && speaker.send(text).is_err() {
            break;
        }
    }
    // Read on, so that a full pipe doesn't block the node.
    let _ = std::io::copy(&mut errors, &mut std::io::sink());
}

fn last(said: &[String]) -> String {
    said.iter().map(|line| format!("\n    | {line}")).collect()
}

impl Drop for Link {
    /// Closes the node's input, so that it undoes and exits, and waits for that: an undo must not be cut short. Nobody waits for a node
    /// that hangs; it undoes once it can.
    fn drop(&mut self) {
        let is_remote = self.beats.take().is_some();
        drop(self.input.lock().unwrap_or_else(PoisonError::into_inner).take());
        loop {
            match self.replies.recv_timeout(LOOK) {
                Err(RecvTimeoutError::Timeout) if !self.heard.is_lost() => {}
                Ok(Ok(_)) => {}
                _ => break,
            }
        }
        while !self.heard.is_lost() {
            match self.child.try_wait() {
                Ok(None) => std::thread::sleep(LOOK),
                _ => return,
            }
        }
        if is_remote {
            // The way there, not the node.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Heard, Link, LinkError};
    use record::printable::chain;
    use std::time::{Duration, Instant};

    const ALIVE: &str = r#"echo '{"reply":"alive"}'"#;

    fn link(script: &str, patience: Duration) -> Link {
        Link::start_with(&["sh", "-c", script].map(Into::into), patience).unwrap()
    }

    fn until_heard(link: &mut Link) -> Result<Heard, LinkError> {
        loop {
            match link.wait(Duration::from_millis(10)) {
                Ok(Heard::Silence) => {}
                other => return other,
            }
        }
    }

    #[test]
    fn a_node_that_falls_silent_is_lost_and_nobody_waits_for_it() {
        let begun = Instant::now();
        let mut silent = link(&format!("{ALIVE}; exec sleep 3600"), Duration::from_secs(1));
        let Err(error) = until_heard(&mut silent) else { panic!("it said something") };
        let said = chain(&error);
        assert!(said.starts_with("the agent process has said nothing for 1 s: its machine hangs"), "{said}");
        assert!(silent.broken().is_some());
        let child = rustix::process::Pid::from_child(&silent.child);
        drop(silent);
        assert!(begun.elapsed() < Duration::from_secs(1800));
        // It is left to itself: it may be undoing.
        rustix::process::kill_process(child, rustix::process::Signal::KILL).unwrap();
    }

    #[test]
    fn the_way_to_a_node_that_fell_silent_is_ended() {
        let mut silent = link(&format!("{ALIVE}; exec sleep 3600"), Duration::from_secs(1));
        silent.keep_alive().unwrap();
        assert!(until_heard(&mut silent).is_err());
        let child = silent.child.id();
        drop(silent);
        assert!(!std::path::Path::new(&format!("/proc/{child}")).exists());
    }

    #[test]
    fn a_node_that_never_said_that_it_speaks_regularly_may_be_silent() {
        let script = r#"sleep 3; echo '{"reply":"closed"}'"#;
        let mut quiet = link(script, Duration::from_millis(500));
        assert!(matches!(until_heard(&mut quiet), Ok(Heard::Reply(crate::protocol::Reply::Closed))));
    }

    #[test]
    fn a_long_reply_that_arrives_slowly_is_no_silence() {
        let pieces = "for piece in 1 2 3 4 5 6 7 8 9 10; do sleep 0.5; printf ' '; done";
        let script = format!(r#"{ALIVE}; printf '{{"reply":'; {pieces}; echo '"closed"}}'"#);
        let mut slow = link(&script, Duration::from_secs(3));
        assert!(matches!(until_heard(&mut slow), Ok(Heard::Reply(crate::protocol::Reply::Closed))));
    }

    #[test]
    fn a_node_that_hangs_says_why_and_nobody_waits_for_it() {
        let hung = r#"echo '{"reply":"hung","what":"disk vdb"}'"#;
        let beats = format!("while sleep 0.1; do {ALIVE} || exit; done");
        let mut hangs = link(&format!("{ALIVE}; {hung}; {beats}"), Duration::from_secs(3600));
        let Err(error) = until_heard(&mut hangs) else { panic!("it said something") };
        assert!(chain(&error).starts_with("disk vdb; when that machine answers again"), "{}", chain(&error));
        drop(hangs);
    }
}
