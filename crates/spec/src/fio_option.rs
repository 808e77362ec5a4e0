//! fio options that are passed on unchanged: the known ones, the refused ones, and the reasons.

use crate::diagnostic::{nearest, printable};
use crate::vocabulary::WORKLOAD;

/// Options of fio 3.33 to 3.41 and of its I/O engines for files that are passed on unchecked.
const PASSED: &[&str] = &[
    "atomic",
    "ba",
    "blockalign",
    "blocksize_unaligned",
    "bs_is_seq_rand",
    "bs_unaligned",
    "buffer_compress_chunk",
    "buffer_pattern",
    "clocksource",
    "cmdprio",
    "cmdprio_bssplit",
    "cmdprio_class",
    "cmdprio_percentage",
    "continue_on_error",
    "cpumask",
    "cpus_allowed",
    "cpus_allowed_policy",
    "dedupe_global",
    "dedupe_mode",
    "dedupe_working_set_percentage",
    "exitall_on_error",
    "experimental_verify",
    "fadvise_hint",
    "file_service_type",
    "fixedbufs",
    "flow",
    "flow_sleep",
    "force_async",
    "fsync_on_close",
    "gtod_cpu",
    "hipri",
    "hipri_percentage",
    "hugepage-size",
    "ignore_error",
    "io_submit_mode",
    "iodepth_batch",
    "iodepth_batch_complete",
    "iodepth_batch_complete_max",
    "iodepth_batch_complete_min",
    "iodepth_batch_submit",
    "iodepth_low",
    "job_max_open_zones",
    "latency_percentile",
    "latency_run",
    "latency_target",
    "latency_window",
    "lockmem",
    "max_latency",
    "max_open_zones",
    "nice",
    "nonvectored",
    "nowait",
    "numa_cpu_nodes",
    "numa_mem_policy",
    "percentage_random",
    "prio",
    "prioclass",
    "random_generator",
    "rate_cycle",
    "rate_ignore_thinktime",
    "rate_iops_min",
    "rate_min",
    "registerfiles",
    "rw_sequencer",
    "rwmixcycle",
    "scramble_buffers",
    "serialize_overlap",
    "softrandommap",
    "sqthread_poll",
    "sqthread_poll_cpu",
    "sync_file_range",
    "thinktime_blocks_type",
    "thinktime_iotime",
    "thinktime_spin",
    "uncached",
    "userspace_reap",
    "verify_async",
    "verify_fatal",
    "verify_interval",
    "verify_offset",
    "verify_pattern",
    "write_hint",
    "zero_buffers",
    "zonecapacity",
    "zonemode",
    "zonerange",
    "zonesize",
    "zoneskip",
];

/// Options that only a job file needs, because they shape its sections.
const JOB_FILE_ONLY: &[&str] = &[
    "allrandrepeat",
    "blocksize",
    "blocksize_range",
    "blocksize_unaligned",
    "bs",
    "bsrange",
    "bssplit",
    "buffer_compress_percentage",
    "buffered",
    "create_fsync",
    "create_serialize",
    "dedupe_percentage",
    "description",
    "direct",
    "end_fsync",
    "exit_what",
    "exitall",
    "fallocate",
    "fdatasync",
    "fileoffset",
    "filesize",
    "flow_id",
    "fsync",
    "group_reporting",
    "invalidate",
    "io_limit",
    "io_size",
    "iodepth",
    "ioengine",
    "loops",
    "name",
    "new_group",
    "norandommap",
    "nr_files",
    "nrfiles",
    "number_ios",
    "numjobs",
    "odirect",
    "offset",
    "offset_align",
    "offset_increment",
    "openfiles",
    "overwrite",
    "ramp_time",
    "random_distribution",
    "randrepeat",
    "randseed",
    "rate",
    "rate_iops",
    "rate_process",
    "readwrite",
    "refill_buffers",
    "runtime",
    "rw",
    "rwmixread",
    "rwmixwrite",
    "size",
    "startdelay",
    "stonewall",
    "sync",
    "thinktime",
    "thinktime_blocks",
    "thread",
    "time_based",
    "timeout",
    "unified_rw_reporting",
    "verify",
    "wait_for",
    "wait_for_previous",
];

const ELSEWHERE: &str = "it would point fio to other files or devices; diskproof places the data itself";
const RUNS: &str = "it would run other programs; a `command` layer can do that, with its undo";
const WRITES: &str =
    "it would write files outside the volumes; diskproof keeps samples and histograms itself";
