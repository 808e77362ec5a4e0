//! The terminal while the view has it: the alternate screen, and keys without Enter. Given back on every way out.

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};
use std::fs::File;
use std::io::{self, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Takes the alternate screen, hides the cursor, and turns automatic line breaks off: the last column of the last line would scroll.
const TAKE: &[u8] = b"\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J";
/// Gives all of that back.
const GIVE_BACK: &[u8] = b"\x1b[?7h\x1b[0m\x1b[?25h\x1b[?1049l";
/// How long giving back waits for a frame that is being written. A stopped terminal (Ctrl-S) may never take it.
const PATIENCE: Duration = Duration::from_millis(200);

/// The terminal.
#[derive(Debug)]
pub(super) struct Screen {
    /// The terminal for output.
    output: File,
    /// The terminal for input; without one there are no keys.
    input: Option<File>,
    /// The modes before the view took the terminal.
    saved: Mutex<Option<Termios>>,
    /// Held while something is written, so that a frame isn't cut in two.
    writing: Mutex<()>,
    is_ours: AtomicBool,
}

/// Whether no view has the terminal: then signals have their usual effect. One flag for the process, since handlers of signals stay.
pub(super) fn idle() -> &'static Arc<AtomicBool> {
    static IDLE: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| Arc::new(AtomicBool::new(true)));
    &IDLE
}

impl Screen {
    pub(super) fn new(output: File, input: Option<File>) -> Self {
        let is_ours = AtomicBool::new(false);
        Self { output, input, saved: Mutex::new(None), writing: Mutex::new(()), is_ours }
    }

    pub(super) fn input(&self) -> Option<&File> {
        self.input.as_ref()
    }

    pub(super) fn output(&self) -> &File {
        &self.output
    }

    pub(super) fn is_ours(&self) -> bool {
        self.is_ours.load(Ordering::SeqCst)
    }

    /// Whether the shell lets this process have the terminal. A process in the background would be stopped if it changed its modes.
    pub(super) fn is_in_front(&self) -> bool {
        tcgetpgrp(&self.output).is_ok_and(|group| group == rustix::process::getpgrp())
    }

    /// Takes the terminal.
    ///
    /// # Errors
    /// It is gone, or its modes can't be set.
    pub(super) fn take(&self) -> io::Result<()> {
        if let Some(input) = &self.input {
            let before = tcgetattr(input)?;
            let mut modes = before.clone();
            // Keys come without Enter and unseen. ISIG stays: Ctrl-C, Ctrl-\ and Ctrl-Z mean what they mean without the view.
            modes.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
            *self.saved.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
            self.becomes_ours();
            tcsetattr(input, OptionalActions::Now, &modes)?;
        }
        self.becomes_ours();
        self.write(TAKE)
    }

    /// Says so before anything is changed, so that whoever gives the terminal back puts back what is changed halfway.
    fn becomes_ours(&self) {
        idle().store(false, Ordering::SeqCst);
        self.is_ours.store(true, Ordering::SeqCst);
    }

    /// Writes to the terminal; nothing while the view doesn't have it.
    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let _whole = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_ours() { (&self.output).write_all(bytes) } else { Ok(()) }
    }

    /// Gives the terminal back, if the view has it. May be called from every thread, also from one that panics.
    pub(super) fn give_back(&self) {
        if !self.is_ours.swap(false, Ordering::SeqCst) {
            return;
        }
        let until = Instant::now() + PATIENCE;
        // The thread that panics may hold the lock itself.
        let mut whole = self.writing.try_lock();
        while whole.is_err() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
            whole = self.writing.try_lock();
        }
        let _ = (&self.output).write_all(GIVE_BACK);
        let saved = self.saved.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let (Some(input), Some(modes), true) = (&self.input, saved, self.is_in_front()) {
            // Flush: keys that were typed for the view aren't for the shell.
            let _ = tcsetattr(input, OptionalActions::Flush, &modes);
        }
        idle().store(true, Ordering::SeqCst);
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.give_back();
    }
}
