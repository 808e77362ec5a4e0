//! The commands and flags of `diskproof driver`.

use super::output::JsonOnly;
use clap::{Args, Subcommand, ValueHint};
use std::ffi::OsString;
use std::path::PathBuf;

/// The end of `diskproof driver --help`.
pub(super) const DRIVER_HELP: &str = "\
Examples:
  diskproof driver list
  diskproof driver check folder --settings folder.yaml
  diskproof driver check ./diskproof-driver-mine --settings mine.yaml
  echo '{\"protocol\":\"1.0\",\"do\":\"capabilities\"}' | diskproof driver NAME    a built-in driver, as diskproof calls it

A driver is a program that creates machines and volumes. Those of others are files diskproof-driver-NAME in a directory of PATH. \
docs/driver-protocol.md describes what a driver reads and writes.";

const CHECK_HELP: &str = "\
Examples:
  diskproof driver check folder --settings folder.yaml
  diskproof driver check ./diskproof-driver-mine --settings mine.yaml

The check creates two machines for each of two claims, and destroys them again: they cost what the provider bills for them. The file holds \
the settings of one machine as a target of an experiment does:
  region: eu-west-1
  volumes: { v: { size: 1g, type: gp3 } }

Exit code 0: the driver keeps all rules; 1: it breaks one; 4: something that the check created is left.";

#[derive(Debug, Args)]
pub(crate) struct Driver {
    #[command(subcommand)]
    pub(crate) verb: DriverVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DriverVerb {
    /// List the built-in drivers and those on the PATH
    List(JsonOnly),
    /// Check that a driver keeps to the protocol; it creates machines and destroys them again
    #[command(after_help = CHECK_HELP)]
    Check(DriverCheck),
    /// Run a built-in driver: it reads one request from standard input
    #[command(external_subcommand)]
    Serve(Vec<OsString>),
}

#[derive(Debug, Args)]
pub(crate) struct DriverCheck {
    /// The driver: its name, or the path of its program
    #[arg(value_name = "CMD", value_hint = ValueHint::ExecutablePath)]
    pub(crate) driver: String,
    /// Settings of a machine that the driver can create: YAML or JSON
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) settings: Option<PathBuf>,
    /// The longest time of one request, e.g. 20m
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = spec::seconds)]
    pub(crate) limit: f64,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
