//! Small arithmetic over factors and parameters: + - * / and parentheses, exact and checked.

use crate::limits::{MAX_EXPRESSION, MAX_EXPRESSION_DEPTH};
use crate::number::Number;
use crate::quantity::{Wrong, amount};

/// The message about `x / 0`.
pub(crate) const DIVISION_BY_ZERO: &str = "a division by zero";

/// A value that expressions can compute with.
pub(crate) trait Operand: Sized {
    /// Returns the value of a literal number.
    fn number(number: Number) -> Self;
    fn add(self, other: Self) -> Result<Self, Wrong>;
    fn negate(self) -> Result<Self, Wrong>;
    fn multiply(self, other: Self) -> Result<Self, Wrong>;
    /// Returns [`DIVISION_BY_ZERO`] as the error when `other` is zero.
    fn divide(self, other: Self) -> Result<Self, Wrong>;
}

impl Operand for Number {
    fn number(number: Number) -> Self {
        number
    }

    fn add(self, other: Self) -> Result<Self, Wrong> {
        Self::add(self, other).ok_or_else(overflow)
    }

    fn negate(self) -> Result<Self, Wrong> {
        Self::negate(self).ok_or_else(overflow)
    }

    fn multiply(self, other: Self) -> Result<Self, Wrong> {
        Self::multiply(self, other).ok_or_else(overflow)
    }

    fn divide(self, other: Self) -> Result<Self, Wrong> {
        if other.is_zero() {
            return Err(Wrong::new(DIVISION_BY_ZERO));
        }
        Self::divide(self, other).ok_or_else(overflow)
    }
}

/// Returns the value of a name.
pub(crate) type Lookup<'a, V> = &'a mut dyn FnMut(&str) -> Result<V, Wrong>;

/// Whether a text can be a name of a factor or parameter: a letter, then letters, digits and `_`.
pub(crate) fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic())
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Evaluates an expression.
pub(crate) fn evaluate<V: Operand>(text: &str, lookup: Lookup<'_, V>) -> Result<V, Wrong> {
    if text.len() > MAX_EXPRESSION {
        return Err(Wrong::new(format!("an expression longer than {MAX_EXPRESSION} bytes")));
    }
    let mut evaluator = Evaluator { rest: text.trim_start(), depth: 0, lookup };
    let value = evaluator.sum()?;
    match evaluator.rest.chars().next() {
        None => Ok(value),
        Some(')') => Err(Wrong::new("a `)` without its `(`")),
        Some(c) => Err(Wrong::with(
            format!("`{}` is not expected here", crate::diagnostic::visible(c)),
            "expressions know + - * / ( ), numbers, sizes, factors and parameters",
        )),
    }
}

struct Evaluator<'t, 'l, V> {
    rest: &'t str,
    depth: usize,
    lookup: Lookup<'l, V>,
}

fn overflow() -> Wrong {
    Wrong::new("the result is too large")
}

impl<V: Operand> Evaluator<'_, '_, V> {
    fn eat(&mut self, c: char) -> bool {
        match self.rest.strip_prefix(c) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }

    fn sum(&mut self) -> Result<V, Wrong> {
        let mut value = self.product()?;
        loop {
            if self.eat('+') {
                value = value.add(self.product()?)?;
            } else if self.eat('-') {
                value = value.add(self.product()?.negate()?)?;
            } else {
                return Ok(value);
            }
        }
    }

    fn product(&mut self) -> Result<V, Wrong> {
        let mut value = self.single()?;
        loop {
            if self.eat('*') {
                value = value.multiply(self.single()?)?;
            } else if self.eat('/') {
                value = value.divide(self.single()?)?;
            } else {
                return Ok(value);
            }
        }
    }

    fn single(&mut self) -> Result<V, Wrong> {
        let mut negative = false;
        while self.eat('-') {
            negative = !negative;
        }
        let value = if self.eat('(') { self.parenthesis()? } else { self.word()? };
        if negative { value.negate() } else { Ok(value) }
    }

