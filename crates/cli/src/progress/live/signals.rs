//! Signals while the view has the terminal: it gives the terminal back before a signal has its usual effect.
//!
//! Those that ask a run to end (SIGINT, SIGTERM, SIGHUP) are handled in [`crate::signals`]: the run undoes what it built, and the view stays
//! until then.

use super::screen::{Screen, idle};
use signal_hook::SigId;
use signal_hook::consts::{
    SIGABRT, SIGALRM, SIGCONT, SIGIO, SIGPROF, SIGQUIT, SIGSYS, SIGTRAP, SIGTSTP, SIGTTIN, SIGTTOU, SIGUSR1,
    SIGUSR2, SIGVTALRM, SIGWINCH, SIGXCPU, SIGXFSZ,
};
use signal_hook::low_level::emulate_default_handler;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// The signals whose usual effect is to end or to stop the process.
const WITH_EFFECT: [i32; 15] = [
    SIGQUIT, SIGABRT, SIGALRM, SIGIO, SIGPROF, SIGSYS, SIGTRAP, SIGUSR1, SIGUSR2, SIGVTALRM, SIGXCPU,
    SIGXFSZ, SIGTSTP, SIGTTIN, SIGTTOU,
];
/// Those after which the view must look at the terminal again.
const OF_THE_TERMINAL: [i32; 2] = [SIGWINCH, SIGCONT];

/// The caught signals.
#[derive(Debug)]
pub(super) struct Signals {
    came: Vec<(i32, Arc<AtomicBool>)>,
    resized: Arc<AtomicBool>,
    wake: UnixStream,
    /// The handlers, which end with this.
    handlers: Vec<SigId>,
}

/// What came since the last look.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Came {
    /// A signal stopped the process, for which the terminal was given back, and somebody lets the process continue.
    pub(super) stopped: bool,
    /// The size of the terminal changed, or the process continues after a stop.
    pub(super) terminal: bool,
}

impl Signals {
    /// Catches them. Each wakes whoever waits for [`Self::fd`].
    ///
    /// # Errors
    /// The kernel refuses a handler or a socket.
    pub(super) fn catch() -> io::Result<Self> {
        usual_effects_while_idle()?;
        let (wake, bell) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        bell.set_nonblocking(true)?;
        let (mut came, mut handlers) = (Vec::new(), Vec::new());
        for signal in WITH_EFFECT {
            let flag = Arc::new(AtomicBool::new(false));
            // The usual effect at once when the same signal comes again before the first one was heeded.
            handlers.push(signal_hook::flag::register_conditional_default(signal, Arc::clone(&flag))?);
            handlers.push(signal_hook::flag::register(signal, Arc::clone(&flag))?);
            handlers.push(signal_hook::low_level::pipe::register(signal, bell.try_clone()?)?);
            came.push((signal, flag));
        }
        let resized = Arc::new(AtomicBool::new(false));
        for signal in OF_THE_TERMINAL {
            handlers.push(signal_hook::flag::register(signal, Arc::clone(&resized))?);
            handlers.push(signal_hook::low_level::pipe::register(signal, bell.try_clone()?)?);
        }
        Ok(Self { came, resized, wake, handlers })
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }

    /// Gives the terminal back for each signal that came, and lets it have its usual effect: most end the process here.
    pub(super) fn heed(&self, screen: &Screen) -> Came {
        let mut bytes = [0; 64];
        while (&self.wake).read(&mut bytes).is_ok_and(|read| read > 0) {}
        let mut came = Came { stopped: false, terminal: self.resized.swap(false, Ordering::SeqCst) };
        for (signal, flag) in &self.came {
            if flag.load(Ordering::SeqCst) {
                screen.give_back();
                flag.store(false, Ordering::SeqCst);
                let _ = emulate_default_handler(*signal);
                came = Came { stopped: true, terminal: true };
            }
        }
        came
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for handler in self.handlers.drain(..) {
            signal_hook::low_level::unregister(handler);
        }
    }
}

/// Lets the signals have their usual effect at once while no view has the terminal: a handler that was set once stays.
fn usual_effects_while_idle() -> io::Result<()> {
    static ARE_SET: OnceLock<()> = OnceLock::new();
    if ARE_SET.set(()).is_ok() {
        for signal in WITH_EFFECT {
            signal_hook::flag::register_conditional_default(signal, Arc::clone(idle()))?;
        }
    }
    Ok(())
}
