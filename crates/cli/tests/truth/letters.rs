//! Content that takes a compressor much time: two letters in random order, with matches everywhere.

use std::path::{Path, PathBuf};

/// The value of a workload's `corpus:` for this content.
pub(crate) const CORPUS: &str = "LETTERS";
const FILES: u64 = 8;
/// The size of each file: one extent of btrfs's compression.
const BYTES: usize = 128 << 10;

/// The folder that holds them.
pub(crate) fn corpus(lab: &Path) -> PathBuf {
    lab.join("letters")
}

pub(crate) fn write(lab: &Path) -> std::io::Result<()> {
    let folder = corpus(lab);
    std::fs::create_dir_all(&folder)?;
    for number in 0..FILES {
        let mut state = number + 1;
        let letters: Vec<u8> = std::iter::repeat_with(|| letter(&mut state)).take(BYTES).collect();
        std::fs::write(folder.join(number.to_string()), letters)?;
    }
    Ok(())
}

/// A letter by Knuth's generator (MMIX); its highest bit is random enough.
fn letter(state: &mut u64) -> u8 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    if *state >> 63 == 0 { b'a' } else { b'b' }
}
