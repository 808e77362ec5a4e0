//! The load that runs now, from the sampler's latest sample: no sample is taken for it.

use crate::context::Bench;
use engine::Progress;
use observe::{Latest, Sampler};
use record::counter::BlockCounters;
use record::event::Event;
use record::id::CellId;
use record::topology::Topology;
use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

/// The time between two events at least: whoever looks reads no faster, and each costs the machine that is measured a little.
const EACH: Duration = Duration::from_millis(500);

/// The age from which what a load completed isn't told any more, besides twice its span.
const OLD_NS: u64 = 1_000_000_000;

/// Follows the load of one trial.
pub(crate) struct LiveLoad<'a> {
    cell: &'a CellId,
    /// The kernel's names of the devices directly under the load.
    devices: Vec<String>,
    last: Cell<Instant>,
    before: RefCell<Option<Latest>>,
}

impl<'a> LiveLoad<'a> {
    /// `None` where no device is known under the load, so that its counters say nothing.
    pub(crate) fn new(cell: &'a CellId, topology: &Topology) -> Option<Self> {
        let devices: Vec<String> = topology.direct().map(|node| node.name.clone()).collect();
        let last = Cell::new(Instant::now());
        (!devices.is_empty()).then_some(Self { cell, devices, last, before: RefCell::new(None) })
    }

    /// Tells the rates since the last event, if it is time for one, with what the load completed lately.
    pub(crate) fn tell(&self, sampler: &Sampler, bench: &Bench<'_>, progress: Option<Progress>) {
        if self.last.get().elapsed() < EACH {
            return;
        }
        self.last.set(Instant::now());
        let Some(now) = sampler.latest() else { return };
        let before = self.before.replace(Some(now.clone()));
        let progress = progress.filter(|progress| is_new(progress, now.monotonic_ns));
        if let Some(event) =
            before.and_then(|before| rates(self.cell, &self.devices, (&before, &now), progress))
        {
            (bench.tell)(event);
        }
    }
}

/// Whether what a load completed is so new that it is about now: a worker that hangs tells nothing more.
fn is_new(progress: &Progress, now_ns: u64) -> bool {
    let length = progress.to_ns.saturating_sub(progress.from_ns);
    now_ns.saturating_sub(progress.to_ns) <= length.saturating_mul(2).saturating_add(OLD_NS)
}

/// The rates of these devices between two samples, and those of the load itself. `None` when one of the devices has no counters, or no
/// time has passed.
#[expect(clippy::cast_precision_loss, reason = "counts of seconds, far below 2^53")]
fn rates(
    cell: &CellId,
    devices: &[String],
    (before, now): (&Latest, &Latest),
    progress: Option<Progress>,
) -> Option<Event> {
    let seconds = now.monotonic_ns.checked_sub(before.monotonic_ns).filter(|ns| *ns > 0)? as f64 / 1e9;
    let grown = |of: fn(&BlockCounters) -> u64| -> Option<f64> {
        let each =
            devices.iter().map(|name| of(now.block.get(name)?).checked_sub(of(before.block.get(name)?)));
        Some(each.collect::<Option<Vec<u64>>>()?.iter().sum::<u64>() as f64)
    };
    let ios = grown(|c| c.reads + c.writes)?;
    let waited = grown(|c| c.read_wait_ms + c.write_wait_ms)?;
    let bytes_per_second = grown(|c| c.read_bytes + c.write_bytes)? / seconds;
    // The spans of both are nearly the same, so their rates are compared, and not their bytes.
    let per_second = |of: fn(&Progress) -> u64| -> Option<f64> {
        let progress = progress.as_ref()?;
        let ns = progress.to_ns.checked_sub(progress.from_ns).filter(|ns| *ns > 0)?;
        Some(of(progress) as f64 / (ns as f64 / 1e9))
    };
    let asked = per_second(|progress| progress.bytes).filter(|asked| *asked > 0.0);
    Some(Event::LoadSampled {
        cell: cell.clone(),
        iops: ios / seconds,
        bytes_per_second,
        wait_ms: (ios > 0.0).then(|| waited / ios),
        load_iops: per_second(|progress| progress.ios),
        load_p99_ms: progress.and_then(|progress| progress.p99_ns).map(|ns| ns as f64 / 1e6),
        device_share: asked.map(|asked| (bytes_per_second / asked).min(1.0)),
    })
}

#[cfg(test)]
mod tests {
    use super::{is_new, rates};
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
            iops: 200.0,
            bytes_per_second: 819_200.0,
            wait_ms: Some(2.0),
            load_iops: None,
            load_p99_ms: None,
            device_share: None,
        };
        assert_eq!(of(&["a", "b"], &before, &now), Some(told));
        assert_eq!(of(&["a", "gone"], &before, &now), None, "a part of the load is no load");
        assert_eq!(of(&["a"], &now, &now), None, "no time has passed");
        let Some(Event::LoadSampled { iops, wait_ms, .. }) = of(&["a"], &before, &at(500, &[("a", 100)]))
        else {
            panic!("idle devices have a rate")
        };
        assert_eq!((iops, wait_ms), (0.0, None));
    }

    #[test]
    fn the_share_of_the_devices_is_their_rate_over_that_of_the_load() {
        let cell = CellId("c".to_owned());
        let lately = |ms: u64, ios: u64, p99_ns| Progress {
            from_ns: 0,
            to_ns: ms * 1_000_000,
            ios,
            bytes: ios * 4096,
            p99_ns,
        };
        let of = |progress: Progress| {
            // 100 I/Os in half a second at the device.
            let event = rates(
                &cell,
                &["a".to_owned()],
                (&at(0, &[("a", 0)]), &at(500, &[("a", 100)])),
                Some(progress),
            );
            let Some(Event::LoadSampled { load_iops, load_p99_ms, device_share, .. }) = event else {
                panic!("no rates")
            };
            (load_iops, load_p99_ms, device_share)
        };
        assert_eq!(of(lately(1000, 800, Some(2_500_000))), (Some(800.0), Some(2.5), Some(0.25)));
        assert_eq!(
            of(lately(500, 50, None)),
            (Some(100.0), None, Some(1.0)),
            "read-ahead is no more than all"
        );
        assert_eq!(of(lately(500, 0, None)), (Some(0.0), None, None), "nothing has no share");
        assert!(
            is_new(&lately(500, 1, None), 2_400_000_000) && !is_new(&lately(500, 1, None), 2_600_000_000)
        );
    }
}
