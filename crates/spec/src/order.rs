//! The order of the cells in a round, and the seed of every trial. They never change between versions, so a stored run can be
//! repeated exactly.
//!
//! The generator is SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014). The shuffle is
//! the one of Fisher and Yates in Durstenfeld's form (CACM 7, 1964), from the last place down. A number below `k` is the upper
//! half of the 128-bit product of the next output and `k`.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};
use record::id::TrialId;
use record::plan::{Cell, Plan};

/// Returns the first output for a seed.
fn first(seed: u64) -> u64 {
    SplitMix64::seed_from_u64(seed).next_u64()
}

fn below(random: &mut SplitMix64, k: usize) -> usize {
    let product = u128::from(random.next_u64()) * (k as u128);
    usize::try_from(product >> 64).unwrap_or(0)
}

/// Returns the cells of one round in the order of measurement: a permutation of the indices of `plan.cells`, drawn from the
/// plan's seed and the round.
#[must_use]
pub fn order(plan: &Plan, round: u32) -> Vec<usize> {
    let start = first(plan.seed) ^ u64::from(round);
    shuffled(plan.cells.len(), first(start))
}

/// Returns the seed of one trial's random offsets and data: SplitMix64 over the plan's seed, the FNV-1a hash of the cell's id,
/// and the round. It depends on nothing else, so a resumed run uses the same seeds as an uninterrupted one.
#[must_use]
pub fn trial_seed(plan: &Plan, id: &TrialId) -> u64 {
    first(first(plan.seed ^ hash(&id.cell.0)) ^ u64::from(id.round))
}

/// Returns the cell as one round builds it: with the volumes that are drawn for that round in the places of those it names; `None`: its
/// volumes are the same in all rounds. The order of a group of [`Plan::shuffled`] is drawn from the plan's seed, the name of the group's first volume, and the round. So it is the same
/// for all cells of a round: a stack of three volumes has the first three of those that a stack of four has.
#[must_use]
pub fn drawn(plan: &Plan, cell: &Cell, round: u32) -> Option<Cell> {
    let mut drawn = None;
    for group in plan.shuffled_for(&cell.target) {
        let Some(leader) = group.first() else { continue };
        let start = first(plan.seed ^ hash(&leader.name)) ^ u64::from(round);
        let places = shuffled(group.len(), first(start));
        for (at, volume) in cell.stack.volumes.iter().enumerate() {
            if let Some(place) = group.iter().position(|one| one.name == volume.name) {
                let drawn = drawn.get_or_insert_with(|| cell.clone());
                drawn.stack.volumes[at] = group[places[place]].clone();
            }
        }
    }
    drawn
}

