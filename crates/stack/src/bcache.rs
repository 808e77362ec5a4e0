//! bcache that is up: its counters.

use crate::act::knob::selected;
use record::lvm_cache::{BcacheState, CacheRecord, CacheState};
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The time between two moments at which the kernel adds what it counted since to the counters that it shows
/// (`accounting_delay`, drivers/md/bcache/stats.c: 300 s / 22), and the inexactness of its timers.
const ADDS_UP: Duration = Duration::from_secs(14);
/// The time between two looks for such a moment.
const LOOK: Duration = Duration::from_millis(100);

/// A device of bcache of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BcacheDevice {
    /// The kernel's name, e.g. `bcache0`.
    pub(crate) name: String,
    /// Its directory `bcache` in sysfs.
    pub(crate) dir: PathBuf,
}

impl BcacheDevice {
    /// Its state now; `None` where it can't be read or parsed. It waits until the counters contain all requests so far, at most 14 s.
    #[must_use]
    pub fn state(&self) -> Option<CacheState> {
        self.state_within(ADDS_UP)
    }

    fn state_within(&self, patience: Duration) -> Option<CacheState> {
        let (dirty_bytes, mode) = (bytes(&self.read("dirty_data")?)?, self.read("cache_mode")?);
        let (begun, earlier) = (Instant::now(), self.counters()?);
        let mut counters = earlier;
        // They change once only, since nobody loads the device.
        while counters == earlier && begun.elapsed() < patience {
            std::thread::sleep(LOOK.min(patience));
            counters = self.counters()?;
        }
        let [hits, misses, bypass_hits, bypass_misses, bypassed_bytes] = counters;
        let mode = selected(&mode).to_owned();
        Some(CacheState::Bcache(BcacheState {
            hits,
            misses,
            bypass_hits,
            bypass_misses,
            bypassed_bytes,
            dirty_bytes,
            mode,
        }))
    }

    /// The record of a trial that has just ended, with the state from before it.
    #[must_use]
    pub fn record(&self, before: Option<CacheState>) -> CacheRecord {
        CacheRecord { volume: self.name.clone(), before, after: self.state(), flushed: None }
    }

    fn counters(&self) -> Option<[u64; 5]> {
        let count = |name: &str| self.read(&format!("stats_total/{name}"))?.parse().ok();
        Some([
            count("cache_hits")?,
            count("cache_misses")?,
            count("cache_bypass_hits")?,
            count("cache_bypass_misses")?,
            bytes(&self.read("stats_total/bypassed")?)?,
        ])
    }

    fn read(&self, name: &str) -> Option<String> {
        Some(fs::read_to_string(self.dir.join(name)).ok()?.trim_end().to_owned())
    }
}

/// Reads a number of bytes as bcache shows it: `512.0k`, `4.0M`; one digit after the point.
fn bytes(text: &str) -> Option<u64> {
    let unit = "kMGTPE".find(text.chars().last()?)?;
    let (whole, tenths) = text[..text.len() - 1].split_once('.')?;
    let (whole, tenths): (u64, u64) = (whole.parse().ok()?, tenths.parse().ok()?);
    let factor = 1024_u64.checked_pow(u32::try_from(unit + 1).ok()?)?;
    (tenths < 10).then(|| whole.checked_mul(factor)?.checked_add(factor * tenths / 10)).flatten()
}

#[cfg(test)]
mod tests {
    use super::{BcacheDevice, bytes};
    use record::lvm_cache::{BcacheState, CacheState};
    use std::fs;
    use std::time::Duration;

    #[test]
    fn sizes_are_read_as_the_kernel_spells_them() {
        for (text, read) in
            [("0.0k", 0), ("4.0k", 4096), ("1.5M", 3 << 19), ("512.0k", 524_288), ("2.0G", 2 << 30)]
        {
            assert_eq!(bytes(text), Some(read), "{text}");
        }
        for other in ["", "4096", "1.2", "1k", "-1.0k", "1.x M", "1.10k", "9999999999999999999.0E", "1.0ä"] {
            assert_eq!(bytes(other), None, "{other}");
        }
    }

    #[test]
    fn counters_are_read_after_the_kernel_added_them_up() {
        let sys = tempfile::tempdir().unwrap();
        let device = BcacheDevice { name: "bcache0".to_owned(), dir: sys.path().to_owned() };
        assert_eq!(device.state_within(Duration::ZERO), None, "nothing is there");
        fs::create_dir(sys.path().join("stats_total")).unwrap();
        for (name, text) in [
            ("stats_total/cache_hits", "10"),
            ("stats_total/cache_misses", "2"),
            ("stats_total/cache_bypass_hits", "3"),
            ("stats_total/cache_bypass_misses", "4"),
            ("stats_total/bypassed", "1.0M"),
            ("dirty_data", "64.0k"),
            ("cache_mode", "writethrough [writeback] writearound none"),
        ] {
            fs::write(sys.path().join(name), format!("{text}\n")).unwrap();
        }
        let state = |hits| BcacheState {
            hits,
            misses: 2,
            bypass_hits: 3,
            bypass_misses: 4,
            bypassed_bytes: 1 << 20,
            dirty_bytes: 64 << 10,
            mode: "writeback".to_owned(),
        };
        assert_eq!(device.state_within(Duration::ZERO), Some(CacheState::Bcache(state(10))));
        std::thread::scope(|scope| {
            let after = scope.spawn(|| device.state_within(Duration::from_secs(60)));
            std::thread::sleep(Duration::from_millis(300));
            let hits = sys.path().join("stats_total/cache_hits");
            let new = sys.path().join("new");
            fs::write(&new, "11\n").unwrap();
            fs::rename(new, hits).unwrap();
            assert_eq!(after.join().unwrap(), Some(CacheState::Bcache(state(11))));
        });
    }
}
