//! Options that only a job file may have, and other names of options.

use super::row::{FioOption, Native, alias, job_file, left_out, ours};

pub(super) const LAYOUT: &str = "diskproof lays the data out itself: see `layout`";
pub(super) const OWN: &str = "diskproof sets it itself, for every trial";
const FIGURES: &str = "diskproof keeps whole histograms, from which any percentile can be read";
const PLACE: &str = "it would point fio to other files or devices; diskproof places the data itself";
const VERIFY: &str = "diskproof reads everything back itself: see `verify`";
const BUFFERS: &str = "it only says from where fio takes its buffers";
const LOGS: &str = "the record has every I/O in histograms";
const CLOCK: &str =
    "the record needs the latencies, and a reading of the clock costs far less time than an I/O";
const FILES: &str = "every trial lays its files out in full before it measures, and removes them; `layout: hole` lets writes allocate";
const WHOLE: &str = "the job ends at the end of its file or region, as it would on a full device";
const STATE: &str = "it would write a file outside the volume, and changes no I/O";
pub(super) const SEARCH: &str = "fio would change the depth while it measures; a workload's `find` searches the most load within a \
                                 limit of latency, with an interval (docs/how-to/latency-limit.md)";
const JOBS: &str = "it concerns several jobs: write a job file (`fio: FILE`)";
pub(super) const TIME: &str =
    "a trial ends by its time, or with `time_based: 0` when its data is done: see `runtime` and `measure`";

/// Options that shape a job file's sections, or that change what diskproof sets for its own workloads.
pub(super) const JOB_FILE: &[FioOption] = &[
    job_file("allrandrepeat", OWN).native(Native::Ignores(&["0"])),
    job_file("description", OWN).native(Native::Ignores(&[])),
    job_file("directory", PLACE).native(Native::Ignores(&[])),
    // Native reads everything back anyway, outside the measured time.
    job_file("do_verify", VERIFY).native(Native::Ignores(&[])),
    job_file("exit_what", JOBS),
    job_file("exitall", JOBS),
    job_file("filename_format", PLACE),
    job_file("filesize", LAYOUT),
    job_file("flow_id", JOBS),
    job_file("invalidate", "see `cache`").native(Native::Ignores(&["1"])),
    job_file("io_limit", TIME),
    job_file("io_size", TIME),
    job_file("latency_percentile", SEARCH),
    job_file("latency_run", SEARCH),
    job_file("latency_target", SEARCH),
    job_file("latency_window", SEARCH),
    job_file("loops", TIME).native(Native::Ignores(&["1"])),
    job_file("mem", BUFFERS).native(Native::Ignores(BUFFER_KINDS)),
    job_file("new_group", JOBS).native(Native::Ignores(&[])),
    job_file("number_ios", TIME),
    job_file("odirect", "write `direct`"),
    job_file("offset_align", LAYOUT),
    job_file("offset_increment", LAYOUT),
    job_file("openfiles", LAYOUT),
    job_file("overwrite", LAYOUT).native(Native::Ignores(&[])),
    job_file("randrepeat", OWN).native(Native::Ignores(&["0"])),
    job_file("randseed", OWN),
    job_file("refill_buffers", OWN).native(Native::Ignores(&[])),
    job_file("startdelay", JOBS).native(Native::Ignores(&["0"])),
    job_file("stats", FIGURES).native(Native::Ignores(&["1"])),
    job_file("steadystate", TIME),
    job_file("steadystate_check_interval", TIME),
    job_file("steadystate_duration", TIME),
    job_file("steadystate_ramp_time", TIME),
    job_file("stonewall", OWN).native(Native::IgnoresAlone),
    job_file("trim_verify_zero", VERIFY),
    job_file("unique_filename", PLACE).native(Native::Ignores(&[])),
    job_file("verify_backlog", VERIFY),
    job_file("verify_backlog_batch", VERIFY),
    job_file("wait_for", JOBS),
];

