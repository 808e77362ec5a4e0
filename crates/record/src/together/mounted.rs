//! The bytes between several NFS clients and their server, as those of one client.

use crate::clock::ClockOffset;
use crate::counter::Sample;
use crate::nfs::NfsCounters;
use crate::trial::Part;

/// Returns samples with the sums of the clients' NFS counters, by the controller's clock, from the first to the last sample of any of
/// them. Between two samples of a client its counters are interpolated linearly. Before its first sample and after its last one they
/// are constant, since its load begins after the first and ends before the last. Empty if a client has no counters, or its clock was
/// never compared.
#[must_use]
pub fn mounted(parts: &[Part]) -> Vec<Sample> {
    let Some(clients) = parts.iter().map(counted).collect::<Option<Vec<_>>>() else { return Vec::new() };
    // The times of one client, and where the counters of the others begin or cease to grow.
    let ends = clients.iter().flat_map(|points| points.first().into_iter().chain(points.last()));
    let mut times: Vec<u64> = clients.iter().take(1).flatten().chain(ends).map(|point| point.at_ns).collect();
    times.sort_unstable();
    times.dedup();
    let at = |at_ns: u64| {
        let each = clients.iter().filter_map(|points| interpolated(points, at_ns));
        Sample { monotonic_ns: at_ns, nfs: Some(each.fold(NfsCounters::default(), sum)), ..Sample::default() }
    };
    times.into_iter().map(at).collect()
}

/// A client's counters at a time of the controller's clock.
#[derive(Debug, Clone, Copy)]
struct Point {
    at_ns: u64,
    nfs: NfsCounters,
}

/// A client's counters in the order of time; `None` if it has none.
fn counted(part: &Part) -> Option<Vec<Point>> {
    let clock = part.clock_before?;
    let point = |sample: &Sample| Some(Point { at_ns: told(sample.monotonic_ns, clock)?, nfs: sample.nfs? });
    let mut points: Vec<Point> = part.record.evidence.samples.iter().filter_map(point).collect();
    points.sort_by_key(|point| point.at_ns);
    (!points.is_empty()).then_some(points)
}

fn told(ns: u64, clock: ClockOffset) -> Option<u64> {
    u64::try_from(i128::from(ns) - i128::from(clock.ahead_ns)).ok()
}

/// The counters at a time; `None` without any point.
fn interpolated(points: &[Point], at_ns: u64) -> Option<NfsCounters> {
    let Some(next) = points.iter().position(|point| point.at_ns >= at_ns) else {
        return points.last().map(|point| point.nfs);
    };
    let after = points.get(next)?;
    let Some(before) = next.checked_sub(1).and_then(|place| points.get(place)) else {
        return Some(after.nfs);
    };
    let (part, whole) = (at_ns - before.at_ns, (after.at_ns - before.at_ns).max(1));
    let between = |from: u64, to: u64| {
        let grown = u128::from(to.saturating_sub(from)) * u128::from(part) / u128::from(whole);
        from.saturating_add(u64::try_from(grown).unwrap_or(u64::MAX))
    };
    Some(each(before.nfs, after.nfs, between))
}

fn sum(a: NfsCounters, b: NfsCounters) -> NfsCounters {
    each(a, b, u64::saturating_add)
}

fn each(a: NfsCounters, b: NfsCounters, of: impl Fn(u64, u64) -> u64) -> NfsCounters {
    NfsCounters {
        buffered_read_bytes: of(a.buffered_read_bytes, b.buffered_read_bytes),
        buffered_write_bytes: of(a.buffered_write_bytes, b.buffered_write_bytes),
        direct_read_bytes: of(a.direct_read_bytes, b.direct_read_bytes),
        direct_write_bytes: of(a.direct_write_bytes, b.direct_write_bytes),
        server_read_bytes: of(a.server_read_bytes, b.server_read_bytes),
        server_write_bytes: of(a.server_write_bytes, b.server_write_bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::mounted;
    use crate::clock::ClockOffset;
    use crate::counter::Sample;
    use crate::id::{CellId, TrialId};
    use crate::nfs::NfsCounters;
    use crate::trial::{Outcome, Part, TrialRecord};

    /// A client whose clock is ahead, with the bytes that it has read at each time of its own clock.
    fn client(ahead_ns: i64, read: &[(u64, u64)]) -> Part {
        let id = TrialId { cell: CellId("00112233445566aa".to_owned()), round: 0 };
        let mut record = TrialRecord::new(id, 1, 0, Outcome::Measured);
        let sample = |&(monotonic_ns, server_read_bytes): &(u64, u64)| Sample {
            monotonic_ns,
            nfs: Some(NfsCounters { server_read_bytes, ..NfsCounters::default() }),
            ..Sample::default()
        };
        record.evidence.samples = read.iter().map(sample).collect();
        Part {
            target: "a".to_owned(),
            clock_before: Some(ClockOffset { ahead_ns, ..ClockOffset::default() }),
            clock_after: None,
            agreed_ns: None,
            began: None,
            ended: None,
            record: Box::new(record),
        }
    }

    fn told(parts: &[Part]) -> Vec<(u64, u64)> {
        mounted(parts).iter().map(|s| (s.monotonic_ns, s.nfs.unwrap().server_read_bytes)).collect()
    }

    #[test]
    fn counters_are_added_at_one_time() {
        let a = client(1000, &[(2000, 0), (2100, 100), (2200, 200)]);
        let b = client(-500, &[(450, 7), (550, 1007), (650, 1207)]);
        let sums = [(950, 7), (1000, 507), (1100, 1207), (1150, 150 + 1207), (1200, 200 + 1207)];
        assert_eq!(told(&[a, b]), sums);
    }

    #[test]
    fn a_client_that_has_not_begun_or_has_ended_moves_nothing() {
        let (first, second) = (client(0, &[(100, 5), (200, 15)]), client(0, &[(300, 1), (400, 2)]));
        assert_eq!(told(&[first, second]), [(100, 6), (200, 16), (300, 16), (400, 17)]);
    }

    #[test]
    fn without_all_counters_there_is_no_sum() {
        let a = client(0, &[(100, 1), (200, 2)]);
        assert!(told(&[a.clone(), client(0, &[])]).is_empty());
        let unknown = Part { clock_before: None, ..a.clone() };
        assert!(told(&[a, unknown]).is_empty());
    }
}
