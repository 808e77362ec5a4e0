//! `import` and the exports of its runs, through the binary.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, also in its helpers")]

mod home;

use home::Home;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

impl Home {
    fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.fine(args)).unwrap()
    }

    /// Reads a file with Python's csv module, or skips where there is no Python. Returns the rows as JSON.
    fn python_csv(&self, file: &str) -> Option<Vec<Value>> {
        const READ: &str = "import csv, json, sys; json.dump(list(csv.DictReader(open(sys.argv[1], newline=''))), sys.stdout)";
        let output =
            Command::new("python3").args(["-c", READ, file]).current_dir(self.path()).output().ok()?;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(serde_json::from_slice(&output.stdout).unwrap())
    }
}

/// What fio prints for one job.
fn document(rw: &str, iodepth: u32, iops: u32, ended: u32) -> String {
    let side = if rw.ends_with("read") { "read" } else { "write" };
    format!(
        r#"fio: this line comes before the document
{{
  "fio version" : "fio-3.36",
  "timestamp" : {ended},
  "global options" : {{ "bs" : "4k", "direct" : "1", "runtime" : "10" }},
  "jobs" : [ {{
    "jobname" : "iotest", "groupid" : 0, "error" : 0,
    "job options" : {{ "rw" : "{rw}", "iodepth" : "{iodepth}", "ioengine" : "libaio", "filename" : "/dev/sdb" }},
    "{side}" : {{ "io_bytes" : {bytes}, "io_kbytes" : {kib}, "iops" : {iops}.0, "runtime" : 10000, "total_ios" : {ios},
      "clat_ns" : {{ "mean" : 1000000.0, "N" : {ios}, "percentile" : {{ "50.000000" : 900000, "99.000000" : 2000000 }} }} }}
  }} ]
}}
"#,
        bytes = iops * 10 * 4096,
        kib = iops * 10 * 4,
        ios = iops * 10,
    )
}

/// A tree as bench-fio makes it: two devices, depths of 1, 4 and 16, three repeats.
fn tree(home: &Home) {
    for (device, factor) in [("sda", 1), ("sdb", 2)] {
        for (depth, iops) in [(1, 1000), (4, 3500), (16, 9000)] {
            for repeat in 0..3_u32 {
                let name = format!("bench/{device}/4k/randread-{depth}-1-{repeat}.json");
                home.put(&name, &document("randread", depth, (iops + 10 * repeat) * factor, 1000 + repeat));
            }
        }
    }
}

