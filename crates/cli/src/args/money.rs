//! `diskproof cost` and `diskproof choose`.

use clap::{ValueEnum, ValueHint};
use record::choice::Want;
use std::path::PathBuf;

/// The end of `diskproof cost --help`.
pub(super) const COST_HELP: &str = "\
Examples:
  diskproof cost experiments/prices/2009-three-offers.yaml
  diskproof cost prices.yaml --for 3y              who is cheapest over three years?
  diskproof cost prices.yaml --for 10m             started units are paid in full
  diskproof cost prices.yaml --size 500g --iops 4000 --throughput 250m
  diskproof cost prices.yaml --json | jq '.offers[] | [.offer, .sum.per_month.text]'

FILE is a price list, or an experiment with `prices`. Nothing is fetched: the prices are those in the file.";

/// The end of `diskproof choose --help`.
pub(super) const CHOOSE_HELP: &str = "\
Examples:
  diskproof choose --want 'iops >= 3000, read_lat_p99 <= 5ms'
  diskproof choose --want 'bw >= 200m' --workload stream volumes@last
  diskproof choose --want 'iops >= 300' --json | jq '.answers[].text'

Exit code 0: there is a cheapest stack, and every cheaper one is shown not to meet the limits. 1: no measured stack
meets them. 5: undecided; more rounds would decide.";

#[derive(Debug, clap::Args)]
pub(crate) struct Cost {
    /// A price list, or an experiment with `prices`
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// The time to pay for, e.g. 8760h, 3y, 36 months, 10m; default: the longest term of the offers, or a year
    #[arg(long = "for", value_name = "TIME", value_parser = spec::span)]
    pub(crate) time: Option<u64>,
    /// Size of a volume, for offers that don't name one, e.g. 500g
    #[arg(long, value_name = "SIZE", value_parser = spec::bytes)]
    pub(crate) size: Option<u64>,
    /// Provisioned IOPS, for offers that don't name them
    #[arg(long, value_name = "N")]
    pub(crate) iops: Option<u64>,
    /// Provisioned bytes per second, for offers that don't name them, e.g. 250m
    #[arg(long, value_name = "SIZE", value_parser = spec::bytes)]
    pub(crate) throughput: Option<u64>,
    /// Print one JSON document, format diskproof.cost/1.0 (docs/formats.md)
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Choose {
    /// The runs: names or their beginnings, `latest`, EXPERIMENT@last or EXPERIMENT@TAG
    #[arg(default_value = "latest")]
    pub(crate) run: Vec<String>,
    /// What a stack must do: METRIC >= VALUE or METRIC <= VALUE, separated by commas (docs/metrics.md)
    #[arg(long, value_name = "LIMITS", value_parser = wants, required = true)]
    pub(crate) want: Wants,
    /// What to minimise
    #[arg(long, value_enum, default_value_t = By::Price, value_name = "WHAT")]
    pub(crate) by: By,
    /// Only this workload; repeatable
    #[arg(long, value_name = "NAME")]
    pub(crate) workload: Vec<String>,
    /// Print one JSON document, format diskproof.choice/1.0 (docs/formats.md)
    #[arg(long)]
    pub(crate) json: bool,
}

/// The limits of `--want`.
#[derive(Debug, Clone)]
pub(crate) struct Wants(pub(crate) Vec<Want>);

/// What `choose` minimises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum By {
    /// The price of the volumes
    Price,
}

pub(super) fn wants(text: &str) -> Result<Wants, String> {
    spec::wants(text).map(Wants)
}
