use super::{Failure, KINDS, Kind, Span, Tally, sum};
use proptest::prelude::{prop, proptest};

const SPAN: Span = Span { start_ns: 1000, end_ns: 2000, interval_ns: 300, open_end: false };

/// Counts completions (time, kind, latency) like a lane.
fn tally(span: Span, completions: &[(u64, Kind, u64)]) -> Tally {
    let mut tally = Tally::new(span);
    for &(now, kind, latency) in completions {
        if tally.is_over(now) {
            tally.roll(now);
        }
        tally.add(kind, latency, 4096);
    }
    tally
}

#[test]
fn only_what_completes_inside_counts() {
    let at = |now| (now, Kind::Read, 10);
    let all = [0, 999, 1000, 1001, 1999, 2000, 5000].map(at);
    assert_eq!(sum(vec![tally(SPAN, &all)]).sides[0].ios, 3);
    // With a flush at the end, everything that was written belongs to it.
    let open = Span { open_end: true, ..SPAN };
    assert_eq!(sum(vec![tally(open, &all)]).sides[0].ios, 5);
    assert_eq!(sum(vec![tally(SPAN, &[at(999), at(2000)])]).sides[0].ios, 0);
}

#[test]
fn the_series_has_its_intervals() {
    let lanes = vec![
        tally(SPAN, &[(1000, Kind::Read, 10), (1299, Kind::Read, 20), (1300, Kind::Write, 30)]),
        tally(SPAN, &[(1100, Kind::Read, 90), (1950, Kind::Read, 50)]),
    ];
    let sum = sum(lanes);
    let reads: Vec<_> = sum.series[0].iter().map(|p| (p.ios, p.bytes, p.p50_ns, p.max_ns)).collect();
    assert_eq!(reads, [(3, 3 * 4096, 20, 90), (1, 4096, 50, 50)]);
    assert_eq!(sum.series[1].len(), 1);
    assert_eq!(sum.sides[0].latency_sum_ns, 170);
    assert_eq!(sum.sides[0].latency.count(), 4);
}

#[test]
fn durable_writes_are_counted_beside_the_writes() {
    const DURABLE: usize = 4;
    let mut synced = tally(SPAN, &[(900, Kind::Write, 10), (1100, Kind::Write, 20)]);
    synced.durable(25);
    synced.durable(45);
    let of_sync = sum(vec![synced]).sides;
    assert_eq!((of_sync[1].ios, of_sync[1].latency_sum_ns), (1, 20));
    let durable = &of_sync[DURABLE];
    assert_eq!((durable.ios, durable.bytes, durable.latency_sum_ns, durable.latency_max_ns), (2, 0, 70, 45));
    // With O_DSYNC they are the writes themselves, and nothing else.
    let own = tally(SPAN, &[(1100, Kind::Write, 20), (1200, Kind::Read, 7)]).with_durable_writes(true);
    let plain = tally(SPAN, &[(1150, Kind::Write, 70)]);
    let sides = sum(vec![own, plain]).sides;
    assert_eq!((sides[1].ios, sides[DURABLE].ios, sides[DURABLE].latency_sum_ns), (2, 1, 20));
}

#[test]
fn errors_are_kept_by_kind_and_offset_at_any_time() {
    let mut tally = Tally::new(SPAN);
    for offset in 0..100 {
        tally.error(3, Kind::Read, Failure::Errno(5), offset * 4096);
    }
    tally.error(3, Kind::Read, Failure::Short, 7);
    let mut other = Tally::new(SPAN);
    other.error(3, Kind::Write, Failure::Errno(5), 1 << 30);
    let errors = sum(vec![tally, other]).errors;
    assert_eq!(errors.len(), 3);
    assert_eq!((errors[0].errno.as_str(), errors[0].count, errors[0].job), ("EIO", 100, 3));
    assert_eq!(errors[0].offsets_bytes.first(), Some(&0));
    assert_eq!(errors[1].errno, "short read");
    let count = errors[0].count();
    assert!(count.place.unwrap().starts_with("job3: read at offset 0, 4096, "));
    assert_eq!((errors[2].errno.as_str(), errors[2].kind), ("EIO", Kind::Write), "writes are kept apart");
}

fn kinds() -> [Kind; 2] {
    [Kind::Read, Kind::Write]
}

proptest! {
    /// For any grouping and order of lanes, the sum is the same, to the last bin.
    #[test]
    fn adding_lanes_up_is_associative_and_commutative(
        completions in prop::collection::vec((0_u64..3000, 0_usize..4, 0_u64..1 << 40), 0..200),
        owners in prop::collection::vec(0_usize..6, 200), turn in 0_usize..6,
    ) {
        let mut completions: Vec<_> = completions.into_iter().map(|(t, k, l)| (t, KINDS[k], l)).collect();
        completions.sort_by_key(|c| c.0);
        // Lane by lane as `owners` says; with `fold`, the last three are merged into the first three.
        let lanes = |fold: usize| {
            (0..6).map(move |lane| (lane, fold)).collect::<Vec<_>>().into_iter().map(|(lane, fold)| {
                let mine = completions.iter().zip(&owners).filter(|(_, o)| **o % fold == lane);
                tally(SPAN, &mine.map(|(c, _)| *c).collect::<Vec<_>>())
            }).collect::<Vec<_>>()
        };
        let apart = sum(lanes(6));
        let grouped = sum(lanes(3));
        let mut turned = lanes(6);
        turned.rotate_left(turn);
        let turned = sum(turned);
        for other in [&grouped, &turned] {
            assert_eq!(apart.sides, other.sides);
            assert_eq!(apart.series, other.series);
        }
    }

    /// For any distribution of completions over lanes, the sum is the same.
    #[test]
    fn sums_do_not_depend_on_the_lanes(
        completions in prop::collection::vec((0_u64..3000, 0_usize..2, 0_u64..1 << 40), 0..200),
        lanes in 1_usize..5,
    ) {
        let mut completions: Vec<_> = completions.into_iter().map(|(t, k, l)| (t, kinds()[k], l)).collect();
        completions.sort_by_key(|c| c.0);
        let one = sum(vec![tally(SPAN, &completions)]);
        let split = (0..lanes).map(|lane| {
            let part: Vec<_> = completions.iter().skip(lane).step_by(lanes).copied().collect();
            tally(SPAN, &part)
        });
        let many = sum(split.collect());
        assert_eq!(one.sides, many.sides);
        assert_eq!(one.series, many.series);
        let inside = completions.iter().filter(|c| (1000..2000).contains(&c.0)).count();
        assert_eq!(one.sides[0].ios + one.sides[1].ios, inside as u64);
    }
}