const READS: &str = "it would replay or read other files";
const NETWORK: &str = "it would use the network";
const RIGHTS: &str = "it would change users, cgroups or the machine's settings, without an undo";
const LAYOUT: &str = "diskproof lays the data out itself: see `layout`";
const OWN: &str = "diskproof sets it itself, for every trial";
const RECORD: &str = "it would take away figures that the record needs, or give them another unit";
const FIGURES: &str = "diskproof keeps whole histograms, from which any percentile can be read";
const TIME: &str =
    "a trial ends by its time, or with `time_based: 0` when its data is done: see `runtime` and `measure`";

const REFUSED: &[(&str, &str)] = &[
    ("filename", ELSEWHERE),
    ("filename_format", ELSEWHERE),
    ("unique_filename", ELSEWHERE),
    ("directory", ELSEWHERE),
    ("opendir", ELSEWHERE),
    ("lockfile", ELSEWHERE),
    ("iomem", ELSEWHERE),
    ("mem", ELSEWHERE),
    ("allow_mounted_write", ELSEWHERE),
    ("include", READS),
    ("exec_prerun", RUNS),
    ("exec_postrun", RUNS),
    ("program", RUNS),
    ("arguments", RUNS),
    ("grace_time", RUNS),
    ("std_redirect", RUNS),
    ("profile", RUNS),
    ("trigger", RUNS),
    ("trigger-file", RUNS),
    ("trigger-timeout", RUNS),
    ("trigger-remote", RUNS),
    ("write_bw_log", WRITES),
    ("write_lat_log", WRITES),
    ("write_iops_log", WRITES),
    ("write_hist_log", WRITES),
    ("write_iolog", WRITES),
    ("per_job_logs", WRITES),
    ("output", WRITES),
    ("output-format", OWN),
    ("bandwidth-log", WRITES),
    ("aux-path", WRITES),
    ("verify_dump", WRITES),
    ("verify_state_save", WRITES),
    ("verify_state_load", READS),
    ("read_iolog", READS),
    ("read_iolog_chunked", READS),
    ("merge_blktrace_file", READS),
    ("merge_blktrace_iters", READS),
    ("merge_blktrace_scalars", READS),
    ("replay_redirect", ELSEWHERE),
    ("replay_no_stall", READS),
    ("replay_align", READS),
    ("replay_scale", READS),
    ("replay_skip", READS),
    ("replay_time_scale", READS),
    ("hostname", NETWORK),
    ("port", NETWORK),
    ("listen", NETWORK),
    ("server", NETWORK),
    ("client", NETWORK),
    ("remote-config", NETWORK),
    ("cgroup", RIGHTS),
    ("cgroup_weight", RIGHTS),
    ("cgroup_nodelete", RIGHTS),
    ("uid", RIGHTS),
    ("gid", RIGHTS),
    ("ioscheduler", RIGHTS),
    ("unlink", LAYOUT),
    ("unlink_each_loop", LAYOUT),
    ("create_only", LAYOUT),
    ("create_on_open", LAYOUT),
    ("allow_file_create", LAYOUT),
    ("create_serialize", LAYOUT),
    ("create_fsync", LAYOUT),
    ("fallocate", LAYOUT),
    ("fill_device", LAYOUT),
    ("fill_fs", LAYOUT),
    ("filesize", LAYOUT),
    ("file_append", LAYOUT),
    ("overwrite", LAYOUT),
    ("offset_align", LAYOUT),
    ("offset_increment", LAYOUT),
    ("openfiles", LAYOUT),
    ("pre_read", "see `cache: warm`"),
    ("invalidate", "see `cache`"),
    ("timeout", "write `runtime`"),
    ("loops", TIME),
    ("number_ios", TIME),
    ("io_size", TIME),
    ("io_limit", TIME),
    ("steadystate", TIME),
    ("steadystate_duration", TIME),
    ("steadystate_ramp_time", TIME),
    ("randseed", OWN),
    ("randrepeat", OWN),
    ("allrandrepeat", OWN),
    ("refill_buffers", OWN),
    ("group_reporting", OWN),
    ("thread", OWN),
    ("name", OWN),
    ("description", OWN),
    ("stonewall", OWN),
    ("disable_lat", RECORD),
    ("disable_clat", RECORD),
    ("disable_slat", RECORD),
    ("disable_bw_measurement", RECORD),
    ("clat_percentiles", FIGURES),
    ("lat_percentiles", FIGURES),
    ("slat_percentiles", FIGURES),
    ("percentile_list", FIGURES),
    ("block_error_percentiles", RECORD),
    ("kb_base", RECORD),
    ("unit_base", RECORD),
    ("stats", FIGURES),
    ("gtod_reduce", RECORD),
    ("significant_figures", FIGURES),
    ("disk_util", FIGURES),
    ("status-interval", OWN),
    ("unified_rw_reporting", OWN),
    ("verify_only", "it would measure no I/O that was asked for"),
    ("do_verify", "reads for verification would be counted as the workload's own"),
    ("trim_percentage", "write `rw: randtrim` or one of the other trim kinds"),
    ("rwmixwrite", "write `rwmixread`: 100 minus it"),
    ("buffered", "write `direct`: 1 minus it"),
    ("odirect", "write `direct`"),
    ("readwrite", "write `rw`"),
    ("blocksize", "write `bs`"),
    ("blocksize_range", "write `bsrange`"),
    ("nr_files", "write `nrfiles`"),
    ("fileoffset", "write `offset`"),
];

