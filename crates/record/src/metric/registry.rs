//! The metrics that diskproof knows: name, unit, direction, resolution, label and who has it. docs/metrics.md describes each.

use crate::plan::Cell;
use crate::workload::{Ask, EngineKind, Options, Rw, SyncMode};

/// What is known of a metric before it is measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MetricInfo {
    /// Its name in files, JSON and CSV.
    pub name: &'static str,
    /// Its unit: `1/s`, `B/s`, `us`, `s`, `B`, `cores`, `ns`, `files/s`, `money` for the experiment's currency, or `1` for a plain number.
    pub unit: &'static str,
    /// Whether less of it is better: latencies, times, space and costs.
    pub lower_is_better: bool,
    /// How finely one trial can tell it.
    pub resolution: Resolution,
    /// Which cells have it.
    pub of: MetricOf,
    /// The name of its line in a table; `None`: it has no line of its own.
    pub label: Option<&'static str>,
    /// What a unit of `1/s` counts where it is not I/Os, as in "files per second".
    pub counts: Option<&'static str>,
}

/// How finely one trial can tell a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolution {
    /// To the floating-point number.
    Exact,
    /// To one I/O over the length of the trial.
    OneIo,
    /// To one bin of the latency histogram.
    LatencyBin,
}

/// The direction of an I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Trims.
    Trim,
}

/// What an engine must know of the times until writes are durable, to have a metric of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// Their mean.
    Mean,
    /// The time of each write.
    Each,
    /// The longest.
    Longest,
}

/// Which cells have a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricOf {
    /// Loads by fio's options or by a job file.
    Load,
    /// Those loads, and copies.
    LoadOrCopy,
    /// Loads of which one job at least reads, writes or trims.
    Side(Side),
    /// Loads with at least one job that syncs after its writes.
    Sync,
    /// Loads with writes that become durable while they run, where the engine knows when.
    Durable(Known),
    /// Copies of a tree of files.
    Copy,
    /// Bonnie++.
    Bonnie,
    /// Everything but Bonnie++: what making the load costs.
    Engine,
    /// Cells whose LVM cache is flushed when it is taken away.
    Flush,
    /// Work that ends by itself: copies, Bonnie++, and loads of which every job goes over its data once.
    Job,
}

impl MetricInfo {
    /// A metric of any unit that is told exactly; more of it is better.
    const fn new(name: &'static str, unit: &'static str, of: MetricOf) -> Self {
        Self {
            name,
            unit,
            lower_is_better: false,
            resolution: Resolution::Exact,
            of,
            label: None,
            counts: None,
        }
    }

    /// I/Os or bytes per second of a load.
    const fn rate(name: &'static str, unit: &'static str, of: MetricOf) -> Self {
        Self { resolution: Resolution::OneIo, ..Self::new(name, unit, of) }
    }

    /// A figure of which less is better.
    const fn cost(name: &'static str, unit: &'static str, of: MetricOf) -> Self {
        Self { lower_is_better: true, ..Self::new(name, unit, of) }
    }

    /// A percentile of latencies, in microseconds.
    const fn percentile(name: &'static str, side: Side) -> Self {
        Self::percentile_of(name, MetricOf::Side(side))
    }

    /// A percentile of other latencies, in microseconds.
    const fn percentile_of(name: &'static str, of: MetricOf) -> Self {
        Self { resolution: Resolution::LatencyBin, ..Self::cost(name, "us", of) }
    }

    const fn label(self, label: &'static str) -> Self {
        Self { label: Some(label), ..self }
    }

    const fn counts(self, counts: &'static str) -> Self {
        Self { counts: Some(counts), ..self }
    }

