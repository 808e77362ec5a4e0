//! Names of guests: host names that people can read.

use super::error::GuestError;
use crate::at::At;
use std::io::Read as _;

/// Most characters of a label of a host name (RFC 1123).
const LONGEST: usize = 63;
/// Digits and letters that nobody confuses with others.
const ALPHABET: &[u8; 32] = b"23456789abcdefghjkmnpqrstuvwxyz0";
/// Characters that make a name unique.
const UNIQUE: usize = 5;

/// Checks that a name is a host name of one label, as every provider takes it.
///
/// # Errors
/// It isn't.
pub fn check(name: &str) -> Result<(), GuestError> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let is_fine = name.len() <= LONGEST
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && !name.ends_with('-')
        && name.chars().all(is_plain);
    match is_fine {
        true => Ok(()),
        false => Err(GuestError::Name { name: name.to_owned() }),
    }
}

/// Checks that `virsh --domain NAME` finds the guest of this name: it looks for a number and for a UUID first.
pub(super) fn check_for_virsh(at: &At, name: &str) -> Result<(), GuestError> {
    match is_number(name) || is_uuid(name) {
        true => Err(GuestError::NotAName { machine: at.name().to_owned(), guest: name.to_owned() }),
        false => Ok(()),
    }
}

/// As C's `strtol` reads numbers.
fn is_number(name: &str) -> bool {
    let digits = name.trim_start();
    let digits = digits.strip_prefix(['+', '-']).unwrap_or(digits);
    !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit())
}

/// As libvirt reads UUIDs, which takes dashes anywhere.
fn is_uuid(name: &str) -> bool {
    name.len() == 36 && name.chars().all(|c| c.is_ascii_hexdigit() || c == '-' || c.is_ascii_whitespace())
}

/// Makes a name from a text, with an end that makes it unique: `debian-12-k7m2p`.
///
/// # Errors
/// The kernel gives no random bytes.
pub fn generated(from: &str) -> std::io::Result<String> {
    let mut bytes = [0; UNIQUE];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(from_parts(from, bytes))
}

fn from_parts(from: &str, bytes: [u8; UNIQUE]) -> String {
    let mut name = String::new();
    for c in from.chars().map(|c| c.to_ascii_lowercase()) {
        match c {
            'a'..='z' | '0'..='9' => name.push(c),
            _ if name.ends_with('-') || name.is_empty() => {}
            _ => name.push('-'),
        }
    }
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) {
        name.insert_str(0, "guest-");
    }
    name.truncate(LONGEST - UNIQUE - 1);
    let end: String = bytes.iter().map(|byte| char::from(ALPHABET[usize::from(byte % 32)])).collect();
    format!("{}-{end}", name.trim_end_matches('-'))
}

#[cfg(test)]
mod tests {
    use super::{check, from_parts, generated, is_number, is_uuid};

    #[test]
    fn whatever_they_are_made_from_they_are_host_names() {
        for (from, expected) in [
            ("debian-12", "debian-12-23456"),
            ("Größe 7!", "gr-e-7-23456"),
            ("12", "guest-12-23456"),
            ("", "guest-23456"),
            ("--", "guest-23456"),
            ("a.b_c", "a-b-c-23456"),
        ] {
            assert_eq!(from_parts(from, [0, 1, 2, 3, 4]), expected);
        }
        let long = from_parts(&"x".repeat(200), [255; 5]);
        assert_eq!(long.len(), 63);
        for name in [long, generated("x-".repeat(60).as_str()).unwrap(), generated("é").unwrap()] {
            check(&name).unwrap();
        }
        assert_ne!(generated("a").unwrap(), generated("a").unwrap());
    }

    #[test]
    fn names_that_virsh_takes_for_others_are_known() {
        assert!(["3", "007", " 3", "+3", "-1"].into_iter().all(is_number));
        assert!(["web3", "3a", "0x3", "", "-", "3 "].into_iter().all(|name| !is_number(name)));
        let uuid = "a1b2c3d4-0000-4000-8000-0123456789ab";
        assert!(is_uuid(uuid) && !is_uuid(&uuid[1..]) && !is_uuid(&uuid.replace('0', "x")));
    }

    #[test]
    fn what_a_provider_would_refuse_is_refused() {
        for bad in ["", "A", "1a", "-a", "a-", "a.b", "a_b", "a b", "é", &"a".repeat(64), "a\u{1b}"] {
            assert!(check(bad).is_err(), "{bad}");
        }
        for good in ["a", "web0", "a-1", &"a".repeat(63)] {
            check(good).unwrap();
        }
    }
}