/// FNV-1a.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// The numbers below `count` in an order drawn from a seed.
fn shuffled(count: usize, seed: u64) -> Vec<usize> {
    let mut random = SplitMix64::seed_from_u64(seed);
    let mut all: Vec<usize> = (0..count).collect();
    for i in (1..count).rev() {
        all.swap(i, below(&mut random, i + 1));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::{SplitMix64, drawn, order, trial_seed};
    use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};
    use record::id::{CellId, TrialId};
    use record::plan::Plan;

    fn plan(cells: usize, seed: u64) -> Plan {
        let text = format!(
            "experiment: demo\nvolumes: {{ vol: {{ emulate: {{ size: 1g }} }} }}\nstacks: {{ raw: {{ on: vol }} }}\n\
             workloads:\n  read-{{i}}: {{ with: {{ i: [{}] }}, rw: read, size: 64m }}\n",
            (0..cells).map(|i| i.to_string()).collect::<Vec<_>>().join(", ")
        );
        let loaded =
            crate::parse(&text, "demo.yaml", std::path::Path::new("/"), &Default::default()).unwrap();
        Plan { seed, ..loaded.plan }
    }

    #[test]
    fn the_generator_is_splitmix64() {
        // First outputs for seed 1234567, as published with the reference implementation (Vigna, splitmix64.c).
        let mut random = SplitMix64::seed_from_u64(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| random.next_u64()).collect();
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    // A separate program also computed the values of this and the last test, from the description above.
    #[test]
    fn orders_are_what_they_always_were() {
        let plan = plan(8, 42);
        assert_eq!(order(&plan, 0), [4, 2, 5, 1, 7, 0, 6, 3]);
        assert_eq!(order(&plan, 1), [6, 1, 3, 7, 5, 2, 0, 4]);
    }

    #[test]
    fn every_round_holds_every_cell_once_and_rounds_and_seeds_differ() {
        let (one, other) = (plan(50, 1), plan(50, 2));
        for round in 0..20 {
            let mut cells = order(&one, round);
            assert_ne!(cells, order(&one, round + 1));
            assert_ne!(cells, order(&other, round));
            cells.sort_unstable();
            assert_eq!(cells, (0..50).collect::<Vec<_>>());
        }
    }

    #[test]
    fn places_are_taken_evenly() {
        // 6000 shuffles of 6 cells: each cell is first about 1000 times; 5 standard deviations are 144.
        let plan = plan(6, 7);
        let mut first = [0_u32; 6];
        for round in 0..6000 {
            first[order(&plan, round)[0]] += 1;
        }
        assert!(first.iter().all(|times| (856..=1144).contains(times)), "{first:?}");
    }

    #[test]
    fn volumes_take_every_place_evenly_and_wider_stacks_contain_narrower_ones() {
        let text = "experiment: demo\nvolumes:\n  vol: { emulate: { size: 1g }, count: 5, shuffle: 1 }\n  \
            log: { emulate: { size: 1g } }\nstacks:\n  r-{n}: { with: { n: [1, 2, 4] }, layers: [ { md: { on: \"vol[..n]\", level: \
            raid0 } } ] }\n  fixed: { on: log }\nworkloads: { read: { rw: read, size: 64m } }\nexclude: []\n";
        let loaded = crate::parse(text, "demo.yaml", std::path::Path::new("/"), &Default::default()).unwrap();
        let plan = Plan { seed: 7, ..loaded.plan };
        let names = |cell: usize, round| -> Vec<String> {
            let cell = &plan.cells[cell];
            let built = drawn(&plan, cell, round).unwrap_or_else(|| cell.clone());
            built.stack.volumes.into_iter().map(|volume| volume.name).collect()
        };
        let mut first = std::collections::BTreeMap::new();
        for round in 0..1000 {
            let widest = names(2, round);
            assert_eq!(widest[..1], names(0, round), "{round}");
            assert_eq!(widest[..2], names(1, round), "{round}");
            assert_eq!(names(3, round), ["log"]);
            assert_eq!(widest.iter().collect::<std::collections::BTreeSet<_>>().len(), 4, "{widest:?}");
            *first.entry(widest[0].clone()).or_insert(0) += 1;
        }
        // 1000 draws of 5 volumes: each is first about 200 times; 5 standard deviations are 63.
        assert_eq!(first.len(), 5);
        assert!(first.values().all(|times| (137..=263).contains(times)), "{first:?}");
        assert_eq!(drawn(&plan, &plan.cells[2], 3), drawn(&plan, &plan.cells[2], 3));
        let unchanged = Plan { shuffled: Vec::new(), ..plan.clone() };
        assert_eq!(drawn(&unchanged, &plan.cells[2], 3), None);
        assert_eq!(drawn(&plan, &plan.cells[3], 3), None);
    }

    #[test]
    fn trial_seeds_are_what_they_always_were_and_differ() {
        let plan = plan(1, 42);
        let id = |cell: &str, round| TrialId { cell: CellId(cell.to_owned()), round };
        assert_eq!(trial_seed(&plan, &id("0123456789abcdef", 0)), 8_116_121_512_003_452_929);
        assert_ne!(
            trial_seed(&plan, &id("0123456789abcdef", 1)),
            trial_seed(&plan, &id("0123456789abcdef", 2))
        );
        assert_ne!(
            trial_seed(&plan, &id("0123456789abcdef", 1)),
            trial_seed(&plan, &id("0123456789abcdee", 1))
        );
    }
}
