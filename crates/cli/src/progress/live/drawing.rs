//! The thread that draws: it waits for changes, keys and signals, and draws at most four frames a second.

use super::backend::Codes;
use super::frame::draw;
use super::keys::keys;
use super::screen::Screen;
use super::signals::Signals;
use super::state::{State, Wish};
use ratatui_core::terminal::Terminal;
use run::Wishes;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::SIGINT;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The least time between two frames.
const FRAME: Duration = Duration::from_millis(250);
/// The time after which the clocks in the view are out of date.
const CLOCK: Duration = Duration::from_secs(1);

/// What the run's thread and the drawing thread share.
pub(super) struct Shared {
    state: Mutex<State>,
    has_changed: AtomicBool,
    is_over: AtomicBool,
    bell: UnixStream,
    wake: UnixStream,
}

impl Shared {
    pub(super) fn new(state: State) -> io::Result<Self> {
        let (wake, bell) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        bell.set_nonblocking(true)?;
        let (has_changed, is_over) = (AtomicBool::new(true), AtomicBool::new(false));
        Ok(Self { state: Mutex::new(state), has_changed, is_over, bell, wake })
    }

    /// Changes the state, and has it drawn.
    pub(super) fn change(&self, change: impl FnOnce(&mut State)) {
        let stays_blank = self.with(|state| {
            let was_blank = state.is_blank();
            change(state);
            was_blank && state.is_blank()
        });
        // A blank view has nothing to draw, and its thread sleeps on.
        if !stays_blank && !self.has_changed.swap(true, Ordering::SeqCst) {
            self.ring();
        }
    }

    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::SeqCst);
        self.ring();
    }

    fn ring(&self) {
        // A full pipe wakes the thread as well.
        let _ = (&self.bell).write(&[0]);
    }

    fn with<T>(&self, what: impl FnOnce(&mut State) -> T) -> T {
        what(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The drawing thread.
pub(super) struct Drawing {
    shared: Arc<Shared>,
    screen: Arc<Screen>,
    signals: Signals,
    terminal: Terminal<Codes>,
    wishes: Arc<Wishes>,
    /// Whether the terminal for input is still there.
    listens: bool,
    /// Whether the terminal was given back for a stop, and is to be taken again.
    is_away: bool,
    last_frame: Option<Instant>,
}

impl Drawing {
    pub(super) fn new(
        shared: Arc<Shared>,
        screen: Arc<Screen>,
        wishes: Arc<Wishes>,
        colours: bool,
    ) -> io::Result<Self> {
        let signals = Signals::catch()?;
        let terminal = Terminal::new(Codes::new(Arc::clone(&screen), colours))?;
        let listens = screen.input().is_some();
        Ok(Self { shared, screen, signals, terminal, wishes, listens, is_away: false, last_frame: None })
    }

    /// Draws until the run has ended.
    pub(super) fn until_the_end(mut self) {
        while !self.shared.is_over.load(Ordering::SeqCst) {
            self.draw_if_due();
            self.wait();
            let came = self.signals.heed(&self.screen);
            self.is_away |= came.stopped;
            if came.terminal || self.is_away {
                self.look_at_the_terminal();
            }
        }
        self.screen.give_back();
    }

    fn draw_if_due(&mut self) {
        let now = Instant::now();
        if !self.screen.is_ours() || !self.has_changed(now) || self.frame_is_in(now) > Duration::ZERO {
            return;
        }
        self.shared.has_changed.store(false, Ordering::SeqCst);
        self.last_frame = Some(now);
        // A terminal that is gone takes no frames; the run goes on, or ends by its SIGHUP.
        let (terminal, shared) = (&mut self.terminal, &self.shared);
        let _ = terminal.draw(|frame| shared.with(|state| draw(state, now, frame.buffer_mut())));
    }

    fn has_changed(&self, now: Instant) -> bool {
        self.shared.has_changed.load(Ordering::SeqCst) || self.clock_is_in(now) == Some(Duration::ZERO)
    }

    /// The time until the next frame may be drawn.
    fn frame_is_in(&self, now: Instant) -> Duration {
        self.last_frame.map_or(Duration::ZERO, |last| FRAME.saturating_sub(now.duration_since(last)))
    }

    /// The time until the clocks in the view are out of date; `None` when it shows none.
    fn clock_is_in(&self, now: Instant) -> Option<Duration> {
        if self.shared.with(|state| state.is_blank()) {
            return None;
        }
        Some(self.last_frame.map_or(Duration::ZERO, |last| CLOCK.saturating_sub(now.duration_since(last))))
    }

    /// Sleeps until there is something to do, and takes keys.
    fn wait(&mut self) {
        let now = Instant::now();
        let patience = if !self.screen.is_ours() {
            Some(CLOCK)
        } else if self.shared.has_changed.load(Ordering::SeqCst) {
            Some(self.frame_is_in(now))
        } else {
            self.clock_is_in(now)
        };
        let patience = patience.and_then(|time| Timespec::try_from(time).ok());
        let input = self.screen.input().filter(|_| self.listens && self.screen.is_ours());
        let (bell, signals) = (self.shared.wake.as_fd(), self.signals.fd());
        let mut fds = vec![
            PollFd::from_borrowed_fd(bell, PollFlags::IN),
            PollFd::from_borrowed_fd(signals, PollFlags::IN),
        ];
        fds.extend(input.map(|input| PollFd::from_borrowed_fd(input.as_fd(), PollFlags::IN)));
        let _ = poll(&mut fds, patience.as_ref());
        let typed = fds.get(2).is_some_and(|fd| !fd.revents().is_empty());
        drop(fds);
        let mut bytes = [0; 64];
        while (&self.shared.wake).read(&mut bytes).is_ok_and(|read| read > 0) {}
        if typed {
            self.listen();
        }
    }

    fn listen(&mut self) {
        // A process in the background must not read: that would stop it.
        if !self.screen.is_in_front() {
            return;
        }
        let mut bytes = [0; 64];
        let read = self.screen.input().map_or(Ok(0), |mut input| input.read(&mut bytes));
        match read {
            Ok(0) => self.listens = false,
            Ok(read) => {
                for key in keys(&bytes[..read]) {
                    let mut wish = None;
                    self.shared.change(|state| wish = state.press(key));
                    self.grant(wish);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // The terminal is gone.
            Err(_) => self.listens = false,
        }
    }

    fn grant(&self, wish: Option<Wish>) {
        match wish {
            None => {}
            Some(Wish::Skip(cell)) => self.wishes.skip(cell),
            Some(Wish::EndAfterRound(ends)) => self.wishes.end_after_round(ends),
            Some(Wish::Stop) => {
                let _ = signal_hook::low_level::raise(SIGINT);
            }
        }
    }

    /// After a stop or a change of size: takes the terminal again if it may, and draws all of it.
    fn look_at_the_terminal(&mut self) {
        if !self.screen.is_in_front() {
            self.is_away |= self.screen.is_ours();
            self.screen.give_back();
            return;
        }
        let is_back = self.is_away && self.screen.take().is_ok();
        if is_back || self.screen.is_ours() {
            self.is_away = false;
            let _ = self.terminal.clear();
            self.shared.has_changed.store(true, Ordering::SeqCst);
        }
    }
}
