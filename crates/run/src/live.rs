//! The load that runs now, from the sampler's latest sample: no sample is taken for it.

use crate::context::Bench;
use engine::Progress;
use observe::{Latest, Sampler};
use record::counter::BlockCounters;
use record::event::Event;
use record::id::CellId;
use record::topology::Topology;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The time between two events at least: whoever looks reads no faster, and each costs the machine that is measured a little.
const EACH: Duration = Duration::from_millis(500);

/// The age from which what a load completed isn't told any more, besides twice its span.
const OLD_NS: u64 = 1_000_000_000;

/// Follows the load of one trial.
pub(crate) struct LiveLoad<'a> {
    cell: &'a CellId,
    /// The kernel's names of the devices directly under the load; empty: none is known, e.g. below an NFS mount.
    devices: Vec<String>,
    last: Cell<Instant>,
    before: RefCell<Option<Latest>>,
    /// The samples of the last seconds.
    samples: RefCell<VecDeque<Latest>>,
    own: Cell<Option<Own>>,
}

/// What the load completed lately, with the share of the devices in its bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Own {
    progress: Progress,
    device_share: Option<f64>,
}

/// The most samples that are kept.
const MOST_SAMPLES: usize = 100;

impl<'a> LiveLoad<'a> {
    pub(crate) fn new(cell: &'a CellId, topology: &Topology) -> Self {
        Self {
            cell,
            devices: topology.direct().map(|node| node.name.clone()).collect(),
            last: Cell::new(Instant::now()),
            before: RefCell::new(None),
            samples: RefCell::default(),
            own: Cell::new(None),
        }
    }

    /// Tells the rates since the last event, if it is time for one, with what the load completed lately.
    pub(crate) fn tell(&self, sampler: &Sampler, bench: &Bench<'_>, progress: Option<Progress>) {
        self.follow(sampler, progress);
        if self.last.get().elapsed() < EACH {
            return;
        }
        self.last.set(Instant::now());
        let Some(now) = sampler.latest() else { return };
        let before = self.before.replace(Some(now.clone()));
        let own = self.own.get().filter(|own| is_new(&own.progress, now.monotonic_ns));
        if let Some(event) = before.and_then(|before| rates(self.cell, &self.devices, (&before, &now), own)) {
            (bench.tell)(event);
        }
    }

    /// Keeps the latest sample, and compares what the load completed with the devices once a sample covers all its time.
    fn follow(&self, sampler: &Sampler, progress: Option<Progress>) {
        let mut samples = self.samples.borrow_mut();
        let Some(latest) = sampler.latest() else { return };
        if samples.back().is_none_or(|last| last.monotonic_ns < latest.monotonic_ns) {
            samples.push_back(latest);
        }
        if samples.len() > MOST_SAMPLES {
            samples.pop_front();
        }
        let Some(progress) = progress else { return };
        let is_known = self.own.get().is_some_and(|own| own.progress == progress);
        if !is_known && samples.back().is_some_and(|last| last.monotonic_ns >= progress.to_ns) {
            let device_share = share(&self.devices, samples.make_contiguous(), &progress);
            self.own.set(Some(Own { progress, device_share }));
        }
    }
}

/// The bytes that devices moved in the time of a progress over those of the load, at most 1; `None`: the load moved nothing, or the
/// samples don't cover that time. Counters between two samples are taken as growing evenly.
#[expect(clippy::cast_precision_loss, reason = "bytes and nanoseconds of seconds, far below 2^53")]
fn share(devices: &[String], samples: &[Latest], progress: &Progress) -> Option<f64> {
    if devices.is_empty() {
        return None;
    }
    let bytes = |sample: &Latest| -> Option<f64> {
        let each =
            devices.iter().map(|name| sample.block.get(name).map(|c| (c.read_bytes + c.write_bytes) as f64));
        each.sum()
    };
    let at = |ns: u64| -> Option<f64> {
        let (a, b) = samples.windows(2).find_map(|pair| match pair {
            [a, b] if a.monotonic_ns <= ns && ns <= b.monotonic_ns => Some((a, b)),
            _ => None,
        })?;
        let length = b.monotonic_ns.checked_sub(a.monotonic_ns).filter(|ns| *ns > 0)? as f64;
        let (from, to) = (bytes(a)?, bytes(b)?);
        Some(from + (to - from) * (ns - a.monotonic_ns) as f64 / length)
    };
    let moved = at(progress.to_ns)? - at(progress.from_ns)?;
    (progress.bytes > 0 && moved >= 0.0).then(|| (moved / progress.bytes as f64).min(1.0))
}

/// Whether what a load completed is so new that it is about now: a worker that hangs tells nothing more.
fn is_new(progress: &Progress, now_ns: u64) -> bool {
    let length = progress.to_ns.saturating_sub(progress.from_ns);
    now_ns.saturating_sub(progress.to_ns) <= length.saturating_mul(2).saturating_add(OLD_NS)
}

