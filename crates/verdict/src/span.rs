//! The growth of cumulative counters between two instants.

use record::counter::Sample;
use record::trial::Window;

/// How far a window may extend beyond the samples, as a share of its length, before its counters count as unknown.
const OVERHANG: f64 = 0.02;

/// The samples around a window.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span<'a> {
    samples: &'a [Sample],
    window: Window,
}

impl<'a> Span<'a> {
    pub(crate) fn new(samples: &'a [Sample], window: Window) -> Self {
        Self { samples, window }
    }

    /// The measured time.
    pub(crate) fn window(&self) -> Window {
        self.window
    }

    /// Another window over the same samples.
    pub(crate) fn part(&self, start_ns: u64, end_ns: u64) -> Self {
        Self { samples: self.samples, window: Window { start_ns, end_ns } }
    }

    /// The span from the first to the last sample of the machine that generates the load.
    pub(crate) fn whole(&self) -> Self {
        let mut own = self.samples.iter().filter(|s| s.server.is_none()).map(|s| s.monotonic_ns);
        let (start_ns, end_ns) = match own.next() {
            Some(first) => (first, own.next_back().unwrap_or(first)),
            None => (self.window.start_ns, self.window.end_ns),
        };
        Self { samples: self.samples, window: Window { start_ns, end_ns } }
    }

    /// The samples within the window.
    pub(crate) fn within(&self) -> impl Iterator<Item = &'a Sample> + use<'a> {
        let Window { start_ns, end_ns } = self.window;
        self.samples.iter().filter(move |s| (start_ns..=end_ns).contains(&s.monotonic_ns))
    }

    pub(crate) fn seconds(&self) -> f64 {
        self.window.seconds()
    }

    /// The growth of a cumulative counter within the window, interpolated linearly at both ends. `None` if there is no such counter,
    /// if the samples don't cover the window, or if it went backwards (a reset).
    pub(crate) fn grown(&self, counter: impl Fn(&Sample) -> Option<u64>) -> Option<f64> {
        let begin = self.at(self.window.start_ns, &counter)?;
        let end = self.at(self.window.end_ns, &counter)?;
        (end >= begin).then_some(end - begin)
    }

    /// As [`Span::grown`], for counters of the load's own I/O. If the load begins or ends with the window, interpolation would lose a
    /// part of it there, which matters in short trials and for sequential passes; so this doesn't interpolate at such an end.
    ///
    /// A counter that was constant up to the last sample before the window began to grow with the window. `ends`: nothing is moved for
    /// the load after the window, so the next sample still shows the sum within it.
    pub(crate) fn moved(&self, ends: bool, counter: impl Fn(&Sample) -> Option<u64>) -> Option<f64> {
        let begin = self.begun_at(&counter)?;
        let end = self.at(self.window.end_ns, &counter)?;
        let next = || {
            let later = self.samples.iter().filter(|s| s.monotonic_ns >= self.window.end_ns);
            let told = later.filter_map(|s| Some((s.monotonic_ns, counter(s)?)));
            told.min_by_key(|(t, _)| *t).map(|(_, n)| float(n))
        };
        let end = if ends { next().unwrap_or(end) } else { end };
        (end >= begin).then_some(end - begin)
    }

    /// The growth of such a counter from the first sample to the window's start.
    pub(crate) fn moved_earlier(&self, counter: impl Fn(&Sample) -> Option<u64>) -> Option<f64> {
        let first = float(self.samples.iter().find_map(&counter)?);
        let begin = self.begun_at(&counter)?;
        (begin >= first).then_some(begin - first)
    }

    fn begun_at(&self, counter: &impl Fn(&Sample) -> Option<u64>) -> Option<f64> {
        let interpolated = self.at(self.window.start_ns, counter)?;
        let earlier = || self.samples.iter().filter(|s| s.monotonic_ns <= self.window.start_ns);
        let first = earlier().find_map(counter);
        let last = earlier().filter_map(counter).last();
        Some(if first == last { last.map_or(interpolated, float) } else { interpolated })
    }

