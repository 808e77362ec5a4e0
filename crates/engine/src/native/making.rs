//! The speed of generating and checking content on one core; for `examples/generator_bench.rs`.

use super::buffer::Generator;
use super::buffers::{BufferError, Buffers};
use super::proof::{Expected, Spot, Stamper, check};
use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;
use thiserror::Error;

/// The size of all buffers of 4k reads at depth 128.
const MEMORY_BYTES: u32 = 512 << 10;

/// Bytes per second of this thread's CPU time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Making {
    /// Of data written without `verify`.
    pub generated: f64,
    /// Of data written with `verify`.
    pub stamped: f64,
    /// Of data read with `verify`.
    pub checked: f64,
}

/// Why the speed is unknown.
#[derive(Debug, Error)]
pub enum MakingError {
    /// There isn't enough memory.
    #[error(transparent)]
    Memory(#[from] BufferError),
    /// Blocks that were generated don't pass the check.
    #[error("{faults} blocks in memory were found wrong")]
    Wrong {
        /// Their number.
        faults: u64,
    },
}

/// Measures each for about `seconds` of CPU time, in blocks of `block_bytes`.
///
/// # Errors
/// When there isn't enough memory, or what was generated isn't found right.
pub fn making(compress_percentage: u8, block_bytes: u32, seconds: f64) -> Result<Making, MakingError> {
    let slots = (MEMORY_BYTES / block_bytes.max(1)).max(1);
    let mut memory =
        Memory { buffers: Buffers::new(slots as usize, block_bytes as usize)?, slots, block_bytes };
    let mut generator = Generator::new(1, 2, compress_percentage, 0);
    let stamper = Stamper::new(1, compress_percentage);
    let spot = |slot: u32| Spot { file: 0, offset_bytes: u64::from(slot) * u64::from(block_bytes) };
    let generated = memory.rate(seconds, |_, block| generator.fill(block));
    let stamped = memory.rate(seconds, |slot, block| stamper.stamp(spot(slot), 1, block));
    let mut faults = 0_u64;
    let checked = memory.rate(seconds, |slot, block| {
        faults += u64::from(check(&stamper, spot(slot), Expected::only(1), block).is_some());
    });
    if faults > 0 {
        return Err(MakingError::Wrong { faults });
    }
    Ok(Making { generated, stamped, checked })
}

/// Blocks that are used in turn, like a lane's.
struct Memory {
    buffers: Buffers,
    slots: u32,
    block_bytes: u32,
}

impl Memory {
    fn rate(&mut self, seconds: f64, mut each: impl FnMut(u32, &mut [u8])) -> f64 {
        let mut rounds = 0_u32;
        let begun = cpu_seconds();
        loop {
            for slot in 0..self.slots {
                let block = self.buffers.block(slot as usize, self.block_bytes);
                each(slot, block);
                black_box(&block);
            }
            rounds += 1;
            let spent = cpu_seconds() - begun;
            if spent >= seconds {
                return f64::from(rounds) * f64::from(self.slots) * f64::from(self.block_bytes) / spent;
            }
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "seconds of a bench")]
fn cpu_seconds() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}
