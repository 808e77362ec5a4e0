//! Exact numbers: fractions of 128-bit integers. Every operation is checked for overflow, and nothing is rounded.

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
