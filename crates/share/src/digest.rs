//! SHA-256 as registries write it: `sha256:HEX`.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::io::{self, Read, Write};

/// A SHA-256 of some bytes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest(String);

impl Digest {
    /// Computes the digest of bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(hex(&Sha256::digest(bytes)))
    }

    /// Reads `sha256:HEX`; `None` for anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let hex = text.strip_prefix("sha256:")?;
        let is_hex = hex.len() == 64 && hex.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        is_hex.then(|| Self(hex.to_owned()))
    }

    /// The digest of 64 hexadecimal digits; `None` for anything else.
    pub(crate) fn from_hex(hex: &str) -> Option<Self> {
        Self::parse(&format!("sha256:{hex}"))
    }

    /// The digest of 32 bytes; `None` for another number of bytes.
    pub(crate) fn from_raw(bytes: &[u8]) -> Option<Self> {
        (bytes.len() == 32).then(|| Self(hex(bytes)))
    }

    /// Its 32 bytes.
    pub(crate) fn raw(&self) -> Vec<u8> {
        let digit = |byte: &u8| {
            char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok()).unwrap_or(0)
        };
        self.0
            .as_bytes()
            .chunks(2)
            .map(|pair| pair.iter().fold(0, |all, byte| all << 4 | digit(byte)))
            .collect()
    }

    /// The 64 hexadecimal digits.
    #[must_use]
    pub fn hex(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.0)
    }
}

impl TryFrom<String> for Digest {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or("expected sha256: and 64 hexadecimal digits")
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}

/// Computes digest and length of what passes through, in either direction.
pub(crate) struct Counted<T> {
    inner: T,
    digest: Sha256,
    bytes: u64,
    limit: u64,
}

impl<T> Counted<T> {
    pub(crate) fn new(inner: T) -> Self {
        Self::limited(inner, u64::MAX)
    }

    /// More bytes than the limit are an error.
    pub(crate) fn limited(inner: T, limit: u64) -> Self {
        Self { inner, digest: Sha256::new(), bytes: 0, limit }
    }

    pub(crate) fn finish(self) -> (T, Digest, u64) {
        (self.inner, Digest(hex(&self.digest.finalize())), self.bytes)
    }

    fn count(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes += bytes.len() as u64;
        self.digest.update(bytes);
        if self.bytes > self.limit {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is larger than it says"));
        }
        Ok(())
    }
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.count(&buffer[..read])?;
        Ok(read)
    }
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(buffer)?;
        self.count(&buffer[..written])?;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::{Counted, Digest};
    use std::io::{Read as _, Write as _};

    #[test]
    fn digests_are_those_of_fips_180_and_nothing_else_is_one() {
        let abc = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(Digest::of(b"abc").to_string(), abc);
        assert_eq!(Digest::parse(abc), Some(Digest::of(b"abc")));
        assert_eq!(Digest::from_hex(Digest::of(b"abc").hex()), Some(Digest::of(b"abc")));
        assert_eq!(Digest::from_raw(&Digest::of(b"abc").raw()), Some(Digest::of(b"abc")));
        for bad in
            ["ba78", "sha512:00", "sha256:BA", &abc.to_uppercase(), &format!("{abc}0"), "sha256:../../etc"]
        {
            assert_eq!(Digest::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn what_passes_is_counted_and_limited() {
        let mut writer = Counted::new(Vec::new());
        writer.write_all(b"abc").unwrap();
        let (_, digest, bytes) = writer.finish();
        assert_eq!((digest, bytes), (Digest::of(b"abc"), 3));
        let mut kept = Vec::new();
        assert!(Counted::limited(&b"abcd"[..], 3).read_to_end(&mut kept).is_err());
    }
}
