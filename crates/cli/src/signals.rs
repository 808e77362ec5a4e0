//! Ctrl-C and other signals: the first asks the run to end; later ones only get the message that the undo is under way.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often the watcher checks for signals. It only prints messages; the run itself sees the flag at once.
const LOOK: Duration = Duration::from_millis(100);

/// The user's request to stop.
pub(crate) struct Wish {
    /// The flag that the first signal sets and the run reads.
    pub(crate) cancel: Arc<AtomicBool>,
    asked: Vec<(i32, Arc<AtomicBool>)>,
}

impl Wish {
    /// Catches the signals that ask a program to end.
    ///
    /// # Errors
    /// The kernel refuses a handler.
    pub(crate) fn listen() -> io::Result<Self> {
        Self::listen_for(&[SIGINT, SIGTERM, SIGHUP])
    }

    /// Catches all of them but SIGTERM, which gets a flag of its own.
    ///
    /// # Errors
    /// The kernel refuses a handler.
    pub(crate) fn listen_except_term() -> io::Result<(Self, Arc<AtomicBool>)> {
        let term = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(SIGTERM, Arc::clone(&term))?;
        Ok((Self::listen_for(&[SIGINT, SIGHUP])?, term))
    }

    /// As [`Self::listen`]; the first signal sets this flag.
    ///
    /// # Errors
    /// The kernel refuses a handler.
    pub(crate) fn listen_by(cancel: Arc<AtomicBool>) -> io::Result<Self> {
        Self::flagging(cancel, &[SIGINT, SIGTERM, SIGHUP])
    }

    fn listen_for(signals: &[i32]) -> io::Result<Self> {
        Self::flagging(Arc::new(AtomicBool::new(false)), signals)
    }

    fn flagging(cancel: Arc<AtomicBool>, signals: &[i32]) -> io::Result<Self> {
        let asked: Vec<_> =
            signals.iter().map(|signal| (*signal, Arc::new(AtomicBool::new(false)))).collect();
        for (signal, flag) in &asked {
            signal_hook::flag::register(*signal, Arc::clone(&cancel))?;
            signal_hook::flag::register(*signal, Arc::clone(flag))?;
        }
        Ok(Self { cancel, asked })
    }

    /// The signal that asked to stop, if there was one.
    pub(crate) fn signal(&self) -> Option<i32> {
        self.asked.iter().find(|(_, flag)| flag.load(Ordering::Relaxed)).map(|(signal, _)| *signal)
    }

    /// Prints a message for every signal until the program ends.
    pub(crate) fn answer_with(&self, speak: impl Fn(&str) + Send + 'static) -> io::Result<()> {
        let heard = Arc::new(AtomicBool::new(false));
        for (signal, _) in &self.asked {
            signal_hook::flag::register(*signal, Arc::clone(&heard))?;
        }
        std::thread::spawn(move || {
            let mut times = 0;
            loop {
                std::thread::sleep(LOOK);
                if heard.swap(false, Ordering::Relaxed) {
                    times += 1;
                    speak(words(times));
                }
            }
        });
        Ok(())
    }
}

fn words(times: u32) -> &'static str {
    match times {
        1 => "stopping: the trial under way ends, then what was built is undone; what was measured is kept",
        _ => "still undoing what was built; ending now would leave it behind",
    }
}
