//! Foreign text reaches the terminal as plain text, whatever is in it: a store from somebody else, directories and files with odd names.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, also in its helpers")]

mod home;
#[path = "../../store/tests/support/sample.rs"]
#[allow(dead_code, reason = "the store's own tests use more of it")]
mod sample;

use home::{Answer, Home, diskproof};
use record::event::Stopped;
use record::printable::{is_hidden, printable_json};
use record::trial::Outcome;
use sample::{environment, plan, run_id, trial};
use std::path::Path;
use store::Store;

/// A window title, a line that looks like diskproof's, a deleted line, a cleared screen, reversed text, colours, Markdown, a formula.
const EVIL: &str =
    "=x\u{1b}]0;owned\u{7}\nFORGED: all is well\r\u{1b}[2J\u{9b}5A\u{202e}\u{2028}\u{7f}\t\u{1b}[31m|y|";

impl Answer {
    /// Checks that the output has no control codes, and no line that begins with foreign text; continued foreign text is indented.
    fn is_safe(&self, args: &[&str]) {
        for text in [&self.out, &self.err] {
            let plain =
                report::SGR.iter().fold(text.replace("\r\n", "\n"), |text, code| text.replace(code, ""));
            let coloured = args.contains(&"always");
            let left = if coloured { &plain } else { &text.replace("\r\n", "\n") };
            assert!(!left.contains(|c| c != '\n' && is_hidden(c)), "{args:?}: {text:?}");
            let forged = plain
                .lines()
                .find(|line| line.trim_start_matches(' ').starts_with("FORGED") && !line.starts_with("    "));
            assert_eq!(forged, None, "{args:?}: {text}");
        }
        assert!(self.code != 4, "{args:?}: {}", self.err);
    }
}

/// A store in which every free text is hostile.
fn foreign_store(home: &Path) {
    let store = Store::open(&home.join("results.db")).unwrap();
    for name in ["a", "b"] {
        let run = run_id(&format!("{name}{EVIL}"));
        let mut plan = plan(2, 3);
        EVIL.clone_into(&mut plan.experiment);
        plan.question = Some(EVIL.to_owned());
        for (index, cell) in plan.cells.iter_mut().enumerate() {
            cell.stack.name = format!("{EVIL}{index}");
            cell.workload.name = format!("{EVIL}w");
            cell.levels.insert(format!("factor{EVIL}"), format!("{EVIL}{index}"));
        }
        let mut machine = environment(EVIL);
        machine.cpu_model = Some(EVIL.to_owned());
        machine.distribution = Some(EVIL.to_owned());
        store.create_run(&run, &plan, &machine).unwrap();
        for round in 0..3 {
            for cell in 0..2 {
                let mut trial = trial(cell, round);
                let engine = trial.engine.as_mut().unwrap();
                engine.messages = vec![EVIL.to_owned()];
                EVIL.clone_into(&mut engine.engine);
                trial.topology.unknown = vec![EVIL.to_owned()];
                trial.topology.fs_type = Some(EVIL.to_owned());
                for other in &mut trial.evidence.others {
                    EVIL.clone_into(&mut other.comm);
                    other.read_bytes = 100_000;
                }
                if round == 2 {
                    trial.engine = None;
                    trial.outcome = Outcome::Failed(EVIL.to_owned());
                }
                store.append_trial(&run, &trial).unwrap();
            }
        }
        store.finish_run(&run, &Stopped::Failed { error: EVIL.to_owned() }).unwrap();
    }
}

#[test]
fn a_store_of_somebody_else_is_shown_as_text() {
    let home = Home::new();
    foreign_store(home.path());
    for args in [
        &["list"][..],
        &["list", "--json"],
        &["show", "a"],
        &["show", "a", "--color", "always"],
        &["show", "a", "--json"],
        &["show", ""],
        &["show", "nothing\u{1b}[2J\nFORGED"],
        &["export", "a", "--csv"],
        &["export", "a", "--csv-raw"],
        &["export", "a", "--json"],
        &["export", "a", "--markdown"],
        &["compare", "a", "b"],
        &["compare", "a", "b", "--color", "always"],
        &["compare", "a", "b", "--json"],
        &["gate", "--baseline", "a", "b"],
        &["judge", "a"],
        &["judge", "b", "--json"],
        &["judge", "a"],
    ] {
        let answer = diskproof(home.path(), args);
        answer.is_safe(args);
        let said = answer.out + &answer.err;
        assert!(said.contains("FORGED"), "{args:?} shows nothing of it, so nothing was tried: {said}");
        if args.contains(&"--json") {
            serde_json::from_str::<serde_json::Value>(&said).expect("JSON");
        }
    }
}

