//! Whole-number arithmetic as shells do it in `$((...))`: + - * / % and parentheses.

/// How deep parentheses may nest.
const MAX_DEPTH: u32 = 32;

/// Returns the value of an expression; `None` if it is no such arithmetic, divides by zero or becomes too large. `value` returns the
/// number that a variable stands for. Names may be written `NAME`, `$NAME` or `${NAME}`. Division cuts to a whole number.
pub(super) fn evaluate(text: &str, value: &mut dyn FnMut(&str) -> Option<i128>) -> Option<i128> {
    let mut reader = Reader { rest: text.trim_start(), depth: 0, value };
    let result = reader.sum()?;
    reader.rest.is_empty().then_some(result)
}

struct Reader<'t, 'v> {
    rest: &'t str,
    depth: u32,
    value: &'v mut dyn FnMut(&str) -> Option<i128>,
}

impl Reader<'_, '_> {
    fn eat(&mut self, c: char) -> bool {
        let Some(rest) = self.rest.strip_prefix(c) else { return false };
        self.rest = rest.trim_start();
        true
    }

    fn sum(&mut self) -> Option<i128> {
        let mut sum = self.product()?;
        loop {
            if self.eat('+') {
                sum = sum.checked_add(self.product()?)?;
            } else if self.eat('-') {
                sum = sum.checked_sub(self.product()?)?;
            } else {
                return Some(sum);
            }
        }
    }

    fn product(&mut self) -> Option<i128> {
        let mut product = self.single()?;
        loop {
            if self.eat('*') {
                product = product.checked_mul(self.single()?)?;
            } else if self.eat('/') {
                product = product.checked_div(self.single()?)?;
            } else if self.eat('%') {
                product = product.checked_rem(self.single()?)?;
            } else {
                return Some(product);
            }
        }
    }

    fn single(&mut self) -> Option<i128> {
        if self.eat('(') {
            self.depth += 1;
            if self.depth > MAX_DEPTH {
                return None;
            }
            let value = self.sum()?;
            self.depth -= 1;
            return self.eat(')').then_some(value);
        }
        let braced = self.rest.strip_prefix("${");
        let bare = braced.or_else(|| self.rest.strip_prefix('$')).unwrap_or(self.rest);
        let end = bare.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(bare.len());
        let (word, rest) = bare.split_at(end);
        let rest = if braced.is_some() { rest.strip_prefix('}')? } else { rest };
        let number = match word.parse() {
            Ok(number) if bare.len() == self.rest.len() => number,
            _ if word.is_empty() || word.starts_with(|c: char| c.is_ascii_digit()) => return None,
            _ => (self.value)(word)?,
        };
        self.rest = rest.trim_start();
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::evaluate;

    #[test]
    fn whole_numbers_as_in_a_shell() {
        let mut value = |name: &str| match name {
            "MEM" => Some(8 << 30),
            "JOBS" => Some(4),
            _ => None,
        };
        for (text, right) in [
            ("MEM/2", Some(4 << 30)),
            ("MEM*2/1048576/$JOBS", Some(4096)),
            (" ( ${JOBS} + 3 ) / 2 % 2", Some(1)),
            ("10-2-3", Some(5)),
            ("", None),
            ("1 +", None),
            ("NOBODY", None),
            ("1/0", None),
            ("1 2", None),
            ("${JOBS", None),
            ("$1", None),
            ("(1", None),
            ("1<<2", None),
        ] {
            assert_eq!(evaluate(text, &mut value), right, "{text}");
        }
        let deep = |depth: usize| format!("{}1{}", "(".repeat(depth), ")".repeat(depth));
        assert_eq!((evaluate(&deep(32), &mut value), evaluate(&deep(33), &mut value)), (Some(1), None));
        assert_eq!(evaluate(&format!("{0}*{0}*{0}", i64::MAX), &mut value), None, "too large");
    }
}
