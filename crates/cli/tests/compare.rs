//! `compare`, `gate` and `judge` on synthetic stores with known truth.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, also in its helpers")]

#[path = "../../store/tests/support/sample.rs"]
#[allow(dead_code, reason = "the store's own tests use more of it")]
mod sample;

use assert_cmd::Command;
use record::event::Stopped;
use record::trial::{Totals, Window};
use sample::{environment, plan, run_id, trial};
use store::Store;
use tempfile::TempDir;

const STEADY: [f64; 5] = [100.0, 100.5, 99.5, 100.2, 99.8];
const WILD: [f64; 5] = [100.0, 112.0, 88.0, 108.0, 91.0];

struct Home(TempDir);

struct Answer {
    code: i32,
    out: String,
    err: String,
}

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn store(&self) -> Store {
        Store::open(&self.0.path().join("results.db")).unwrap()
    }

    /// A run of two cells: the first with these IOPS by round, the second always with half of the steady rate.
    fn run(&self, name: &str, iops: [f64; 5], cpu: &str) {
        let store = self.store();
        let run = run_id(name);
        let mut machine = environment("6.1.0");
        machine.cpu_model = Some(cpu.to_owned());
        store.create_run(&run, &plan(2, 5), &machine).unwrap();
        for (round, first) in (0..).zip(iops) {
            for (cell, rate) in [(0, first), (1, STEADY[round as usize] / 2.0)] {
                let mut trial = trial(cell, round);
                let engine = trial.engine.as_mut().unwrap();
                engine.window = Window { start_ns: 0, end_ns: 20_000_000_000 };
                engine.read = Some(Totals {
                    ios: 2_000_000,
                    bytes: 2_000_000 * 4096,
                    seconds: 20.0,
                    iops: rate * 1000.0,
                    bytes_per_second: rate * 4_096_000.0,
                    latency: record::latency::LatencyHistogram::default(),
                    latency_mean_ns: Some(1e9 / rate),
                });
                store.append_trial(&run, &trial).unwrap();
            }
        }
        store.finish_run(&run, &Stopped::RoundsDone { rounds: 5 }).unwrap();
    }

    fn diskproof(&self, args: &[&str]) -> Answer {
        let output = Command::cargo_bin("diskproof")
            .unwrap()
            .args(args)
            .env_clear()
            .env("HOME", self.0.path())
            .env("DISKPROOF_STORE", self.0.path().join("results.db"))
            .output()
            .unwrap();
        let text = |bytes: &[u8]| {
            let lines = String::from_utf8_lossy(bytes);
            lines.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        Answer { code: output.status.code().unwrap(), out: text(&output.stdout), err: text(&output.stderr) }
    }

    fn code(&self, args: &[&str]) -> i32 {
        let answer = self.diskproof(args);
        assert!(answer.code != 4, "{}", answer.err);
        answer.code
    }
}

/// The runs: `base`, `same` as it, `worse` by a tenth, `wild`, and `other` on another machine.
fn home() -> Home {
    let home = Home::new();
    home.run("base", STEADY, "Example CPU");
    home.run("same", [99.9, 100.4, 99.6, 100.1, 100.0], "Example CPU");
    home.run("worse", STEADY.map(|x| 0.9 * x), "Example CPU");
    home.run("wild", WILD, "Example CPU");
    home.run("other", STEADY, "Other CPU");
    home
}

#[test]
fn the_gate_s_codes() {
    let home = home();
    let gate = |run: &str, more: &[&str]| home.code(&[&["gate", "--baseline", "base", run], more].concat());
    assert_eq!(gate("same", &[]), 0);
    assert_eq!(gate("worse", &[]), 1);
    assert_eq!(gate("worse", &["--undecided", "pass"]), 1, "a regression is one");
    assert_eq!(gate("worse", &["--margin", "15"]), 0);
    assert_eq!(gate("wild", &[]), 5);
    assert_eq!((gate("wild", &["--undecided", "pass"]), gate("wild", &["--undecided", "fail"])), (0, 1));
    assert_eq!(gate("wild", &["--stack", "stack-1"]), 0, "only what is asked");
    assert_eq!(gate("worse", &["--of", "read_lat_mean"]), 1, "latencies regress upwards");
    assert_eq!(gate("other", &[]), 3);
    assert_eq!(gate("other", &["--across-machines"]), 0);
    assert_eq!((gate("base", &[]), gate("nothing", &[]), gate("same", &["--stack", "no"])), (2, 2, 2));
    assert_eq!((gate("same", &["--margin", "100"]), gate("same", &["--of", "no"])), (2, 2));
}