#[test]
fn no_row_of_a_foreign_store_is_broken_in_a_table_of_others() {
    let home = Home::new();
    foreign_store(home.path());
    let list = diskproof(home.path(), &["list"]).out;
    assert_eq!(list.lines().count(), 3, "{list}");
    let markdown = diskproof(home.path(), &["export", "a", "--markdown"]).out;
    let bars = |line: &str| line.replace("\\|", "").matches('|').count();
    let rows: Vec<usize> = markdown.lines().filter(|line| line.starts_with('|')).map(bars).collect();
    assert!(rows.len() > 2 && rows.iter().all(|bars| *bars == rows[0]), "{markdown}");
    let csv = diskproof(home.path(), &["export", "a", "--csv"]).out;
    assert!(csv.contains(",\"'=x\\x1b]0;owned") && !csv.contains(",\"=x"), "{csv}");
    assert!(diskproof(home.path(), &["export", "a", "--csv-raw"]).out.contains(",\"=x\\x1b]0;owned"));
}

/// The experiment is the user's own; the directory's name may be somebody else's.
#[test]
fn a_lent_directory_of_any_name_is_planned_and_refused_as_text() {
    let home = Home::new();
    let evil = home.path().join("d\u{1b}]0;x\u{7}\nFORGED: all is well\u{9b}2J\u{202e}");
    std::fs::create_dir(&evil).unwrap();
    let experiment = serde_json::json!({
        "experiment": "lent",
        "volumes": { "dir": { "directory": evil } },
        "stacks": { "s": { "on": "dir", "layers": ["raw"] } },
        "workloads": { "w": { "rw": "read", "bs": "4k", "size": "1m" } },
        "measure": { "trial": "1s", "rounds": 1 },
    });
    // JSON is YAML
    let file = home.path().join("e\u{1b}[2J\nFORGED.yaml");
    std::fs::write(&file, &*printable_json(&experiment.to_string())).unwrap();
    std::fs::write(home.path().join("broken\nFORGED.yaml"), "experiment: 1\nFORGED\u{9b}: 2\n").unwrap();
    std::fs::write(evil.join("file"), "").unwrap();
    let (file, dir, inside) = (file.to_str().unwrap(), evil.to_str().unwrap(), evil.join("file"));
    for args in [
        &["plan", file][..],
        &["plan", file, "--color", "always"],
        &["plan", file, "--json"],
        &["plan", "gone\u{1b}[2J\nFORGED.yaml"],
        &["plan", "broken\nFORGED.yaml"],
        &["quick", "gone\u{1b}[2J\nFORGED"],
        &["quick", inside.to_str().unwrap()],
        &["show", "x", "--store", dir],
        &["list", "--store", &format!("{dir}/results\nFORGED.db")],
        &["claim", "id\u{1b}[2J\nFORGED"],
    ] {
        let answer = diskproof(home.path(), args);
        answer.is_safe(args);
        assert!((answer.out + &answer.err).contains("FORGED"), "{args:?} says nothing of it");
    }
    let plan = diskproof(home.path(), &["plan", file]);
    assert_eq!(plan.code, 0, "{}", plan.err);
    // line breaks depend on the length of the directory's name
    let unbroken = plan.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(unbroken.contains("\\x1b]0;x\\x07\\nFORGED: all is well\\u{9b}2J\\u{202e}"), "{}", plan.out);
    // data stays unchanged
    let json: serde_json::Value =
        serde_json::from_str(&diskproof(home.path(), &["plan", file, "--json"]).out).unwrap();
    assert!(json.to_string().contains(&serde_json::to_string(dir).unwrap()), "{json}");
}
