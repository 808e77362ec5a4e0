//! Selects guests by `MACHINE:GUEST`, where both are names or patterns.

use super::domain::Domain;
use crate::select::glob;
use record::printable::printable;
use thiserror::Error;

/// A pattern of guests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuestPattern {
    /// The pattern of machines, as `machines` takes it; `None`: all.
    pub machines: Option<String>,
    /// The pattern of guests' names.
    pub guests: String,
}

/// A pattern that selects no guest.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("`{pattern}` selects no guest; {known}")]
pub struct NoGuest {
    /// The pattern.
    pub pattern: String,
    /// What there is.
    pub known: String,
}

impl GuestPattern {
    /// Reads `MACHINE:GUEST` or `GUEST` (on all machines). The colon of a range stands in brackets, and that of `tag:` follows this word.
    ///
    /// # Errors
    /// A part is empty, as where a script's variable is unset: `destroy` would otherwise remove all guests.
    pub fn parse(text: &str) -> Result<Self, NoGuest> {
        let mut depth = 0_usize;
        let from = if text.starts_with("tag:") { "tag:".len() } else { 0 };
        let colon = text[from..].char_indices().find(|(_, c)| {
            match c {
                '[' => depth += 1,
                ']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            *c == ':' && depth == 0
        });
        let (machines, guests) = match colon {
            Some((at, _)) => (Some(&text[..from + at]), &text[from + at + 1..]),
            None => (None, text),
        };
        if machines.is_some_and(str::is_empty) || guests.is_empty() {
            let known = "it has an empty name; is a variable unset? `*` selects all".to_owned();
            return Err(NoGuest { pattern: printable(text).into_owned(), known });
        }
        Ok(Self {
            machines: machines.filter(|machines| *machines != "*").map(str::to_owned),
            guests: guests.to_owned(),
        })
    }
}

/// Returns the guests that patterns select, each once, in the order of `domains`; all if there are no patterns. `on` tells whether a
/// pattern of machines selects a machine.
///
/// # Errors
/// A pattern selects nothing.
pub fn select(
    domains: Vec<Domain>,
    patterns: &[GuestPattern],
    on: &dyn Fn(&str, &str) -> bool,
) -> Result<Vec<Domain>, NoGuest> {
    let fits = |pattern: &GuestPattern, domain: &Domain| {
        pattern.machines.as_deref().is_none_or(|machines| on(machines, &domain.machine))
            && glob(&pattern.guests, &domain.name)
    };
    // `*` may select nothing: it asks what there is.
    for pattern in patterns.iter().filter(|pattern| pattern.guests != "*") {
        if !domains.iter().any(|domain| fits(pattern, domain)) {
            return Err(NoGuest { pattern: shown(pattern), known: known(&domains) });
        }
    }
    let wanted =
        |domain: &Domain| patterns.is_empty() || patterns.iter().any(|pattern| fits(pattern, domain));
    Ok(domains.into_iter().filter(wanted).collect())
}

fn shown(pattern: &GuestPattern) -> String {
    match &pattern.machines {
        Some(machines) => format!("{machines}:{}", pattern.guests),
        None => pattern.guests.clone(),
    }
}

fn known(domains: &[Domain]) -> String {
    let names: Vec<String> =
        domains.iter().take(8).map(|domain| printable(&domain.full_name()).into_owned()).collect();
    match domains.len() {
        0 => "there are no guests".to_owned(),
        1..=8 => format!("guests: {}", names.join(", ")),
        more => format!("guests: {}, ... ({more})", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::{GuestPattern, select};
    use crate::libvirt::domain::{Domain, DomainState};
    use crate::select::glob;

    fn domains() -> Vec<Domain> {
        let domain = |machine: &str, name: &str| Domain {
            machine: machine.to_owned(),
            name: name.to_owned(),
            state: DomainState::Running,
            cpus: None,
            memory_bytes: None,
        };
        vec![domain("ham1", "web0"), domain("ham1", "mail"), domain("ham2", "web0"), domain("ham2", "a:b")]
    }

    fn names(patterns: &[&str]) -> Result<String, String> {
        let patterns: Result<Vec<GuestPattern>, _> =
            patterns.iter().map(|text| GuestPattern::parse(text)).collect();
        let patterns = patterns.map_err(|error| error.to_string())?;
        let found = select(domains(), &patterns, &|pattern, machine| glob(pattern, machine));
        found
            .map(|found| found.iter().map(Domain::full_name).collect::<Vec<_>>().join(" "))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn machines_and_guests_are_both_patterns() {
        for (patterns, expected) in [
            (&[][..], "ham1:web0 ham1:mail ham2:web0 ham2:a:b"),
            (&["*"], "ham1:web0 ham1:mail ham2:web0 ham2:a:b"),
            (&["ham2:*"], "ham2:web0 ham2:a:b"),
            (&["ham*:web*"], "ham1:web0 ham2:web0"),
            (&["web0", "ham1:mail"], "ham1:web0 ham1:mail ham2:web0"),
            (&["ham2:a:b"], "ham2:a:b"),
            (&["ham[1:1]:web*"], "ham1:web0"),
        ] {
            assert_eq!(names(patterns).as_deref(), Ok(expected), "{patterns:?}");
        }
        for empty in ["", "ham2:", ":web0", ":"] {
            let wrong = names(&["mail", empty]).unwrap_err();
            assert!(
                wrong.starts_with(&format!("`{empty}` selects no guest; it has an empty name")),
                "{wrong}"
            );
        }
        let wrong = names(&["ham1:wbe0"]).unwrap_err();
        assert_eq!(wrong, "`ham1:wbe0` selects no guest; guests: ham1:web0, ham1:mail, ham2:web0, ham2:a:b");
    }

    #[test]
    fn a_tag_keeps_its_colon() {
        let pattern = GuestPattern::parse("tag:nvme:web*").unwrap();
        assert_eq!((pattern.machines.as_deref(), pattern.guests.as_str()), (Some("tag:nvme"), "web*"));
    }
}
