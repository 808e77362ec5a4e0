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

/// The bands between the lowest and the highest rates as the data of a path, in whole pixels and in steps from point to point, which
/// makes a page half as large.
#[derive(Debug, Default)]
pub(crate) struct Bands {
    out: String,
    /// The place that the next step begins at.
    at: (i32, i32),
    /// The horizontal step that isn't written yet.
    level: i32,
    /// Whether the last command is a line, so that another one needs no letter.
    goes_on: bool,
}

impl Bands {
    /// The data of the path.
    pub(crate) fn data(&self) -> &str {
        &self.out
    }

    /// Adds the bins of a track: from `left`, each `step` pixels wide. Gaps stay gaps.
    pub(crate) fn add(&mut self, bins: &[Bin], left: i32, step: i32, scale: &Scale) {
        let mut x = left;
        for run in bins.chunk_by(|a, b| a.is_some() == b.is_some()) {
            let places: Vec<(i32, i32)> = run
                .iter()
                .flatten()
                .map(|(low, high)| (pixel(scale.place(*low)), pixel(scale.place(*high))))
                .collect();
            self.band(&places, x + step / 2, step);
            x += step * i32::try_from(run.len()).unwrap_or(0);
        }
    }

    /// A band: the highest rates from left to right, then the lowest ones back.
    fn band(&mut self, places: &[(i32, i32)], x: i32, step: i32) {
        let Some((_, first)) = places.first() else { return };
        self.begin((x, *first));
        match places {
            [(low, high)] if low == high => self.line(step.max(1), *high),
            [(low, _)] => self.line(0, *low),
            _ => {
                places.iter().skip(1).for_each(|(_, high)| self.line(step, *high));
                if let (true, Some((last, before))) =
                    (places.iter().any(|(low, high)| low != high), places.split_last())
                {
                    self.line(0, last.0);
                    before.iter().rev().for_each(|(low, _)| self.line(-step, *low));
                    self.flush();
                    self.out.push('z');
                    // A closed band ends where it began.
                    self.at = (x, *first);
                }
            }
        }
        self.flush();
        self.goes_on = false;
    }

    /// Begins a band at a place.
    fn begin(&mut self, place: (i32, i32)) {
        let (letter, step) = match self.out.is_empty() {
            true => ('M', place),
            false => ('m', (place.0 - self.at.0, place.1 - self.at.1)),
        };
        let _ = write!(self.out, "{letter}{}{}{}", step.0, apart(step.1), step.1);
        self.at = place;
    }

    /// A line to the right or the left, and to this height. Steps at one height are one.
    fn line(&mut self, dx: i32, y: i32) {
        let dy = y - self.at.1;
        self.at = (self.at.0 + dx, y);
        if dy == 0 && self.level.signum() * dx.signum() >= 0 {
            self.level += dx;
            return;
        }
        self.flush();
        let _ = match (dx, dy) {
            (_, 0) => {
                self.level = dx;
                return;
            }
            (0, _) => write!(self.out, "v{dy}"),
            _ if self.goes_on => write!(self.out, "{}{dx}{}{dy}", apart(dx), apart(dy)),
            _ => write!(self.out, "l{dx}{}{dy}", apart(dy)),
        };
        self.goes_on = dx != 0;
    }

    /// Writes the horizontal step.
    fn flush(&mut self) {
        if self.level != 0 {
            let _ = write!(self.out, "h{}", self.level);
            (self.level, self.goes_on) = (0, false);
        }
    }
}

/// What stands between a number and the one before it.
fn apart(number: i32) -> &'static str {
    if number < 0 { "" } else { " " }
}

#[expect(clippy::cast_possible_truncation, reason = "places of a picture are small")]
fn pixel(place: f64) -> i32 {
    place.round() as i32
}

#[cfg(test)]
mod tests {
    use super::{Bands, Bin, envelope};
    use crate::scale::Scale;
    use crate::trials::Piece;

    fn path(bins: &[Bin], left: i32, step: i32, scale: &Scale) -> String {
        let mut bands = Bands::default();
        bands.add(bins, left, step, scale);
        bands.data().to_owned()
    }

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
        assert_eq!(drawn, "M1 25h6m4 0h8");
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

    /// The corners of a path, in absolute places; a closed one ends where it began.
    fn corners(data: &str) -> Vec<(i32, i32)> {
        let mut spaced = String::new();
        for c in data.chars() {
            match c {
                '-' => spaced.push_str(" -"),
                c if c.is_alphabetic() => spaced.push_str(&format!(" {c} ")),
                c => spaced.push(c),
            }
        }
        let (mut at, mut begin, mut command, mut all) = ((0, 0), (0, 0), "M", Vec::new());
        let mut words = spaced.split_whitespace().peekable();
        while let Some(word) = words.peek().copied() {
            if word.chars().all(char::is_alphabetic) {
                command = word;
                words.next();
            }
            let mut next = || words.next().unwrap().parse::<i32>().unwrap();
            match command {
                "M" => at = (next(), next()),
                "m" | "l" => at = (at.0 + next(), at.1 + next()),
                "h" => at.0 += next(),
                "v" => at.1 += next(),
                "z" => at = begin,
                other => panic!("{other}"),
            }
            if command == "M" || command == "m" {
                begin = at;
            }
            all.push(at);
        }
        all
    }

    #[test]
    fn steps_from_place_to_place_end_where_the_rates_are() {
        let scale = Scale::linear((0.0, 10.0), (100.0, 0.0));
        let one = |rate: f64| Some((rate, rate));
        let first = [Some((2.0, 4.0)), Some((2.0, 9.0)), None, Some((1.0, 5.0)), None, one(7.0)];
        let mut bands = Bands::default();
        bands.add(&first, 10, 4, &scale);
        bands.add(&[one(3.0), one(3.0), one(8.0)], 50, 4, &scale);
        bands.add(&[Some((0.0, 1.0))], 90, 4, &scale);
        let band = [(12, 60), (16, 10), (16, 80), (12, 80), (12, 60)];
        let others =
            [(24, 50), (24, 90), (32, 30), (36, 30), (52, 70), (56, 70), (60, 20), (92, 90), (92, 100)];
        assert_eq!(corners(bands.data()), [&band[..], &others].concat(), "{}", bands.data());
    }

    #[test]
    fn a_band_returns_along_its_lowest_rates() {
        let scale = Scale::linear((0.0, 10.0), (100.0, 0.0));
        let bins = [Some((2.0, 4.0)), Some((3.0, 9.0)), Some((1.0, 1.0))];
        assert_eq!(path(&bins, 10, 2, &scale), "M11 60l2-50 2 80-2-20-2 10z");
    }
}
