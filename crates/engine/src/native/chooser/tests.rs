use super::{Choice, Chooser};
use crate::native::distribution::Distribution;
use crate::native::kind::Kind;
use crate::native::random::Random;
use crate::native::sizes::Sizes;
use crate::native::task::{JobTask, Place};
use crate::native::testing::job;
use crate::native::zones;
use proptest::prelude::{any, proptest};
use record::workload::Rw;
use std::collections::{BTreeMap, BTreeSet};

const BASE: u64 = 1 << 20;

fn place(blocks: u64) -> Place {
    Place {
        number: 0,
        path: std::path::PathBuf::new(),
        offset_bytes: BASE,
        size_bytes: blocks * 4096,
        block_device: false,
    }
}

fn placed(job: JobTask, files: &[u64]) -> JobTask {
    JobTask { places: files.iter().map(|blocks| place(*blocks)).collect(), ..job }
}

fn seeded(seed: u64, job: &JobTask, n: usize) -> Vec<Choice> {
    let mut chooser = Chooser::new(seed, 0, job).unwrap();
    std::iter::from_fn(|| chooser.next()).take(n).collect()
}

/// The choices in one place of 100 blocks.
fn choices(job: JobTask, n: usize) -> Vec<Choice> {
    seeded(1, &placed(job, &[100]), n)
}

fn offsets(choices: &[Choice], kind: Kind) -> Vec<u64> {
    choices.iter().filter(|c| c.kind == kind).map(|c| (c.offset_bytes - BASE) / 4096).collect()
}

/// Mixes of sizes up to 32 KiB.
fn mixes() -> [Sizes; 3] {
    let split = Sizes::Split(vec![(4096, 20), (12288, 50), (32768, 30)]);
    [Sizes::One(4096), Sizes::Range { low: 4096, high: 32768 }, split]
}

#[test]
fn sequences_start_over_and_keep_reads_and_writes_apart() {
    let read = choices(job(Rw::Read), 150);
    assert_eq!(offsets(&read, Kind::Read), (0..100).chain(0..50).collect::<Vec<u64>>());
    let mixed = choices(job(Rw::Rw), 90);
    for kind in [Kind::Read, Kind::Write] {
        let found = offsets(&mixed, kind);
        assert!(found.len() > 20);
        assert_eq!(found, (0..found.len() as u64).collect::<Vec<u64>>());
    }
}

#[test]
fn random_orders_cover_everything_unless_told_otherwise() {
    let all: BTreeSet<u64> = (0..100).collect();
    let once = |job: JobTask| {
        choices(job, 100).iter().map(|c| (c.offset_bytes - BASE) / 4096).collect::<BTreeSet<u64>>()
    };
    for rw in [Rw::Randread, Rw::Randrw, Rw::Randtrim, Rw::Randtrimwrite] {
        assert_eq!(once(job(rw)), all);
    }
    assert!(once(JobTask { norandommap: true, ..job(Rw::Randread) }).len() < 90);
    let hot = JobTask { random_distribution: Distribution::Zipf(1.2), ..job(Rw::Randread) };
    assert!(once(hot).len() < 60);
    assert!(once(JobTask { sizes: mixes()[1].clone(), ..job(Rw::Randread) }).len() < 90);
}

#[test]
fn trials_and_jobs_differ() {
    let job = placed(job(Rw::Randread), &[100]);
    let first = seeded(1, &job, 50);
    assert_eq!(first, seeded(1, &job, 50));
    assert_ne!(first, seeded(2, &job, 50));
    let mut other = Chooser::new(1, 1, &job).unwrap();
    assert_ne!(first, std::iter::from_fn(|| other.next()).take(50).collect::<Vec<_>>());
}

#[test]
fn files_of_a_job_have_orders_of_their_own() {
    let two = seeded(1, &placed(job(Rw::Randread), &[100, 100]), 200);
    let of = |file| two.iter().filter(|c| c.file == file).map(|c| c.offset_bytes).collect::<Vec<_>>();
    assert_eq!((of(0).len(), of(1).len()), (100, 100));
    assert_ne!(of(0), of(1));
}

#[test]
fn zones_reach_the_choices() {
    let zoned = zones::parse("90/10:10/90", false).unwrap();
    let job = JobTask { random_distribution: Distribution::Zoned(zoned), ..job(Rw::Randread) };
    let hot = offsets(&choices(job.clone(), 10_000), Kind::Read).iter().filter(|b| **b < 10).count();
    // Five standard deviations.
    assert!(hot.abs_diff(9000) < 150, "{hot}");
    assert!(Chooser::new(1, 0, &placed(job, &[5])).is_err(), "5 blocks hold no tenth");
}

