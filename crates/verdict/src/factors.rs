//! The factors of a run's cells: their levels, and the names of stacks and workloads without them.

use crate::answer::headline;
use record::judged::CellView;
use record::plan::{Cell, Plan};
use std::collections::{BTreeMap, BTreeSet};

/// All that cells which differ in one factor have in common: the factor, the machine and the levels of the other factors.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rest<'a> {
    factor: &'a str,
    target: &'a str,
    levels: Vec<(&'a String, &'a String)>,
}

impl<'a> Rest<'a> {
    pub(crate) fn of(cell: &'a Cell, factor: &'a str) -> Self {
        let levels = cell.levels.iter().filter(|(other, _)| *other != factor).collect();
        Self { factor, target: &cell.target, levels }
    }
}

/// The levels at which each name of a stack or workload occurs.
pub(crate) struct Shared<'a>(BTreeMap<(Rest<'a>, &'a str), BTreeSet<&'a str>>);

impl<'a> Shared<'a> {
    pub(crate) fn among(plan: &'a Plan) -> Self {
        let mut levels: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for cell in &plan.cells {
            for (factor, written) in &cell.levels {
                for name in [&cell.stack.name, &cell.workload.name] {
                    let place = levels.entry((Rest::of(cell, factor), name.as_str())).or_default();
                    place.insert(written.as_str());
                }
            }
        }
        Self(levels)
    }

    /// The name with every factor's own name in place of its level.
    pub(crate) fn pattern(&self, cell: &'a Cell, name: &'a str) -> String {
        cell.levels.iter().fold(name.to_owned(), |pattern, (factor, written)| {
            let is_of_level = self.name(cell, factor, written, name) != name;
            if is_of_level { without(&pattern, factor, written) } else { pattern }
        })
    }

    /// The name with `{factor}` for its level, unless other levels have the same name: `ext4` is no `ext{depth}`.
    pub(crate) fn name(&self, cell: &'a Cell, factor: &'a str, written: &str, name: &'a str) -> String {
        let levels = self.0.get(&(Rest::of(cell, factor), name)).map_or(0, BTreeSet::len);
        if levels > 1 { name.to_owned() } else { without(name, factor, written) }
    }
}

/// A name in which the last occurrence of a factor's level is the factor's own name, in braces as in the experiment file.
/// Where the name itself says `factor=level`, as those of imported jobs do, it is that one.
fn without(name: &str, factor: &str, written: &str) -> String {
    let (said, of_factor) = (format!("{factor}={written}"), format!("{factor}={{{factor}}}"));
    let mut words: Vec<&str> = name.split(' ').collect();
    if let Some(word) = words.iter_mut().find(|word| **word == said) {
        *word = &of_factor;
        return words.join(" ");
    }
    match name.rfind(written) {
        Some(at) => format!("{}{{{factor}}}{}", &name[..at], &name[at + written.len()..]),
        None => name.to_owned(),
    }
}

/// A level as a positive number, if it is one: `8`, `0.5`, `64k` (powers of 1024, as fio counts).
pub(crate) fn number(written: &str) -> Option<f64> {
    let lower = written.to_ascii_lowercase();
    let powers = [('k', 1), ('m', 2), ('g', 3), ('t', 4)];
    let suffix = powers.into_iter().find_map(|(suffix, power)| Some((lower.strip_suffix(suffix)?, power)));
    let (digits, power) = suffix.unwrap_or((&lower, 0));
    let is_plain = digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.chars().all(|c| c.is_ascii_digit() || c == '.');
    let value: f64 = digits.parse().ok().filter(|_| is_plain)?;
    Some(value * 1024_f64.powi(power)).filter(|value| *value > 0.0)
}

/// The figure that the cells are judged by, or bandwidth where they are judged by different ones (small and large blocks).
pub(crate) fn headline_of<'a>(plan: &Plan, cells: impl IntoIterator<Item = &'a CellView>) -> &'static str {
    let mut all = cells.into_iter().map(|cell| headline(plan, cell));
    let first = all.next().unwrap_or("iops");
    if all.all(|metric| metric == first) { first } else { "bw" }
}

#[cfg(test)]
mod tests {
    use super::{number, without};

    #[test]
    fn only_numbers_are_levels_and_only_the_factor_leaves_a_name() {
        assert_eq!((number("8"), number("64k"), number("0.5")), (Some(8.0), Some(65536.0), Some(0.5)));
        for word in ["", "k", "xfs", "-1", "0", "1e3", "nan", "1.2.3"] {
            assert_eq!(number(word), None, "{word}");
        }
        assert_eq!(without("raid1-1", "n", "1"), "raid1-{n}");
        assert_eq!(without("ext4", "n", "8"), "ext4");
        assert_eq!(without("a iodepth=1 numjobs=16", "iodepth", "1"), "a iodepth={iodepth} numjobs=16");
    }
}