/// The rates of these devices between two samples, and those of the load itself. `None` when one of the devices has no counters, no time has
/// passed, or nothing is known: neither a device nor what the load completed.
#[expect(clippy::cast_precision_loss, reason = "counts of seconds, far below 2^53")]
fn rates(
    cell: &CellId,
    devices: &[String],
    (before, now): (&Latest, &Latest),
    own: Option<Own>,
) -> Option<Event> {
    let seconds = now.monotonic_ns.checked_sub(before.monotonic_ns).filter(|ns| *ns > 0)? as f64 / 1e9;
    let grown = |of: fn(&BlockCounters) -> u64| -> Option<f64> {
        let each =
            devices.iter().map(|name| of(now.block.get(name)?).checked_sub(of(before.block.get(name)?)));
        Some(each.collect::<Option<Vec<u64>>>()?.iter().sum::<u64>() as f64)
    };
    let (ios, bytes, waited) = (
        grown(|c| c.reads + c.writes)?,
        grown(|c| c.read_bytes + c.write_bytes)?,
        grown(|c| c.read_wait_ms + c.write_wait_ms)?,
    );
    let is_known = !devices.is_empty();
    if !is_known && own.is_none() {
        return None;
    }
    let load_iops = own.and_then(|Own { progress, .. }| {
        let ns = progress.to_ns.checked_sub(progress.from_ns).filter(|ns| *ns > 0)?;
        Some(progress.ios as f64 / (ns as f64 / 1e9))
    });
    Some(Event::LoadSampled {
        cell: cell.clone(),
        iops: is_known.then_some(ios / seconds),
        bytes_per_second: is_known.then_some(bytes / seconds),
        wait_ms: (ios > 0.0).then(|| waited / ios),
        load_iops,
        load_p99_ms: own.and_then(|own| own.progress.p99_ns).map(|ns| ns as f64 / 1e6),
        device_share: own.and_then(|own| own.device_share),
        machines: None,
    })
}

#[cfg(test)]
mod tests {
    use super::{Own, is_new, rates, share};
    use engine::Progress;
    use observe::Latest;
    use record::counter::BlockCounters;
    use record::event::Event;
    use record::id::CellId;

    fn at(ms: u64, devices: &[(&str, u64)]) -> Latest {
        let counters = |n: u64| BlockCounters {
            reads: n,
            read_bytes: 4096 * n,
            read_wait_ms: 2 * n,
            ..BlockCounters::default()
        };
        let block = devices.iter().map(|(name, n)| ((*name).to_owned(), counters(*n))).collect();
        Latest { monotonic_ns: ms * 1_000_000, block }
    }

    #[test]
    fn rates_are_sums_over_the_devices_per_second() {
        let cell = CellId("c".to_owned());
        let of = |names: &[&str], before: &Latest, now: &Latest| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            rates(&cell, &names, (before, now), None)
        };
        let (before, now) =
            (at(0, &[("a", 100), ("b", 0), ("x", 0)]), at(500, &[("a", 150), ("b", 50), ("x", 9)]));
        let told = Event::LoadSampled {
            cell: cell.clone(),
            iops: Some(200.0),
            bytes_per_second: Some(819_200.0),
            wait_ms: Some(2.0),
            load_iops: None,
            load_p99_ms: None,
            device_share: None,
            machines: None,
        };
        assert_eq!(of(&["a", "b"], &before, &now), Some(told));
        assert_eq!(of(&["a", "gone"], &before, &now), None, "a part of the load is no load");
        assert_eq!(of(&["a"], &now, &now), None, "no time has passed");
        let Some(Event::LoadSampled { iops, wait_ms, .. }) = of(&["a"], &before, &at(500, &[("a", 100)]))
        else {
            panic!("idle devices have a rate")
        };
        assert_eq!((iops, wait_ms), (Some(0.0), None));
        assert_eq!(of(&[], &before, &now), None, "nothing is known");
    }

    fn lately(ms: (u64, u64), ios: u64, p99_ns: Option<u64>) -> Progress {
        Progress { from_ns: ms.0 * 1_000_000, to_ns: ms.1 * 1_000_000, ios, bytes: ios * 4096, p99_ns }
    }

    #[test]
    fn the_share_of_the_devices_is_that_of_the_same_time() {
        let devices = ["a".to_owned()];
        // 100 I/Os in each of two tenths of a second, then none: the load has ended.
        let samples =
            [at(0, &[("a", 0)]), at(100, &[("a", 100)]), at(200, &[("a", 200)]), at(900, &[("a", 200)])];
        let of = |progress: Progress| share(&devices, &samples, &progress);
        assert_eq!(of(lately((0, 200), 200, None)), Some(1.0), "what came later doesn't count");
        assert_eq!(of(lately((50, 150), 400, None)), Some(0.25), "half of each step");
        assert_eq!(of(lately((0, 200), 100, None)), Some(1.0), "read-ahead is no more than all");
        assert_eq!(of(lately((0, 200), 0, None)), None, "nothing has no share");
        assert_eq!(of(lately((800, 1000), 10, None)), None, "the samples end before");
        assert_eq!(share(&["b".to_owned()], &samples, &lately((0, 200), 200, None)), None);
    }

    #[test]
    fn what_the_load_completed_is_told_while_it_is_new() {
        let own = Own { progress: lately((0, 500), 400, Some(2_500_000)), device_share: Some(0.5) };
        let spans = (&at(0, &[("a", 0)]), &at(500, &[("a", 100)]));
        let event = rates(&CellId("c".to_owned()), &["a".to_owned()], spans, Some(own));
        let Some(Event::LoadSampled { iops, load_iops, load_p99_ms, device_share, .. }) = event else {
            panic!("no rates")
        };
        assert_eq!(
            (iops, load_iops, load_p99_ms, device_share),
            (Some(200.0), Some(800.0), Some(2.5), Some(0.5))
        );
        assert!(is_new(&own.progress, 2_400_000_000) && !is_new(&own.progress, 2_600_000_000));
    }
}
