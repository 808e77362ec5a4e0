//! The ready-made files for CI systems: they are YAML, their experiment has a plan, and their commands exist.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, also in its helpers")]

use assert_cmd::Command;
use serde_json::Value;
use std::path::{Path, PathBuf};

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/ci").join(name)
}

fn diskproof(args: &[&str], home: &Path) -> (i32, String) {
    let output =
        Command::cargo_bin("diskproof").unwrap().args(args).env_clear().env("HOME", home).output().unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    (output.status.code().unwrap(), text.concat())
}

/// All texts in a document.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(fields) => fields.values().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}

/// The words of each diskproof command in a workflow.
fn commands(file: &str) -> Vec<Vec<String>> {
    let mut text = std::fs::read_to_string(example(file)).unwrap();
    // GitHub fills these in.
    while let Some(at) = text.find("${{") {
        let end = at + text[at..].find("}}").expect("closed") + 2;
        text.replace_range(at..end, "42");
    }
    let document: Value = serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{file}: {error}"));
    let all = texts(&document);
    let lines =
        all.iter().flat_map(|text| text.lines()).filter_map(|line| line.trim().strip_prefix("diskproof "));
    lines.map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
}

#[test]
fn the_workflows_commands_and_their_flags_exist() {
    let home = tempfile::tempdir().unwrap();
    for file in ["github-actions.yml", "gitlab-ci.yml"] {
        let commands = commands(file);
        let verbs: Vec<&str> = commands.iter().map(|words| words[0].as_str()).collect();
        for verb in ["run", "gate", "tag", "history"] {
            assert!(verbs.contains(&verb), "{file} has no {verb}: {verbs:?}");
        }
        for words in commands {
            let (code, help) = diskproof(&[&words[0], "--help"], home.path());
            assert_eq!(code, 0, "{file}: {words:?}: {help}");
            for flag in words.iter().filter(|word| word.starts_with("--")) {
                let is_known = help.lines().any(|line| line.split([' ', ',', '=']).any(|word| word == flag));
                assert!(is_known, "{file}: diskproof {} has no {flag}", words[0]);
            }
        }
    }
}

/// Every command of a workflow is accepted: with an empty store, `run` apart, each says that nothing is kept yet, not that it isn't understood.
#[test]
fn the_workflows_commands_are_understood() {
    let home = tempfile::tempdir().unwrap();
    for file in ["github-actions.yml", "gitlab-ci.yml"] {
        for words in commands(file).into_iter().filter(|words| words[0] != "run") {
            let end = words.iter().position(|word| word == "||").unwrap_or(words.len());
            let args: Vec<String> = words[..end].iter().map(|word| word.replace('"', "")).collect();
            let (code, said) = diskproof(&args.iter().map(String::as_str).collect::<Vec<_>>(), home.path());
            assert!(code == 2 && said.contains("no run is kept yet"), "{file}: {words:?}: {said}");
        }
    }
}

#[test]
fn their_experiment_has_a_plan() {
    let home = tempfile::tempdir().unwrap();
    let dir = format!("dir={}", home.path().to_string_lossy());
    let file = example("storage.yaml");
    let (code, said) = diskproof(&["plan", &file.to_string_lossy(), "--set", &dir, "--json"], home.path());
    assert_eq!(code, 0, "{said}");
    let plan: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(plan["plan"]["experiment"], "ci-storage");
    assert_eq!(plan["plan"]["measure"]["rounds"], 6);
    assert_eq!(plan["plan"]["cells"].as_array().unwrap().len(), 2);
}
