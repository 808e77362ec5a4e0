//! The noise of this machine's CPUs: the gaps that a thread sees which does nothing but read the clock.
//!
//! This says nothing about disks. It bounds the resolution of latencies here: in a gap the thread doesn't run (interrupts,
//! other processes, the hypervisor), and an I/O that completes in a gap is seen late.

use record::quantity::Seconds;
use serde::Serialize;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// The shortest gap that counts. Reading the clock takes well below a microsecond, so a longer gap is an interruption.
const GAP: Duration = Duration::from_micros(50);

/// The measured noise.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Noise {
    /// The length of the measurement.
    seconds: f64,
    /// The longest interruption.
    longest_gap_us: f64,
    /// Interruptions longer than 50 us, per second.
    gaps_per_second: f64,
    /// Share of the time that was lost in interruptions longer than 50 us.
    lost_share: f64,
    /// Share of all CPUs' time that the hypervisor gave to others (steal) meanwhile; `None` if the kernel doesn't report it.
    steal_share: Option<f64>,
}

/// Measures for `span` on one thread, which is busy all the time.
pub(super) fn listen(span: Duration) -> Noise {
    let before = steal(Path::new("/proc/stat"));
    let begin = Instant::now();
    let mut gaps = Gaps::default();
    let mut last = begin;
    while last - begin < span {
        let now = Instant::now();
        gaps.take(now - last);
        last = now;
    }
    let after = steal(Path::new("/proc/stat"));
    gaps.over(last - begin, before.zip(after))
}

#[derive(Default)]
struct Gaps {
    count: u32,
    longest: Duration,
    lost: Duration,
}

impl Gaps {
    fn take(&mut self, gap: Duration) {
        self.longest = self.longest.max(gap);
        if gap > GAP {
            self.count += 1;
            self.lost += gap;
        }
    }

    fn over(&self, span: Duration, ticks: Option<((u64, u64), (u64, u64))>) -> Noise {
        let seconds = span.as_secs_f64();
        #[expect(clippy::cast_precision_loss, reason = "ticks of a few seconds")]
        let steal_share = ticks.map(|((steal0, all0), (steal1, all1))| {
            let all = all1.saturating_sub(all0).max(1) as f64;
            steal1.saturating_sub(steal0) as f64 / all
        });
        Noise {
            seconds,
            longest_gap_us: self.longest.as_secs_f64() * 1e6,
            gaps_per_second: f64::from(self.count) / seconds,
            lost_share: self.lost.as_secs_f64() / seconds,
            steal_share,
        }
    }
}

/// The steal ticks and the total ticks of all CPUs (proc(5): fields 8 and 1 to 8 of the first line).
fn steal(stat: &Path) -> Option<(u64, u64)> {
    let text = fs::read_to_string(stat).ok()?;
    let fields: Vec<u64> =
        text.lines().next()?.split_whitespace().skip(1).take(8).map_while(|f| f.parse().ok()).collect();
    Some((*fields.get(7)?, fields.iter().sum()))
}

impl Noise {
    pub(super) fn text(&self) -> String {
        let steal = match self.steal_share {
            Some(share) => format!("{:.1} % of CPU time stolen by the hypervisor", share * 100.0),
            None => "the kernel doesn't say how much the hypervisor steals".to_owned(),
        };
        format!(
            "  one thread watched the clock for {}: longest interruption {}, {:.0} a second above 50 us,\n  \
             {:.1} % of the time lost in them; {steal}\n  \
             latencies can't be measured more finely than this here; it says nothing about the disks\n",
            Seconds(self.seconds),
            Seconds(self.longest_gap_us / 1e6),
            self.gaps_per_second,
            self.lost_share * 100.0
        )
    }
}

#[cfg(test)]
mod tests {
    use super::{Gaps, steal};
    use std::time::Duration;

    #[test]
    fn only_interruptions_count_as_lost() {
        let mut gaps = Gaps::default();
        for micros in [1, 2, 40, 100, 900] {
            gaps.take(Duration::from_micros(micros));
        }
        let noise = gaps.over(Duration::from_secs(1), Some(((10, 1000), (15, 1100))));
        assert!((noise.longest_gap_us - 900.0).abs() < 1e-6);
        assert!((noise.gaps_per_second - 2.0).abs() < 1e-9);
        assert!((noise.lost_share - 0.001).abs() < 1e-9);
        assert_eq!(noise.steal_share, Some(0.05));
    }

    #[test]
    fn a_kernel_without_steal_is_not_called_quiet() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "cpu  1 2 3 4 5 6 7\ncpu0 1 2 3 4 5 6 7\n").unwrap();
        assert_eq!(steal(file.path()), None);
        std::fs::write(file.path(), "cpu  1 2 3 4 5 6 7 8 9 10\n").unwrap();
        assert_eq!(steal(file.path()), Some((8, 36)));
        assert!(Gaps::default().over(Duration::from_secs(1), None).text().contains("doesn't say"));
    }
}