#[test]
fn a_tree_becomes_a_run_that_every_verb_works_on() {
    let home = Home::new();
    tree(&home);
    let said = home.fine(&["import", "bench"]);
    assert!(said.contains("experiment bench: 18 trials of 6 cells from 18 files"), "{said}");
    let shown = home.fine(&["show"]);
    for part in ["sda", "sdb", "iodepth=16", "unknown", "not run by diskproof"] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    let view = home.json(&["export", "latest", "--json"]);
    let cells = view["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 6);
    assert!(
        cells.iter().all(|cell| cell["trials"]["done"] == 3 && cell["trials"]["planned"] == 3),
        "{cells:?}"
    );
    assert_eq!(cells[0]["levels"]["iodepth"], "1");
    assert_eq!(cells[0]["metrics"]["read_lat_p99"]["estimate"], 2000.0);
    assert!(cells.iter().all(|cell| cell["served"]["unknown"] == 1.0));
    let sweeps = view["sweeps"].as_array().unwrap();
    assert!(
        sweeps
            .iter()
            .any(|sweep| sweep["factor"] == "iodepth" && sweep["levels"].as_array().unwrap().len() == 3),
        "{sweeps:?}"
    );
    let claims: Vec<&str> =
        view["findings"].as_array().unwrap().iter().filter_map(|f| f["claim"].as_str()).collect();
    assert!(claims.contains(&"source_unknown") && claims.contains(&"job_options"), "{claims:?}");
    assert!(home.fine(&["compare", "latest"]).contains("sdb"));
    let listed = home.fine(&["list"]);
    assert!(listed.contains("18/18") && listed.contains("imported (18 files)"), "{listed}");
    let resumed = home.diskproof(&["resume", "latest"]);
    assert!(resumed.code == 2 && resumed.err.contains("was imported"), "{}", resumed.err);
}

#[test]
fn two_imports_are_compared_and_gated_cell_by_cell() {
    let home = Home::new();
    for repeat in 0..5 {
        home.put(&format!("before/r{repeat}.json"), &document("randread", 4, 10_000 + repeat, 100 + repeat));
        home.put(&format!("after/r{repeat}.json"), &document("randread", 4, 8000 + repeat, 200 + repeat));
    }
    let before = home.json(&["import", "before", "--json"]);
    let after = home.json(&["import", "after", "--name", "before", "--json"]);
    assert_eq!((&before["format"], &before["trials"]), (&"diskproof.import/1.0".into(), &5.into()));
    let (before, after) = (before["run"].as_str().unwrap(), after["run"].as_str().unwrap());
    let compared = home.json(&["compare", before, after, "--json"]);
    let ratio = compared["lines"][0]["ratio"]["ratio"].as_f64().unwrap();
    assert!((ratio - 0.8).abs() < 0.01, "{compared}");
    let gate = |baseline: &str, run: &str| home.diskproof(&["gate", "--baseline", baseline, run]);
    assert_eq!(gate(before, after).code, 1, "{}", gate(before, after).err);
    assert_eq!(gate(after, before).code, 0, "{}", gate(after, before).out);
}

#[test]
fn every_unreadable_file_is_named_and_the_others_are_imported() {
    let home = Home::new();
    home.put("r/good.json", &document("randwrite", 1, 500, 100));
    home.put("r/cut.json", &document("randread", 1, 500, 100)[..300]);
    home.put("r/other.csv", "a,b\n1,2\n");
    home.put("r/vdbench.log", "Vdbench distribution: vdbench50407\n");
    home.put("r/notes.md", "no result");
    let answer = home.diskproof(&["import", "r", "absent.json"]);
    assert_eq!(answer.code, 2);
    assert!(answer.out.contains("1 trial of 1 cell from 1 file"), "{}", answer.out);
    assert!(answer.out.contains("left out: r/notes.md"), "{}", answer.out);
    for part in [
        "r/cut.json: its last JSON document has no end",
        "r/other.csv: it is not a result",
        "r/vdbench.log: it is a report of vdbench",
        "absent.json: No such file",
    ] {
        assert!(answer.err.contains(part), "{part} in {}", answer.err);
    }
    let nothing = home.diskproof(&["import", "r/cut.json"]);
    assert!(nothing.code == 2 && nothing.err.contains("nothing was imported"), "{}", nothing.err);
    assert!(home.fine(&["list"]).lines().count() == 2, "a head and one run");
}

#[test]
fn other_tools_have_their_own_figures() {
    let home = Home::new();
    home.put(
        "b.csv",
        "1.98,2.00a,nas,1,5,16M,,8192,5,,,91000,11,+++++,+++,,,+++++,+++,312.5,3,,,,,,,,,,,,,,,,,,,8070us,16093us,,20096us,72082us,,,,,,\n",
    );
    home.fine(&["import", "b.csv"]);
    let cell = &home.json(&["export", "latest", "--json"])["cells"][0];
    assert_eq!(cell["metrics"]["seeks"]["estimate"], 312.5);
    assert_eq!(cell["too_fast"]["rewrite_bw"], 1, "too fast is not a number and not absent");
    assert!(home.fine(&["show"]).contains("too fast"));
    home.put("x_iops.1.log", "1000, 100, 0, 0\n2000, 300, 0, 0\n");
    home.put("x_bw.1.log", "1000, 400, 0, 0\n2000, 1200, 0, 0\n");
    home.fine(&["import", "x_iops.1.log", "x_bw.1.log"]);
    assert_eq!(home.json(&["export", "latest", "--json"])["cells"][0]["metrics"]["iops"]["estimate"], 200.0);
    home.fine(&["export", "latest", "--series", "-o", "series.csv"]);
    if let Some(rows) = home.python_csv("series.csv") {
        let iops: Vec<&str> = rows.iter().map(|row| row["read_iops"].as_str().unwrap()).collect();
        assert_eq!(iops, ["100", "300"]);
        assert!(rows.iter().all(|row| row["source"] == "engine" && row["step_seconds"] == "1"), "{rows:?}");
    }
}

#[test]
fn what_has_to_be_assumed_is_said() {
    let home = Home::new();
    home.put(
        "old/b.csv",
        "box,2G,,,97000,22,41000,9,,,120500,11,310.5,1,16,900,9,+++++,+++,800,8,950,9,+++++,+++,700,7\n",
    );
    let rows: String = (1..=200).map(|n| format!("{}, 700, 0, 4096\n", n * 10)).collect();
    home.put("old/x_lat.1.log", &rows);
    let answer = home.diskproof(&["import", "old"]);
    assert_eq!(answer.code, 0, "{}", answer.err);
    for part in [
        "note: old/b.csv: a line with 27 fields and no version",
        "note: old/x_lat.1.log: its latencies are left out",
    ] {
        assert!(answer.err.contains(part), "{part} in {}", answer.err);
    }
    let view = home.json(&["export", "latest", "--json"]);
    let cells = view["cells"].as_array().unwrap();
    let metric = |name: &str| cells.iter().find_map(|cell| cell["metrics"][name]["estimate"].as_f64());
    assert_eq!(
        (metric("seeks"), metric("seq_create"), metric("iops")),
        (Some(310.5), Some(900.0), Some(100.0))
    );
    assert_eq!(metric("read_lat_p50"), None, "microseconds or nanoseconds, nobody knows");
    let again = home.json(&["import", "old", "--json"]);
    assert_eq!(again["notes"].as_array().unwrap().len(), 2, "{again}");
}

#[test]
fn trials_are_read_by_other_programs_compressed_or_not() {
    let home = Home::new();
    tree(&home);
    home.fine(&["import", "bench"]);
    home.fine(&["export", "latest", "--trials", "-o", "trials.csv"]);
    home.fine(&["export", "latest", "--trials", "-o", "trials.csv.zst"]);
    let plain = std::fs::read(home.file("trials.csv")).unwrap();
    let packed = std::fs::read(home.file("trials.csv.zst")).unwrap();
    assert!(packed.len() * 4 < plain.len());
    assert_eq!(zstd::decode_all(packed.as_slice()).unwrap(), plain);
    assert_eq!(
        home.fine(&["export", "latest", "--trials"]).into_bytes(),
        plain,
        "standard output has the same"
    );
    let Some(rows) = home.python_csv("trials.csv") else { return };
    let iops: Vec<&Value> = rows.iter().filter(|row| row["metric"] == "iops").collect();
    assert_eq!(iops.len(), 18, "one row per trial");
    let of = |depth: &str, stack: &str| -> Vec<&str> {
        let mine = iops.iter().filter(|row| row["level_iodepth"] == depth && row["stack"] == stack);
        mine.map(|row| row["value"].as_str().unwrap()).collect()
    };
    assert_eq!(of("4", "sdb"), ["7000", "7020", "7040"]);
    assert!(rows.iter().all(|row| row["imported_from"].as_str().unwrap().starts_with("bench/")));
}

#[test]
fn metrics_for_a_collector_replace_the_file_as_a_whole() {
    let home = Home::new();
    tree(&home);
    home.fine(&["import", "bench"]);
    for _ in 0..2 {
        home.fine(&["export", "latest", "--openmetrics", "-o", "diskproof.prom"]);
    }
    let text = std::fs::read_to_string(home.file("diskproof.prom")).unwrap();
    assert!(text.ends_with("# EOF\n"));
    let sample = text
        .lines()
        .find(|line| line.starts_with("diskproof_estimate{") && line.contains("metric=\"iops\""))
        .unwrap();
    assert!(
        sample.contains("stack=\"sda\"")
            && sample.contains("level_iodepth=\"1\"")
            && sample.ends_with(" 1010"),
        "{sample}"
    );
    let left: Vec<_> = std::fs::read_dir(home.path())
        .unwrap()
        .filter(|entry| {
            Path::new(&entry.as_ref().unwrap().file_name()).extension().is_some_and(|end| end == "tmp")
        })
        .collect();
    assert!(left.is_empty(), "{left:?}");
}
