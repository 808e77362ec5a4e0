//! Addresses of runs: `oci://HOST[:PORT]/REPOSITORY[:TAG|@DIGEST]`.

use crate::digest::Digest;
use crate::error::ShareError;
use std::fmt;

/// A repository of a registry, perhaps with one artifact of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// Host and port.
    pub registry: String,
    /// The repository.
    pub repository: String,
    /// The artifact.
    pub reference: Option<Reference>,
}

/// How an artifact is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    /// A tag, which may move.
    Tag(String),
    /// The digest of its manifest.
    Digest(Digest),
}

impl Address {
    /// Reads an address.
    ///
    /// # Errors
    /// It isn't one; the error says what is wrong.
    pub fn parse(text: &str) -> Result<Self, ShareError> {
        let parsed = match text.strip_prefix("oci://") {
            Some(rest) => oci(rest),
            None => Err("it doesn't begin with oci://".to_owned()),
        };
        parsed.map_err(|why| ShareError::Address { address: text.to_owned(), why })
    }
}

/// The rules are those of the OCI distribution specification (1.1, "Pulling manifests").
fn oci(rest: &str) -> Result<Address, String> {
    let (registry, rest) =
        rest.split_once('/').ok_or("a repository is missing: oci://HOST/REPOSITORY:TAG")?;
    let host_character = |b: u8| b.is_ascii_alphanumeric() || b".-:[]".contains(&b);
    if registry.is_empty() || registry.starts_with(['-', ':']) || !registry.bytes().all(host_character) {
        return Err("the host isn't one".to_owned());
    }
    let (repository, reference) = match (rest.split_once('@'), rest.split_once(':')) {
        (Some((repository, digest)), _) => {
            let digest = Digest::parse(digest).ok_or("behind @ stands sha256: and 64 hexadecimal digits")?;
            (repository, Some(Reference::Digest(digest)))
        }
        (None, Some((repository, tag))) if is_tag(tag) => (repository, Some(Reference::Tag(tag.to_owned()))),
        (None, Some(_)) => {
            return Err("a tag has letters, digits and . _ -, begins with none of . -, and has at most 128 characters".to_owned());
        }
        (None, None) => (rest, None),
    };
    let is_part = |part: &str| {
        let end = |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-".contains(&b);
        part.bytes().all(plain)
            && end(part.chars().next())
            && end(part.chars().last())
            && !part.contains("..")
    };
    if repository.len() > 255 || !repository.split('/').all(is_part) {
        return Err(
            "a repository has small letters, digits and . _ - between them, in parts with /".to_owned()
        );
    }
    Ok(Address { registry: registry.to_ascii_lowercase(), repository: repository.to_owned(), reference })
}

pub(crate) fn is_tag(tag: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
    (1..=128).contains(&tag.len()) && tag.bytes().all(plain) && !tag.starts_with(['.', '-'])
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "oci://{}/{}", self.registry, self.repository)?;
        match &self.reference {
            None => Ok(()),
            Some(Reference::Tag(tag)) => write!(f, ":{tag}"),
            Some(Reference::Digest(digest)) => write!(f, "@{digest}"),
        }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tag(tag) => f.write_str(tag),
            Self::Digest(digest) => digest.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Address, Reference};

    #[test]
    fn addresses_read_back_as_they_are_written() {
        let digest = "0".repeat(64);
        for text in [
            "oci://127.0.0.1:5000/results:nvme-1",
            "oci://ghcr.io/me/disk_proof/r.1",
            "oci://[::1]:5000/r:A_b",
            &format!("oci://h/r@sha256:{digest}"),
        ] {
            assert_eq!(Address::parse(text).unwrap().to_string(), text);
        }
        let address = Address::parse("oci://Host:5/r:t").unwrap();
        assert_eq!(
            (address.registry.as_str(), address.reference),
            ("host:5", Some(Reference::Tag("t".to_owned())))
        );
    }

    #[test]
    fn others_are_refused() {
        for text in [
            "results",
            "http://h/r:t",
            "oci://h",
            "oci://h/",
            "oci:///r",
            "oci://h/R",
            "oci://h/a//b",
            "oci://h/../b",
            "oci://h/r:",
            "oci://h/r:-x",
            "oci://h/r:a b",
            "oci://u:p@h/r",
            "oci://h/r@sha256:12",
            "oci://h/r?x=1:t",
            "s3://bucket/prefix",
        ] {
            assert!(Address::parse(text).is_err(), "{text}");
        }
    }
}
