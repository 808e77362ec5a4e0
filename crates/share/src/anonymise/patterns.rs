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
        if !inside {
            found.extend(names(word).into_iter().map(|(a, b, kind)| Spot {
                from: from + a,
                to: from + b,
                kind,
            }));
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

/// The places of names in a word. Behind an address a port may stand, and before it what it is, e.g. `tcp:10.1.2.3:4420`.
fn names(word: &str) -> Vec<(usize, usize, NameKind)> {
    if let Some(kind) = kind(word) {
        return vec![(0, word.len(), kind)];
    }
    if let Some((before, rest)) = word.split_once(':') {
        let is_text = !before.is_empty() && !before.bytes().all(|b| b.is_ascii_hexdigit());
        let has_digits = rest.bytes().any(|b| b.is_ascii_digit());
        if let Some(kind) = kind(rest).filter(|_| is_text && has_digits) {
            return vec![(before.len() + 1, word.len(), kind)];
        }
    }
    let mut found = Vec::new();
    let mut from = 0;
    for part in word.split(':') {
        let to = from + part.len();
        if let Some(kind) = kind(part) {
            found.push((from, to, kind));
        }
        from = to + 1;
    }
    found
}

fn is_address(word: &str) -> bool {
    if let Ok(address) = word.parse::<Ipv4Addr>() {
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
    for (at, _) in text.match_indices(HOME) {
        let start = at + HOME.len();
        let (mut from, mut kind) = (start, NameKind::Users);
        for part in text[start..start + path_bytes(text, at, start)].split('/') {
            let to = from + part.len();
            if !(part.is_empty() || part.starts_with("diskproof") || part.starts_with("..")) {
                found.push(Spot { from, to, kind });
            }
            (from, kind) = (to + 1, NameKind::Homes);
        }
    }
}

/// How far a path goes on from `start`; it begins at `at`. Names of folders may have blanks: in a text that is a path, within quotes,
/// in the value of a setting, behind a backslash, and where more of the path follows.
fn path_bytes(text: &str, at: usize, start: usize) -> usize {
    let rest = &text[start..];
    let before = &text[..at];
    let marks = |c: char| "\"'`,;:|<>()[]{}=&*?".contains(c);
    // A backslash before anything else belongs to the text around, e.g. to JSON within JSON.
    let stop = |from: usize, end: &dyn Fn(char) -> bool| {
        let ends = |(i, c): &(usize, char)| {
            c.is_control() || end(*c) || (*c == '\\' && !rest[from + i + 1..].starts_with(' '))
        };
        rest[from..].char_indices().find(ends).map_or(rest.len(), |(i, _)| from + i)
    };
    if let Some(quote) = before.chars().next_back().filter(|c| "\"'`".contains(*c)) {
        let end = stop(0, &|c| c == quote);
        if rest[end..].starts_with([quote, '\\']) {
            return end;
        }
    }
    if before.is_empty() || is_setting(before, &rest[..stop(0, &|_| false)]) {
        return stop(0, &marks);
    }
    let mut end = 0;
    loop {
        end = stop(end, &|c| c.is_whitespace() || marks(c));
        let goes_on = rest[end..].strip_prefix(' ').is_some_and(|next| {
            let next = next.split(|c: char| c.is_whitespace() || marks(c)).next().unwrap_or_default();
            !next.starts_with(['/', '-', '.']) && next.contains('/')
        });
        if !(goes_on || (rest[..end].ends_with('\\') && rest[end..].starts_with(' '))) {
            return end;
        }
        end += 1;
    }
}

/// Whether a path is the whole value of a line `name=PATH` or `name: PATH`.
fn is_setting(before: &str, line: &str) -> bool {
    let name = before.rsplit('\n').next().unwrap_or_default().trim();
    let name = name.strip_suffix(['=', ':']).unwrap_or_default().trim_end();
    let is_name = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b));
    is_name && ![" /", " -", " #", "\"", "'", "&&", "|"].iter().any(|more| line.contains(more))
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
    fn addresses_are_recognized_behind_a_word_and_before_a_port() {
        let text =
            "addr:10.1.2.3 tcp:10.1.2.4:4420 10.1.2.5:3260 nfs:fe80::1 mac:52:54:00:ab:cd:ef a:10.1.2.6";
        let expected = ["10.1.2.3", "10.1.2.4", "10.1.2.5", "fe80::1", "52:54:00:ab:cd:ef", "10.1.2.6"];
        assert_eq!(found(text), expected.map(|address| (address, "addresses")));
        assert!(found("addr:127.0.0.1:80 std::dead::beef 12:10.1").is_empty());
    }

    #[test]
    fn folders_may_have_blanks() {
        for text in [
            "/home/alice/acme corp/plan b",
            "a\ndirectory=/home/alice/acme corp/plan b\nrw=read",
            "dir: /home/alice/acme corp/plan b",
            "cp '/home/alice/acme corp/plan b' x y",
            r#"{"d":"/home/alice/acme corp/plan b","x y":"z"}"#,
        ] {
            let expected = [("alice", "users"), ("acme corp", "homes"), ("plan b", "homes")];
            assert_eq!(found(text), expected, "{text}");
        }
        let within = r#"{"c": "fio --dir=\"/home/alice/a b\" \n/home/bob/c\n"}"#;
        let expected = [("alice", "users"), ("a b", "homes"), ("bob", "users"), ("c", "homes")];
        assert_eq!(found(within), expected);
        let shell = found(r"ls /home/alice/acme\ corp/x.txt more");
        assert_eq!(shell, [("alice", "users"), (r"acme\ corp", "homes"), ("x.txt", "homes")]);
        let middle = found("open /home/alice/acme corp/x now: no such file");
        assert_eq!(middle, [("alice", "users"), ("acme corp", "homes"), ("x", "homes")]);
        assert_eq!(found("mv /home/alice /home/bob -v"), [("alice", "users"), ("bob", "users")]);
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
