//! A track that is thinned for a picture: the lowest and the highest rate of each bin of time stay.

use crate::scale::Scale;
use crate::trials::Piece;
use std::fmt::Write as _;

/// The lowest and the highest rate in a bin of time; `None`: a gap, since a rate in it is missing.
pub(crate) type Bin = Option<(f64, f64)>;

/// Thins a track to bins of equal length between two times, in seconds.
pub(crate) fn envelope(track: &[Piece], (begin, end): (f64, f64), bins: usize) -> Vec<Bin> {
    let length = (end - begin) / f64::from(u32::try_from(bins.max(1)).unwrap_or(u32::MAX));
    let mut found: Vec<Found> = vec![Found::Nothing; bins];
    for piece in track {
        // A piece that only touches a bin's edge doesn't belong to it.
        let slack = 1e-6 * length;
        let first = bin((piece.from + slack - begin) / length, bins);
        let last = bin((piece.to - slack - begin) / length, bins);
        if piece.to <= begin || piece.from >= end {
            continue;
        }
        for found in found.iter_mut().take(last + 1).skip(first) {
            *found = found.with(piece.rate);
        }
    }
    found.into_iter().map(Found::bin).collect()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the bins")]
fn bin(place: f64, bins: usize) -> usize {
    (place.max(0.0) as usize).min(bins.saturating_sub(1))
}

/// What is known of a bin.
#[derive(Debug, Clone, Copy)]
enum Found {
    Nothing,
    Gap,
    Rates(f64, f64),
}

impl Found {
    fn with(self, rate: Option<f64>) -> Self {
        match (self, rate) {
            (_, None) | (Self::Gap, _) => Self::Gap,
            (Self::Nothing, Some(rate)) => Self::Rates(rate, rate),
            (Self::Rates(low, high), Some(rate)) => Self::Rates(low.min(rate), high.max(rate)),
        }
    }

    fn bin(self) -> Bin {
        match self {
            Self::Rates(low, high) => Some((low, high)),
            Self::Nothing | Self::Gap => None,
        }
    }
}

/// The band between the lowest and the highest rates as the data of a path, in whole pixels: from `left`, with bins of `step` pixels.
/// Gaps stay gaps.
pub(crate) fn path(bins: &[Bin], left: i32, step: i32, scale: &Scale) -> String {
    let mut out = String::new();
    let mut x = left;
    for run in bins.chunk_by(|a, b| a.is_some() == b.is_some()) {
        let places: Vec<(i32, i32)> = run
            .iter()
            .flatten()
            .map(|(low, high)| (pixel(scale.place(*low)), pixel(scale.place(*high))))
            .collect();
        band(&mut out, &places, x + step / 2, step);
        x += step * i32::try_from(run.len()).unwrap_or(0);
    }
    out
}

/// A band: the highest rates from left to right, then the lowest ones back.
fn band(out: &mut String, places: &[(i32, i32)], x: i32, step: i32) {
    let Some((_, first)) = places.first() else { return };
    let _ = write!(out, "M{x} {first}");
    let mut line = Line { out, at: *first, level: 0, goes_on: false };
    match places {
        [(low, high)] if low == high => line.to(step.max(1), *high),
        [(low, _)] => line.to(0, *low),
        _ => {
            places.iter().skip(1).for_each(|(_, high)| line.to(step, *high));
            if let (true, Some((last, before))) =
                (places.iter().any(|(low, high)| low != high), places.split_last())
            {
                line.to(0, last.0);
                before.iter().rev().for_each(|(low, _)| line.to(-step, *low));
                line.end();
                line.out.push('z');
            }
        }
    }
    line.end();
}

/// A line that is being written in relative steps. Steps at one height are one, which makes a page half as large.
struct Line<'a> {
    out: &'a mut String,
    /// The height of its end.
    at: i32,
    /// The step at this height that isn't written yet.
    level: i32,
    /// Whether the last command is a line, so that another one needs no letter.
    goes_on: bool,
}

impl Line<'_> {
    fn to(&mut self, dx: i32, y: i32) {
        if y == self.at && self.level.signum() * dx.signum() >= 0 {
            self.level += dx;
            return;
        }
        self.end();
        match y - self.at {
            0 => self.level = dx,
            dy => {
                let letter = match (self.goes_on, dx < 0) {
                    (false, _) => "l",
                    (true, true) => "",
                    (true, false) => " ",
                };
                let _ = write!(self.out, "{letter}{dx}{}{dy}", if dy < 0 { "" } else { " " });
                self.goes_on = true;
            }
        }
        self.at = y;
    }

    fn end(&mut self) {
        if self.level != 0 {
            let _ = write!(self.out, "h{}", self.level);
            (self.level, self.goes_on) = (0, false);
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "places of a picture are small")]
fn pixel(place: f64) -> i32 {
    place.round() as i32
}

#[cfg(test)]
mod tests {
    use super::{envelope, path};
    use crate::scale::Scale;
    use crate::trials::Piece;

    fn track(rates: &[Option<f64>]) -> Vec<Piece> {
        let piece = |(at, rate): (u32, &Option<f64>)| {
            let from = f64::from(at) * 0.1;
            Piece { from, to: from + 0.1, rate: *rate }
        };
        (0..).zip(rates).map(piece).collect()
    }

    #[test]
    fn the_lowest_and_the_highest_rate_of_each_bin_stay() {
        let mut rates: Vec<Option<f64>> = (0..200).map(|i| Some(100.0 + f64::from(i % 7))).collect();
        rates[57] = Some(3.0);
        rates[121] = Some(900.0);
        let bins = envelope(&track(&rates), (0.0, 20.0), 20);
        assert_eq!((bins[5], bins[12]), (Some((3.0, 106.0)), Some((100.0, 900.0))));
        assert!(bins.iter().all(Option::is_some));
    }

    #[test]
    fn a_missing_rate_is_a_gap_however_coarse_the_bins_are() {
        let mut rates = vec![Some(5.0); 100];
        rates[42] = None;
        let bins = envelope(&track(&rates), (0.0, 10.0), 10);
        assert_eq!(bins.iter().filter(|bin| bin.is_none()).count(), 1);
        assert_eq!(bins[4], None);
        // Two bands with a gap between them.
        let drawn = path(&bins, 0, 2, &Scale::linear((0.0, 10.0), (50.0, 0.0)));
        assert_eq!(drawn, "M1 25h6M11 25h8");
    }

    #[test]
    fn bins_finer_than_the_steps_repeat_them() {
        let bins = envelope(&track(&[Some(1.0), Some(2.0)]), (0.0, 0.2), 8);
        let expected: Vec<_> = [1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0].map(|x| Some((x, x))).to_vec();
        assert_eq!(bins, expected);
        assert!(
            envelope(&[], (0.0, 1.0), 3).iter().all(Option::is_none),
            "nothing is known, nothing is drawn"
        );
    }

    #[test]
    fn a_band_returns_along_its_lowest_rates() {
        let scale = Scale::linear((0.0, 10.0), (100.0, 0.0));
        let bins = [Some((2.0, 4.0)), Some((3.0, 9.0)), Some((1.0, 1.0))];
        assert_eq!(path(&bins, 10, 2, &scale), "M11 60l2-50 2 80-2-20-2 10z");
    }
}
