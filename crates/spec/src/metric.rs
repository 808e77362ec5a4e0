//! Names of metrics.

use crate::pace::options;
use record::plan::Cell;
use record::workload::{Ask, Rw};

/// Metrics of trials (docs/metrics.md).
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
    "seconds",
    "sync_seconds",
    "files_per_second",
    "logical_bytes",
    "allocated_bytes",
    "space_per_file",
    "compress_ratio",
    "char_output_bw",
    "block_output_bw",
    "rewrite_bw",
    "char_input_bw",
    "block_input_bw",
    "seeks",
    "seq_create",
    "seq_stat",
    "seq_delete",
    "random_create",
    "random_stat",
    "random_delete",
    "char_output_cpu",
    "block_output_cpu",
    "rewrite_cpu",
    "char_input_cpu",
    "block_input_cpu",
    "seeks_cpu",
    "seq_create_cpu",
    "seq_stat_cpu",
    "seq_delete_cpu",
    "random_create_cpu",
    "random_stat_cpu",
    "random_delete_cpu",
    "char_output_lat_max",
    "block_output_lat_max",
    "rewrite_lat_max",
    "char_input_lat_max",
    "block_input_lat_max",
    "seeks_lat_max",
    "seq_create_lat_max",
    "seq_stat_lat_max",
    "seq_delete_lat_max",
    "random_create_lat_max",
    "random_stat_lat_max",
    "random_delete_lat_max",
    "engine_cpu",
    "engine_busiest_thread",
    "engine_cpu_per_io",
    "engine_instructions_per_io",
    "flush_seconds",
    "owed_bytes",
];

/// Prefixes of the metrics that only Bonnie++ has.
const OF_BONNIE: [&str; 7] = ["char_", "block_", "rewrite_", "seeks", "seq_", "random_", "rewrite"];

/// Metrics that only a copy of a tree of files has.
const OF_A_COPY: [&str; 7] = [
    "seconds",
    "sync_seconds",
    "files_per_second",
    "logical_bytes",
    "allocated_bytes",
    "space_per_file",
    "compress_ratio",
];

/// Metrics that only a cell with a flushed LVM cache has.
const OF_A_FLUSH: [&str; 2] = ["flush_seconds", "owed_bytes"];

/// Whether a cell has a metric: a cell that never reads has no read rate. A job file with unknown jobs may have any metric.
pub(crate) fn had_by(metric: &str, cell: &Cell) -> bool {
    let workload = &cell.workload;
    if OF_A_FLUSH.contains(&metric) {
        return cell.stack.flushes();
    }
    let of_bonnie = OF_BONNIE.iter().any(|begin| metric.starts_with(begin));
    let of_a_copy = OF_A_COPY.contains(&metric);
    match &workload.ask {
        Ask::Bonnie(_) => return of_bonnie,
        Ask::Copy(_) => return of_a_copy || metric == "bw" || metric.starts_with("engine_"),
        Ask::Options(_) | Ask::JobFile { .. } if of_a_copy || of_bonnie => return false,
        _ => {}
    }
    let does: fn(Rw) -> bool = match metric.split_once('_') {
        Some(("read", _)) => Rw::reads,
        Some(("write", _)) => Rw::writes,
        Some(("trim", _)) => Rw::trims,
        _ => return true,
    };
    let jobs = options(&workload.ask);
    jobs.is_empty() || jobs.iter().any(|options| does(options.rw))
}