    /// A counter or gauge at an instant, interpolated linearly.
    pub(crate) fn at(&self, instant_ns: u64, counter: &impl Fn(&Sample) -> Option<u64>) -> Option<f64> {
        let points = || self.samples.iter().filter_map(|s| Some((s.monotonic_ns, counter(s)?)));
        let before = points().filter(|(t, _)| *t <= instant_ns).max_by_key(|(t, _)| *t);
        let after = points().filter(|(t, _)| *t >= instant_ns).min_by_key(|(t, _)| *t);
        match (before, after) {
            (Some((t0, v0)), Some((t1, v1))) if t1 > t0 => {
                let part = float(instant_ns - t0) / float(t1 - t0);
                Some(float(v0) + (float(v1) - float(v0)) * part)
            }
            (Some((_, v)), Some(_)) => Some(float(v)),
            (Some((t, v)), None) | (None, Some((t, v))) => {
                let overhang = float(t.abs_diff(instant_ns)) / 1e9;
                (overhang <= OVERHANG * self.seconds()).then(|| float(v))
            }
            (None, None) => None,
        }
    }

    /// A gauge at the window's end.
    pub(crate) fn at_end(&self, gauge: impl Fn(&Sample) -> Option<u64>) -> Option<f64> {
        self.at(self.window.end_ns, &gauge)
    }

    /// A gauge at the window's start.
    pub(crate) fn at_start(&self, gauge: impl Fn(&Sample) -> Option<u64>) -> Option<f64> {
        self.at(self.window.start_ns, &gauge)
    }
}

/// Converts a counter. Bytes, ticks and nanoseconds stay far below 2^53 within one boot.
#[expect(clippy::cast_precision_loss, reason = "see above")]
pub(crate) fn float(n: u64) -> f64 {
    n as f64
}

/// Converts a count; one that is too large saturates.
pub(crate) fn number(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::Span;
    use record::counter::{Memory, Sample};
    use record::trial::Window;

    fn samples(points: &[(u64, Option<u64>)]) -> Vec<Sample> {
        let sample = |&(ms, cached): &(u64, Option<u64>)| Sample {
            monotonic_ns: ms * 1_000_000,
            memory: Some(Memory { cached_bytes: cached, ..Memory::default() }),
            ..Sample::default()
        };
        points.iter().map(sample).collect()
    }

    fn grown(points: &[(u64, Option<u64>)], from_ms: u64, to_ms: u64) -> Option<f64> {
        let window = Window { start_ns: from_ms * 1_000_000, end_ns: to_ms * 1_000_000 };
        Span::new(&samples(points), window).grown(|s| s.memory?.cached_bytes)
    }

    #[test]
    fn interpolates_at_both_ends() {
        let points = [(0, Some(0)), (100, Some(1000)), (200, Some(3000))];
        assert_eq!(grown(&points, 50, 150), Some(1500.0));
        assert_eq!(grown(&points, 0, 200), Some(3000.0));
        assert_eq!(grown(&points, 100, 100), Some(0.0));
    }

    fn moved(points: &[(u64, Option<u64>)], from_ms: u64, to_ms: u64, ends: bool) -> Option<f64> {
        let window = Window { start_ns: from_ms * 1_000_000, end_ns: to_ms * 1_000_000 };
        Span::new(&samples(points), window).moved(ends, |s| s.memory?.cached_bytes)
    }

    #[test]
    fn a_sharp_edge_loses_nothing() {
        let short = [(0, Some(5)), (100, Some(5)), (200, Some(1005)), (300, Some(1005))];
        assert_eq!(moved(&short, 150, 190, true), Some(1000.0), "70 ms between two samples");
        assert_eq!(moved(&short, 150, 190, false), Some(900.0), "what was moved later isn't the window's");
        let steady = [(0, Some(0)), (100, Some(1000)), (200, Some(2000)), (300, Some(3000))];
        assert_eq!(moved(&steady, 150, 200, true), Some(500.0), "moved before as well: a ramp");
        assert_eq!(moved(&short, 150, 400, true), None, "ends too early");
    }

    #[test]
    fn skips_samples_without_the_counter() {
        assert_eq!(grown(&[(0, Some(0)), (100, None), (200, Some(200))], 0, 100), Some(100.0));
    }

    #[test]
    fn does_not_guess() {
        assert_eq!(grown(&[], 0, 100), None);
        assert_eq!(grown(&[(0, None), (200, None)], 0, 100), None);
        assert_eq!(grown(&[(50, Some(1)), (200, Some(2))], 0, 200), None, "starts too late");
        assert_eq!(grown(&[(0, Some(1)), (150, Some(2))], 0, 200), None, "ends too early");
        assert_eq!(grown(&[(0, Some(9)), (200, Some(2))], 0, 200), None, "went backwards");
        assert_eq!(
            grown(&[(1, Some(1)), (200, Some(2))], 0, 200),
            Some(1.0),
            "1 ms of 200 is within the overhang"
        );
    }
}
