//! A real but very short `diskproof calibrate` on an emulated volume. It doesn't check whether the engines agree in so little time.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, also in its helpers")]

use serde_json::Value;
use std::path::Path;
use std::process::Output;

fn diskproof(dir: &Path, args: &[&str]) -> Output {
    testkit::program(assert_cmd::cargo::cargo_bin("diskproof"), dir, args).output().unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}

/// The loop devices with a backing file in the test's folder.
fn loops_left(dir: &Path) -> usize {
    let mine = dir.to_string_lossy().into_owned();
    let backing = |device: std::fs::DirEntry| {
        std::fs::read_to_string(device.path().join("loop/backing_file")).unwrap_or_default()
    };
    std::fs::read_dir("/sys/block")
        .unwrap()
        .flatten()
        .map(backing)
        .filter(|file| file.contains(&mine))
        .count()
}

#[test]
fn loop_both_engines_measure_one_emulated_volume_and_are_judged() {
    if !testkit::is_root() {
        eprintln!("SKIPPED: needs root");
        return;
    }
    let _alone = testkit::exclusive();
    let dir = testkit::fresh_dir("cli-calibrate");
    let short = ["--seconds", "1", "--rounds", "3", "--size", "16m", "--workload", "randread"];
    let calibrated = diskproof(&dir, &[&["calibrate", "--iops", "300", "--json"], &short[..]].concat());
    let said = String::from_utf8_lossy(&calibrated.stderr).into_owned();
    let code = calibrated.status.code();
    assert!([Some(0), Some(1)].contains(&code), "{said}");
    let document = json(&calibrated);
    let lines = document["lines"].as_array().unwrap();
    let metrics: Vec<&str> = lines.iter().map(|l| l["metric"].as_str().unwrap()).collect();
    assert_eq!(metrics, ["read_iops", "read_lat_mean", "read_lat_p50", "read_lat_p99"]);
    for engine in ["native", "fio"] {
        let iops = lines[0][engine].as_f64().unwrap();
        assert!(iops > 0.0 && iops < 300.0 * 1.5, "{engine} was under the same limit: {iops}");
        assert!(document[engine].as_str().unwrap().starts_with(engine), "{document}");
    }
    let beyond = lines.iter().any(|l| l["standing"] == "beyond");
    assert_eq!(code, Some(i32::from(beyond)), "{document}");
    assert_eq!(document["fio_latency"], "total");
    assert_eq!(document["evidence"][0]["native"]["page_cache"], 0.0, "{}", document["evidence"]);

    let runs = json(&diskproof(&dir, &["list", "--json"]));
    assert_eq!(
        (runs[0]["trials"]["done"].as_u64(), runs[0]["experiment"].as_str()),
        (Some(6), Some("calibrate"))
    );
    let again = json(&diskproof(&dir, &["calibrate", "--run", "latest", "--json"]));
    assert_eq!(again, document, "the same trials, the same verdict");
    let lenient = ["calibrate", "--run", "latest", "--rate-margin", "100", "--latency-margin", "100"];
    let lenient = diskproof(&dir, &lenient);
    assert!(String::from_utf8_lossy(&lenient.stdout).contains("Margins: 100 %"), "{lenient:?}");
    assert_eq!(loops_left(&dir), 0);
    assert_eq!(diskproof(&dir, &["undo"]).stdout, b"nothing\n");
    std::fs::remove_dir_all(&dir).unwrap();
}