#[test]
fn the_gate_says_why() {
    let home = home();
    let worse = home.diskproof(&["gate", "--baseline", "base", "worse"]);
    assert!(worse.out.contains("Regression: 1 of 2 figures got worse by more than 5 %."), "{}", worse.out);
    let wild = home.diskproof(&["gate", "--baseline", "base", "wild"]);
    assert!(wild.out.contains("more rounds in each run would decide"), "{}", wild.out);
    let other = home.diskproof(&["gate", "--baseline", "base", "other"]);
    assert!(other.err.contains("CPU model is Other CPU, in the baseline Example CPU"), "{}", other.err);
    assert!(other.out.is_empty());
    let json = home.diskproof(&["gate", "--baseline", "base", "worse", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!((json.code, document["gate"]["passage"].as_str()), (1, Some("regression")));
    assert_eq!(document["lines"][0]["a"]["stack"], "stack-0");
}

#[test]
fn two_runs_and_the_cells_of_one() {
    let home = home();
    let two = home.diskproof(&["compare", "base", "worse"]);
    assert_eq!((two.code, two.err.as_str()), (0, ""));
    assert!(two.out.contains("run worse against run base") && two.out.contains("0.90 ("), "{}", two.out);
    assert!(two.out.contains("different times"), "{}", two.out);
    let one = home.diskproof(&["compare", "base", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&one.out).unwrap();
    assert_eq!(
        (document["format"].as_str(), document["paired"].as_bool()),
        (Some("diskproof.comparison/1.0"), Some(true))
    );
    assert_eq!(document["lines"][0]["text"], "stack-0 is 2.00x stack-1 (2.00 to 2.00)");
    let turned =
        home.diskproof(&["compare", "base", "--stack", "stack-1", "--stack", "stack-0", "--of", "bw"]);
    assert!(turned.out.contains("0.50 ("), "{}", turned.out);
    let unknown = home.diskproof(&["compare", "base", "--of", "speed"]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.err.contains("no cell has the metric `speed`; there are: bw, "), "{}", unknown.err);
}

#[test]
fn judging_anew_tells_what_changed() {
    let home = home();
    let first = home.diskproof(&["judge", "base"]);
    assert!(first.out.contains("no judgement was kept"), "{}", first.out);
    let again = home.diskproof(&["judge", "base"]);
    assert!(again.out.contains("nothing changed against diskproof"), "{}", again.out);

    // Older rules had found nothing, and had another answer.
    let (store, run) = (home.store(), run_id("base"));
    let (_, text) = store.kept_judgement(&run).unwrap().unwrap();
    let mut view: serde_json::Value = serde_json::from_str(&text).unwrap();
    let findings = view["findings"].as_array().unwrap().len();
    assert!(findings > 0);
    view["findings"] = serde_json::json!([]);
    view["answers"][0]["text"] = "it depends".into();
    let revision = store.head(&run).unwrap().revision;
    store.cache_judgement(&run, "judge 0", revision, &view.to_string()).unwrap();
    drop(store);
    let changed = home.diskproof(&["judge", "base"]);
    assert!(changed.out.contains("against judge 0:"), "{}", changed.out);
    assert_eq!(changed.out.matches(" new: ").count(), findings, "{}", changed.out);
    assert!(changed.out.contains("was: it depends"), "{}", changed.out);

    let all = home.diskproof(&["judge", "--all"]);
    assert_eq!((all.code, all.out.matches("judged by").count()), (0, 5), "{}", all.out);
    assert_eq!(home.code(&["judge", "--all", "base"]), 2);
    assert_eq!(home.code(&["judge", "nothing"]), 2);
}

#[test]
fn judging_again_and_the_answer_in_markdown() {
    let home = home();
    let first: serde_json::Value =
        serde_json::from_str(&home.diskproof(&["judge", "base", "same", "--json"]).out).unwrap();
    assert_eq!(first["format"], "diskproof.judge/1.0");
    let runs = first["runs"].as_array().unwrap();
    assert_eq!((runs[0]["run"].as_str(), runs[1]["run"].as_str()), (Some("base"), Some("same")));
    assert!(runs[0]["before"].is_null() && runs[0]["changes"].is_null(), "nothing was kept: {first}");
    let again: serde_json::Value =
        serde_json::from_str(&home.diskproof(&["judge", "base", "--json"]).out).unwrap();
    let one = &again["runs"][0];
    assert!(one["before"].is_string() && one["changes"].as_array().is_some_and(Vec::is_empty), "{again}");
    let page = home.diskproof(&["export", "base", "--markdown"]);
    assert!(page.code == 0 && page.out.contains("## Measured | stack |"), "{}", page.out);
    assert_eq!(home.code(&["export", "base", "--markdown", "--csv"]), 2);
}