/// Kinds of options that a job file may have: the engine replaces them, or they only shape the file's own sections.
const FINE_IN_JOB_FILES: &[&str] = &[OWN, TIME, FIGURES];

/// Why an option can't be passed on, with the nearest one that can.
pub(crate) struct Refused {
    pub(crate) message: String,
    pub(crate) help: String,
    pub(crate) near: Option<String>,
}

/// Whether fio may be given an option: only options that are known to stay on the volumes are passed on.
#[must_use]
pub fn fio_takes(name: &str) -> bool {
    PASSED.contains(&name)
        || JOB_FILE_ONLY.contains(&name)
        || WORKLOAD.keys.iter().any(|key| key.name == name)
}

/// Checks an entry of `fio_options`.
pub(crate) fn check(name: &str, value: &str) -> Result<(), Refused> {
    let shown = printable(name, 40);
    if WORKLOAD.keys.iter().any(|key| key.name == name) {
        let help = format!("write `{name}: {}` beside `fio_options`", printable(value, 40));
        return Err(Refused { message: format!("`{shown}` is a key of its own"), help, near: None });
    }
    if let Some((_, why)) = REFUSED.iter().find(|(refused, _)| *refused == name) {
        return Err(refused(name, why));
    }
    if !PASSED.contains(&name) {
        return Err(unknown(name, PASSED));
    }
    check_value(name, value)
}

/// Checks one option of a job file.
pub(crate) fn check_in_job_file(name: &str, value: &str) -> Result<(), Refused> {
    if name == "filename" && !value.contains('/') && !value.is_empty() {
        // A plain name: the engine puts the file inside the directory under test. Jobs that name the same file share it.
        return check_value(name, value);
    }
    if let Some((_, why)) = REFUSED.iter().find(|(refused, _)| *refused == name) {
        if !JOB_FILE_ONLY.contains(&name) && !FINE_IN_JOB_FILES.contains(why) {
            return Err(refused(name, why));
        }
    } else if !PASSED.contains(&name) && !JOB_FILE_ONLY.contains(&name) {
        return Err(unknown(name, JOB_FILE_ONLY));
    }
    if name == "ioengine" && !crate::vocabulary::IOENGINES.contains(&value) {
        return Err(Refused {
            message: format!("ioengine `{}` is refused", printable(value, 40)),
            help: format!(
                "engines that do storage I/O through files: {}",
                crate::vocabulary::IOENGINES.join(", ")
            ),
            near: nearest(value, crate::vocabulary::IOENGINES.iter().copied()),
        });
    }
    check_value(name, value)
}

fn refused(name: &str, why: &str) -> Refused {
    Refused {
        message: format!("fio option `{}` is refused", printable(name, 40)),
        help: why.to_owned(),
        near: None,
    }
}

fn unknown(name: &str, more: &[&'static str]) -> Refused {
    Refused {
        message: format!("fio option `{}` is not known", printable(name, 40)),
        help:
            "only options that were checked to stay on the volumes are handed over (docs/experiment-file.md)"
                .to_owned(),
        near: nearest(
            name,
            PASSED.iter().chain(more).copied().chain(WORKLOAD.keys.iter().map(|key| key.name)),
        ),
    }
}

/// Refuses characters that fio interprets: it replaces `$` keywords and backticks in values (backticks run programs), and may cut
/// values at comments.
fn check_value(name: &str, value: &str) -> Result<(), Refused> {
    let bad = value.chars().find(|c| matches!(c, '$' | '`' | '#' | ';') || c.is_control());
    let pattern_file = matches!(name, "buffer_pattern" | "verify_pattern") && value.contains('\'');
    match bad {
        Some(c) => Err(Refused {
            message: format!(
                "the value of `{}` holds {}",
                printable(name, 40),
                match c {
                    '$' => "a dollar sign",
                    '`' => "a backtick",
                    '#' | ';' => "the begin of a comment",
                    _ => "a control character",
                }
            ),
            help: "fio would evaluate it, cut it, or run programs for it; write the value itself".to_owned(),
            near: None,
        }),
        None if pattern_file => Err(refused(name, READS)),
        None => Ok(()),
    }
}
