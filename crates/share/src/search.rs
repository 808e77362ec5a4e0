//! Looks for runs in a repository or a bucket, by the annotations of their manifests: nothing else is fetched.

use crate::address::{Address, Reference};
use crate::bundle::{FACTS, Manifest, RUN, annotation, short};
use crate::error::ShareError;
use crate::oci::{Options, Registry};
use crate::place::Place;
use crate::remote::Remote as _;
use crate::s3;
use std::collections::BTreeMap;

/// A run of a repository or a bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its tag; in a bucket, the name of its folder.
    pub tag: String,
    /// What its manifest says, by the name of the fact: `device`, `stacks`, `workloads`, `kernel`...
    pub facts: BTreeMap<String, String>,
}

/// What is in a repository or a bucket.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// Runs of diskproof.
    pub runs: Vec<Listed>,
    /// Tags or folders of something else.
    pub others: u64,
}

/// Reads the facts of all runs of a repository, or of all runs one level below a prefix of a bucket.
///
/// # Errors
/// The place can't be reached or refuses, or there is none.
pub fn list(place: &Place, registry: &Options, bucket: &s3::Options) -> Result<Listing, ShareError> {
    let mut listing = Listing::default();
    let mut take = |tag: String, manifest: Option<Vec<u8>>| match manifest
        .and_then(|bytes| Manifest::read(&bytes, RUN).ok())
    {
        Some(manifest) => listing.runs.push(Listed { tag, facts: facts(&manifest) }),
        None => listing.others += 1,
    };
    match place {
        Place::Registry(address) => {
            let registry = Registry::new(address.clone(), registry)?;
            for tag in registry.tags()? {
                let one = Address { reference: Some(Reference::Tag(tag.clone())), ..address.clone() };
                // A tag that was removed since is no run.
                take(tag, registry.at(one).get_manifest()?);
            }
        }
        Place::Bucket(address) => {
            for (name, manifest) in s3::manifests(address, bucket)? {
                take(name, manifest);
            }
        }
    }
    Ok(listing)
}

fn facts(manifest: &Manifest) -> BTreeMap<String, String> {
    let fact = |name: &str| Some((name.to_owned(), short(manifest.annotations.get(&annotation(name))?)));
    FACTS.into_iter().filter_map(fact).collect()
}

/// Whether a pattern with `*` (any text) and `?` (any character) fits one of the names in a fact, which stand between semicolons. Capitals
/// and small letters are the same.
#[must_use]
pub fn fits(pattern: &str, fact: &str) -> bool {
    let pattern: Vec<char> = pattern.to_lowercase().chars().collect();
    fact.to_lowercase().split("; ").any(|name| wild(&pattern, &name.chars().collect::<Vec<_>>()))
}

/// Keeps the last `*` in mind and goes back to it, so that it takes no more than pattern times text.
fn wild(pattern: &[char], text: &[char]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match (pattern.get(p), star) {
            (Some('*'), _) => {
                star = Some((p, t));
                p += 1;
            }
            (Some(c), _) if *c == '?' || *c == text[t] => (p, t) = (p + 1, t + 1),
            (_, Some((at, from))) => {
                star = Some((at, from + 1));
                (p, t) = (at + 1, from + 1);
            }
            (_, None) => return false,
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn patterns_fit_whole_names_of_a_fact() {
        let fact = "Samsung SSD 990 PRO 2TB; WDC WD40";
        for (pattern, fit) in [
            ("samsung*", true),
            ("WDC*", true),
            ("*990*", true),
            ("WDC WD4?", true),
            ("*", true),
            ("Samsung", false),
            ("SSD*", false),
            ("*WD40*x", false),
            ("**2TB", true),
            ("", false),
        ] {
            assert_eq!(fits(pattern, fact), fit, "{pattern}");
        }
        assert!(!fits(&"*a".repeat(40), &"a".repeat(39)), "it ends soon");
    }
}
