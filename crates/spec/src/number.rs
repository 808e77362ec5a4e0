//! Exact numbers: fractions of 128-bit integers. Every operation is checked for overflow, and nothing is rounded.

use std::cmp::Ordering;
use std::fmt;

/// A reduced fraction with a positive denominator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Number {
    numerator: i128,
    denominator: i128,
}

fn gcd(a: u128, b: u128) -> u128 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl Number {
    pub(crate) fn new(numerator: i128, denominator: i128) -> Option<Self> {
        if denominator == 0 {
            return None;
        }
        let divisor = i128::try_from(gcd(numerator.unsigned_abs(), denominator.unsigned_abs())).ok()?.max(1);
        let sign = if denominator < 0 { -1 } else { 1 };
        Some(Self {
            numerator: (numerator / divisor).checked_mul(sign)?,
            denominator: (denominator / divisor).checked_mul(sign)?,
        })
    }

    pub(crate) fn integer(value: i128) -> Self {
        Self { numerator: value, denominator: 1 }
    }

    pub(crate) fn add(self, other: Self) -> Option<Self> {
        let left = self.numerator.checked_mul(other.denominator)?;
        let right = other.numerator.checked_mul(self.denominator)?;
        Self::new(left.checked_add(right)?, self.denominator.checked_mul(other.denominator)?)
    }

    pub(crate) fn negate(self) -> Option<Self> {
        Self::new(self.numerator.checked_neg()?, self.denominator)
    }

    pub(crate) fn multiply(self, other: Self) -> Option<Self> {
        Self::new(
            self.numerator.checked_mul(other.numerator)?,
            self.denominator.checked_mul(other.denominator)?,
        )
    }

    /// Divides; `None` also when `other` is zero.
    pub(crate) fn divide(self, other: Self) -> Option<Self> {
        Self::new(
            self.numerator.checked_mul(other.denominator)?,
            self.denominator.checked_mul(other.numerator)?,
        )
    }

    pub(crate) fn is_zero(self) -> bool {
        self.numerator == 0
    }

    pub(crate) fn is_negative(self) -> bool {
        self.numerator < 0
    }

    /// Returns the integer, if it is one.
    pub(crate) fn whole(self) -> Option<i128> {
        (self.denominator == 1).then_some(self.numerator)
    }

    /// Returns the smallest integer that is not below it.
    pub(crate) fn ceil(self) -> Option<Self> {
        let up = i128::from(self.numerator.rem_euclid(self.denominator) != 0);
        self.numerator.div_euclid(self.denominator).checked_add(up).map(Self::integer)
    }

    /// Compares two numbers; `None` if their difference overflows.
    pub(crate) fn compare(self, other: Self) -> Option<Ordering> {
        let difference = self.add(other.negate()?)?;
        Some(difference.numerator.cmp(&0))
    }

    /// Returns it as a decimal with so many digits after the point; a half is rounded away from zero.
    pub(crate) fn fixed(self, decimals: u32) -> Option<String> {
        let scale = 10_i128.checked_pow(decimals)?;
        let scaled = Self::new(self.numerator.checked_mul(scale)?, self.denominator)?;
        let twice = scaled.numerator.checked_abs()?.checked_mul(2)?.checked_add(scaled.denominator)?;
        let rounded = twice / scaled.denominator.checked_mul(2)?;
        let sign = if self.is_negative() && rounded != 0 { "-" } else { "" };
        let (whole, rest, places) = (rounded / scale, rounded % scale, usize::try_from(decimals).ok()?);
        Some(if decimals == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{rest:0places$}") })
    }

    /// Returns the nearest float.
    #[expect(clippy::cast_precision_loss, reason = "asked for: rates and seconds are floats from here on")]
    pub(crate) fn to_f64(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }

    /// Parses digits with an optional fraction, `12` or `0.5`. At most 30 digits.
    pub(crate) fn parse(digits: &str) -> Option<Self> {
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let plain = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
        if whole.is_empty() || !plain(whole) || !plain(fraction) || digits.len() > 30 || digits.ends_with('.')
        {
            return None;
        }
        let numerator = format!("{whole}{fraction}").parse().ok()?;
        Self::new(numerator, 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?)
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.whole() {
            Some(whole) => write!(f, "{whole}"),
            None => write!(f, "{}", self.to_f64()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Number;

    #[test]
    fn fractions_are_exact() {
        let tenth = Number::parse("0.1").unwrap();
        let sum = (0..10).try_fold(Number::integer(0), |sum, _| sum.add(tenth)).unwrap();
        assert_eq!(sum, Number::integer(1));
        assert_eq!(Number::integer(1).divide(Number::integer(-2)).unwrap().to_string(), "-0.5");
    }

    #[test]
    fn nothing_wraps() {
        let most = Number::integer(i128::MAX);
        assert_eq!(most.add(Number::integer(1)), None);
        assert_eq!(most.multiply(Number::integer(2)), None);
        assert_eq!(Number::integer(i128::MIN).negate(), None);
        assert_eq!(Number::integer(1).divide(Number::integer(0)), None);
        assert_eq!(Number::new(i128::MIN, -1), None);
    }

    #[test]
    fn a_decimal_is_rounded_once_and_a_half_goes_up() {
        let of = |numerator, denominator| Number::new(numerator, denominator).unwrap();
        assert_eq!(of(1, 8).fixed(2).as_deref(), Some("0.13"));
        assert_eq!(of(-1, 8).fixed(2).as_deref(), Some("-0.13"));
        assert_eq!(of(1005, 1000).fixed(2).as_deref(), Some("1.01"), "as a float it would be 1.00");
        assert_eq!(of(-1, 1000).fixed(2).as_deref(), Some("0.00"));
        assert_eq!(of(7, 2).fixed(0).as_deref(), Some("4"));
        assert_eq!((of(7, 2).ceil(), of(-7, 2).ceil()), (Some(of(4, 1)), Some(of(-3, 1))));
        assert_eq!(of(1, 3).compare(of(1, 2)), Some(std::cmp::Ordering::Less));
        assert_eq!(Number::integer(i128::MAX).fixed(2), None);
    }

    #[test]
    fn only_plain_digits_are_numbers() {
        for wrong in [
            "",
            ".",
            ".5",
            "1.",
            "1.2.3",
            "1e3",
            "+1",
            "-1",
            "0x10",
            "1_000",
            "１",
            "9999999999999999999999999999999",
        ] {
            assert_eq!(Number::parse(wrong), None, "{wrong}");
        }
    }
}
