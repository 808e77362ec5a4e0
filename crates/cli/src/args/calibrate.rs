//! `diskproof calibrate`.

use clap::{ValueEnum, ValueHint};

#[derive(Debug, clap::Args)]
pub(crate) struct Calibrate {
    /// A directory, or a claimed disk by its name in /dev/disk/by-id; default: an emulated volume (needs root)
    #[arg(value_hint = ValueHint::AnyPath)]
    pub(crate) volume: Option<String>,
    /// Limit of the emulated volume, in IOPS, for reads and for writes
    #[arg(long, default_value_t = 500, value_name = "N", conflicts_with = "volume",
        value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) iops: u64,
    /// Only these workloads; repeatable
    #[arg(long, value_enum, value_name = "NAME")]
    pub(crate) workload: Vec<Load>,
    /// Measured seconds per trial
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub(crate) seconds: u32,
    /// Rounds; each measures every workload once with each engine
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rounds: u32,
    /// Data per trial, e.g. 512m; default: 128m on an emulated volume, 1g on a disk, as `quick` in a directory
    #[arg(long, value_name = "SIZE")]
    pub(crate) size: Option<String>,
    /// Difference of IOPS and bandwidth that still counts as agreement, in percent
    #[arg(long, default_value_t = 1.0, value_name = "PERCENT", value_parser = margin)]
    pub(crate) rate_margin: f64,
    /// Difference of latencies that still counts as agreement, in percent
    #[arg(long, default_value_t = 2.0, value_name = "PERCENT", value_parser = margin)]
    pub(crate) latency_margin: f64,
    /// Measure nothing: judge the trials of this run (its name, the beginning of it, or `latest`)
    #[arg(long, value_name = "RUN", conflicts_with_all = ["volume", "iops", "workload", "seconds", "rounds", "size"])]
    pub(crate) run: Option<String>,
    /// Print the judgement as one JSON document, format diskproof.agreement/1.0 (docs/calibrate.md)
    #[arg(long)]
    pub(crate) json: bool,
}

/// A workload that both engines run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Load {
    /// Random reads of 4k, one at a time
    #[value(name = "randread-d1")]
    RandreadD1,
    /// Random reads of 4k, 16 in flight
    Randread,
    /// Random writes of 4k, 16 in flight
    Randwrite,
    /// Sequential reads of 128k, 4 in flight
    Read,
    /// 70 % reads, 30 % writes of 4k, random, 16 in flight
    Mix,
}

impl Load {
    /// All workloads.
    pub(crate) const ALL: [Self; 5] =
        [Self::RandreadD1, Self::Randread, Self::Randwrite, Self::Read, Self::Mix];
}

/// Parses a margin in percent: above 0, at most 100.
pub(super) fn margin(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    let margin = number.parse::<f64>().map_err(|_| "expected a number of percent, e.g. 2".to_owned())?;
    if margin > 0.0 && margin <= 100.0 {
        Ok(margin)
    } else {
        Err("expected more than 0, at most 100".to_owned())
    }
}
