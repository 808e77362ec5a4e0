//! How fast a limited volume is.

use record::volume::Limits;
use std::ops::RangeInclusive;
use std::path::Path;
use std::process::Command;

/// The limit of reads and of writes per second: so low that a guest with little CPU time reaches it.
const LIMIT: u64 = 30;
/// The rates per second that keep to it.
pub(crate) const KEPT: RangeInclusive<f64> = 27.0..=33.0;

pub(crate) fn limits() -> Limits {
    Limits { read_iops: Some(LIMIT), write_iops: Some(LIMIT), ..Limits::default() }
}

/// Requests per second of 4 KiB at random on the first `size` of a device, by fio in the cgroup that has the limits.
pub(crate) fn rate(procs: &Path, device: &Path, rw: &str, size: &str) -> f64 {
    let fio = ["--name=x", "--bs=4k", "--iodepth=16", "--ioengine=libaio", "--direct=1", "--time_based"];
    let output = Command::new("sh")
        .args(["-c", "echo 0 >\"$1\" && shift && exec \"$@\"", "sh"])
        .arg(procs)
        .arg("fio")
        .args(fio)
        .args(["--runtime=5", "--output-format=terse", "--terse-version=3", &format!("--rw={rw}")])
        .arg(format!("--size={size}"))
        .arg(format!("--filename={}", device.to_str().unwrap()))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said} {}", String::from_utf8_lossy(&output.stderr));
    // fio's manual, "Terse output": reads and writes per second
    let field = if rw == "randread" { 7 } else { 48 };
    said.trim().split(';').nth(field).unwrap().parse().unwrap()
}
