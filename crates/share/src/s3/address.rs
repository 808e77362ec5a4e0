//! Addresses in S3: `s3://BUCKET[/PREFIX]`.

use crate::error::ShareError;
use std::fmt;

/// Most bytes of a prefix. A key has at most 1024, and names stand behind the prefix.
const PREFIX_BYTES: usize = 768;

/// A bucket, and the beginning of the keys in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct S3Address {
    /// The bucket.
    pub bucket: String,
    /// The prefix, without `/` at its ends. Empty: the whole bucket.
    pub prefix: String,
    /// Whether the address ends with `/` or names no prefix: it is a folder for things that have names of their own.
    pub is_folder: bool,
}

impl S3Address {
    /// Reads an address.
    ///
    /// # Errors
    /// It isn't one; the error says what is wrong.
    pub fn parse(text: &str) -> Result<Self, ShareError> {
        let parsed = match text.strip_prefix("s3://") {
            Some(rest) => parse(rest),
            None => Err("it doesn't begin with s3://"),
        };
        parsed.map_err(|why| ShareError::Address { address: text.to_owned(), why: why.to_owned() })
    }

    /// The key of a name below the prefix.
    #[must_use]
    pub fn key(&self, name: &str) -> String {
        if self.prefix.is_empty() { name.to_owned() } else { format!("{}/{name}", self.prefix) }
    }

    /// The address of a name below the prefix, as the place of one thing.
    #[must_use]
    pub fn join(&self, name: &str) -> Self {
        Self { bucket: self.bucket.clone(), prefix: self.key(name), is_folder: false }
    }
}

/// The rules for buckets are those of the S3 user guide ("General purpose bucket naming rules").
fn parse(rest: &str) -> Result<S3Address, &'static str> {
    let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    let end = |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b".-".contains(&b);
    if !(3..=63).contains(&bucket.len())
        || !bucket.bytes().all(plain)
        || !end(bucket.chars().next())
        || !end(bucket.chars().last())
        || bucket.contains("..")
    {
        return Err("a bucket has 3 to 63 small letters, digits and . - between them: s3://BUCKET/PREFIX");
    }
    let is_folder = prefix.is_empty() || prefix.ends_with('/');
    let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
    if prefix.len() > PREFIX_BYTES {
        return Err("the prefix has more than 768 bytes");
    }
    if prefix.chars().any(char::is_control) {
        return Err("a control character is in the prefix");
    }
    if !prefix.is_empty() && prefix.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Err("the parts of a prefix are names with one / between them, none of them . or ..");
    }
    Ok(S3Address { bucket: bucket.to_owned(), prefix: prefix.to_owned(), is_folder })
}

impl fmt::Display for S3Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = if self.is_folder && !self.prefix.is_empty() { "/" } else { "" };
        let slash = if self.prefix.is_empty() { "" } else { "/" };
        write!(f, "s3://{}{slash}{}{end}", self.bucket, record::printable::printable(&self.prefix))
    }
}

#[cfg(test)]
mod tests {
    use super::S3Address;

    #[test]
    fn addresses_read_back_as_they_are_written() {
        for text in
            ["s3://results", "s3://a.b-c", "s3://results/nvme/990", "s3://results/lab 1/", "s3://results/é"]
        {
            assert_eq!(S3Address::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(S3Address::parse("s3://results/").unwrap().to_string(), "s3://results");
        let whole = S3Address::parse("s3://results").unwrap();
        assert_eq!((whole.key("a/b").as_str(), whole.join("r").prefix.as_str()), ("a/b", "r"));
        let part = S3Address::parse("s3://results/lab/").unwrap();
        assert!(part.is_folder && whole.is_folder && !part.join("r").is_folder);
        assert_eq!(part.key("a"), "lab/a");
        assert_eq!(part.join("r").to_string(), "s3://results/lab/r");
    }

    #[test]
    fn others_are_refused() {
        for text in [
            "results",
            "s3:/results",
            "s3://",
            "s3://ab",
            "s3://Results",
            "s3://-abc",
            "s3://abc-",
            "s3://a..b",
            "s3://user:secret@abc",
            "s3://abc//x",
            "s3://abc/x//y",
            "s3://abc/../x",
            "s3://abc/x/.",
            "s3://abc/x\ny",
            "oci://abc/x",
        ] {
            assert!(S3Address::parse(text).is_err(), "{text:?}");
        }
        assert!(S3Address::parse(&format!("s3://abc/{}", "x".repeat(769))).is_err());
    }
}
