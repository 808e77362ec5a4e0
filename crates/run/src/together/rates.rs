//! The load that several machines run now: the sum of what each of them told last.

use record::event::{Event, MachinesHeard};
use record::id::CellId;
use std::time::{Duration, Instant};

/// The time between two events at least: each machine tells its rates twice a second.
const EACH: Duration = Duration::from_millis(500);
/// The age from which what a machine told is no longer about now.
const OLD: Duration = Duration::from_secs(2);

/// What a machine told of its load.
#[derive(Debug)]
pub(super) struct Told {
    /// When it was heard.
    pub(super) at: Instant,
    /// Its [`Event::LoadSampled`].
    pub(super) event: Event,
}

/// Sums up the rates of a trial's machines.
#[derive(Debug)]
pub(super) struct Rates {
    cell: CellId,
    last: Option<Instant>,
}

impl Rates {
    pub(super) fn new(cell: &CellId) -> Self {
        Self { cell: cell.clone(), last: None }
    }

    /// The sum of what the machines told, if one of them told something new since the last sum and it is time for another one. A rate that one
    /// of the machines heard doesn't know is unknown. Percentiles and shares have no sum.
    pub(super) fn sum<'t>(
        &mut self,
        told: impl Iterator<Item = Option<&'t Told>>,
        now: Instant,
    ) -> Option<Event> {
        let told: Vec<Option<&Told>> = told.collect();
        let of = told.len();
        let fresh: Vec<&Told> =
            told.into_iter().flatten().filter(|told| now.duration_since(told.at) < OLD).collect();
        let is_due = self.last.is_none_or(|last| now.duration_since(last) >= EACH);
        let is_news = fresh.iter().any(|told| self.last.is_none_or(|last| told.at > last));
        if !is_due || !is_news {
            return None;
        }
        self.last = Some(now);
        let sum = |rate: fn(&Event) -> Option<f64>| fresh.iter().map(|told| rate(&told.event)).sum();
        let iops: Option<f64> = sum(|event| match event {
            Event::LoadSampled { iops, .. } => *iops,
            _ => None,
        });
        // An idle device has no mean wait, and waits for nothing.
        let waited: Option<f64> = sum(|event| match event {
            Event::LoadSampled { iops, wait_ms, .. } => iops.map(|iops| iops * wait_ms.unwrap_or(0.0)),
            _ => None,
        });
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Some(Event::LoadSampled {
            cell: self.cell.clone(),
            iops,
            bytes_per_second: sum(|event| match event {
                Event::LoadSampled { bytes_per_second, .. } => *bytes_per_second,
                _ => None,
            }),
            wait_ms: iops.zip(waited).filter(|(iops, _)| *iops > 0.0).map(|(iops, waited)| waited / iops),
            load_iops: sum(|event| match event {
                Event::LoadSampled { load_iops, .. } => *load_iops,
                _ => None,
            }),
            load_p99_ms: None,
            device_share: None,
            machines: Some(MachinesHeard { heard: count(fresh.len()), of: count(of) }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{EACH, OLD, Rates, Told};
    use record::event::{Event, MachinesHeard};
    use record::id::CellId;
    use std::time::Instant;

    fn told(at: Instant, iops: Option<f64>, load_iops: Option<f64>, wait_ms: Option<f64>) -> Told {
        let event = Event::LoadSampled {
            cell: CellId("c".to_owned()),
            iops,
            bytes_per_second: iops.map(|iops| iops * 4096.0),
            wait_ms,
            load_iops,
            load_p99_ms: Some(1.0),
            device_share: Some(1.0),
            machines: None,
        };
        Told { at, event }
    }

    type Figures = (Option<f64>, Option<f64>, Option<f64>, Option<MachinesHeard>);

    fn figures(event: Option<Event>) -> Option<Figures> {
        let Event::LoadSampled {
            iops,
            load_iops,
            wait_ms,
            load_p99_ms: None,
            device_share: None,
            machines,
            ..
        } = event?
        else {
            panic!("a percentile or a share was summed up")
        };
        Some((iops, load_iops, wait_ms, machines))
    }

    #[test]
    fn rates_of_the_machines_that_are_heard_add_up() {
        let begun = Instant::now();
        let mut rates = Rates::new(&CellId("c".to_owned()));
        let a = told(begun, Some(100.0), Some(120.0), Some(1.0));
        let heard = |heard| Some(MachinesHeard { heard, of: 3 });
        let mut sum = |all: [Option<&Told>; 3], now| figures(rates.sum(all.into_iter(), now));
        let now = begun + EACH / 5;
        assert_eq!(sum([None, None, None], now), None, "nobody told anything");
        assert_eq!(sum([Some(&a), None, None], now), Some((Some(100.0), Some(120.0), Some(1.0), heard(1))));
        let b = told(now + EACH / 5, Some(300.0), Some(380.0), Some(3.0));
        assert_eq!(sum([Some(&a), Some(&b), None], now + EACH / 2), None, "too early");
        let then = now + EACH;
        let both = Some((Some(400.0), Some(500.0), Some(2.5), heard(2)));
        assert_eq!(sum([Some(&a), Some(&b), None], then), both);
        assert_eq!(sum([Some(&a), Some(&b), None], then + EACH), None, "nothing new");
        let later = begun + OLD + EACH;
        let c = told(later, None, Some(50.0), None);
        let b = told(later, Some(200.0), None, None);
        let some = Some((None, None, None, heard(2)));
        assert_eq!(
            sum([Some(&a), Some(&b), Some(&c)], later),
            some,
            "a is silent, and each of the others lacks a rate"
        );
    }
}
