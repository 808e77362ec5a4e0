//! `compare`, `gate` and `judge` on synthetic stores with known truth.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, also in its helpers")]

mod home;
#[path = "../../store/tests/support/sample.rs"]
#[allow(dead_code, reason = "the store's own tests use more of it")]
mod sample;

use home::{Answer, Home};
use record::event::Stopped;
use record::trial::{Totals, Window};
use sample::{environment, plan, run_id, trial};

const STEADY: [f64; 5] = [100.0, 100.5, 99.5, 100.2, 99.8];
const WILD: [f64; 5] = [100.0, 112.0, 88.0, 108.0, 91.0];

impl Home {
    /// A run of two cells: the first with these IOPS by round, the second always with half of the steady rate.
    fn run(&self, name: &str, iops: [f64; 5], cpu: &str) {
        self.run_of(name, 2, iops, cpu);
    }

    /// A run of the first `cells` of these two.
    fn run_of(&self, name: &str, cells: u32, iops: [f64; 5], cpu: &str) {
        let store = self.store();
        let run = run_id(name);
        let mut machine = environment("6.1.0");
        machine.cpu_model = Some(cpu.to_owned());
        store.create_run(&run, &plan(cells, 5), &machine).unwrap();
        for (round, first) in (0..).zip(iops) {
            let rates = [(0, first), (1, STEADY[round as usize] / 2.0)];
            for (cell, rate) in rates.into_iter().take(cells as usize) {
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

    /// With one space between all words.
    fn says(&self, args: &[&str]) -> Answer {
        self.diskproof(args).flat()
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
    let worse = home.says(&["gate", "--baseline", "base", "worse"]);
    assert!(worse.out.contains("Regression: 1 of 2 figures got worse by more than 5 %."), "{}", worse.out);
    let wild = home.says(&["gate", "--baseline", "base", "wild"]);
    assert!(wild.out.contains("more rounds in each run would decide"), "{}", wild.out);
    let other = home.says(&["gate", "--baseline", "base", "other"]);
    assert!(other.err.contains("CPU model is Other CPU, in the baseline Example CPU"), "{}", other.err);
    assert!(other.out.is_empty());
    let json = home.says(&["gate", "--baseline", "base", "worse", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!((json.code, document["gate"]["passage"].as_str()), (1, Some("regression")));
    assert_eq!(document["lines"][0]["a"]["stack"], "stack-0");
}

#[test]
fn margins_are_given_by_kind_and_by_name() {
    let home = home();
    let gate = |more: &[&str]| home.code(&[&["gate", "--baseline", "base", "worse"], more].concat());
    assert_eq!(gate(&["--margin", "rate=15%"]), 0);
    assert_eq!(gate(&["--margin", "iops=15", "--margin", "rate=1"]), 0, "a name comes before its kind");
    assert_eq!(gate(&["--margin", "p99=50%", "--margin", "cpu=50%"]), 1);
    assert_eq!(gate(&["--margin", "latency=15%", "--of", "read_lat_mean"]), 0);
    assert_eq!(gate(&["--margin", "rate=1%", "--margin", "20"]), 1, "the one for all is the base");
    let unknown = home.says(&["gate", "--baseline", "base", "worse", "--margin", "speed=3"]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.err.contains("`speed` has no margin: expected `rate`"), "{}", unknown.err);
}

#[test]
fn a_run_that_lacks_cells_of_the_baseline_is_undecided() {
    let home = home();
    home.run_of("half", 1, STEADY, "Example CPU");
    let half = home.says(&["gate", "--baseline", "base", "half"]);
    assert_eq!(half.code, 5);
    assert!(
        half.out.contains("Undecided: the run lacks 1 cell or figure of the baseline (--allow-missing"),
        "{}",
        half.out
    );
    assert!(half.out.contains("missing: a stack-1 of run base: only run base has it."), "{}", half.out);
    assert_eq!(home.code(&["gate", "--baseline", "base", "half", "--allow-missing"]), 0);
    assert_eq!(home.code(&["gate", "--baseline", "base", "half", "--stack", "stack-0"]), 0, "not asked for");
    assert_eq!(home.code(&["gate", "--baseline", "half", "base"]), 0, "a new cell is no loss");
    home.run_of("both", 1, STEADY.map(|x| 0.8 * x), "Example CPU");
    assert_eq!(home.code(&["gate", "--baseline", "base", "both"]), 1, "a regression comes first");
}

#[test]
fn the_gate_writes_junit_and_a_summary() {
    let home = home();
    home.run_of("half", 1, STEADY.map(|x| 0.9 * x), "Example CPU");
    let file = |name: &str| home.file(name);
    let (junit, summary) = (file("gate.xml"), file("summary.md"));
    let paths = [&junit, &summary].map(|path| path.to_string_lossy().into_owned());
    let args = |run: &'static str| {
        ["gate", "--baseline", "base", run, "--junit", paths[0].as_str(), "--summary", paths[1].as_str()]
    };
    assert_eq!(home.code(&args("half")), 1);
    let xml = std::fs::read_to_string(&junit).unwrap();
    assert!(
        xml.contains("<testsuite name=\"sample\" tests=\"2\" failures=\"1\" errors=\"1\" skipped=\"0\">"),
        "{xml}"
    );
    assert!(xml.contains("<testcase classname=\"sample.a.stack-0\" name=\"iops\">"), "{xml}");
    assert!(
        xml.contains("<failure message=\"0.90 times the baseline (0.90 to 0.91); the margin is 5 %\"/>"),
        "{xml}"
    );
    assert!(xml.contains("<error message=\"not compared: only run base has it\"/>"), "{xml}");
    assert_eq!(home.code(&args("same")), 0);
    let xml = std::fs::read_to_string(&junit).unwrap();
    assert!(xml.contains("tests=\"2\" failures=\"0\" errors=\"0\""), "written anew: {xml}");
    let page = std::fs::read_to_string(&summary).unwrap();
    assert_eq!(page.matches("# sample: run ").count(), 2, "appended: {page}");
    assert!(page.contains("**Regression:** 1 of 1 figure got worse by more than 5 %."), "{page}");
    let unwritable = home.says(&["gate", "--baseline", "base", "same", "--junit", "/nowhere/gate.xml"]);
    assert_eq!(unwritable.code, 3);
    assert!(unwritable.err.contains("can't write /nowhere/gate.xml"), "{}", unwritable.err);
}

#[test]
fn runs_have_names() {
    let home = home();
    assert_eq!(home.code(&["gate", "--baseline", "sample@baseline", "worse"]), 2);
    let tagged = home.says(&["tag", "base", "baseline"]);
    assert_eq!((tagged.code, tagged.out.as_str()), (0, "sample@baseline is run base"));
    assert_eq!(home.code(&["gate", "--baseline", "sample@baseline", "worse"]), 1);
    assert_eq!(home.code(&["gate", "--baseline", "sample@last", "worse"]), 1, "`same` is the one before it");
    let last = home.says(&["gate", "--baseline", "sample@last", "same", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&last.out).unwrap();
    assert_eq!(document["baseline"]["run"], "base");
    let shown: serde_json::Value =
        serde_json::from_str(&home.says(&["export", "sample@last", "--json"]).out).unwrap();
    assert_eq!(shown["run"], "other");
    let named: serde_json::Value =
        serde_json::from_str(&home.says(&["export", "sample@baseline", "--json"]).out).unwrap();
    assert_eq!((named["run"].as_str(), &named["tags"]), (Some("base"), &serde_json::json!(["baseline"])));
    assert!(
        home.says(&["compare", "sample@baseline", "sample@last"]).out.contains("run other against run base")
    );
    assert_eq!(home.code(&["show", "sample@baseline"]), 0);
    assert_eq!(home.code(&["judge", "sample@baseline"]), 0);
    let unknown = home.says(&["undo", "sample@nightly"]);
    assert!(unknown.code == 2 && unknown.err.contains("its tags are: baseline"), "{}", unknown.err);

    let taken = home.says(&["tag", "same", "baseline"]);
    assert_eq!(taken.code, 2);
    assert!(taken.err.contains("run base has the tag `baseline` already: --move"), "{}", taken.err);
    let moved = home.says(&["tag", "same", "baseline", "--move"]);
    assert_eq!(moved.out, "sample@baseline is run same; run base had this tag before");
    let list = home.says(&["list", "--experiment", "sample"]);
    assert!(
        list.out.contains("ended tags base") && list.out.contains("after 5 rounds baseline worse"),
        "{}",
        list.out
    );
    let json: serde_json::Value =
        serde_json::from_str(&home.says(&["list", "--experiment", "sample", "--json"]).out).unwrap();
    assert_eq!((json[1]["run"].as_str(), json[1]["tags"][0].as_str()), (Some("same"), Some("baseline")));
    let none = home.says(&["list", "--experiment", "nothing"]);
    assert!(none.code == 0 && none.err.contains("no run of nothing is kept yet"), "{}", none.err);
    assert_eq!(home.code(&["tag", "base", "baseline", "--remove"]), 2);
    assert_eq!(home.code(&["tag", "same", "baseline", "--remove"]), 0);
    let gone = home.says(&["show", "sample@baseline"]);
    assert!(gone.code == 2 && gone.err.contains("no run of sample has the tag `baseline`"), "{}", gone.err);
    assert_eq!((home.code(&["tag", "base", "last"]), home.code(&["show", "nothing@last"])), (2, 2));
}

#[test]
fn a_history_names_the_run_that_made_it_worse() {
    let home = Home::new();
    let wobble = [0.0, 0.4, -0.3, 0.1, -0.4, 0.3, -0.1, 0.2, -0.2, 0.05, -0.05, 0.15];
    for (at, offset) in wobble.into_iter().enumerate() {
        let level = if at < 7 { 1.0 } else { 0.9 };
        home.run(&format!("run-{at:02}"), STEADY.map(|x| level * (x + offset)), "Example CPU");
    }
    home.says(&["tag", "run-07", "nightly-7"]);
    let text = home.says(&["history", "sample"]);
    assert_eq!((text.code, text.err.as_str()), (0, ""));
    assert!(
        text.out.contains("iops of a stack-0 is 0.90x the level before (0.90 to 0.90) from run run-07 (nightly-7) on: worse (p"),
        "{}",
        text.out
    );
    let json: serde_json::Value =
        serde_json::from_str(&home.says(&["history", "sample", "--json"]).out).unwrap();
    assert_eq!(json["format"], "diskproof.history/1.0");
    assert_eq!(json["lines"][0]["changes"][0]["run"], "run-07");
    assert_eq!(json["lines"][1]["changes"].as_array().unwrap().len(), 0);
    assert_eq!(json["runs"].as_array().unwrap().len(), 12);
    let short = home.says(&["history", "sample", "--last", "5"]);
    assert!(short.out.contains("No change can show yet: a change of level needs 8 runs"), "{}", short.out);
    let unknown = home.says(&["history", "nothing"]);
    assert!(unknown.code == 2 && unknown.err.contains("there are runs of: sample"), "{}", unknown.err);
}

#[test]
fn two_runs_and_the_cells_of_one() {
    let home = home();
    let two = home.says(&["compare", "base", "worse"]);
    assert_eq!((two.code, two.err.as_str()), (0, ""));
    assert!(two.out.contains("run worse against run base") && two.out.contains("0.90 ("), "{}", two.out);
    assert!(two.out.contains("different times"), "{}", two.out);
    let one = home.says(&["compare", "base", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&one.out).unwrap();
    assert_eq!(
        (document["format"].as_str(), document["paired"].as_bool()),
        (Some("diskproof.comparison/1.1"), Some(true))
    );
    assert_eq!(document["lines"][0]["text"], "stack-0 is 2.00x stack-1 (2.00 to 2.00)");
    let turned = home.says(&["compare", "base", "--stack", "stack-1", "--stack", "stack-0", "--of", "bw"]);
    assert!(turned.out.contains("0.50 ("), "{}", turned.out);
    let unknown = home.says(&["compare", "base", "--of", "speed"]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.err.contains("no cell has the metric `speed`; there are: bw, "), "{}", unknown.err);
}

#[test]
fn judging_anew_tells_what_changed() {
    let home = home();
    let first = home.says(&["judge", "base"]);
    assert!(first.out.contains("no judgement was kept"), "{}", first.out);
    let again = home.says(&["judge", "base"]);
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
    let changed = home.says(&["judge", "base"]);
    assert!(changed.out.contains("against judge 0:"), "{}", changed.out);
    assert_eq!(changed.out.matches(" new: ").count(), findings, "{}", changed.out);
    assert!(changed.out.contains("was: it depends"), "{}", changed.out);

    let all = home.says(&["judge", "--all"]);
    assert_eq!((all.code, all.out.matches("judged by").count()), (0, 5), "{}", all.out);
    assert_eq!(home.code(&["judge", "--all", "base"]), 2);
    assert_eq!(home.code(&["judge", "nothing"]), 2);
}

#[test]
fn judging_again_and_the_answer_in_markdown() {
    let home = home();
    let first: serde_json::Value =
        serde_json::from_str(&home.says(&["judge", "base", "same", "--json"]).out).unwrap();
    assert_eq!(first["format"], "diskproof.judge/1.0");
    let runs = first["runs"].as_array().unwrap();
    assert_eq!((runs[0]["run"].as_str(), runs[1]["run"].as_str()), (Some("base"), Some("same")));
    assert!(runs[0]["before"].is_null() && runs[0]["changes"].is_null(), "nothing was kept: {first}");
    let again: serde_json::Value =
        serde_json::from_str(&home.says(&["judge", "base", "--json"]).out).unwrap();
    let one = &again["runs"][0];
    assert!(one["before"].is_string() && one["changes"].as_array().is_some_and(Vec::is_empty), "{again}");
    let page = home.says(&["export", "base", "--markdown"]);
    assert!(page.code == 0 && page.out.contains("## Measured | stack |"), "{}", page.out);
    assert_eq!(home.code(&["export", "base", "--markdown", "--csv"]), 2);
}