    fn parenthesis(&mut self) -> Result<V, Wrong> {
        self.depth += 1;
        if self.depth > MAX_EXPRESSION_DEPTH {
            return Err(Wrong::new(format!("parentheses nested deeper than {MAX_EXPRESSION_DEPTH}")));
        }
        let value = self.sum()?;
        self.depth -= 1;
        if self.eat(')') { Ok(value) } else { Err(Wrong::new("a `(` without its `)`")) }
    }

    fn word(&mut self) -> Result<V, Wrong> {
        let part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        let end = self.rest.find(|c: char| !part(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        if word.is_empty() {
            return Err(match self.rest.chars().next() {
                None => Wrong::new("the expression ends where a number or name should stand"),
                Some(c) => Wrong::new(format!(
                    "`{}` where a number or name should stand",
                    crate::diagnostic::visible(c)
                )),
            });
        }
        self.rest = rest.trim_start();
        if let Some(number) = amount(word) {
            return number.map(V::number);
        }
        if is_name(word) {
            return (self.lookup)(word);
        }
        Err(Wrong::new(format!(
            "`{}` is neither a number nor a name",
            crate::diagnostic::printable(word, 40)
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::{evaluate, is_name};
    use crate::number::Number;
    use crate::quantity::Wrong;

    fn value(text: &str) -> Result<String, String> {
        let mut lookup = |name: &str| match name {
            "n" => Ok(Number::integer(3)),
            "bs" => Ok(Number::integer(16_384)),
            other => Err(Wrong::new(format!("no `{other}`"))),
        };
        evaluate(text, &mut lookup).map(|number| number.to_string()).map_err(|wrong| wrong.message)
    }

    #[test]
    fn arithmetic_has_its_usual_order() {
        for (text, right) in [
            ("1 + 2 * 3", "7"),
            ("(1 + 2) * 3", "9"),
            ("10 - 2 - 3", "5"),
            ("2 * n", "6"),
            ("80*n", "240"),
            ("1m / bs", "64"),
            ("- n + --4", "1"),
            ("7 / 2", "3.5"),
            ("1.5 * 2", "3"),
        ] {
            assert_eq!(value(text).as_deref(), Ok(right), "{text}");
        }
    }

    #[test]
    fn what_is_no_arithmetic_is_said_to_be_none() {
        for (text, wrong) in [
            ("", "the expression ends where a number or name should stand"),
            ("1 +", "the expression ends where a number or name should stand"),
            ("2 n", "`n` is not expected here"),
            ("n)", "a `)` without its `(`"),
            ("(n", "a `(` without its `)`"),
            ("1 / (n - 3)", "a division by zero"),
            ("m + 1", "no `m`"),
            ("n ** 2", "`*` where a number or name should stand"),
            ("_x", "`_x` is neither a number nor a name"),
            ("16kB * 2", "`16kB` is ambiguous: fio, kernel and vendors disagree about `kB`"),
        ] {
            assert_eq!(value(text).as_ref().map_err(String::as_str), Err(wrong), "{text}");
        }
    }

    #[test]
    fn length_and_depth_are_bounded() {
        let deep = |depth: usize| format!("{}1{}", "(".repeat(depth), ")".repeat(depth));
        assert_eq!(value(&deep(32)).as_deref(), Ok("1"));
        assert!(value(&deep(33)).unwrap_err().contains("deeper than 32"));
        assert!(value(&"1+".repeat(600)).unwrap_err().contains("longer than 1000"));
        assert_eq!(value(&format!("{}1", "-".repeat(900))).as_deref(), Ok("1"));
    }

    #[test]
    fn names_are_plain_identifiers() {
        assert!(["n", "block_size", "a1"].iter().all(|name| is_name(name)));
        assert!(!["", "1n", "_n", "block-size", "n m", "ñ"].iter().any(|name| is_name(name)));
    }
}
