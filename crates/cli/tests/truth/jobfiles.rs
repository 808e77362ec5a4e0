//! fio job files as users have them. Workloads name them by `fio:`.

use std::path::Path;

/// Buffered writes, once over the file, flushed at the end by the file's own word.
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

/// Buffered writes that nobody flushes, which is fio's default.
const UNFLUSHED: &str = "[unflushed]
rw=write
bs=64k
size=64m
direct=0
rate=32m
time_based=1
runtime=1
";

/// No word on how long it runs.
const NO_RUNTIME: &str = "[no-runtime]
rw=randread
bs=4k
iodepth=16
size=16m
direct=1
";

/// An I/O engine that native doesn't use.
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

/// Nothing that is done otherwise than asked.
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
