//! mkfs.xfs (xfsprogs 6).

use super::table::Form::{Label, Named, Number, OneOf, Size, Switch};
use super::table::{Table, named, opt, perhaps};

const BIT: &[&str] = &["0", "1"];
const OUTSIDE: &str = "it would read or write files or devices that are no part of the stack";
const SETTINGS: &str = "it would read its settings from a file";

/// `-r` is missing because a realtime device would be a device that the guard did not clear.
pub(super) static TABLE: Table = Table {
    program: "mkfs.xfs",
    allowed: &[
        opt(&["-b"], Named(&[named("size", Size)])),
        opt(
            &["-d"],
            Named(&[
                named("agcount", Number),
                named("agsize", Size),
                perhaps("concurrency", Number),
                named("cowextsize", Number),
                named("daxinherit", OneOf(BIT)),
                named("extszinherit", Number),
                named("noalign", Switch),
                named("projinherit", Number),
                named("sectsize", Size),
                named("size", Size),
                named("su", Size),
                named("sunit", Number),
                named("sw", Number),
                named("swidth", Number),
            ]),
        ),
        opt(
            &["-i"],
            Named(&[
                named("align", OneOf(BIT)),
                named("attr", OneOf(&["0", "1", "2"])),
                perhaps("exchange", OneOf(BIT)),
                named("maxpct", Number),
                perhaps("nrext64", OneOf(BIT)),
                named("perblock", Number),
                named("projid32bit", OneOf(BIT)),
                named("size", Size),
                perhaps("sparse", OneOf(BIT)),
            ]),
        ),
        opt(&["-K"], Switch),
        opt(
            &["-l"],
            Named(&[
                named("agnum", Number),
                perhaps("concurrency", Number),
                perhaps("internal", OneOf(&["1"])),
                named("lazy-count", OneOf(BIT)),
                named("sectsize", Size),
                named("size", Size),
                named("su", Size),
                named("sunit", Number),
                named("version", OneOf(&["1", "2"])),
            ]),
        ),
        opt(&["-L"], Label),
        opt(
            &["-m"],
            Named(&[
                perhaps("bigtime", OneOf(BIT)),
                named("crc", OneOf(BIT)),
                perhaps("finobt", OneOf(BIT)),
                perhaps("inobtcount", OneOf(BIT)),
                perhaps("reflink", OneOf(BIT)),
                perhaps("rmapbt", OneOf(BIT)),
            ]),
        ),
        opt(
            &["-n"],
            Named(&[
                named("ftype", OneOf(BIT)),
                perhaps("parent", OneOf(BIT)),
                named("size", Size),
                named("version", OneOf(&["2", "ci"])),
            ]),
        ),
        opt(&["-q"], Switch),
        opt(&["-s"], Named(&[named("size", Size), named("sectsize", Size)])),
    ],
    refused: &[
        ("-c", SETTINGS),
        ("-p", "it would copy files into the file system"),
        ("-r", OUTSIDE),
        ("-N", "no file system would be made"),
        ("-V", "no file system would be made"),
        ("-f", "mkfs must refuse a device that is in use; diskproof's checks decide what may be overwritten"),
        ("-d name", OUTSIDE),
        ("-d file", OUTSIDE),
        ("-l logdev", OUTSIDE),
        ("-l name", OUTSIDE),
        ("-l file", OUTSIDE),
        ("-m uuid", "diskproof sets it itself: it knows its file systems by their UUID"),
    ],
};
