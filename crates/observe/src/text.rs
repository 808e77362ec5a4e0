//! Splits kernel text without allocating.

use crate::error::ReadError;
use std::fs;
use std::io;
use std::path::Path;

/// Returns the fields between spaces.
pub(crate) fn fields(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty())
}

/// Returns the lines with their numbers, from 1, without empty lines.
pub(crate) fn lines(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    text.split(|&byte| byte == b'\n')
        .enumerate()
        .filter(|(_, line)| !line.is_empty())
        .map(|(n, line)| (n + 1, line))
}

/// Parses a decimal number without sign or spaces.
pub(crate) fn number(field: &[u8]) -> Option<u64> {
    if field.is_empty() {
        return None;
    }
    field.iter().try_fold(0_u64, |sum, &byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        sum.checked_mul(10)?.checked_add(digit)
    })
}

/// Parses `major:minor`.
pub(crate) fn devno(field: &str) -> Option<(u32, u32)> {
    let (major, minor) = field.trim().split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Returns the text of a small file; `None` when it doesn't exist or isn't readable.
pub(crate) fn whole(path: &Path) -> Option<String> {
    let bytes = fs::read(path).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the first line of a small file, trimmed; `None` when the file is absent, unreadable or empty.
pub(crate) fn first_line(path: &Path) -> Option<String> {
    let text = whole(path)?;
    let line = text.lines().next()?.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

/// Whether an error means that the thing doesn't exist, or no longer exists.
pub(crate) fn is_gone(error: &io::Error) -> bool {
    // ENOENT 2, ESRCH 3 (a process that ended), ENXIO 6, ENODEV 19 (a device that went), EOPNOTSUPP 95 (pressure switched off).
    matches!(error.raw_os_error(), Some(2 | 3 | 6 | 19 | 95))
}

/// As [`whole`], but an unreadable file is an error.
pub(crate) fn required(path: &Path) -> Result<Option<Vec<u8>>, ReadError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if is_gone(&error) => Ok(None),
        Err(source) => Err(ReadError::Io { path: path.to_owned(), source }),
    }
}
