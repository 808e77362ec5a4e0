//! `diskproof gate`, `diskproof history` and `diskproof tag`, and which figures runs are compared by.

use super::calibrate;
use clap::{ValueEnum, ValueHint};
use std::path::PathBuf;

/// The end of `diskproof gate --help`. One line per paragraph: it is wrapped at the terminal's width.
pub(super) const GATE_HELP: &str = "\
Examples:
  diskproof gate --baseline fs-fsync@nightly        the latest run against the one with that tag
  diskproof gate --baseline fs-fsync@last           against the run of fs-fsync before it
  diskproof gate --baseline 20261121-2014 latest --margin rate=3% --margin p99=20%
  diskproof gate --baseline fs-fsync@nightly --junit gate.xml --summary \"$GITHUB_STEP_SUMMARY\"
  diskproof gate --baseline 20261121-2014 --of iops --margin 5 --undecided fail

It judges the rate, the 99th percentile of latency (where ten I/Os of each trial lie beyond it) and the CPU time per I/O of \
every cell. A figure is a regression if it is shown to be worse, with the error controlled over all figures, and its estimate \
is worse by more than its margin. It passes if a regression of twice the margin is excluded. Else it is undecided: measure more \
rounds.

Exit code 5: undecided, or the run lacks cells or figures of the baseline. 3: the runs are of different machines, or have \
nothing in common. docs/how-to/ci.md has workflows for GitHub and GitLab.";

/// The end of `diskproof history --help`.
pub(super) const HISTORY_HELP: &str = "\
Examples:
  diskproof history fs-fsync                which run made which figure worse, and how sure
  diskproof history fs-fsync --last 40 --of read_lat_p99
  diskproof history fs-fsync --json | jq '.lines[].changes[]'

A change of level needs 8 runs at least, and more where there are many figures, since the error is controlled over all of them.";

/// The end of `diskproof tag --help`.
pub(super) const TAG_HELP: &str = "\
Examples:
  diskproof tag latest nightly-42           fs-fsync@nightly-42 then means this run
  diskproof tag latest baseline --move      from the run of the same experiment that had it
  diskproof tag fs-fsync@nightly-42 nightly-42 --remove";

/// Which cells and figures are compared.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Choice {
    /// Only this metric (docs/metrics.md); repeatable
    #[arg(long, value_name = "METRIC")]
    pub(crate) of: Vec<String>,
    /// Only this stack; repeatable
    #[arg(long, value_name = "NAME")]
    pub(crate) stack: Vec<String>,
    /// Only this workload; repeatable
    #[arg(long, value_name = "NAME")]
    pub(crate) workload: Vec<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Gate {
    /// The baseline run; `EXPERIMENT@last` is the latest one before the checked run
    #[arg(long, value_name = "RUN")]
    pub(crate) baseline: String,
    /// The run to check: its name, the beginning of it, `latest`, EXPERIMENT@last or EXPERIMENT@TAG
    #[arg(default_value = "latest")]
    pub(crate) run: String,
    /// How much worse figures may be: `rate`, `latency` (5 % each), `cpu` (10 %), `other`, a percentile as `p99`, or a metric; without
    /// a name: all of them. Repeatable
    #[arg(long, value_name = "[NAME=]PERCENT", value_parser = margin)]
    pub(crate) margin: Vec<Margin>,
    #[command(flatten)]
    pub(crate) choice: Choice,
    /// Also pass if cells or figures of the baseline are missing from the run
    #[arg(long)]
    pub(crate) allow_missing: bool,
    /// Also compare runs of different machines
    #[arg(long)]
    pub(crate) across_machines: bool,
    /// How an undecided comparison ends, instead of with exit code 5
    #[arg(long, value_enum, value_name = "HOW")]
    pub(crate) undecided: Option<Undecided>,
    /// Write the result as JUnit XML, one test case per cell and metric
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) junit: Option<PathBuf>,
    /// Append the result to a file as Markdown
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) summary: Option<PathBuf>,
    /// Print one JSON document, format diskproof.comparison/1.1 (docs/formats.md)
    #[arg(long)]
    pub(crate) json: bool,
}

/// How an undecided comparison ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Undecided {
    /// No regression: exit code 0
    Pass,
    /// A regression: exit code 1
    Fail,
}

/// A margin, and the figures that it holds for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Margin {
    /// The figures; `None`: all.
    pub(crate) name: Option<String>,
    /// The margin as a share: 0.05 is 5 %.
    pub(crate) share: f64,
}

/// Parses `p99=20%` or `5`: above 0 and below 100, since a rate can't fall by 100 % or more.
fn margin(text: &str) -> Result<Margin, String> {
    let (name, percent) = match text.split_once('=') {
        Some((name, percent)) => (Some(name.trim().to_owned()), percent.trim()),
        None => (None, text),
    };
    let percent = calibrate::margin(percent)?;
    if percent < 100.0 {
        Ok(Margin { name, share: percent / 100.0 })
    } else {
        Err("expected less than 100".to_owned())
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct History {
    /// The experiment's name
    pub(crate) experiment: String,
    /// How many of its latest runs
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub(crate) last: u32,
    #[command(flatten)]
    pub(crate) choice: Choice,
    /// Print one JSON document, format diskproof.history/1.0 (docs/formats.md)
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Tag {
    /// The run: its name, the beginning of it, `latest`, EXPERIMENT@last or EXPERIMENT@TAG
    pub(crate) run: String,
    /// The tag: letters, digits and . _ -
    pub(crate) name: String,
    /// Take the tag from the run of the same experiment that has it
    #[arg(long = "move", conflicts_with = "remove")]
    pub(crate) moves: bool,
    /// Remove the tag from the run
    #[arg(long)]
    pub(crate) remove: bool,
}

#[cfg(test)]
mod tests {
    use super::margin;

    #[test]
    fn margins_are_of_all_figures_or_of_some() {
        let of = |text: &str| margin(text).map(|m| (m.name, m.share));
        assert_eq!(of("5"), Ok((None, 0.05)));
        assert_eq!(of("p99=20%"), Ok((Some("p99".to_owned()), 0.2)));
        assert_eq!(of("rate = 3 %"), Ok((Some("rate".to_owned()), 0.03)));
        for wrong in ["", "p99", "p99=", "100", "cpu=0", "cpu=-1"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }
}
