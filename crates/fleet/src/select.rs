//! Selects machines by patterns: names with `*`, `?` and `[...]`, ranges `web[01:20]`, `@GROUP`, `tag:TAG`, and `!PATTERN` for all but.

use record::machine::Machine;
use thiserror::Error;

/// A pattern that selects nothing.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("`{pattern}` selects no machine; {known}")]
pub struct NoneSelected {
    /// The pattern.
    pub pattern: String,
    /// What could be selected.
    pub known: String,
}

/// Returns the machines that the patterns select, each once, in the order of the inventory; all if there are no patterns.
///
/// # Errors
/// A pattern selects nothing.
pub fn select<'m>(machines: &'m [Machine], patterns: &[String]) -> Result<Vec<&'m Machine>, NoneSelected> {
    let words = || patterns.iter().flat_map(|pattern| split(pattern)).filter(|word| !word.is_empty());
    let wanted: Vec<&str> = words().filter(|word| !word.starts_with('!')).collect();
    let without: Vec<&str> = words().filter_map(|word| word.strip_prefix('!')).collect();
    for pattern in wanted.iter().chain(&without) {
        if !machines.iter().any(|machine| matches(machine, pattern)) {
            return Err(NoneSelected { pattern: (*pattern).to_owned(), known: known(machines) });
        }
    }
    let is_wanted = |machine: &&Machine| {
        (wanted.is_empty() || wanted.iter().any(|pattern| matches(machine, pattern)))
            && !without.iter().any(|pattern| matches(machine, pattern))
    };
    Ok(machines.iter().filter(is_wanted).collect())
}

/// Splits a list at its commas, but not at those in brackets.
fn split(patterns: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let at_comma = |c: char| {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    };
    patterns.split(at_comma).map(str::trim).collect()
}

fn matches(machine: &Machine, pattern: &str) -> bool {
    if let Some(group) = pattern.strip_prefix('@') {
        return group == "all" || machine.groups.iter().any(|known| glob(group, known));
    }
    if let Some(tag) = pattern.strip_prefix("tag:") {
        return machine.tags.iter().any(|known| glob(tag, known));
    }
    glob(pattern, &machine.name)
}

/// Whether a name matches a pattern: `*` is any text, `?` one character, `[abc]`, `[a-c]` and `[!a]` one of a set, `[01:20]` a number
/// of that width in that range.
pub(crate) fn glob(pattern: &str, name: &str) -> bool {
    let mut chars = pattern.chars();
    match chars.next() {
        None => name.is_empty(),
        Some('*') => {
            let rest = chars.as_str().trim_start_matches('*');
            let ends = name.char_indices().map(|(at, _)| at).chain([name.len()]);
            ends.into_iter().any(|at| glob(rest, &name[at..]))
        }
        Some('?') => {
            let mut name = name.chars();
            name.next().is_some() && glob(chars.as_str(), name.as_str())
        }
        Some('[') => match chars.as_str().split_once(']') {
            Some((inner, rest)) => in_brackets(inner, rest, name),
            None => false,
        },
        Some(c) => name.strip_prefix(c).is_some_and(|name| glob(chars.as_str(), name)),
    }
}

fn in_brackets(inner: &str, rest: &str, name: &str) -> bool {
    if let Some((first, last)) = inner.split_once(':')
        && let (Ok(a), Ok(b)) = (first.parse::<u64>(), last.parse::<u64>())
    {
        let digits = name.len() - name.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let fits = |width: usize| {
            let text = &name[..width];
            let padded = first.starts_with('0') && first.len() > 1;
            let width_fits = if padded { width >= first.len() } else { width == 1 || !text.starts_with('0') };
            width_fits
                && text.parse::<u64>().is_ok_and(|n| (a..=b).contains(&n))
                && glob(rest, &name[width..])
        };
        return (1..=digits).any(fits);
    }
    let (inner, negated) = inner.strip_prefix(['!', '^']).map_or((inner, false), |inner| (inner, true));
    let mut name = name.chars();
    let Some(c) = name.next() else { return false };
    in_set(inner, c) != negated && glob(rest, name.as_str())
}

