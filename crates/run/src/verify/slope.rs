//! The rate from a device's own counters, without the error that the throttle's slices cause in a short window.
//!
//! The kernel grants a slice's I/Os at once, so a count over a window is wrong by up to a whole slice: 5 % of two seconds. The
//! slope of a straight line through many readings isn't: over `n` slices its error is about `1 / n²`.

use record::trial::Window;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The time between two readings: many per slice of 100 ms.
const EVERY: Duration = Duration::from_millis(5);

/// The least number of readings for a rate.
const FEWEST: usize = 20;

/// Bytes of a sector in `stat`.
const SECTOR: f64 = 512.0;

/// A device's counters at one time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Look {
    pub(super) monotonic_ns: u64,
    pub(super) read_ios: u64,
    pub(super) read_sectors: u64,
    pub(super) write_ios: u64,
    pub(super) write_sectors: u64,
}

/// Reads a device's counters until `done` is set.
pub(super) fn watch(stat: &Path, done: &AtomicBool) -> std::io::Result<Vec<Look>> {
    let mut looks = Vec::new();
    while !done.load(Ordering::Acquire) {
        let text = std::fs::read_to_string(stat)?;
        looks.extend(parse(&text, observe::monotonic_ns()));
        std::thread::sleep(EVERY);
    }
    Ok(looks)
}

/// Documentation/block/stat.rst: reads, merged, sectors, ms; writes, merged, sectors.
fn parse(text: &str, monotonic_ns: u64) -> Option<Look> {
    let fields: Vec<u64> = text.split_whitespace().map_while(|word| word.parse().ok()).collect();
    let [read_ios, _, read_sectors, _, write_ios, _, write_sectors, ..] = fields[..] else { return None };
    Some(Look { monotonic_ns, read_ios, read_sectors, write_ios, write_sectors })
}

#[expect(clippy::cast_precision_loss, reason = "counters and times are far below 2^52 within a probe")]
pub(super) fn ios(look: &Look) -> f64 {
    (look.read_ios + look.write_ios) as f64
}

#[expect(clippy::cast_precision_loss, reason = "counters and times are far below 2^52 within a probe")]
pub(super) fn bytes(look: &Look) -> f64 {
    (look.read_sectors + look.write_sectors) as f64 * SECTOR
}

/// The rate per second by least squares over the window; `None` when too few readings are in it.
#[expect(clippy::cast_precision_loss, reason = "counters and times are far below 2^52 within a probe")]
pub(super) fn rate(looks: &[Look], window: Window, of: fn(&Look) -> f64) -> Option<f64> {
    let within: Vec<&Look> =
        looks.iter().filter(|l| (window.start_ns..=window.end_ns).contains(&l.monotonic_ns)).collect();
    let first = within.first().filter(|_| within.len() >= FEWEST)?;
    let points: Vec<(f64, f64)> = within
        .iter()
        .map(|l| ((l.monotonic_ns - first.monotonic_ns) as f64 / 1e9, of(l) - of(first)))
        .collect();
    let n = points.len() as f64;
    let (t, c) = points.iter().fold((0.0, 0.0), |(t, c), p| (t + p.0 / n, c + p.1 / n));
    let (above, below) =
        points.iter().fold((0.0, 0.0), |(a, b), p| (a + (p.0 - t) * (p.1 - c), b + (p.0 - t) * (p.0 - t)));
    (below > 0.0).then(|| above / below)
}

#[cfg(test)]
mod tests {
    use super::{Look, bytes, ios, parse, rate};
    use record::trial::Window;

    /// Readings every 5 ms of a device that gets `grants` I/Os at the end of every 100 ms. The window begins anywhere in a slice.
    fn looks(grants: u64) -> Vec<Look> {
        let at = |ms: u64| Look {
            monotonic_ns: ms * 1_000_000,
            read_ios: ms / 100 * grants,
            read_sectors: ms / 100 * grants * 8,
            ..Look::default()
        };
        (0..1000).map(|i| at(i * 5)).collect()
    }

    #[test]
    fn slices_do_not_blur_the_rate_wherever_the_window_begins() {
        for grants in [1, 8, 9, 16, 250] {
            for begins in (500..700).step_by(7) {
                let window = Window { start_ns: begins * 1_000_000, end_ns: (begins + 3000) * 1_000_000 };
                #[expect(clippy::cast_precision_loss, reason = "small")]
                let truth = grants as f64 * 10.0;
                let found = rate(&looks(grants), window, ios).unwrap();
                assert!((found / truth - 1.0).abs() < 0.005, "{found} of {truth} from {begins} ms on");
                let moved = rate(&looks(grants), window, bytes).unwrap();
                assert!((moved / (truth * 4096.0) - 1.0).abs() < 0.005, "{moved}");
            }
        }
    }

    #[test]
    fn a_window_without_looks_has_no_rate() {
        assert_eq!(rate(&looks(8), Window { start_ns: 0, end_ns: 40_000_000 }, ios), None);
        assert_eq!(rate(&[], Window { start_ns: 0, end_ns: u64::MAX }, ios), None);
    }

    #[test]
    fn a_line_of_the_kernels_is_read() {
        let read = parse("  12 3 96 5 7 0 56 1 0 9 9\n", 4).unwrap();
        assert_eq!((read.read_ios, read.read_sectors, read.write_ios, read.write_sectors), (12, 96, 7, 56));
        assert_eq!(parse("12 3", 4), None);
    }
}
