//! mkfs.ext3 and mkfs.ext4 (e2fsprogs 1.47).

use super::table::Form::{Decimal, Features, Label, Named, Number, OneOf, Size, Switch};
use super::table::{Table, named, opt, perhaps};

const BLOCKS: &[&str] = &["1024", "2048", "4096", "8192", "16384", "32768", "65536"];
const BIT: &[&str] = &["0", "1"];
const OWN: &str = "diskproof sets it itself: it knows its file systems by their UUID";
const NOTHING_MADE: &str = "no file system would be made";
const OTHER_FS: &str = "the layer's name says which file system is made";
const FORCE: &str =
    "mkfs must refuse a device that is in use; diskproof's checks decide what may be overwritten";
const OUTSIDE: &str = "it would read or write files or devices that are no part of the stack";

/// `-c` starts another program, `-e panic` halts the machine, `-o` and `-r` make file systems that the kernel doesn't mount.
pub(super) static TABLE: Table = Table {
    program: "mkfs of ext3 and ext4",
    allowed: &[
        opt(&["-b"], OneOf(BLOCKS)),
        opt(&["-C"], Size),
        opt(&["-D"], Switch),
        opt(
            &["-E"],
            Named(&[
                perhaps("assume_storage_prezeroed", OneOf(BIT)),
                named("desc_size", Number),
                named("discard", Switch),
                named("encoding", OneOf(&["utf8", "utf8-12.1"])),
                named("encoding_flags", OneOf(&["strict", "nostrict"])),
                perhaps("lazy_itable_init", OneOf(BIT)),
                perhaps("lazy_journal_init", OneOf(BIT)),
                named("mmp_update_interval", Number),
                named("nodiscard", Switch),
                named("num_backup_sb", OneOf(&["0", "1", "2"])),
                named("orphan_file_size", Size),
                perhaps("packed_meta_blocks", OneOf(BIT)),
                named("resize", Size),
                named("stride", Number),
                named("stripe-width", Number),
                named("stripe_width", Number),
            ]),
        ),
        opt(&["-g"], Number),
        opt(&["-G"], Number),
        opt(&["-i"], Size),
        opt(&["-I"], Number),
        opt(&["-j"], Switch),
        opt(&["-J"], Named(&[named("size", Size), named("fast_commit_size", Size), named("location", Size)])),
        opt(&["-K"], Switch),
        opt(&["-L"], Label),
        opt(&["-m"], Decimal),
        opt(&["-N"], Number),
        opt(
            &["-O"],
            Features(&[
                "64bit",
                "bigalloc",
                "casefold",
                "dir_index",
                "dir_nlink",
                "ea_inode",
                "encrypt",
                "ext_attr",
                "extent",
                "extents",
                "extra_isize",
                "fast_commit",
                "filetype",
                "flex_bg",
                "has_journal",
                "huge_file",
                "inline_data",
                "large_dir",
                "large_file",
                "meta_bg",
                "metadata_csum",
                "metadata_csum_seed",
                "mmp",
                "none",
                "orphan_file",
                "project",
                "quota",
                "resize_inode",
                "sparse_super",
                "sparse_super2",
                "stable_inodes",
                "uninit_bg",
                "verity",
            ]),
        ),
        opt(&["-q"], Switch),
        opt(
            &["-T"],
            OneOf(&["big", "default", "floppy", "huge", "largefile", "largefile4", "news", "small"]),
        ),
        opt(&["-v"], Switch),
    ],
    refused: &[
        ("-z", "it would write an undo file outside the volumes"),
        ("-l", "it would read a list of bad blocks from a file"),
        ("-d", "it would copy a directory into the file system"),
        ("-c", "it would run another program over the whole device"),
        ("-e", "the kernel could be told to halt the machine at an error"),
        ("-F", FORCE),
        ("-n", NOTHING_MADE),
        ("-S", NOTHING_MADE),
        ("-V", NOTHING_MADE),
        ("-t", OTHER_FS),
        ("-U", OWN),
        ("-J device", OUTSIDE),
        ("-E offset", "the file system would begin elsewhere on the device, and could not be mounted"),
        ("-O journal_dev", "a journal alone is not a file system"),
    ],
};
