//! The I/Os that fio issues for a job file, one by one, from its own log.

use std::fs;
use std::path::Path;
use std::process::Command;

/// An I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// 0: read, 1: write, 2: trim.
    pub direction: u64,
    pub bytes: u64,
    pub offset: u64,
}

/// Runs a job file again and returns its first job's I/Os, in order of completion; one at a time if `one` is set.
pub fn accesses(input: &str, scratch: &Path, one: bool) -> Vec<Access> {
    let depth = if one { "iodepth=1\n" } else { "" };
    let log = format!("write_lat_log=accesses\nlog_offset=1\n{depth}");
    let text = input.replacen("[job0]\n", &format!("[job0]\n{log}"), 1);
    fs::write(scratch.join("accesses.fio"), text).unwrap();
    let fio = Command::new("fio").arg("accesses.fio").current_dir(scratch).output().unwrap();
    assert!(fio.status.success(), "{fio:?}");
    let log = fs::read_to_string(scratch.join("accesses_clat.1.log")).unwrap();
    log.lines().map(access).collect()
}

fn access(line: &str) -> Access {
    let field = |n: usize| line.split(", ").nth(n).unwrap().trim().parse().unwrap();
    Access { direction: field(2), bytes: field(3), offset: field(4) }
}
