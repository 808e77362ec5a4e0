//! Names that drivers get.

/// The longest name.
const LONGEST: usize = 40;
/// How much of a name stays before a digest.
const KEPT: usize = 31;

/// A name of lower-case letters, digits and hyphens that begins with a letter and has at most 40 characters. A text that is no such name
/// keeps what it can and gets a digest, so that two texts never have one name.
#[must_use]
pub fn plain(text: &str) -> String {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let begins = text.starts_with(|c: char| c.is_ascii_lowercase());
    if begins && !text.ends_with('-') && text.len() <= LONGEST && text.chars().all(fits) {
        return text.to_owned();
    }
    let lower = text.to_ascii_lowercase();
    let kept = lower.chars().map(|c| if fits(c) { c } else { '-' });
    let kept: String = kept.skip_while(|c| !c.is_ascii_lowercase()).take(KEPT).collect();
    let kept = if kept.is_empty() { "m" } else { kept.trim_end_matches('-') };
    let digest = host::sha256(text.as_bytes(), u64::MAX).map(|(hex, _)| hex).unwrap_or_default();
    format!("{kept}-{}", digest.get(..8).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn names_are_valid_everywhere_and_never_the_same() {
        assert_eq!(plain("m7i-large"), "m7i-large");
        let odd =
            ["", "A", "a.b", "a_b", "9x", "-", "x-", "é", &"a".repeat(60), &format!("{}b", "a".repeat(60))];
        let names: std::collections::BTreeSet<String> = odd.iter().map(|text| plain(text)).collect();
        assert_eq!(names.len(), odd.len(), "{names:?}");
        for name in &names {
            assert!(name.len() <= 40 && name.starts_with(|c: char| c.is_ascii_lowercase()), "{name}");
            assert_eq!(plain(name), *name);
        }
    }
}