    /// Whether a cell has it, as far as its workload says: a cell that never reads has no rate of reads. A job file whose jobs aren't known may
    /// read, write and trim.
    #[must_use]
    pub fn had_by(&self, cell: &Cell) -> bool {
        let ask = &cell.workload.ask;
        let load = matches!(ask, Ask::Options(_) | Ask::JobFile { .. });
        match self.of {
            MetricOf::Load => load,
            MetricOf::LoadOrCopy => load || matches!(ask, Ask::Copy(_)),
            MetricOf::Copy => matches!(ask, Ask::Copy(_)),
            MetricOf::Bonnie => matches!(ask, Ask::Bonnie(_)),
            MetricOf::Engine => !matches!(ask, Ask::Bonnie(_)),
            MetricOf::Flush => cell.stack.flushes(),
            MetricOf::Job => {
                !load || cell.workload.all_options().into_iter().all(|options| !options.time_based)
            }
            MetricOf::Side(side) => load && some_job(cell, |options| side.is_done_by(options.rw)),
            MetricOf::Sync => load && some_job(cell, Options::syncs),
            MetricOf::Durable(known) => {
                load && some_job(cell, |options| known.is_told_by(cell.workload.engine, options))
            }
        }
    }

    /// Whether a load with these options has it; `true` for metrics that don't depend on them.
    #[must_use]
    pub fn is_of(&self, options: &Options) -> bool {
        match self.of {
            MetricOf::Side(side) => side.is_done_by(options.rw),
            MetricOf::Sync => options.syncs(),
            MetricOf::Durable(_) => options.writes_become_durable(),
            MetricOf::Job => !options.time_based,
            MetricOf::Load
            | MetricOf::LoadOrCopy
            | MetricOf::Copy
            | MetricOf::Bonnie
            | MetricOf::Engine
            | MetricOf::Flush => true,
        }
    }

    /// The direction of the I/O that it is about; `None`: all I/O, or none.
    #[must_use]
    pub fn side(&self) -> Option<Side> {
        match self.of {
            MetricOf::Side(side) => Some(side),
            MetricOf::Load
            | MetricOf::LoadOrCopy
            | MetricOf::Sync
            | MetricOf::Durable(_)
            | MetricOf::Copy
            | MetricOf::Bonnie
            | MetricOf::Engine
            | MetricOf::Flush
            | MetricOf::Job => None,
        }
    }

    /// Whether it is about work that ends when it is done, not after a length of time.
    #[must_use]
    pub fn is_to_completion(&self) -> bool {
        matches!(self.of, MetricOf::Copy | MetricOf::Bonnie | MetricOf::Job)
    }
}

/// Whether any of a load's jobs is like this, or none of them is known.
fn some_job(cell: &Cell, is: impl Fn(&Options) -> bool) -> bool {
    let jobs = cell.workload.all_options();
    jobs.is_empty() || jobs.into_iter().any(is)
}

impl Known {
    /// Whether an engine tells it of a job. fio reports syncs apart from the writes before them: their means can be added where each
    /// write has its own sync, and nothing else can. With O_SYNC and O_DSYNC a write's own latency is the whole time.
    fn is_told_by(self, engine: EngineKind, options: &Options) -> bool {
        let by_fio = match self {
            Self::Mean => options.sync != SyncMode::None || options.syncs_each_write(),
            Self::Each => options.sync != SyncMode::None,
            Self::Longest => false,
        };
        options.writes_become_durable() && (engine != EngineKind::Fio || by_fio)
    }
}

impl Side {
    fn is_done_by(self, rw: Rw) -> bool {
        match self {
            Self::Read => rw.reads(),
            Self::Write => rw.writes(),
            Self::Trim => rw.trims(),
        }
    }
}

/// A metric by its name; `None`: not a measured one (a derived one, or of a newer diskproof).
#[must_use]
pub fn info(name: &str) -> Option<&'static MetricInfo> {
    METRICS.iter().find(|metric| metric.name == name)
}

/// The metric of the time that a whole job takes.
pub const JOB_SECONDS: &str = "seconds";
/// The unit of prices: the experiment's currency.
pub const MONEY: &str = "money";
/// The metric of the price of a whole job.
pub const PRICE_PER_JOB: &str = "price_per_job";

const READ: MetricOf = MetricOf::Side(Side::Read);
const WRITE: MetricOf = MetricOf::Side(Side::Write);
const TRIM: MetricOf = MetricOf::Side(Side::Trim);

