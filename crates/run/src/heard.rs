//! Whether the controller is still there, as a node can tell. A network that drops packets doesn't end the node's input.

use crate::halt::Halt;
use crate::protocol::LOST_AFTER;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How often the silence is looked at.
const TICK: Duration = Duration::from_millis(250);

/// The words of the controller.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    /// Set once the controller has said that it says regularly that it is there.
    is_expected: AtomicBool,
    words: AtomicU64,
    is_lost: AtomicBool,
}

impl Heard {
    /// Begins to listen, in a thread of its own. When the controller is lost, it ends all work.
    pub(crate) fn begin(halt: &Arc<Halt>) -> Arc<Self> {
        let heard = Arc::new(Self::default());
        let (watching, halt) = (Arc::downgrade(&heard), Arc::clone(halt));
        std::thread::spawn(move || {
            let mut silence = Silence::default();
            let mut then = Instant::now();
            while let Some(heard) = watching.upgrade() {
                let now = Instant::now();
                let expected = heard.is_expected.load(Ordering::Relaxed);
                let words = heard.words.load(Ordering::Relaxed);
                if silence.is_too_long(words, now - then) && expected {
                    heard.lose();
                    halt.for_good();
                    return;
                }
                then = now;
                drop(heard);
                std::thread::sleep(TICK);
            }
        });
        heard
    }

    /// The controller said something. `is_alive`: that it is there, which it says regularly from now on.
    pub(crate) fn word(&self, is_alive: bool) {
        self.words.fetch_add(1, Ordering::Relaxed);
        if is_alive {
            self.is_expected.store(true, Ordering::Relaxed);
        }
    }

    /// The controller is lost.
    pub(crate) fn lose(&self) {
        self.is_lost.store(true, Ordering::Relaxed);
    }

    /// Whether the controller is lost.
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
    /// Whether the silence is too long, with the number of words so far and the time since the last look. A long time between two looks
    /// counts as a short one: then this process was stopped, and words may wait to be read.
    fn is_too_long(&mut self, words: u64, since: Duration) -> bool {
        self.lasts += since.min(2 * TICK);
        if words != self.words {
            *self = Self { words, lasts: Duration::ZERO };
        }
        self.lasts >= LOST_AFTER
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
        let ticks = u32::try_from(LOST_AFTER.as_millis() / TICK.as_millis()).unwrap();
        assert!((1..ticks).all(|_| !silence.is_too_long(1, TICK)));
        assert!(!silence.is_too_long(2, TICK), "a word came");
        assert!(!silence.is_too_long(2, Duration::from_secs(3600)), "this process was stopped");
        let looks = (0..ticks).position(|_| silence.is_too_long(2, TICK)).unwrap();
        assert_eq!(looks, usize::try_from(ticks).unwrap() - 3, "an hour counted as two looks");
        let most = LOST_AFTER + 2 * TICK;
        assert!(most < Duration::from_secs(10) && ALIVE_EVERY * 3 < LOST_AFTER, "a late word is no loss");
    }
}
