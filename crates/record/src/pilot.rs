//! Pilot rounds: the length of the later trials is chosen from their trials.

use crate::plan::Measure;

/// Number of rounds at the shortest length before another length may be chosen.
pub const ROUNDS: u32 = 3;

/// Ratio of a trial's length to the pilot's above which it counts as a longer trial.
const LONGER: f64 = 1.1;

/// Returns how many first rounds of a cell its figures leave out, from the rounds and measured seconds of its trials: the pilot
/// rounds, if longer trials followed them, else none. Trials of different lengths have different variances, and the short ones
/// would add noise to the others.
#[must_use]
pub fn left_out(measure: &Measure, trials: impl Iterator<Item = (u32, f64)>) -> u32 {
    if measure.max_trial_seconds.is_none() {
        return 0;
    }
    let (pilots, others): (Vec<_>, Vec<_>) = trials.partition(|(round, _)| *round < ROUNDS);
    let longest = pilots.iter().map(|(_, seconds)| *seconds).fold(0.0, f64::max);
    let shortest = others.iter().map(|(_, seconds)| *seconds).fold(f64::INFINITY, f64::min);
    let changed = !others.is_empty() && !pilots.is_empty() && shortest > longest * LONGER;
    if changed { ROUNDS } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::left_out;
    use crate::plan::Measure;

    #[test]
    fn pilots_are_left_out_when_longer_trials_followed() {
        let of = |max_trial_seconds, seconds: &[f64]| {
            let measure = Measure { max_trial_seconds, ..Measure::new(5.0, 0.0, 9) };
            left_out(&measure, (0..).zip(seconds.iter().copied()))
        };
        assert_eq!(of(Some(60.0), &[5.0, 5.01, 5.0, 20.0, 20.1]), 3);
        assert_eq!(of(Some(60.0), &[5.0, 5.01, 5.0, 5.1, 20.0]), 0, "not all that followed are longer");
        assert_eq!(of(Some(60.0), &[5.0, 5.0, 5.0]), 0);
        assert_eq!(of(None, &[5.0, 5.0, 5.0, 20.0]), 0);
    }
}
