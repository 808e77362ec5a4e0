//! The cells that still have to be measured.

/// Two cells with a requested comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    /// Index of one cell.
    pub a: usize,
    /// Index of the other.
    pub b: usize,
    /// Whether the comparison is settled.
    pub settled: bool,
}

/// Returns for each cell whether it takes part in the next round: its own figure, or a comparison that it belongs to, isn't
/// settled. A cell with no requested figure or comparison counts as settled. Both cells of an open comparison go on, since only
/// common rounds count.
#[must_use]
pub fn needed(settled: &[bool], pairs: &[Pair]) -> Vec<bool> {
    let mut go_on: Vec<bool> = settled.iter().map(|s| !s).collect();
    for pair in pairs.iter().filter(|p| !p.settled) {
        for cell in [pair.a, pair.b] {
            if let Some(cell) = go_on.get_mut(cell) {
                *cell = true;
            }
        }
    }
    go_on
}

#[cfg(test)]
mod tests {
    use super::{Pair, needed};

    #[test]
    fn a_settled_cell_drops_out_unless_an_open_comparison_keeps_it() {
        let pair = |a, b, settled| Pair { a, b, settled };
        assert_eq!(needed(&[true, false, true, true], &[]), [false, true, false, false]);
        let pairs = [pair(0, 2, false), pair(0, 3, true), pair(9, 1, true)];
        assert_eq!(needed(&[true, true, true, true], &pairs), [true, false, true, false]);
        assert!(needed(&[], &pairs).is_empty());
    }
}