/// All metrics of a trial. Tables show those with a label in this order.
pub const METRICS: &[MetricInfo] = &[
    MetricInfo::rate("iops", "1/s", MetricOf::Load),
    MetricInfo::rate("read_iops", "1/s", READ),
    MetricInfo::rate("write_iops", "1/s", WRITE),
    MetricInfo::rate("trim_iops", "1/s", TRIM),
    MetricInfo::rate("bw", "B/s", MetricOf::LoadOrCopy),
    MetricInfo::rate("read_bw", "B/s", READ),
    MetricInfo::rate("write_bw", "B/s", WRITE),
    MetricInfo::rate("trim_bw", "B/s", TRIM),
    MetricInfo::cost("read_lat_mean", "us", READ),
    MetricInfo::percentile("read_lat_p50", Side::Read),
    MetricInfo::percentile("read_lat_p99", Side::Read),
    MetricInfo::percentile("read_lat_p999", Side::Read),
    MetricInfo::cost("write_lat_mean", "us", WRITE),
    MetricInfo::percentile("write_lat_p50", Side::Write),
    MetricInfo::percentile("write_lat_p99", Side::Write),
    MetricInfo::percentile("write_lat_p999", Side::Write),
    MetricInfo::cost("trim_lat_mean", "us", TRIM),
    MetricInfo::percentile("trim_lat_p50", Side::Trim),
    MetricInfo::percentile("trim_lat_p99", Side::Trim),
    MetricInfo::percentile("trim_lat_p999", Side::Trim),
    MetricInfo::cost("sync_lat_mean", "us", MetricOf::Sync),
    MetricInfo::percentile_of("sync_lat_p50", MetricOf::Sync),
    MetricInfo::percentile_of("sync_lat_p99", MetricOf::Sync),
    MetricInfo::percentile_of("sync_lat_p999", MetricOf::Sync),
    MetricInfo::cost("sync_lat_max", "us", MetricOf::Sync),
    MetricInfo::cost("durable_lat_mean", "us", MetricOf::Durable(Known::Mean)),
    MetricInfo::percentile_of("durable_lat_p50", MetricOf::Durable(Known::Each)),
    MetricInfo::percentile_of("durable_lat_p99", MetricOf::Durable(Known::Each)),
    MetricInfo::percentile_of("durable_lat_p999", MetricOf::Durable(Known::Each)),
    MetricInfo::cost("durable_lat_max", "us", MetricOf::Durable(Known::Longest)),
    MetricInfo::new("files_per_second", "files/s", MetricOf::Copy).label("rate"),
    MetricInfo::cost(JOB_SECONDS, "s", MetricOf::Job).label("time"),
    MetricInfo::cost(PRICE_PER_JOB, MONEY, MetricOf::Job),
    MetricInfo::cost("sync_seconds", "s", MetricOf::Copy),
    MetricInfo::new("logical_bytes", "B", MetricOf::Copy),
    MetricInfo::cost("allocated_bytes", "B", MetricOf::Copy),
    MetricInfo::new("compress_ratio", "1", MetricOf::Copy).label("ratio"),
    MetricInfo::cost("space_per_file", "B", MetricOf::Copy).label("per file"),
    MetricInfo::new("char_output_bw", "B/s", MetricOf::Bonnie).label("char output"),
    MetricInfo::new("block_output_bw", "B/s", MetricOf::Bonnie).label("block output"),
    MetricInfo::new("rewrite_bw", "B/s", MetricOf::Bonnie).label("rewrite"),
    MetricInfo::new("char_input_bw", "B/s", MetricOf::Bonnie).label("char input"),
    MetricInfo::new("block_input_bw", "B/s", MetricOf::Bonnie).label("block input"),
    MetricInfo::new("seeks", "1/s", MetricOf::Bonnie).label("seeks").counts("seeks"),
    MetricInfo::new("seq_create", "1/s", MetricOf::Bonnie).label("seq create").counts("files"),
    MetricInfo::new("seq_stat", "1/s", MetricOf::Bonnie).label("seq stat").counts("files"),
    MetricInfo::new("seq_delete", "1/s", MetricOf::Bonnie).label("seq delete").counts("files"),
    MetricInfo::new("random_create", "1/s", MetricOf::Bonnie).label("rnd create").counts("files"),
    MetricInfo::new("random_stat", "1/s", MetricOf::Bonnie).label("rnd stat").counts("files"),
    MetricInfo::new("random_delete", "1/s", MetricOf::Bonnie).label("rnd delete").counts("files"),
    MetricInfo::cost("char_output_cpu", "cores", MetricOf::Bonnie),
    MetricInfo::cost("block_output_cpu", "cores", MetricOf::Bonnie),
    MetricInfo::cost("rewrite_cpu", "cores", MetricOf::Bonnie),
    MetricInfo::cost("char_input_cpu", "cores", MetricOf::Bonnie),
    MetricInfo::cost("block_input_cpu", "cores", MetricOf::Bonnie),
    MetricInfo::cost("seeks_cpu", "cores", MetricOf::Bonnie),
    MetricInfo::cost("seq_create_cpu", "cores", MetricOf::Bonnie),
    MetricInfo::cost("seq_stat_cpu", "cores", MetricOf::Bonnie),
    MetricInfo::cost("seq_delete_cpu", "cores", MetricOf::Bonnie),
    MetricInfo::cost("random_create_cpu", "cores", MetricOf::Bonnie),
    MetricInfo::cost("random_stat_cpu", "cores", MetricOf::Bonnie),
    MetricInfo::cost("random_delete_cpu", "cores", MetricOf::Bonnie),
    MetricInfo::cost("char_output_lat_max", "us", MetricOf::Bonnie),
    MetricInfo::cost("block_output_lat_max", "us", MetricOf::Bonnie),
    MetricInfo::cost("rewrite_lat_max", "us", MetricOf::Bonnie),
    MetricInfo::cost("char_input_lat_max", "us", MetricOf::Bonnie),
    MetricInfo::cost("block_input_lat_max", "us", MetricOf::Bonnie),
    MetricInfo::cost("seeks_lat_max", "us", MetricOf::Bonnie),
    MetricInfo::cost("seq_create_lat_max", "us", MetricOf::Bonnie),
    MetricInfo::cost("seq_stat_lat_max", "us", MetricOf::Bonnie),
    MetricInfo::cost("seq_delete_lat_max", "us", MetricOf::Bonnie),
    MetricInfo::cost("random_create_lat_max", "us", MetricOf::Bonnie),
    MetricInfo::cost("random_stat_lat_max", "us", MetricOf::Bonnie),
    MetricInfo::cost("random_delete_lat_max", "us", MetricOf::Bonnie),
    MetricInfo::cost("engine_cpu", "cores", MetricOf::Engine),
    MetricInfo::cost("engine_busiest_thread", "cores", MetricOf::Engine),
    MetricInfo::cost("engine_cpu_per_io", "ns", MetricOf::Engine),
    MetricInfo::cost("engine_instructions_per_io", "1", MetricOf::Engine),
    MetricInfo::cost("flush_seconds", "s", MetricOf::Flush),
    MetricInfo::cost("owed_bytes", "B", MetricOf::Flush),
];

#[cfg(test)]
mod tests {
    use super::{METRICS, info};

    #[test]
    fn no_two_have_the_same_name_or_label() {
        for (i, one) in METRICS.iter().enumerate() {
            for other in &METRICS[i + 1..] {
                assert_ne!(one.name, other.name);
                assert!(one.label.is_none() || one.label != other.label, "{} {}", one.name, other.name);
            }
        }
    }

    #[test]
    fn latencies_and_costs_are_better_low() {
        let lower = |name: &str| info(name).unwrap().lower_is_better;
        for name in
            ["read_lat_p99", "engine_cpu_per_io", "seconds", "space_per_file", "flush_seconds", "seeks_cpu"]
        {
            assert!(lower(name), "{name}");
        }
        for name in ["iops", "read_bw", "files_per_second", "compress_ratio", "seeks"] {
            assert!(!lower(name), "{name}");
        }
        assert_eq!(info("iops_per_core"), None);
    }
}
