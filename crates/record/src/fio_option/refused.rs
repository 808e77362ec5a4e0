//! Options that nobody may set, each with its reason.

use super::jobs::{LAYOUT, OWN};
use super::row::{FioOption, refused};

const ELSEWHERE: &str = "it would point fio to other files or devices; diskproof places the data itself";
const RUNS: &str = "it would run other programs; a `command` layer can do that, with its undo";
const WRITES: &str =
    "it would write files outside the volumes; diskproof keeps samples and histograms itself";
const READS: &str = "it would replay or read other files";
const NETWORK: &str = "it would use the network";
const RIGHTS: &str = "it would change users, cgroups or the machine's settings, without an undo";
const PASSTHROUGH: &str = "it belongs to NVMe commands past the block layer (io_uring_cmd, xnvme); `ioengine=io_uring` does block I/O on the same device";
const DEFRAG: &str =
    "it belongs to `ioengine=e4defrag`, which moves extents and does no I/O; leave that section out";
const RECORD: &str = "it would take away figures that the record needs, or give them another unit";

pub(super) const REFUSED: &[FioOption] = &[
    refused("opendir", ELSEWHERE),
    refused("lockfile", ELSEWHERE),
    refused("allow_mounted_write", ELSEWHERE),
    refused("include", READS),
    refused("exec_prerun", RUNS),
    refused("exec_postrun", RUNS),
    refused("program", RUNS),
    refused("arguments", RUNS),
    refused("grace_time", RUNS),
    refused("std_redirect", RUNS),
    refused("profile", RUNS),
    refused("trigger", RUNS),
    refused("trigger-file", RUNS),
    refused("trigger-timeout", RUNS),
    refused("trigger-remote", RUNS),
    refused("output", WRITES),
    refused("output-format", OWN),
    refused("bandwidth-log", WRITES),
    refused("aux-path", WRITES),
    refused("read_iolog", READS),
    refused("read_iolog_chunked", READS),
    refused("merge_blktrace_file", READS),
    refused("merge_blktrace_iters", READS),
    refused("merge_blktrace_scalars", READS),
    refused("replay_redirect", ELSEWHERE),
    refused("replay_no_stall", READS),
    refused("replay_align", READS),
    refused("replay_scale", READS),
    refused("replay_skip", READS),
    refused("replay_time_scale", READS),
    refused("hostname", NETWORK),
    refused("port", NETWORK),
    refused("listen", NETWORK),
    refused("server", NETWORK),
    refused("client", NETWORK),
    refused("remote-config", NETWORK),
    refused("cgroup", RIGHTS),
    refused("cgroup_weight", RIGHTS),
    refused("cgroup_nodelete", RIGHTS),
    refused("uid", RIGHTS),
    refused("gid", RIGHTS),
    refused("ioscheduler", RIGHTS),
    refused("create_only", LAYOUT),
    refused("file_append", LAYOUT),
    refused("dataplacement", PASSTHROUGH),
    refused("data_placement", PASSTHROUGH),
    refused("fdp", PASSTHROUGH),
    refused("fdp_pli", PASSTHROUGH),
    refused("fdp_pli_select", PASSTHROUGH),
    refused("plids", PASSTHROUGH),
    refused("plid_select", PASSTHROUGH),
    refused("pi_act", PASSTHROUGH),
    refused("pi_chk", PASSTHROUGH),
    refused("apptag", PASSTHROUGH),
    refused("apptag_mask", PASSTHROUGH),
    refused("md_per_io_size", PASSTHROUGH),
    refused("donorname", DEFRAG),
    refused("inplace", DEFRAG),
    refused("pre_read", "see `cache: warm`"),
    refused("kb_base", RECORD),
    refused("unit_base", RECORD),
    refused("verify_only", "it would measure no I/O that was asked for"),
    refused("trim_percentage", "write `rw: randtrim` or one of the other trim kinds"),
];
