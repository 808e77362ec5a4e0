//! The controller's end of a node: a child process and its two pipes.

use crate::protocol::{Reply, Request};
use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::time::{Duration, Instant};
use thiserror::Error;

/// The line to a node broke.
#[derive(Debug, Error)]
pub enum LinkError {
    /// The node's program could not be started.
    #[error("can't start the node `{argv}`")]
    Spawn {
        /// The command.
        argv: String,
        /// Why.
        source: std::io::Error,
    },
    /// The node is gone.
    #[error("the node ended unexpectedly ({status}); `diskproof undo` puts back what it left")]
    Gone {
        /// Its exit status, as far as it is known.
        status: String,
    },
    /// The node said something that is no reply.
    #[error("the node sent a line that is no reply: {line}")]
    Garbled {
        /// The line, cut.
        line: String,
        /// Why.
        source: serde_json::Error,
    },
}

/// A running node.
pub(crate) struct Link {
    child: Child,
    input: Option<ChildStdin>,
    replies: Receiver<Result<Reply, LinkError>>,
}

/// What [`Link::wait`] saw.
pub(crate) enum Heard {
    /// A reply.
    Reply(Reply),
    /// Nothing yet.
    Silence,
}

impl Link {
    /// Starts the node in a process group of its own, so that the terminal's Ctrl-C reaches only the controller.
    pub(crate) fn start(argv: &[OsString]) -> Result<Self, LinkError> {
        let shown = || argv.iter().map(|a| a.to_string_lossy()).collect::<Vec<_>>().join(" ");
        let Some((program, args)) = argv.split_first() else {
            return Err(LinkError::Spawn { argv: shown(), source: std::io::ErrorKind::InvalidInput.into() });
        };
        let mut child = Command::new(program)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|source| LinkError::Spawn { argv: shown(), source })?;
        let input = child.stdin.take();
        let (sender, replies) = channel();
        if let Some(output) = child.stdout.take() {
            std::thread::spawn(move || {
                for line in BufReader::new(output).lines() {
                    let Ok(line) = line else { break };
                    let reply = serde_json::from_str(&line).map_err(|source| LinkError::Garbled {
                        line: line.chars().take(200).collect(),
                        source,
                    });
                    if sender.send(reply).is_err() {
                        break;
                    }
                }
            });
        }
        Ok(Self { child, input, replies })
    }

    /// Sends a request.
    pub(crate) fn send(&mut self, request: &Request) -> Result<(), LinkError> {
        let sent = serde_json::to_vec(request).map_err(std::io::Error::from).and_then(|mut line| {
            line.push(b'\n');
            let input = self.input.as_mut().ok_or(std::io::ErrorKind::BrokenPipe)?;
            input.write_all(&line)?;
            input.flush()
        });
        match sent {
            Ok(()) => Ok(()),
            Err(_) => Err(self.gone()),
        }
    }

    /// Waits for the next reply, at most `patience`.
    pub(crate) fn wait(&mut self, patience: Duration) -> Result<Heard, LinkError> {
        match self.replies.recv_timeout(patience) {
            Ok(reply) => reply.map(Heard::Reply),
            Err(RecvTimeoutError::Timeout) => Ok(Heard::Silence),
            Err(RecvTimeoutError::Disconnected) => Err(self.gone()),
        }
    }

    /// Why the node can't be spoken to any more; `None` while it is there and silent.
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
        LinkError::Gone { status }
    }
}

impl Drop for Link {
    /// Closes the node's input, which makes it undo and exit, and waits for that: an undo must not be cut short.
    fn drop(&mut self) {
        drop(self.input.take());
        while let Ok(Some(_)) = self.replies.recv().map(Result::ok) {}
        let _ = self.child.wait();
    }
}