/// Values of `mem` that name no file.
pub const BUFFER_KINDS: &[&str] = &["malloc", "shm", "shmhuge", "mmap", "mmapshared"];

/// Options that are left out of a job file, since they only add files or take figures away.
pub(super) const LEFT_OUT: &[FioOption] = &[
    left_out("allow_file_create", FILES),
    left_out("block_error_percentiles", LOGS),
    left_out("bwavgtime", LOGS),
    left_out("create_on_open", FILES),
    left_out("disable_bw_measurement", LOGS),
    left_out("disable_clat", CLOCK),
    left_out("disable_lat", CLOCK),
    left_out("disable_slat", CLOCK),
    left_out("error_dump", LOGS),
    left_out("fill_device", WHOLE),
    left_out("gtod_reduce", CLOCK),
    left_out("iopsavgtime", LOGS),
    left_out("log_alternate_epoch", LOGS),
    left_out("log_alternate_epoch_clock_id", LOGS),
    left_out("log_avg_msec", LOGS),
    left_out("log_compression", LOGS),
    left_out("log_compression_cpus", LOGS),
    left_out("log_hist_coarseness", LOGS),
    left_out("log_hist_msec", LOGS),
    left_out("log_issue_time", LOGS),
    left_out("log_offset", LOGS),
    left_out("log_prio", LOGS),
    left_out("log_store_compressed", LOGS),
    left_out("log_window_value", LOGS),
    left_out("per_job_logs", LOGS),
    left_out("status-interval", LOGS),
    left_out("unlink", FILES),
    left_out("unlink_each_loop", FILES),
    left_out("verify_dump", STATE),
    left_out(
        "verify_state_load",
        "every trial lays out in full what the job checks, so there is no state to go on from",
    ),
    left_out("verify_state_save", STATE),
    left_out("write_bw_log", LOGS),
    left_out("write_hist_log", LOGS),
    left_out("write_iolog", STATE),
    left_out("write_iops_log", LOGS),
    left_out("write_lat_log", LOGS),
];

/// Options that change how fio reports, lays out or ends, but not the load: diskproof sets them for all jobs.
pub(super) const OURS: &[FioOption] = &[
    ours("clat_percentiles", FIGURES),
    ours("create_fsync", LAYOUT),
    ours("create_serialize", LAYOUT),
    ours("disk_util", FIGURES),
    ours("exitall_on_error", OWN).native(Native::Ignores(&["1"])),
    ours("fallocate", LAYOUT),
    ours("group_reporting", OWN),
    ours("lat_percentiles", FIGURES),
    ours("name", OWN),
    ours("percentile_list", FIGURES),
    ours("significant_figures", FIGURES),
    ours("slat_percentiles", FIGURES),
    ours("thread", OWN),
    ours("unified_rw_reporting", OWN).native(Native::Ignores(&["0", "none"])),
];

/// Other names of options.
pub(super) const ALIASES: &[FioOption] = &[
    alias("blocksize", "bs", None),
    alias("blocksize_range", "bsrange", None),
    alias("buffered", "direct", Some(1)),
    alias("disable_bw", "disable_bw_measurement", None),
    alias("fileoffset", "offset", None),
    alias("fill_fs", "fill_device", None),
    alias("iomem", "mem", None),
    alias("log_max_value", "log_window_value", None),
    alias("log_unix_epoch", "log_alternate_epoch", None),
    alias("nr_files", "nrfiles", None),
    alias("ratecycle", "rate_cycle", None),
    alias("ratemin", "rate_min", None),
    alias("readwrite", "rw", None),
    alias("rwmixwrite", "rwmixread", Some(100)),
    alias("ss", "steadystate", None),
    alias("ss_dur", "steadystate_duration", None),
    alias("ss_interval", "steadystate_check_interval", None),
    alias("ss_ramp", "steadystate_ramp_time", None),
    // fio reads every word that begins with `thread` as `thread`; this one is in its own examples.
    alias("threads", "thread", None),
    alias("timeout", "runtime", None),
    alias("wait_for_previous", "stonewall", None),
];
