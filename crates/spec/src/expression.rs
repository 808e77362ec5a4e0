//! Small arithmetic over factors and parameters: + - * / and parentheses, exact and checked.

use crate::limits::{MAX_EXPRESSION, MAX_EXPRESSION_DEPTH};
use crate::number::Number;
use crate::quantity::{Wrong, amount};

/// What is said of `x / 0`.
pub(crate) const DIVISION_BY_ZERO: &str = "a division by zero";

/// Gives the value of a name.
pub(crate) type Lookup<'a> = &'a mut dyn FnMut(&str) -> Result<Number, Wrong>;

/// Whether a text can be a name of a factor or parameter: a letter, then letters, digits and `_`.
pub(crate) fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic())
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Evaluates an expression.
pub(crate) fn evaluate(text: &str, lookup: Lookup<'_>) -> Result<Number, Wrong> {
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

struct Evaluator<'t, 'l> {
    rest: &'t str,
    depth: usize,
    lookup: Lookup<'l>,
}

fn overflow() -> Wrong {
    Wrong::new("the result is too large")
}

impl Evaluator<'_, '_> {
    fn eat(&mut self, c: char) -> bool {
        match self.rest.strip_prefix(c) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }

    fn sum(&mut self) -> Result<Number, Wrong> {
        let mut value = self.product()?;
        loop {
            if self.eat('+') {
                value = value.add(self.product()?).ok_or_else(overflow)?;
            } else if self.eat('-') {
                let right = self.product()?.negate().ok_or_else(overflow)?;
                value = value.add(right).ok_or_else(overflow)?;
            } else {
                return Ok(value);
            }
        }
    }

    fn product(&mut self) -> Result<Number, Wrong> {
        let mut value = self.single()?;
        loop {
            if self.eat('*') {
                value = value.multiply(self.single()?).ok_or_else(overflow)?;
            } else if self.eat('/') {
                let right = self.single()?;
                if right.is_zero() {
                    return Err(Wrong::new(DIVISION_BY_ZERO));
                }
                value = value.divide(right).ok_or_else(overflow)?;
            } else {
                return Ok(value);
            }
        }
    }

    fn single(&mut self) -> Result<Number, Wrong> {
        let mut negative = false;
        while self.eat('-') {
            negative = !negative;
        }
        let value = if self.eat('(') { self.parenthesis()? } else { self.word()? };
        if negative { value.negate().ok_or_else(overflow) } else { Ok(value) }
    }

    fn parenthesis(&mut self) -> Result<Number, Wrong> {
        self.depth += 1;
        if self.depth > MAX_EXPRESSION_DEPTH {
            return Err(Wrong::new(format!("parentheses nested deeper than {MAX_EXPRESSION_DEPTH}")));
        }
        let value = self.sum()?;
        self.depth -= 1;
        if self.eat(')') { Ok(value) } else { Err(Wrong::new("a `(` without its `)`")) }
    }

    fn word(&mut self) -> Result<Number, Wrong> {
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
            return number;
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
