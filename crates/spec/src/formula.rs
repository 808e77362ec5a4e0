//! The permitted forms of a derived metric: a number times one metric, divided by at most one other.

use crate::expression::{DIVISION_BY_ZERO, Operand};
use crate::number::Number;
use crate::quantity::Wrong;
use record::plan::Formula;

const ALLOWED: &str = "allowed is a number times one metric, over at most one other: `iops / price_per_month`, \
                       `read_bw / engine_cpu`, `1000 / read_lat_mean`";

/// A product of a number and metrics, some of them in the denominator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Term {
    factor: Number,
    /// Sorted.
    over: Vec<String>,
    /// Sorted; holds none that is in `over`.
    under: Vec<String>,
}

impl Term {
    pub(crate) fn metric(name: &str) -> Self {
        Self { factor: Number::integer(1), over: vec![name.to_owned()], under: Vec::new() }
    }

    /// Returns the formula, if the term has a permitted form.
    pub(crate) fn formula(self) -> Result<Formula, Wrong> {
        let wrong = |message: String| Err(Wrong::with(message, ALLOWED));
        let Self { factor, over, under } = self;
        if over.is_empty() && under.is_empty() {
            return wrong("no metric is left in this expression, only a number".to_owned());
        }
        for (side, names) in [("above", &over), ("below", &under)] {
            if names.len() > 1 {
                return wrong(format!("{} metrics {side} the line: {}", names.len(), names.join(" * ")));
            }
        }
        if factor.is_zero() || factor.is_negative() {
            return wrong(format!(
                "the metric is multiplied by {factor}; only a factor above 0 can be compared"
            ));
        }
        let mut sides = [over, under].map(|names| names.into_iter().next());
        let [over, under] = sides.each_mut().map(Option::take);
        Ok(Formula { factor: factor.to_f64(), over, under })
    }
}

impl Operand for Term {
    fn number(factor: Number) -> Self {
        Self { factor, over: Vec::new(), under: Vec::new() }
    }

    fn add(self, other: Self) -> Result<Self, Wrong> {
        if self.over != other.over || self.under != other.under {
            return Err(Wrong::with("a sum of different things is not a single metric", ALLOWED));
        }
        Ok(Self { factor: Operand::add(self.factor, other.factor)?, ..self })
    }

    fn negate(self) -> Result<Self, Wrong> {
        Ok(Self { factor: Operand::negate(self.factor)?, ..self })
    }

    fn multiply(self, other: Self) -> Result<Self, Wrong> {
        let factor = Operand::multiply(self.factor, other.factor)?;
        let (mut over, mut under) = (self.over, self.under);
        over.extend(other.over);
        under.extend(other.under);
        let mut left = Vec::new();
        for name in under {
            match over.iter().position(|above| *above == name) {
                Some(at) => drop(over.swap_remove(at)),
                None => left.push(name),
            }
        }
        over.sort();
        left.sort();
        Ok(Self { factor, over, under: left })
    }

    fn divide(self, other: Self) -> Result<Self, Wrong> {
        if other.factor.is_zero() {
            return Err(Wrong::new(DIVISION_BY_ZERO));
        }
        let factor = Operand::divide(Number::integer(1), other.factor)?;
        self.multiply(Self { factor, over: other.under, under: other.over })
    }
}
