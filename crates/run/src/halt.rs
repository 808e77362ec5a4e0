//! What ends the work of an agent process early: for good, or only the trial that was asked for last.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The flag that all work looks at, and for how long it holds.
#[derive(Debug, Default)]
pub(crate) struct Halt {
    /// Set to end the current work.
    flag: Arc<AtomicBool>,
    /// Set with `flag` if nothing more is to be done.
    for_good: Arc<AtomicBool>,
    trials: Mutex<Trials>,
}

/// Trials by their number. The thread that reads requests is ahead of the one that performs them, so a word about the current trial
/// must not end the next one.
#[derive(Debug, Default)]
struct Trials {
    asked: u64,
    begun: u64,
    ended: u64,
    /// The trial that is to end.
    abandoned: Option<u64>,
}

impl Halt {
    /// The flag that work looks at.
    pub(crate) fn flag(&self) -> &AtomicBool {
        &self.flag
    }

    /// Has a signal end all work.
    pub(crate) fn on(&self, signal: i32) -> std::io::Result<()> {
        // In this order: whoever sees the second flag also sees the first one.
        signal_hook::flag::register(signal, Arc::clone(&self.for_good))?;
        signal_hook::flag::register(signal, Arc::clone(&self.flag))?;
        Ok(())
    }

    /// Ends all work.
    pub(crate) fn for_good(&self) {
        self.for_good.store(true, Ordering::SeqCst);
        self.flag.store(true, Ordering::SeqCst);
    }

    /// A trial was asked for.
    pub(crate) fn asked(&self) {
        self.trials().asked += 1;
    }

    /// Ends the trial that was asked for last.
    pub(crate) fn trial(&self) {
        let mut trials = self.trials();
        // It was over before the word came.
        if trials.ended == trials.asked {
            return;
        }
        trials.abandoned = Some(trials.asked);
        self.flag.store(true, Ordering::SeqCst);
    }

    /// The next trial begins.
    pub(crate) fn begin(&self) {
        let mut trials = self.trials();
        trials.begun += 1;
        if trials.abandoned != Some(trials.begun) {
            self.go_on();
        }
    }

    /// The trial is over; returns whether all work is to end.
    pub(crate) fn end(&self) -> bool {
        let mut trials = self.trials();
        trials.ended += 1;
        if trials.abandoned == Some(trials.begun) {
            trials.abandoned = None;
            self.go_on();
        }
        self.for_good.load(Ordering::SeqCst)
    }

    fn go_on(&self) {
        self.flag.store(false, Ordering::SeqCst);
        // A signal may have come in between.
        if self.for_good.load(Ordering::SeqCst) {
            self.flag.store(true, Ordering::SeqCst);
        }
    }

    fn trials(&self) -> MutexGuard<'_, Trials> {
        self.trials.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::Halt;
    use std::sync::atomic::Ordering;

    fn is_set(halt: &Halt) -> bool {
        halt.flag().load(Ordering::SeqCst)
    }

    #[test]
    fn only_the_trial_that_was_meant_ends() {
        let halt = Halt::default();
        halt.asked();
        halt.begin();
        halt.trial();
        assert!(is_set(&halt));
        assert!(!halt.end(), "the run goes on");
        assert!(!is_set(&halt));
        // The word comes after the trial is over, and again before the next trial begins.
        halt.trial();
        halt.asked();
        halt.begin();
        assert!(!is_set(&halt), "the next trial isn't meant");
        halt.end();
        halt.asked();
        halt.trial();
        halt.begin();
        assert!(is_set(&halt), "this one is meant, although it had not begun");
    }

    #[test]
    fn what_ends_for_good_stays_ended() {
        let halt = Halt::default();
        halt.asked();
        halt.begin();
        halt.trial();
        halt.for_good();
        assert!(halt.end() && is_set(&halt));
        halt.asked();
        halt.begin();
        assert!(is_set(&halt));
    }
}
