//! Ranges in names: `web[01:20]` stands for web01, web02, ... web20; `db-[a:c]` for db-a, db-b and db-c.

use crate::limits::MAX_MACHINES;

/// Longest pattern, in bytes.
const LONGEST: usize = 400;

/// Returns all names that a pattern stands for. A pattern without ranges stands for itself.
///
/// # Errors
/// A range is wrong; the text says why.
pub(super) fn expand(pattern: &str) -> Result<Vec<String>, String> {
    if pattern.len() > LONGEST {
        return Err(format!("it is longer than {LONGEST} characters"));
    }
    expanded(pattern)
}

fn expanded(pattern: &str) -> Result<Vec<String>, String> {
    let Some((before, rest)) = pattern.split_once('[') else {
        return if pattern.contains(']') {
            Err("there is a `]` without its `[`".to_owned())
        } else {
            Ok(vec![pattern.to_owned()])
        };
    };
    let Some((range, after)) = rest.split_once(']') else {
        return Err("there is a `[` without its `]`".to_owned());
    };
    let middle = levels(range)?;
    let ends = expanded(after)?;
    if middle.len().saturating_mul(ends.len()) > MAX_MACHINES {
        return Err(format!("it stands for more than {MAX_MACHINES} machines"));
    }
    Ok(middle.iter().flat_map(|level| ends.iter().map(move |end| format!("{before}{level}{end}"))).collect())
}

fn levels(range: &str) -> Result<Vec<String>, String> {
    let wrong = || format!("`[{range}]` is not a range");
    let mut parts = range.split(':');
    let (Some(first), Some(last)) = (parts.next(), parts.next()) else { return Err(wrong()) };
    let step: usize = match parts.next() {
        Some(step) => step.parse().map_err(|_| wrong())?,
        None => 1,
    };
    if parts.next().is_some() || step == 0 {
        return Err(wrong());
    }
    if let ([a], [b]) = (first.as_bytes(), last.as_bytes())
        && a.is_ascii_alphabetic()
        && b.is_ascii_alphabetic()
    {
        return ascending((*a..=*b).step_by(step).map(|c| char::from(c).to_string()).collect(), range);
    }
    let digits =
        |text: &str| text.chars().all(|c| c.is_ascii_digit()).then(|| text.parse::<u64>().ok()).flatten();
    // As with Ansible, an empty first number is 0.
    let (Some(a), Some(b)) = (if first.is_empty() { Some(0) } else { digits(first) }, digits(last)) else {
        return Err(wrong());
    };
    if usize::try_from(b.saturating_sub(a)).unwrap_or(usize::MAX) / step > MAX_MACHINES {
        return Err(format!("`[{range}]` stands for more than {MAX_MACHINES} machines"));
    }
    let width = if first.starts_with('0') { first.len() } else { 0 };
    ascending((a..=b).step_by(step).map(|n| format!("{n:0width$}")).collect(), range)
}

fn ascending(levels: Vec<String>, range: &str) -> Result<Vec<String>, String> {
    if levels.is_empty() { Err(format!("`[{range}]` ends before it begins")) } else { Ok(levels) }
}
