//! `diskproof import`.

use clap::ValueHint;
use std::path::PathBuf;

/// The end of `diskproof import --help`.
pub(super) const IMPORT_HELP: &str = "\
Examples:
  diskproof import results/                    every result below the folder
  diskproof import before.json after.json
  diskproof import run1 run2 run3 --stack nas  the folders are repeats of the same jobs
  diskproof import results/ --memory 64g --filesystem btrfs

It reads JSON of fio (json and json+, from 2.1 on), fio's logs, trees of bench-fio, CSV of Bonnie++ and of elbencho. The same job \
with the same options again is another round; what differs between the files becomes a factor. Folders, and devices where folders \
don't tell them apart, become stacks. Other tools don't count where the bytes came from, so the result says that it is unknown, and \
which options of the job leave a figure in doubt.

Exit code 2: a file could not be read; the message names it, and the others are imported. docs/how-to/import.md has more.";

#[derive(Debug, clap::Args)]
pub(crate) struct Import {
    /// Files, or folders that are searched for results
    #[arg(required = true, value_name = "FILE|DIR", value_hint = ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,
    /// Name of the experiment; default: that of the first file or folder
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// All files are of this stack: the same job in several folders is repeated, not compared
    #[arg(long, value_name = "NAME")]
    pub(crate) stack: Option<String>,
    /// Memory of the machine that measured, e.g. 64g: buffered reads of less data get a caveat
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<String>,
    /// File system that was measured, e.g. ext4, btrfs, tmpfs
    #[arg(long, value_name = "TYPE")]
    pub(crate) filesystem: Option<String>,
    /// Print what was imported as one JSON document, format diskproof.import/1.0 (docs/formats.md)
    #[arg(long)]
    pub(crate) json: bool,
}
