//! A search on a volume whose limit is known by arithmetic.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, also in its helpers")]

use serde_json::Value;

/// A volume of 200 reads per second under random arrivals. The kernel's throttle serves it in slices of 0.1 s, 20 reads at once; the p99
/// of such a queue is 100 ms at 185.8 reads per second (bench/find computes it; with one server of 5 ms, M/D/1, it would be 177).
const EXPERIMENT: &str = "
experiment: find
volumes: { vol: { emulate: { size: 32m, read_iops: 200 } } }
stacks: { raw: {} }
workloads:
  service:
    rw: randread
    direct: 1
    size: 16m
    find: { most: iops, while: { read_lat_p99: { at_most: 100ms } }, by: rate_iops, within: 8% }
measure: { trial: 8s, ramp: 500ms, rounds: 20 }
";
const TRUTH: f64 = 185.8;

/// Trials are short: hence the tolerance.
#[test]
fn loop_a_search_finds_the_rate_that_a_queue_before_a_throttled_volume_allows() {
    if !testkit::is_root() {
        eprintln!("SKIPPED loop_find: needs root");
        return;
    }
    let _alone = testkit::exclusive();
    let dir = testkit::fresh_dir("find");
    let command = |args: &[&str]| testkit::program(assert_cmd::cargo::cargo_bin("diskproof"), &dir, args);
    std::fs::write(dir.join("e.yaml"), EXPERIMENT).unwrap();
    let ran = command(&["run", "e.yaml", "--json"]).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let export = command(&["export", "latest", "--json"]).output().unwrap();
    let run: Value = serde_json::from_slice(&export.stdout).unwrap();
    let search = &run["searches"][0];
    assert_eq!(search["found"], "found", "{search:#}");
    let of = |key: &str| search["value"][key].as_f64().unwrap();
    let (estimate, low, high) = (of("estimate"), of("low"), of("high"));
    assert!(low <= estimate && estimate <= high && high < 215.0, "{search:#}");
    assert!((estimate / TRUTH - 1.0).abs() < 0.12, "{search:#}");
    let tried = search["tried"].as_array().unwrap();
    assert_eq!(tried[0]["level"], 10_000_000, "first what it reaches at most");
    let reached = tried[0]["reached"].as_f64().unwrap();
    assert!((reached / 200.0 - 1.0).abs() < 0.05, "{search:#}");
    // What is stored gives the same answer on any day.
    let judged = command(&["show", "latest", "--json"]).output().unwrap();
    let again: Value = serde_json::from_slice(&judged.stdout).unwrap();
    assert_eq!(again["searches"], run["searches"]);
}
