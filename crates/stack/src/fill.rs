//! Incompressible data.

/// xoshiro256** 1.0 (Blackman and Vigna, "Scrambled Linear Pseudorandom Number Generators", 2018), seeded by
/// splitmix64 as its authors advise. No cipher, but nothing compresses or deduplicates it.
#[derive(Debug, Clone)]
pub(crate) struct Noise {
    state: [u64; 4],
}

impl Noise {
    pub(crate) fn new(seed: u64) -> Self {
        let mut x = seed;
        let state = std::array::from_fn(|_| {
            x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = x;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        });
        Self { state }
    }

    fn next(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[1].wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    pub(crate) fn fill(&mut self, buffer: &mut [u8]) {
        for chunk in buffer.chunks_mut(8) {
            let bytes = self.next().to_le_bytes();
            chunk.copy_from_slice(&bytes[..chunk.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Noise;

    #[test]
    fn follows_the_reference() {
        // From the authors' C code with state {1, 2, 3, 4}.
        let mut noise = Noise { state: [1, 2, 3, 4] };
        let first: Vec<u64> = (0..4).map(|_| noise.next()).collect();
        assert_eq!(first, [11_520, 0, 1_509_978_240, 1_215_971_899_390_074_240]);
    }

    #[test]
    fn seeds_differ_and_bytes_are_even() {
        let (mut a, mut b) = (vec![0_u8; 65_537], vec![0_u8; 65_537]);
        Noise::new(1).fill(&mut a);
        Noise::new(2).fill(&mut b);
        assert_ne!(a, b);
        let mut counts = [0_u32; 256];
        a.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
        assert!(counts.iter().all(|count| (150..=370).contains(count)), "{counts:?}");
    }
}
