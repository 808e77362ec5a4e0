//! In every accepted list, the program itself, by the rules of getopt, finds only options that the table allows.

use super::{Mkfs, btrfs, ext, mkfs, xfs};
use proptest::prelude::{ProptestConfig, Strategy, any, prop_oneof, proptest};

/// The options that a program's getopt takes: its letters, and its long names with the letter that each stands for.
struct Getopt {
    letters: &'static str,
    long: &'static [(&'static str, bool)],
}

const EXT: Getopt =
    Getopt { letters: "b:ce:g:i:jl:m:no:qr:s:t:d:vC:DE:FG:I:J:KL:M:N:O:R:ST:U:Vz:", long: &[] };
const XFS: Getopt = Getopt { letters: "b:c:d:i:l:L:m:n:KNp:qr:s:CfV", long: &[("unsupported", false)] };
const BTRFS: Getopt = Getopt {
    letters: "A:b:fl:n:s:m:d:L:R:O:r:U:VvMKq",
    long: &[
        ("alloc-start", true),
        ("byte-count", true),
        ("checksum", true),
        ("csum", true),
        ("data", true),
        ("device-uuid", true),
        ("features", true),
        ("force", false),
        ("help", false),
        ("label", true),
        ("leafsize", true),
        ("metadata", true),
        ("mixed", false),
        ("nodesize", true),
        ("nodiscard", false),
        ("quiet", false),
        ("rootdir", true),
        ("runtime-features", true),
        ("sectorsize", true),
        ("shrink", false),
        ("subvol", true),
        ("uuid", true),
        ("verbose", false),
        ("version", false),
    ],
};

/// Returns the options that getopt finds, with their values; an argument that is no option has no name.
fn parse(getopt: &Getopt, argv: &[String]) -> Vec<(String, Option<String>)> {
    let mut found = Vec::new();
    let mut rest = argv.iter();
    while let Some(word) = rest.next() {
        if let Some(long) = word.strip_prefix("--").filter(|name| !name.is_empty()) {
            let (name, value) = long.split_once('=').map_or((long, None), |(n, v)| (n, Some(v.to_owned())));
            let begins = |(known, _): &&(&str, bool)| known.starts_with(name);
            let exact = getopt.long.iter().find(|(known, _)| *known == name);
            match exact.or_else(|| getopt.long.iter().find(begins)) {
                Some((known, true)) => {
                    found.push((format!("--{known}"), value.or_else(|| rest.next().cloned())))
                }
                Some((known, false)) => found.push((format!("--{known}"), None)),
                None => found.push((format!("--{name}"), value)),
            }
        } else if let Some(letters) =
            word.strip_prefix('-').filter(|letters| !letters.is_empty() && word != "--")
        {
            for (at, letter) in letters.char_indices() {
                let takes = getopt.letters.contains(&format!("{letter}:"));
                let behind = &letters[at + letter.len_utf8()..];
                if takes {
                    let value =
                        if behind.is_empty() { rest.next().cloned() } else { Some(behind.to_owned()) };
                    found.push((format!("-{letter}"), value));
                    break;
                }
                found.push((format!("-{letter}"), None));
            }
        } else {
            found.push((String::new(), Some(word.clone())));
        }
    }
    found
}

/// Names, values and random text that an attack could consist of.
fn word(getopt: &'static Getopt) -> impl Strategy<Value = String> {
    let letter = proptest::sample::select(getopt.letters.replace(':', "").chars().collect::<Vec<_>>());
    let mut names: Vec<String> = getopt.long.iter().map(|(name, _)| format!("--{name}")).collect();
    names.push("--".to_owned());
    let value = proptest::sample::select(vec![
        "4096",
        "16k",
        "1",
        "0.5",
        "size=1024",
        "size=4k",
        "agcount=4",
        "su=64k,sw=3",
        "name=x",
        "device=x",
        "logdev=x",
        "internal",
        "file",
        "quota",
        "^quota",
        "has_journal",
        "journal_dev",
        "xxhash",
        "label",
        "stride=16",
        "offset=1",
        "crc=1",
        "uuid=1",
        "..",
        "/etc/passwd",
        "-",
        "",
    ]);
    prop_oneof![
        letter.clone().prop_map(|letter| format!("-{letter}")),
        (letter.clone(), value.clone()).prop_map(|(letter, value)| format!("-{letter}{value}")),
        (letter.clone(), letter, value.clone()).prop_map(|(a, b, value)| format!("-{a}{b}{value}")),
        value.clone().prop_map(str::to_owned),
        (proptest::sample::select(names.clone()), any::<usize>(), value.clone(), any::<bool>()).prop_map(
            |(name, cut, value, joined)| {
                let cut = name.len() - cut % 3;
                format!("{}{}", &name[..cut.max(2)], if joined { format!("={value}") } else { String::new() })
            }
        ),
        ".{0,8}",
    ]
}

fn holds(program: Mkfs, getopt: &Getopt, argv: &[String]) {
    if mkfs(program, argv).is_err() {
        return;
    }
    let table = match program {
        Mkfs::Ext => &ext::TABLE,
        Mkfs::Xfs => &xfs::TABLE,
        Mkfs::Btrfs => &btrfs::TABLE,
    };
    for (name, value) in parse(getopt, argv) {
        let option = table.allowed.iter().find(|option| option.names.contains(&name.as_str()));
        let option = option
            .unwrap_or_else(|| panic!("{argv:?} is accepted, and the program finds `{name}` {value:?}"));
        let value = value.unwrap_or_default();
        assert!(option.form.check(&value).is_ok(), "{argv:?}: `{name}` gets `{value}`");
        assert!(!value.contains(['/', ' ', '\n', '\0']) && !value.starts_with('-'), "{argv:?}: {value}");
        let sound = |word: &&str| !value.contains(*word) || matches!(option.form, super::table::Form::Label);
        assert!(
            ["device", "logdev", "rtdev", "name=", "file=", "uuid", "options=", "journal_dev"]
                .iter()
                .all(sound),
            "{argv:?}: {value}"
        );
    }
}

/// The tables and the programs agree on which options take a value.
#[test]
fn every_allowed_option_is_one_of_the_program() {
    for (table, getopt) in [(&ext::TABLE, &EXT), (&xfs::TABLE, &XFS), (&btrfs::TABLE, &BTRFS)] {
        for option in table.allowed {
            let switch = matches!(option.form, super::table::Form::Switch);
            for name in option.names {
                let takes = match name.strip_prefix("--") {
                    Some(long) => {
                        getopt.long.iter().find(|(known, _)| *known == long).map(|(_, takes)| *takes)
                    }
                    None => {
                        let letter = &name[1..];
                        getopt
                            .letters
                            .contains(letter)
                            .then(|| getopt.letters.contains(&format!("{letter}:")))
                    }
                };
                assert_eq!(takes, Some(!switch), "{} {name}", table.program);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn no_accepted_list_tells_mkfs_ext_more(argv in proptest::collection::vec(word(&EXT), 0..4)) {
        holds(Mkfs::Ext, &EXT, &argv);
    }

    #[test]
    fn no_accepted_list_tells_mkfs_xfs_more(argv in proptest::collection::vec(word(&XFS), 0..4)) {
        holds(Mkfs::Xfs, &XFS, &argv);
    }

    #[test]
    fn no_accepted_list_tells_mkfs_btrfs_more(argv in proptest::collection::vec(word(&BTRFS), 0..4)) {
        holds(Mkfs::Btrfs, &BTRFS, &argv);
    }
}