#[test]
fn trims_come_instead_of_reads_and_writes() {
    for rw in [Rw::Trim, Rw::Randtrim, Rw::Trimwrite, Rw::Randtrimwrite] {
        assert!(choices(job(rw), 50).iter().all(|c| c.kind == Kind::Trim), "{rw:?}");
    }
}

const ALL: [Rw; 9] = [
    Rw::Read,
    Rw::Write,
    Rw::Randread,
    Rw::Randwrite,
    Rw::Rw,
    Rw::Randrw,
    Rw::Trim,
    Rw::Randtrim,
    Rw::Trimwrite,
];

proptest! {
    #[test]
    fn all_stays_inside_its_place(
        seed in any::<u64>(), kind in 0_usize..9, mix in 0_usize..3, theta in 0.3_f64..2.0, rest in 0_u64..4096,
    ) {
        let zoned = zones::parse("50/20:30/30:20/50", false).unwrap();
        for random_distribution in [
            Distribution::Random,
            Distribution::Zipf(theta),
            Distribution::Normal(30.0),
            Distribution::Zoned(zoned),
        ] {
            let job = JobTask { random_distribution, sizes: mixes()[mix].clone(), ..job(ALL[kind]) };
            let mut job = placed(job, &[100, 33]);
            job.places[1].size_bytes += rest;
            for choice in seeded(seed, &job, 300) {
                let blocks = if choice.file == 0 { 100 } else { 33 };
                assert!(choice.offset_bytes >= BASE);
                assert!(choice.offset_bytes + u64::from(choice.length_bytes) <= BASE + blocks * 4096);
                assert_eq!(choice.offset_bytes % 4096, 0);
            }
        }
    }

    /// For any number and sizes of files, one pass touches every block once.
    #[test]
    fn a_pass_covers_every_block_of_every_file_once(
        seed in any::<u64>(), first in 1_u64..300, second in 1_u64..300, third in 1_u64..300, random in any::<bool>(),
    ) {
        let files = [first, second, third];
        let rw = if random { Rw::Randread } else { Rw::Read };
        let job = JobTask { once: true, ..placed(job(rw), &files) };
        let found = seeded(seed, &job, usize::MAX);
        let all: BTreeSet<(u32, u64)> = found.iter().map(|c| (c.file, c.offset_bytes)).collect();
        assert_eq!(all.len(), found.len(), "nothing comes twice");
        assert_eq!(found.len() as u64, files.iter().sum::<u64>());
        // Files take turns while more than one is left.
        let least = usize::try_from(*files.iter().min().unwrap()).unwrap();
        for three in found.chunks(3).take(least) {
            assert_eq!(three.iter().map(|c| c.file).collect::<Vec<_>>(), [0, 1, 2]);
        }
    }

    /// A sequence of mixed sizes leaves out only a rest that is smaller than the smallest block.
    #[test]
    fn a_sequence_of_mixed_sizes_is_without_gaps(seed in any::<u64>(), mix in 0_usize..3, blocks in 1_u64..300) {
        let job = JobTask { sizes: mixes()[mix].clone(), once: true, ..placed(job(Rw::Write), &[blocks]) };
        let mut next = BASE;
        for choice in seeded(seed, &job, usize::MAX) {
            assert_eq!(choice.offset_bytes, next);
            next += u64::from(choice.length_bytes);
        }
        assert_eq!(next, BASE + blocks * 4096);
    }

    /// Where everything fits, sizes occur as often as requested: within five standard deviations.
    #[test]
    fn sizes_have_their_shares_at_random_offsets(seed in any::<u64>()) {
        let job = JobTask { sizes: mixes()[2].clone(), ..placed(job(Rw::Randread), &[1 << 20]) };
        let mut counts: BTreeMap<u32, f64> = BTreeMap::new();
        let n = 5000.0;
        seeded(seed, &job, 5000).iter().for_each(|c| *counts.entry(c.length_bytes).or_default() += 1.0);
        for (size, share) in [(4096, 0.2), (12288, 0.5), (32768, 0.3)] {
            let allowed = 5.0 * f64::sqrt(n * share * (1.0 - share));
            assert!((counts[&size] - n * share).abs() < allowed, "{size}: {}", counts[&size]);
        }
    }
}

#[test]
fn a_random_pass_without_a_map_ends_after_as_many_bytes() {
    let job = JobTask { norandommap: true, once: true, ..placed(job(Rw::Randread), &[100, 50]) };
    assert_eq!(seeded(Random::new(1, 1).next(), &job, usize::MAX).len(), 150);
}
