//! The order of the cells in a round, and the seed of every trial. Stable for ever: a stored run can be repeated exactly.
//!
//! The generator is SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014), the
//! shuffle is Fisher and Yates's in Durstenfeld's form (CACM 7, 1964), from the last place down. A number below `k` is the
//! upper half of the 128-bit product of the next output and `k`.

use record::id::TrialId;
use record::plan::Plan;

const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN_GAMMA);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, k: usize) -> usize {
        let product = u128::from(self.next()) * (k as u128);
        usize::try_from(product >> 64).unwrap_or(0)
    }
}

/// The cells of one round in the order they are measured: a permutation of the indices of `plan.cells`, drawn from the
/// plan's seed and the round.
#[must_use]
pub fn order(plan: &Plan, round: u32) -> Vec<usize> {
    let start = SplitMix64(plan.seed).next() ^ u64::from(round);
    let mut random = SplitMix64(SplitMix64(start).next());
    let mut cells: Vec<usize> = (0..plan.cells.len()).collect();
    for i in (1..cells.len()).rev() {
        cells.swap(i, random.below(i + 1));
    }
    cells
}

/// The seed of one trial's random offsets and data: SplitMix64 over the plan's seed, the FNV-1a hash of the cell's id, and
/// the round. It depends on nothing else, so a resumed run repeats what the whole run would have done.
#[must_use]
pub fn trial_seed(plan: &Plan, id: &TrialId) -> u64 {
    let cell = id.cell.0.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let with_cell = SplitMix64(plan.seed ^ cell).next();
    SplitMix64(with_cell ^ u64::from(id.round)).next()
}
