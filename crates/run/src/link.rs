//! The controller's end of a connection to a node: a child process and its pipes.

use crate::protocol::{ALIVE_EVERY, Reply, Request};
use record::printable::{Printable, printable};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStderr, ChildStdin, Command, Stdio};
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
/// The wait for these last lines.
const LAST_WORDS: Duration = Duration::from_millis(200);

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
        if let Some(output) = child.stdout.take() {
            std::thread::spawn(move || {
                for line in BufReader::new(output).lines() {
                    let Ok(line) = line else { break };
                    let reply = serde_json::from_str(&line).map(Reply::shown).map_err(|source| {
                        let cut: String = line.chars().take(200).collect();
                        LinkError::Garbled { line: printable(&cut).into_owned(), source }
                    });
                    if sender.send(reply).is_err() {
                        break;
                    }
                }
            });
        }
        Ok(Self { child, input, beats: None, replies, said, passed: VecDeque::new() })
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
            Err(RecvTimeoutError::Timeout) => Ok(Heard::Silence),
            Err(RecvTimeoutError::Disconnected) => Err(self.gone()),
        }
    }

    /// Why the connection is broken; `None` while the node runs and is silent.
    pub(crate) fn broken(&mut self) -> Option<LinkError> {
        match self.replies.try_recv() {
            Ok(Err(error)) => Some(error),
            Ok(Ok(_)) | Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(self.gone()),
        }
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
    /// Closes the node's input, so that it undoes and exits, and waits for that: an undo must not be cut short.
    fn drop(&mut self) {
        drop(self.beats.take());
        drop(self.input.lock().unwrap_or_else(PoisonError::into_inner).take());
        while let Ok(Some(_)) = self.replies.recv().map(Result::ok) {}
        let _ = self.child.wait();
    }
}
