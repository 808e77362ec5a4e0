//! How patient the driver is.

use std::time::Duration;

/// How patient the driver is. Tests are less so.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// The pause before the first repetition of a call; each further one is twice as long.
    pub first_pause: Duration,
    /// The longest pause between two calls.
    pub longest_pause: Duration,
    /// How often a call is made before it counts as failed.
    pub attempts: u32,
    /// How long the API must show nothing before `destroy` ends: a request may still be on its way. Longer than curl waits for a
    /// connection (15 s).
    pub settle: Duration,
    /// How long an operation, a boot or the end of all removals may take.
    pub patience: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            first_pause: Duration::from_secs(1),
            longest_pause: Duration::from_secs(20),
            attempts: 7,
            settle: Duration::from_secs(20),
            patience: Duration::from_secs(15 * 60),
        }
    }
}

impl Pace {
    /// The pause after `made` calls (at least 1).
    pub(super) fn pause(&self, made: u32) -> Duration {
        self.first_pause.saturating_mul(2_u32.saturating_pow(made.saturating_sub(1))).min(self.longest_pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest() {
        let pace = Pace::default();
        assert_eq!([1, 2, 3, 5, 6, 60].map(|made| pace.pause(made).as_secs()), [1, 2, 4, 16, 20, 20]);
    }
}
