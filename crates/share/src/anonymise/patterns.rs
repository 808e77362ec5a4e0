//! Names that are recognized by their form: addresses, WWNs, and what stands below a home directory.

use super::kind::NameKind;
use std::net::{Ipv4Addr, Ipv6Addr};

/// A name in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) kind: NameKind,
}

/// Where homes are.
const HOME: &str = "/home/";

/// Finds the names in a text, in their order and without overlaps.
pub(super) fn spots(text: &str) -> Vec<Spot> {
    let mut found = Vec::new();
    homes(text, &mut found);
    let before_homes = found.len();
    for (from, word) in words(text) {
        let inside = found[..before_homes].iter().any(|spot| spot.from < from + word.len() && from < spot.to);
        if !inside && let Some(kind) = kind(word) {
            found.push(Spot { from, to: from + word.len(), kind });
        }
    }
    found.sort_by_key(|spot| spot.from);
    found
}

/// Runs of the characters that addresses and WWNs consist of.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, ':' | '.');
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + text[at..].find(part)?;
        let length = text[start..].find(|c| !part(c)).unwrap_or(text.len() - start);
        at = start + length;
        // punctuation at the ends belongs to the sentence, but `::1` begins with it
        let word = text[start..at].trim_end_matches(['.', ':']).trim_start_matches('.');
        let word = if word.starts_with(':') && !word.starts_with("::") { &word[1..] } else { word };
        Some((start + text[start..at].find(word).unwrap_or(0), word))
    })
}

fn kind(word: &str) -> Option<NameKind> {
    if is_address(word) || is_mac(word) {
        Some(NameKind::Addresses)
    } else if is_wwn(word) {
        Some(NameKind::Serials)
    } else {
        None
    }
}

fn is_address(word: &str) -> bool {
    // behind an IPv4 address, a port may stand
    let bare = word.split(':').next().unwrap_or_default();
    if let Ok(address) = bare.parse::<Ipv4Addr>() {
        return !(address.is_loopback() || address.is_unspecified() || address.is_broadcast());
    }
    let address = if word.len() > 3 { word.parse::<Ipv6Addr>().ok() } else { None };
    address.is_some_and(|address| !(address.is_loopback() || address.is_unspecified()))
}

fn is_mac(word: &str) -> bool {
    let pairs: Vec<&str> = word.split(':').collect();
    let is_pair = |pair: &&str| pair.len() == 2 && pair.bytes().all(|b| b.is_ascii_hexdigit());
    pairs.len() == 6 && pairs.iter().all(is_pair) && word != "00:00:00:00:00:00"
}

/// `0x` and 16 or 32 digits as in `wwn-0x...`, or `eui.` and `naa.` with their digits.
fn is_wwn(word: &str) -> bool {
    let digits = ["0x", "eui.", "naa."].iter().find_map(|begin| word.strip_prefix(begin));
    digits.is_some_and(|digits| {
        matches!(digits.len(), 16 | 32) && digits.bytes().all(|b| b.is_ascii_hexdigit())
    })
}

/// The parts of paths below a home directory: the user, and each folder and file but diskproof's own.
fn homes(text: &str, found: &mut Vec<Spot>) {
    let ends = |c: char| c.is_whitespace() || c.is_control() || "\"'`,;:|<>()[]{}=&*?\\".contains(c);
    for (at, _) in text.match_indices(HOME) {
        let start = at + HOME.len();
        let length = text[start..].find(ends).unwrap_or(text.len() - start);
        let (mut from, mut kind) = (start, NameKind::Users);
        for part in text[start..start + length].split('/') {
            let to = from + part.len();
            if !(part.is_empty() || part.starts_with("diskproof") || part.starts_with("..")) {
                found.push(Spot { from, to, kind });
            }
            (from, kind) = (to + 1, NameKind::Homes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::spots;

    fn found(text: &str) -> Vec<(&str, &str)> {
        spots(text).iter().map(|spot| (&text[spot.from..spot.to], spot.kind.name())).collect()
    }

    #[test]
    fn addresses_are_recognized_with_what_stands_around_them() {
        let text = "nfs: 10.1.2.3:/export, [fe80::1:2], 192.168.0.7. mac=52:54:00:ab:cd:ef (2001:db8::17)";
        let expected = ["10.1.2.3", "fe80::1:2", "192.168.0.7", "52:54:00:ab:cd:ef", "2001:db8::17"];
        assert_eq!(found(text), expected.map(|address| (address, "addresses")));
        assert!(
            found("127.0.0.1 ::1 0.0.0.0 1.2.3 12:34:56 6.1.0-13 fio-3.33 std::fs a::b::c 300.1.1.1")
                .is_empty()
        );
    }

    #[test]
    fn wwns_are_recognized() {
        let text = "wwn-0x5000c500a1b2c3d4 nvme-eui.0025385b71a0c4e5 naa.5000c500a1b2c3d4";
        let expected = ["0x5000c500a1b2c3d4", "eui.0025385b71a0c4e5", "naa.5000c500a1b2c3d4"];
        assert_eq!(found(text), expected.map(|wwn| (wwn, "serials")));
        assert!(found("0x5000 eui. 0x5000c500a1b2c3dg").is_empty());
    }

    #[test]
    fn below_a_home_everything_but_our_own_is_a_name() {
        let expected =
            [("alice", "users"), ("acme corp".split(' ').next().unwrap(), "homes"), ("bob", "users")];
        assert_eq!(found("dir=/home/alice/acme/diskproof-data.0 '/home/bob'"), expected);
        assert!(found("/homes/x /home").is_empty());
    }
}
