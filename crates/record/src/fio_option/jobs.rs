//! Options that only a job file may have, and other names of options.

use super::row::{FioOption, Native, alias, job_file, ours};

pub(super) const LAYOUT: &str = "diskproof lays the data out itself: see `layout`";
pub(super) const OWN: &str = "diskproof sets it itself, for every trial";
const FIGURES: &str = "diskproof keeps whole histograms, from which any percentile can be read";
const JOBS: &str = "it concerns several jobs: write a job file (`fio: FILE`)";
pub(super) const TIME: &str =
    "a trial ends by its time, or with `time_based: 0` when its data is done: see `runtime` and `measure`";

/// Options that shape a job file's sections, or that change what diskproof sets for its own workloads.
pub(super) const JOB_FILE: &[FioOption] = &[
    job_file("allrandrepeat", OWN).native(Native::Ignores(&["0"])),
    job_file("description", OWN).native(Native::Ignores(&[])),
    // Native reads everything back anyway, outside the measured time.
    job_file("do_verify", "diskproof reads everything back itself: see `verify`")
        .native(Native::Ignores(&[])),
    job_file("exit_what", JOBS),
    job_file("exitall", JOBS),
    job_file("filesize", LAYOUT),
    job_file("flow_id", JOBS),
    job_file("invalidate", "see `cache`").native(Native::Ignores(&["1"])),
    job_file("io_limit", TIME),
    job_file("io_size", TIME),
    job_file("loops", TIME).native(Native::Ignores(&["1"])),
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
    job_file("stonewall", OWN).native(Native::IgnoresAlone),
    job_file("wait_for", JOBS),
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
    ours("stats", FIGURES),
    ours("thread", OWN),
    ours("unified_rw_reporting", OWN).native(Native::Ignores(&["0", "none"])),
];

/// Other names of options.
pub(super) const ALIASES: &[FioOption] = &[
    alias("blocksize", "bs", None),
    alias("blocksize_range", "bsrange", None),
    alias("buffered", "direct", Some(1)),
    alias("fileoffset", "offset", None),
    alias("nr_files", "nrfiles", None),
    alias("readwrite", "rw", None),
    alias("rwmixwrite", "rwmixread", Some(100)),
    alias("timeout", "runtime", None),
    alias("wait_for_previous", "stonewall", None),
];
