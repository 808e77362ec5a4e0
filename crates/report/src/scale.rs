//! Scales: they turn values into places in a picture, and back.

/// A scale along one direction of a picture.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    /// The values at its two ends, the lower one first.
    domain: (f64, f64),
    /// The places of these ends, in the picture's units.
    range: (f64, f64),
    /// Whether equal distances are equal ratios.
    log: bool,
}

impl Scale {
    /// A scale with equal distances for equal differences. A domain without an extent is widened.
    #[must_use]
    pub fn linear(domain: (f64, f64), range: (f64, f64)) -> Self {
        Self { domain: widened(domain), range, log: false }
    }

    /// A scale with equal distances for equal ratios; a linear one if the domain doesn't lie above 0.
    #[must_use]
    pub fn log(domain: (f64, f64), range: (f64, f64)) -> Self {
        let domain = widened(domain);
        Self { domain, range, log: domain.0 > 0.0 }
    }

    /// The same scale, whose ends are round numbers. `most` is the number of ticks wanted.
    #[must_use]
    pub fn round(self, most: usize) -> Self {
        let (low, high) = self.domain;
        let domain = if self.log {
            (round_down(low), round_up(high))
        } else {
            let step = step(high - low, most);
            ((low / step + 1e-9).floor() * step, (high / step - 1e-9).ceil() * step)
        };
        Self { domain: widened(domain), ..self }
    }

    /// The place of a value. Values beyond the ends have places beyond the ends.
    #[must_use]
    pub fn place(&self, value: f64) -> f64 {
        let (low, high) = self.ends();
        let share = (self.ranked(value) - low) / (high - low);
        self.range.0 + share * (self.range.1 - self.range.0)
    }

    /// The value at a place: the inverse of [`Scale::place`].
    #[cfg(test)]
    pub fn value(&self, place: f64) -> f64 {
        let (low, high) = self.ends();
        let at = low + (place - self.range.0) / (self.range.1 - self.range.0) * (high - low);
        if self.log { at.exp() } else { at }
    }

    /// Whether a value lies between the ends.
    #[must_use]
    pub fn holds(&self, value: f64) -> bool {
        (self.domain.0..=self.domain.1).contains(&value)
    }

    /// Whether equal distances are equal ratios.
    #[must_use]
    pub fn is_log(&self) -> bool {
        self.log
    }

    /// The values at both ends.
    #[must_use]
    pub fn domain(&self) -> (f64, f64) {
        self.domain
    }

    /// The places of both ends.
    #[must_use]
    pub fn range(&self) -> (f64, f64) {
        self.range
    }

    /// Round numbers between the ends, about `most` of them.
    #[must_use]
    pub fn ticks(&self, most: usize) -> Vec<f64> {
        let (low, high) = self.domain;
        if self.log {
            return log_ticks(low, high, most);
        }
        let step = step(high - low, most);
        let first = (low / step - 1e-9).ceil();
        let count = ((high / step + 1e-9).floor() - first).max(0.0);
        let mut ticks = Vec::new();
        let mut at = 0.0;
        while at <= count {
            // Adding 0 makes a positive zero of a negative one.
            ticks.push((first + at) * step + 0.0);
            at += 1.0;
        }
        ticks
    }

    fn ends(&self) -> (f64, f64) {
        (self.ranked(self.domain.0), self.ranked(self.domain.1))
    }

    fn ranked(&self, value: f64) -> f64 {
        if self.log { value.max(f64::MIN_POSITIVE).ln() } else { value }
    }
}

/// The lowest and the highest of some finite values; `None` if there are none.
pub fn extent(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    values.into_iter().filter(|v| v.is_finite()).fold(None, |found, value| {
        let (low, high) = found.unwrap_or((value, value));
        Some((low.min(value), high.max(value)))
    })
}

fn widened((low, high): (f64, f64)) -> (f64, f64) {
    if high > low {
        (low, high)
    } else if low == 0.0 {
        (0.0, 1.0)
    } else {
        (low - low.abs() * 0.1, low + low.abs() * 0.1)
    }
}

/// A step of 1, 2 or 5 times a power of ten, so that a length has about `most` of them.
fn step(length: f64, most: usize) -> f64 {
    let least = length / f64::from(u32::try_from(most.max(1)).unwrap_or(1));
    let power = 10_f64.powf(least.log10().floor());
    let lead = least / power;
    let nice = [1.0, 2.0, 5.0, 10.0].into_iter().find(|nice| lead <= nice * (1.0 + 1e-9));
    nice.unwrap_or(10.0) * power
}

