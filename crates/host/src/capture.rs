//! Communicates with a child without deadlock: one poll loop for its stdin, stdout, stderr and its end.
//!
//! The loop ends when the child has ended, not when its pipes are closed: a daemon that a user's program starts may keep a pipe
//! open, and must not block diskproof.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::{Errno, read, write};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use std::io;
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The result of the communication.
pub(crate) struct Captured {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    pub(crate) end: End,
}

/// The reason why the loop ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The child has ended (waiting for it does not block).
    Exited,
    /// The time limit is reached; the child still runs.
    TimedOut,
    /// stdout has exceeded its limit; the child still runs.
    TooMuchOutput,
    /// The child was asked to end; it or its descendants may still run.
    Cancelled,
}

/// How long a child may take to end after the request.
const GRACE: Duration = Duration::from_secs(10);
/// How often the cancel flag is checked.
const TICK: Duration = Duration::from_millis(100);

/// One output of the child.
struct Reader {
    pipe: Option<OwnedFd>,
    kept: Vec<u8>,
    limit: usize,
    overflowed: bool,
}

impl Reader {
    fn new(pipe: Option<impl Into<OwnedFd>>, limit: usize) -> io::Result<Self> {
        let pipe = pipe.map(Into::into);
        pipe.as_ref().map(nonblocking).transpose()?;
        Ok(Self { pipe, kept: Vec::new(), limit, overflowed: false })
    }

    /// Reads all that is available now.
    fn drain(&mut self) -> io::Result<()> {
        let mut buffer = [0_u8; 65536];
        while let Some(pipe) = &self.pipe {
            match read(pipe, &mut buffer) {
                Ok(0) => self.pipe = None,
                Ok(n) => {
                    let room = self.limit.saturating_sub(self.kept.len());
                    self.kept.extend_from_slice(&buffer[..n.min(room)]);
                    if n > room {
                        self.overflowed = true;
                        return Ok(());
                    }
                }
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// The input of the child.
struct Writer {
    pipe: Option<OwnedFd>,
    bytes: Vec<u8>,
    written: usize,
}

impl Writer {
    fn feed(&mut self) -> io::Result<()> {
        while let Some(pipe) = &self.pipe {
            if self.written == self.bytes.len() {
                self.pipe = None;
                break;
            }
            match write(pipe, &self.bytes[self.written..]) {
                Ok(n) => self.written += n,
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                // It stopped reading early; its exit status shows whether that matters.
                Err(Errno::PIPE) => self.pipe = None,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

fn nonblocking(fd: &OwnedFd) -> io::Result<()> {
    Ok(fcntl_setfl(fd, fcntl_getfl(fd)? | OFlags::NONBLOCK)?)
}

/// Writes to and reads from a child until it ends, the time is up, or stdout exceeds its limit. When `cancel` is set, its process
/// group is asked to end.
pub(crate) fn converse(
    child: &mut Child,
    input: Vec<u8>,
    limit_bytes: usize,
    timeout: Option<Duration>,
    cancel: Option<&AtomicBool>,
) -> io::Result<Captured> {
    let pid = Pid::from_child(child);
    let ended = pidfd_open(pid, PidfdFlags::empty())?;
    let stdin = child.stdin.take().map(OwnedFd::from);
    stdin.as_ref().map(nonblocking).transpose()?;
    let mut writer = Writer { pipe: stdin, bytes: input, written: 0 };
    let mut stdout = Reader::new(child.stdout.take(), limit_bytes)?;
    let mut stderr = Reader::new(child.stderr.take(), limit_bytes)?;
    let deadline = timeout.and_then(|t| Instant::now().checked_add(t));
    let mut ends_by = None;
    let end = loop {
        writer.feed()?;
        if ends_by.is_none() && cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed)) {
            // The child may have ended just now.
            let _ = kill_process_group(pid, Signal::TERM);
            ends_by = Some(Instant::now() + GRACE);
        }
        let tick = cancel.map(|_| Instant::now() + TICK);
        if wait(&ended, &writer, &stdout, &stderr, deadline.into_iter().chain(tick).min())? {
            // All its output is in the pipes by now.
            stdout.drain()?;
            stderr.drain()?;
            break match ends_by {
                Some(_) => End::Cancelled,
                None if stdout.overflowed => End::TooMuchOutput,
                None => End::Exited,
            };
        }
        stdout.drain()?;
        stderr.drain()?;
        if stdout.overflowed {
            break End::TooMuchOutput;
        }
        if ends_by.is_some_and(|end| Instant::now() >= end) {
            break End::Cancelled;
        }
        if deadline.is_some_and(|d| Instant::now() >= d) {
            break End::TimedOut;
        }
    };
    Ok(Captured { stdout: stdout.kept, stderr: stderr.kept, end })
}

/// Sleeps until there is something to do; returns whether the child has ended.
fn wait(
    ended: &OwnedFd,
    writer: &Writer,
    stdout: &Reader,
    stderr: &Reader,
    deadline: Option<Instant>,
) -> io::Result<bool> {
    let mut fds = vec![PollFd::from_borrowed_fd(ended.as_fd(), PollFlags::IN)];
    let outputs = [&stdout.pipe, &stderr.pipe].into_iter().flatten();
    fds.extend(outputs.map(|p| PollFd::from_borrowed_fd(p.as_fd(), PollFlags::IN)));
    if let Some(pipe) = &writer.pipe {
        fds.push(PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::OUT));
    }
    let left = deadline.map(|d| d.saturating_duration_since(Instant::now()));
    let left = left.and_then(|d| Timespec::try_from(d).ok());
    match poll(&mut fds, left.as_ref()) {
        Ok(_) => Ok(!fds[0].revents().is_empty()),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
