//! Content that costs a compressor much time: letters of two kinds in random order, in which it finds matches everywhere.

use std::path::{Path, PathBuf};

/// What a workload's `corpus:` says to have them copied.
pub(crate) const CORPUS: &str = "LETTERS";
const FILES: u64 = 8;
/// One extent of btrfs's compression each.
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

/// Knuth's generator (MMIX), whose highest bit is random enough.
fn letter(state: &mut u64) -> u8 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    if *state >> 63 == 0 { b'a' } else { b'b' }
}
