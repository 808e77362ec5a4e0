//! The drift of the machine, which all cells of a round share.

use crate::best::Rounds;
use crate::estimate::mean;

/// Returns how much higher than usual each round was, over all cells: exp of the mean over cells of ln xᵢⱼ minus the cell's own
/// mean of logarithms, for the rounds that every cell has. The noise of single cells averages out, so a drift of the whole
/// machine is √k times as clear as in one of k cells. Pass the result to [`crate::doubts`]. This is the additive model of rounds
/// and cells on logarithms. Source: Tukey (1949), Biometrics 5:232-242; Box, Hunter, Hunter (2005), "Statistics for
/// Experimenters", 4.2, on blocks.
///
/// `None` without cells or common rounds, or when a value isn't positive and finite. With a single cell, the result is that
/// cell's own rounds.
#[must_use]
pub fn machine_rounds(cells: &[Rounds]) -> Option<Vec<f64>> {
    let count = cells.iter().map(|c| c.len()).min()?;
    let complete = |round: &usize| cells.iter().all(|c| c[*round].is_some());
    let rounds: Vec<usize> = (0..count).filter(complete).collect();
    let mut logs: Vec<Vec<f64>> = Vec::with_capacity(cells.len());
    for cell in cells {
        let values = rounds.iter().filter_map(|r| cell[*r]);
        let cell_logs: Vec<f64> = values.map(f64::ln).collect();
        if cell_logs.is_empty() || cell_logs.iter().any(|x| !x.is_finite()) {
            return None;
        }
        let own = mean(&cell_logs);
        logs.push(cell_logs.iter().map(|x| x - own).collect());
    }
    let effect = |i: usize| mean(&logs.iter().map(|cell| cell[i]).collect::<Vec<_>>()).exp();
    Some((0..rounds.len()).map(effect).collect())
}

#[cfg(test)]
mod tests {
    use super::machine_rounds;

    #[test]
    fn what_is_common_stays_and_what_is_not_averages_out() {
        let a = [Some(100.0), Some(200.0), Some(50.0)];
        let b = [Some(7.0), Some(14.0), Some(3.5)];
        let both = machine_rounds(&[&a, &b]).unwrap();
        for (effect, expected) in both.iter().zip([1.0, 2.0, 0.5]) {
            assert!((effect - expected).abs() < 1e-12, "{both:?}");
        }
        let against = [Some(1.0), Some(0.5), Some(2.0)];
        assert!(machine_rounds(&[&a, &against]).unwrap().iter().all(|e| (e - 1.0).abs() < 1e-12));
    }

    #[test]
    fn only_common_rounds_count_and_nonsense_has_none() {
        let a = [Some(1.0), None, Some(4.0), Some(2.0)];
        let b = [Some(1.0), Some(9.0), Some(4.0)];
        let both = machine_rounds(&[&a, &b]).unwrap();
        assert!(both.len() == 2 && (both[1] / both[0] - 4.0).abs() < 1e-12, "{both:?}");
        assert_eq!(machine_rounds(&[]), None);
        assert_eq!(machine_rounds(&[&[None, Some(1.0)], &[Some(1.0), None]]), None);
        assert_eq!(machine_rounds(&[&[Some(0.0), Some(1.0)]]), None);
    }
}
