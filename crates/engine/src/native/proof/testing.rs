//! Units for tests of the checks.

use super::stamp::{Spot, Stamper};
use proptest::prelude::{Strategy, any};

/// A unit as written.
pub(crate) struct Case {
    pub(crate) stamper: Stamper,
    pub(crate) spot: Spot,
    pub(crate) generation: u32,
    pub(crate) unit: Vec<u8>,
}

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "generation {} at {:?}, {} bytes", self.generation, self.spot, self.unit.len())
    }
}

impl Case {
    /// The same place in another generation.
    pub(crate) fn at(&self, generation: u32) -> Vec<u8> {
        self.of(self.spot, generation)
    }

    /// Another place.
    pub(crate) fn of(&self, spot: Spot, generation: u32) -> Vec<u8> {
        let mut unit = vec![0; self.unit.len()];
        self.stamper.stamp(spot, generation, &mut unit);
        unit
    }
}

/// Any unit: of 512 bytes to 18 KiB, sometimes larger, of any compressibility.
pub(crate) fn case() -> impl Strategy<Value = Case> {
    let sectors = proptest::prop_oneof![8 => 1_usize..=36, 1 => 250_usize..=270];
    let generation = proptest::prop_oneof![8 => 1_u32..100, 1 => 1_u32..0x7fff_ffff];
    let compress = proptest::prop_oneof![4 => 0_u8..=100, 1 => proptest::strategy::Just(100)];
    (any::<u64>(), 0_u32..5, any::<u32>(), sectors, generation, compress).prop_map(
        |(trial, file, index, sectors, generation, compress)| {
            let stamper = Stamper::new(trial, compress);
            let length = sectors * 512;
            let spot = Spot { file, offset_bytes: u64::from(index) * length as u64 };
            let mut unit = vec![0; length];
            stamper.stamp(spot, generation, &mut unit);
            Case { stamper, spot, generation, unit }
        },
    )
}
