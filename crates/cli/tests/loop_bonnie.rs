//! A real run of Bonnie++ on an emulated volume: every report shows its `+++++` as too fast to measure. Needs root.
#![allow(clippy::unwrap_used, reason = "tests may")]

use serde_json::Value;
use std::path::Path;
use testkit::{MachineState, Watch};

/// So small that reads and stats are too fast; flushing each of 3072 files takes more than half a second on any disk.
const EXPERIMENT: &str = "
experiment: bonnie
volumes: { vol: { emulate: { size: 64m } } }
stacks: { ext4: { on: vol, layers: [ ext4 ] } }
workloads: { bonnie: { engine: bonnie, bonnie: { s: 2m, n: 3, f: 1, b: 1, D: 1 } } }
measure: { rounds: 1 }
";

const COMPRESSED: &str = "
experiment: bonnie-compressed
volumes: { vol: { emulate: { size: 128m } } }
stacks: { zstd: { on: vol, layers: [ { btrfs: { compress: zstd } } ] } }
workloads: { bonnie: { engine: bonnie, bonnie: { s: 2m, f: 1 } } }
measure: { rounds: 1 }
";

fn diskproof(dir: &Path, args: &[&str]) -> String {
    let out = testkit::program(assert_cmd::cargo::cargo_bin("diskproof"), dir, args).output().unwrap();
    assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

#[test]
fn loop_bonnie_tells_what_is_too_fast_all_the_way_to_the_reports() {
    if !testkit::is_root() {
        eprintln!("SKIPPED loop_bonnie: needs root");
        return;
    }
    let _alone = testkit::exclusive();
    let dir = testkit::fresh_dir("cli-bonnie");
    let before = MachineState::capture(&Watch::default());
    std::fs::write(dir.join("e.yaml"), EXPERIMENT).unwrap();
    let shown = diskproof(&dir, &["run", "e.yaml", "--progress", "none"]);
    let left = before.diff(&MachineState::capture(&Watch::default()));
    assert!(left.is_empty(), "{left}");

    let view: Value = serde_json::from_str(&diskproof(&dir, &["export", "latest", "--json"])).unwrap();
    let cell = &view["cells"][0];
    assert_eq!(cell["trials"]["done"], 1, "{cell}");
    assert!(cell["metrics"]["seq_create"]["estimate"].as_f64().unwrap() > 0.0, "{}", cell["metrics"]);
    let csv = diskproof(&dir, &["export", "latest", "--csv"]);
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = lines.next().unwrap();
    let column = |name| head.iter().position(|column| *column == name).unwrap();
    let (metric, estimate, fast) = (column("metric"), column("estimate"), column("too_fast_trials"));
    let rows: Vec<_> = lines.collect();
    for name in ["block_input_bw", "seq_stat", "random_stat"] {
        assert_eq!(
            (&cell["too_fast"][name], &cell["metrics"][name]),
            (&Value::from(1), &Value::Null),
            "{name}: {cell}"
        );
        let row = rows.iter().find(|row| row[metric] == name).unwrap();
        assert_eq!((row[estimate], row[fast]), ("", "1"), "{name}");
    }
    let found = |claim: &str| {
        let all = view["findings"].as_array().unwrap();
        all.iter().find(|f| f["claim"] == claim).unwrap()["text"].as_str().unwrap()
    };
    let text = found("smaller_than_memory");
    assert!(text.contains("twice the memory") && text.contains("for block output only"), "{text}");
    let text = found("too_fast");
    assert!(text.contains("+++++") && text.contains("seq_stat") && !text.contains("seq_create"), "{text}");
    let line =
        |label| shown.lines().find(|line| line.contains(label)).unwrap_or_else(|| panic!("{label}: {shown}"));
    assert!(!line("too fast").contains("seq create") && !line("seq create").contains("too fast"), "{shown}");
    let again = diskproof(&dir, &["show"]);
    assert_eq!(again.trim(), shown.trim());
}

#[test]
fn loop_bonnie_is_void_where_the_stack_compresses() {
    if !testkit::is_root() {
        eprintln!("SKIPPED loop_bonnie: needs root");
        return;
    }
    let _alone = testkit::exclusive();
    let dir = testkit::fresh_dir("cli-bonnie-compressed");
    std::fs::write(dir.join("e.yaml"), COMPRESSED).unwrap();
    diskproof(&dir, &["run", "e.yaml", "--progress", "none"]);
    let view: Value = serde_json::from_str(&diskproof(&dir, &["export", "latest", "--json"])).unwrap();
    let found = view["findings"].as_array().unwrap().iter().find(|f| f["claim"] == "compressed").unwrap();
    assert_eq!((&found["severity"], &view["cells"][0]["void"]), (&"void".into(), &true.into()), "{found}");
    assert!(found["text"].as_str().unwrap().contains("Bonnie++"), "{found}");
}
