//! Whether the other end of a connection is still there. A network that drops packets, or a machine that hangs, doesn't end its output.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How often the silence is looked at.
const TICK: Duration = Duration::from_millis(250);

/// The words of the other end.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    /// Set once the other end has said that it says regularly that it is there.
    is_expected: AtomicBool,
    words: AtomicU64,
    is_lost: AtomicBool,
}

impl Heard {
    /// Begins to listen, in a thread of its own. After so long without a word, the other end counts as lost.
    pub(crate) fn begin(patience: Duration, on_loss: impl FnOnce() + Send + 'static) -> Arc<Self> {
        let heard = Arc::new(Self::default());
        let watching = Arc::downgrade(&heard);
        std::thread::spawn(move || {
            let mut silence = Silence::default();
            let mut then = Instant::now();
            while let Some(heard) = watching.upgrade() {
                let now = Instant::now();
                let expected = heard.is_expected.load(Ordering::Relaxed);
                let words = heard.words.load(Ordering::Relaxed);
                if silence.lasts_now(words, now - then) >= patience && expected {
                    heard.lose();
                    on_loss();
                    return;
                }
                then = now;
                drop(heard);
                std::thread::sleep(TICK);
            }
        });
        heard
    }

    /// The other end said something. `is_alive`: that it is there, which it says regularly from now on.
    pub(crate) fn word(&self, is_alive: bool) {
        self.words.fetch_add(1, Ordering::Relaxed);
        if is_alive {
            self.is_expected.store(true, Ordering::Relaxed);
        }
    }

    /// The other end is lost.
    pub(crate) fn lose(&self) {
        self.is_lost.store(true, Ordering::Relaxed);
    }

    /// Whether the other end is lost.
    pub(crate) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Relaxed)
    }
}

/// The time since the last word.
#[derive(Debug, Default)]
struct Silence {
    words: u64,
    lasts: Duration,
}

impl Silence {
    /// How long the silence lasts, with the number of words so far and the time since the last look. A long time between two looks
    /// counts as a short one: then this process was stopped, and words may wait to be read.
    fn lasts_now(&mut self, words: u64, since: Duration) -> Duration {
        self.lasts += since.min(2 * TICK);
        if words != self.words {
            *self = Self { words, lasts: Duration::ZERO };
        }
        self.lasts
    }
}

#[cfg(test)]
mod tests {
    use super::{Silence, TICK};
    use crate::protocol::{ALIVE_EVERY, LOST_AFTER};
    use std::time::Duration;

    #[test]
    fn only_silence_that_was_listened_to_counts() {
        let mut silence = Silence::default();
        silence.lasts_now(1, TICK);
        assert_eq!((0..9).map(|_| silence.lasts_now(1, TICK)).last(), Some(9 * TICK));
        assert_eq!(silence.lasts_now(2, TICK), Duration::ZERO, "a word came");
        assert_eq!(silence.lasts_now(2, Duration::from_secs(3600)), 2 * TICK, "this process was stopped");
        let most = LOST_AFTER + 2 * TICK;
        assert!(most < Duration::from_secs(10) && ALIVE_EVERY * 3 < LOST_AFTER, "a late word is no loss");
    }
}