fn in_set(set: &str, c: char) -> bool {
    let set: Vec<char> = set.chars().collect();
    let mut rest = set.as_slice();
    loop {
        match rest {
            [from, '-', to, more @ ..] => {
                if (*from..=*to).contains(&c) {
                    return true;
                }
                rest = more;
            }
            [one, more @ ..] => {
                if *one == c {
                    return true;
                }
                rest = more;
            }
            [] => return false,
        }
    }
}

fn known(machines: &[Machine]) -> String {
    let mut groups: Vec<&str> = Vec::new();
    for group in machines.iter().flat_map(|machine| &machine.groups) {
        if !groups.contains(&group.as_str()) {
            groups.push(group);
        }
    }
    let shorten = |names: Vec<String>| match names.len() {
        0..=8 => names.join(", "),
        n => format!("{}, ... ({n})", names[..8].join(", ")),
    };
    let names = shorten(machines.iter().map(|machine| machine.name.clone()).collect());
    let groups = shorten(groups.iter().map(|group| format!("@{group}")).collect());
    match (machines.is_empty(), groups.is_empty()) {
        (true, _) => "there are no machines".to_owned(),
        (false, true) => format!("machines: {names}"),
        (false, false) => format!("machines: {names}; groups: {groups}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{glob, select};
    use record::machine::Machine;

    #[test]
    fn globs_match_as_in_a_shell_and_ranges_by_number() {
        for (pattern, name, expected) in [
            ("ham*", "ham0", true),
            ("*", "", true),
            ("*0", "ham10", true),
            ("h?m0", "ham0", true),
            ("ham[0-2]", "ham1", true),
            ("ham[!0-2]", "ham1", false),
            ("ham[ab]", "hamb", true),
            ("ham", "ham0", false),
            ("ham[", "ham[", false),
            ("web[01:20]", "web07", true),
            ("web[01:20]", "web7", false),
            ("web[01:20]", "web21", false),
            ("web[8:11]", "web10", true),
            ("web[8:11].x", "web10.x", true),
            ("web[1:2]", "web12", false),
        ] {
            assert_eq!(glob(pattern, name), expected, "{pattern} {name}");
        }
    }

    fn machine(name: &str, groups: &[&str], tags: &[&str]) -> Machine {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Machine { groups: texts(groups), tags: texts(tags), ..Machine::named(name, "test") }
    }

    #[test]
    fn patterns_select_each_machine_once_in_the_order_of_the_inventory() {
        let all = [
            machine("ham0", &["storage"], &["nvme"]),
            machine("ham1", &["storage", "web"], &[]),
            machine("nas", &[], &["nvme"]),
        ];
        let names = |patterns: &[&str]| {
            let patterns: Vec<String> = patterns.iter().map(|text| (*text).to_owned()).collect();
            select(&all, &patterns)
                .map(|found| found.iter().map(|m| m.name.clone()).collect::<Vec<_>>().join(" "))
        };
        for (patterns, expected) in [
            (&[][..], "ham0 ham1 nas"),
            (&["nas", "ham0", "ham*"], "ham0 ham1 nas"),
            (&["@storage"], "ham0 ham1"),
            (&["@storage,!@web"], "ham0"),
            (&["!ham*"], "nas"),
            (&["tag:nvme"], "ham0 nas"),
            (&["@all"], "ham0 ham1 nas"),
            (&["ham[0:1]", "!ham1"], "ham0"),
        ] {
            assert_eq!(names(patterns).as_deref(), Ok(expected), "{patterns:?}");
        }
        let wrong = names(&["ham0", "@stroage"]).unwrap_err().to_string();
        assert_eq!(wrong, "`@stroage` selects no machine; machines: ham0, ham1, nas; groups: @storage, @web");
    }
}
