//! mkfs.btrfs (btrfs-progs 6).

use super::table::Form::{Features, Label, OneOf, Size, Switch};
use super::table::{Table, opt};

const CHECKSUMS: &[&str] = &["blake2", "crc32c", "sha256", "xxhash"];
const FEATURES: &[&str] = &[
    "bgt",
    "block-group-tree",
    "extref",
    "free-space-tree",
    "mixed-bg",
    "no-holes",
    "quota",
    "raid-stripe-tree",
    "raid1c34",
    "raid56",
    "skinny-metadata",
    "squota",
    "zoned",
];
const COPIES: &str = "it would copy a directory into the file system";
const KEY: &str = "write `data` and `metadata` beside `mkfs_options`";
const OWN: &str = "diskproof sets it itself: it knows its file systems by their UUID";
const FORCE: &str =
    "mkfs must refuse a device that is in use; diskproof's checks decide what may be overwritten";
const NOTHING_MADE: &str = "no file system would be made";

/// Profiles are keys of the layer instead, since the plan computes with them.
pub(super) static TABLE: Table = Table {
    program: "mkfs.btrfs",
    allowed: &[
        opt(&["-b", "--byte-count"], Size),
        opt(&["--checksum", "--csum"], OneOf(CHECKSUMS)),
        opt(&["-K", "--nodiscard"], Switch),
        opt(&["-L", "--label"], Label),
        opt(&["-M", "--mixed"], Switch),
        opt(&["-n", "--nodesize"], Size),
        opt(&["-O", "--features"], Features(FEATURES)),
        opt(&["-q", "--quiet"], Switch),
        opt(&["-R", "--runtime-features"], Features(FEATURES)),
        opt(&["-s", "--sectorsize"], Size),
        opt(&["-v", "--verbose"], Switch),
    ],
    refused: &[
        ("-r", COPIES),
        ("--rootdir", COPIES),
        ("--subvol", COPIES),
        ("--shrink", COPIES),
        ("-d", KEY),
        ("--data", KEY),
        ("-m", KEY),
        ("--metadata", KEY),
        ("-U", OWN),
        ("--uuid", OWN),
        ("--device-uuid", OWN),
        ("-f", FORCE),
        ("--force", FORCE),
        ("-V", NOTHING_MADE),
        ("--version", NOTHING_MADE),
        ("--help", NOTHING_MADE),
        ("-O list-all", NOTHING_MADE),
        ("-R list-all", NOTHING_MADE),
    ],
};
