//! Typical fio job files of users. Workloads name them by `fio:`.

use std::path::Path;

/// Buffered writes, once over the file; the job file asks for a flush at the end.
const FLUSHED: &str = "[global]
rw=write
bs=64k
size=16m
direct=0
rate=16m
time_based=0
ramp_time=0
end_fsync=1
[flushed]
";

/// Buffered writes without a flush, which is fio's default.
const UNFLUSHED: &str = "[unflushed]
rw=write
bs=64k
size=64m
direct=0
rate=32m
time_based=1
runtime=1
";

/// A job file without a run time.
const NO_RUNTIME: &str = "[no-runtime]
rw=randread
bs=4k
iodepth=16
size=16m
direct=1
";

/// An I/O engine that the native engine doesn't use.
const LIBAIO: &str = "[libaio]
ioengine=libaio
rw=randread
bs=4k
iodepth=16
size=16m
direct=1
time_based=1
runtime=1
";

/// A job file without departures.
const PLAIN: &str = "[plain]
ioengine=io_uring
rw=randwrite
bs=4k
iodepth=8
size=16m
direct=1
time_based=1
runtime=1
";

pub(crate) fn write(lab: &Path) -> std::io::Result<()> {
    let files = [
        ("flushed", FLUSHED),
        ("unflushed", UNFLUSHED),
        ("no-runtime", NO_RUNTIME),
        ("libaio", LIBAIO),
        ("plain", PLAIN),
    ];
    files.iter().try_for_each(|(name, text)| std::fs::write(lab.join(format!("{name}.fio")), text))
}
