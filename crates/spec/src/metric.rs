//! Metrics by name.

use crate::pace::options;
use record::workload::{Rw, Workload};

/// What is measured in every trial (docs/metrics.md).
pub(crate) const METRICS: &[&str] = &[
    "iops",
    "read_iops",
    "write_iops",
    "trim_iops",
    "bw",
    "read_bw",
    "write_bw",
    "trim_bw",
    "read_lat_mean",
    "read_lat_p50",
    "read_lat_p99",
    "read_lat_p999",
    "write_lat_mean",
    "write_lat_p50",
    "write_lat_p99",
    "write_lat_p999",
    "trim_lat_mean",
    "trim_lat_p50",
    "trim_lat_p99",
    "trim_lat_p999",
    "engine_cpu",
    "engine_busiest_thread",
    "engine_cpu_per_io",
    "engine_instructions_per_io",
];

/// Whether a workload has a metric: one that never reads has no rate of reads. A job file whose jobs aren't known may have any.
pub(crate) fn had_by(metric: &str, workload: &Workload) -> bool {
    let does: fn(Rw) -> bool = match metric.split_once('_') {
        Some(("read", _)) => Rw::reads,
        Some(("write", _)) => Rw::writes,
        Some(("trim", _)) => Rw::trims,
        _ => return true,
    };
    let jobs = options(&workload.ask);
    jobs.is_empty() || jobs.iter().any(|options| does(options.rw))
}
