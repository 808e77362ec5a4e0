//! The node's way to the controller.

use crate::heard::Heard;
use crate::protocol::Reply;
use record::event::Event;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError};

/// The most bytes of one write. A pipe that is ready takes as many (PIPE_BUF) without blocking.
const PIECE: usize = 4096;
/// How often a writer that waits for room looks whether its controller is lost.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };
const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// Writes replies. Write errors are ignored: the node notices a lost controller by the end of its input. Nothing is written to a lost
/// controller, because nobody reads it: a write that waits for room ends when the controller is lost, and the node goes on to undo.
pub(crate) struct Emitter<W: AsFd> {
    to: W,
    heard: Arc<Heard>,
    /// Held while a line is written, so that lines of two threads don't mix.
    line: Mutex<()>,
}

impl<W: AsFd> Emitter<W> {
    pub(crate) fn to(output: W, heard: Arc<Heard>) -> Self {
        Self { to: output, heard, line: Mutex::new(()) }
    }

    pub(crate) fn send(&self, reply: &Reply) {
        let Ok(mut line) = serde_json::to_vec(reply) else { return };
        line.push(b'\n');
        let _line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        let mut rest = line.as_slice();
        while !rest.is_empty() && self.has_room() {
            match rustix::io::write(&self.to, &rest[..rest.len().min(PIECE)]) {
                Ok(written) => rest = &rest[written..],
                Err(Errno::INTR) => {}
                Err(_) => return,
            }
        }
    }

    /// Sends a short reply, unless that would block: another thread is writing, or nobody reads. Returns whether it was sent.
    pub(crate) fn send_if_free(&self, reply: &Reply) -> bool {
        let Ok(mut text) = serde_json::to_vec(reply) else { return false };
        text.push(b'\n');
        let Ok(_line) = self.line.try_lock() else { return false };
        let mut polled = [PollFd::new(&self.to, PollFlags::OUT)];
        let has_room = poll(&mut polled, Some(&AT_ONCE)).is_ok_and(|ready| ready > 0)
            && polled[0].revents().contains(PollFlags::OUT);
        has_room && text.len() <= PIECE && rustix::io::write(&self.to, &text) == Ok(text.len())
    }

    pub(crate) fn event(&self, event: Event) {
        self.send(&Reply::Event { event });
    }

    /// Waits until the next piece can be written without blocking, or fails at once; `false` when the controller is lost.
    fn has_room(&self) -> bool {
        while !self.heard.is_lost() {
            let mut polled = [PollFd::new(&self.to, PollFlags::OUT)];
            match poll(&mut polled, Some(&LOOK)) {
                Ok(0) | Err(Errno::INTR) => {}
                // The write itself tells what is wrong.
                Ok(_) | Err(_) => return true,
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::Emitter;
    use crate::heard::Heard;
    use crate::protocol::Reply;
    use std::io::{BufRead as _, BufReader};
    use std::sync::Arc;

    fn long() -> Reply {
        Reply::Undone { lines: vec!["x".repeat(1 << 20)], clean: true, going_on: false }
    }

    #[test]
    fn a_write_that_nobody_reads_ends_with_the_loss_of_the_controller() {
        let (input, output) = std::io::pipe().unwrap();
        let heard = Arc::new(Heard::default());
        let out = Emitter::to(output, Arc::clone(&heard));
        let writer = std::thread::spawn(move || {
            out.send(&long());
            out.send(&long());
        });
        // The pipe is full once it has its 64 KiB.
        while rustix::io::ioctl_fionread(&input).unwrap() < 60_000 {
            std::thread::yield_now();
        }
        assert!(!writer.is_finished(), "a megabyte has no room in a pipe");
        heard.lose();
        writer.join().unwrap();
        assert!(rustix::io::ioctl_fionread(&input).unwrap() <= 65_536, "nothing more was written");
    }

    #[test]
    fn a_slow_reader_gets_every_line_whole() {
        let (input, output) = std::io::pipe().unwrap();
        let out = Emitter::to(output, Arc::new(Heard::default()));
        let writer = std::thread::spawn(move || (0..3).for_each(|_| out.send(&long())));
        let lines: Vec<String> = BufReader::new(input).lines().map(Result::unwrap).collect();
        writer.join().unwrap();
        let whole = serde_json::to_string(&long()).unwrap();
        assert_eq!(lines.len(), 3);
        assert!(lines.iter().all(|line| *line == whole));
    }
}
