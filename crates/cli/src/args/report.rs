//! `diskproof report`.

use clap::ValueHint;
use std::path::PathBuf;

/// The end of `diskproof report --help`.
pub(super) const REPORT_HELP: &str = "\
Examples:
  diskproof report latest -o answer.html            one file for a browser or a mail
  diskproof report 20261121-2014 -o answer.html
  diskproof report latest -o answer/                an overview and pages of 50 cells each, for a run of many cells
  diskproof report latest --chart dots-1 -o dots.svg    one picture, for a paper or a wiki
  diskproof report --all site                       pages of all runs, with the history of each experiment

The file needs nothing else: no network, and no script to be complete. A wrong name of a picture is answered with all names.";

#[derive(Debug, clap::Args)]
pub(crate) struct Report {
    /// The run: its name, the beginning of it, `latest`, EXPERIMENT@last or EXPERIMENT@TAG
    #[arg(default_value = "latest")]
    pub(crate) run: String,
    /// Where to write it; default: standard output, unless that is a terminal. A folder (DIR/) gets an overview and pages of 50 cells each
    #[arg(long, short, value_name = "FILE|DIR/", value_hint = ValueHint::AnyPath)]
    pub(crate) output: Option<PathBuf>,
    /// Write one picture as SVG instead of the page
    #[arg(long, value_name = "NAME")]
    pub(crate) chart: Option<String>,
    /// Write pages of all runs into this folder, with an index of the experiments; files of the same names there are replaced
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with_all = ["run", "output", "chart"])]
    pub(crate) all: Option<PathBuf>,
}
