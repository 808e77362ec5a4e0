//! Reads fio's per-I/O logs and prints one line per second, as fio's own `fiologparser.py` does. For bench/fiolog.
//!
//! `fiolog [--quiet] LOG...`
#![allow(clippy::unwrap_used, reason = "a bench may")]

use diskproof_engine::fio::log::{DirectionStats, Reader, intervals};
use std::io::Write;
use std::path::Path;

fn main() {
    let mut quiet = false;
    let mut logs = Vec::new();
    for arg in std::env::args().skip(1) {
        if arg == "--quiet" {
            quiet = true;
        } else {
            logs.push(Reader::open(Path::new(&arg)).unwrap());
        }
    }
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let summary = intervals(&mut logs, 1000, |interval| {
        if quiet {
            return;
        }
        for (name, stats) in [("read", interval.read), ("write", interval.write), ("trim", interval.trim)] {
            if let Some(DirectionStats { iops, bytes, mean, p50, p99, p999, max, .. }) = stats {
                let start = interval.start_ms;
                writeln!(out, "{start}, {name}, {iops:.0}, {bytes}, {mean:.0}, {p50}, {p99}, {p999}, {max}")
                    .unwrap();
            }
        }
    })
    .unwrap();
    writeln!(out, "{} rows, {} spans, {} late", summary.rows, summary.intervals, summary.late_rows).unwrap();
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap();
    writeln!(out, "peak_rss_kib {}", peak.trim_end_matches("kB").trim()).unwrap();
}