/// The next number of the form 1, 2 or 5 times a power of ten that isn't above a value.
fn round_down(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    let lead = value / power * (1.0 + 1e-9);
    [5.0, 2.0].into_iter().find(|nice| lead >= *nice).unwrap_or(1.0) * power
}

/// The next such number that isn't below a value.
fn round_up(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    let lead = value / power * (1.0 - 1e-9);
    [1.0, 2.0, 5.0].into_iter().find(|nice| lead <= *nice).unwrap_or(10.0) * power
}

/// Powers of ten between two values; 2 and 5 times such a power too, if there is room.
fn log_ticks(low: f64, high: f64, most: usize) -> Vec<f64> {
    let all = |leads: &[f64]| -> Vec<f64> {
        let mut ticks = Vec::new();
        let mut power = low.log10().floor();
        while power <= high.log10() + 1.0 {
            ticks.extend(leads.iter().map(|lead| lead * 10_f64.powf(power)));
            power += 1.0;
        }
        ticks.retain(|tick| (low * (1.0 - 1e-9)..=high * (1.0 + 1e-9)).contains(tick));
        ticks
    };
    let fine = all(&[1.0, 2.0, 5.0]);
    if fine.len() <= most {
        return fine;
    }
    let coarse = all(&[1.0]);
    let every = coarse.len().div_ceil(most.max(1)).max(1);
    coarse.into_iter().step_by(every).collect()
}

#[cfg(test)]
mod tests {
    use super::{Scale, extent};

    #[test]
    fn a_place_turns_back_into_its_value() {
        let scales = [
            Scale::linear((0.0, 321.6), (240.0, 610.0)),
            Scale::linear((-3.0, 12.5), (400.0, 20.0)),
            Scale::log((0.08, 570_000.0), (10.0, 700.0)),
            Scale::log((1.0, 10_000.0), (0.0, 300.0)).round(5),
        ];
        for scale in scales {
            let (low, high) = scale.domain();
            for i in 0..=50 {
                let value = low + (high - low) * f64::from(i) / 50.0;
                let back = scale.value(scale.place(value));
                assert!((back - value).abs() <= 1e-9 * value.abs().max(1.0), "{value} came back as {back}");
            }
            let places = [scale.place(low), scale.place(high)];
            assert_eq!(places.map(f64::round), [scale.range().0, scale.range().1]);
        }
    }

    #[test]
    fn ticks_are_round_numbers_between_the_ends() {
        let linear = |low, high, most| Scale::linear((low, high), (0.0, 1.0)).ticks(most);
        assert_eq!(linear(0.0, 321.0, 5), [0.0, 100.0, 200.0, 300.0]);
        assert_eq!(linear(3.2, 4.1, 4), [3.5, 4.0]);
        assert_eq!(linear(-1.0, 1.0, 4), [-1.0, -0.5, 0.0, 0.5, 1.0]);
        let log = |low, high, most| Scale::log((low, high), (0.0, 1.0)).ticks(most);
        assert_eq!(log(1.0, 100.0, 8), [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        assert_eq!(log(1.0, 1e6, 4), [1.0, 100.0, 10_000.0, 1e6]);
    }

    #[test]
    fn round_ends_hold_all_values() {
        for (low, high) in [(0.3, 19.7), (100.0, 100.0), (0.0, 0.0), (79.9, 321.4)] {
            for scale in [Scale::linear((low, high), (0.0, 100.0)), Scale::log((low, high), (0.0, 100.0))] {
                let round = scale.round(5);
                assert!(round.holds(low) && round.holds(high), "{round:?} lacks {low} or {high}");
                assert!(round.ticks(5).len() >= 2, "{round:?}: {:?}", round.ticks(5));
            }
        }
    }

    #[test]
    fn what_is_not_a_number_has_no_extent() {
        assert_eq!(extent([f64::NAN, 3.0, f64::INFINITY, 1.0]), Some((1.0, 3.0)));
        assert_eq!(extent([f64::NAN]), None);
    }

    #[test]
    fn nothing_above_zero_has_no_logarithm() {
        assert!(!Scale::log((0.0, 5.0), (0.0, 1.0)).is_log());
        assert!(Scale::log((0.1, 5.0), (0.0, 1.0)).is_log());
    }
}
