//! How patient the driver is.

use std::time::Duration;

/// How patient the driver is with EC2.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// Before a call that was throttled is made again; doubled each time.
    pub first_wait: Duration,
    /// For how long such a call is repeated.
    pub patience: Duration,
    /// Between two looks at what exists.
    pub poll: Duration,
    /// How many looks must show nothing before a claim counts as removed.
    pub looks: u32,
    /// How long to wait for a machine's keys on its console.
    pub console: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            first_wait: Duration::from_millis(500),
            patience: Duration::from_secs(300),
            poll: Duration::from_secs(3),
            looks: 5,
            console: Duration::from_secs(90),
        }
    }
}
