//! Where a driver's setting comes from, and when a person is asked for it. live/terminal.py makes the terminal.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, also in its helpers")]

use serde_json::Value;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const EXAMPLE: &str = include_str!("../../../examples/drivers/diskproof-driver-folder");
/// A setting that the driver needs, and one that has a default.
const SETTINGS: (&str, &str) = (
    "SETTINGS = {",
    "SETTINGS = {\"zone\": {\"kind\": \"text\", \"required\": True, \"environment\": [\"FOLDER_ZONE\"], \
     \"metadata\": \"gce:instance/zone\", \"about\": \"where the machine stands\"}, \
     \"colour\": {\"kind\": \"text\", \"required\": True, \"default\": \"grey\", \"about\": \"its colour\"}, ",
);
/// The driver notes the settings that it is asked about, and doesn't insist on the one that has a default.
const NOTES: (&str, &str) = (
    "    wrong = [",
    "    if machines:\n        open(root.parent / 'asked', 'a').write(json.dumps(machines[0]['settings']) + '\\n')\n    wrong = [",
);
const LENIENT: (&str, &str) = ("one[\"settings\"].keys() ^ SETTINGS.keys()", "()");
const SECRET: (&str, &str) = ("\"secrets\": []", "\"secrets\": [\"FOLDER_SECRET\"]");
/// It fails in `create`, and in `destroy` as well, so that its claim stays in the journal.
const FAILS: (&str, &str) = (
    "    return {\n",
    "    if do in ('create', 'destroy'):\n        raise ValueError('out of order')\n    return {\n",
);

/// A home with the driver and an experiment of one machine.
struct Home(TempDir);

impl Home {
    fn new(changes: &[(&str, &str)]) -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        let mut text = EXAMPLE.to_owned();
        for (from, to) in [SETTINGS, NOTES, LENIENT].iter().chain(changes) {
            assert!(text.contains(from), "the example has no `{from}` any more");
            text = text.replace(from, to);
        }
        let driver = home.path().join("diskproof-driver-folder");
        testkit::script(&driver, &text);
        fs::create_dir(home.path().join("root")).unwrap();
        home.file("");
        home.experiment("");
        home
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes drivers.yaml, with more settings.
    fn file(&self, more: &str) {
        let folder = self.path().join(".config/diskproof");
        fs::create_dir_all(&folder).unwrap();
        let root = self.path().join("root");
        fs::write(
            folder.join("drivers.yaml"),
            format!("folder: {{ root: {}{more} }}\n", root.to_string_lossy()),
        )
        .unwrap();
    }

    /// Writes the experiment, with more settings of its machine.
    fn experiment(&self, more: &str) {
        let text = format!(
            "experiment: demo\ntargets: {{ one: {{ driver: folder, {more}volumes: {{ v: {{ size: 1g }} }} }} }}\n\
             stacks: {{ s: {{ on: v }} }}\nworkloads: {{ r: {{ rw: read, bs: 4k, size: 1m }} }}\n"
        );
        fs::write(self.path().join("e.yaml"), text).unwrap();
    }

    fn command(&self, program: PathBuf) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("HOME", self.path())
            .env("TERM", "xterm")
            .env("PATH", format!("{}:/usr/bin:/bin", self.path().to_string_lossy()))
            .env("DISKPROOF_STATE", self.path().join("state"))
            .env("DISKPROOF_STORE", self.path().join("results.db"))
            .current_dir(self.path());
        command
    }

    /// Runs a command on a terminal; returns its code and all that the terminal showed. `answer`: what is typed at the first question.
    fn on_a_terminal(&self, answer: Option<&str>, args: &[&str], env: &[(&str, &str)]) -> (i64, String) {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/live/terminal.py");
        let scenario = answer.map_or_else(|| "answer".to_owned(), |text| format!("answer:{text}"));
        let mut command = self.command("/usr/bin/python3".into());
        command.args([script, &scenario]).arg(diskproof()).args(args).envs(env.iter().copied());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        let seen = told["seen"].as_str().unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
        (told["status"].as_i64().unwrap(), seen)
    }

    /// The settings that the driver was asked about last, besides its folder. `None`: it was asked nothing since the last look.
    fn asked(&self) -> Option<Value> {
        let all = fs::read_to_string(self.path().join("asked")).ok()?;
        fs::remove_file(self.path().join("asked")).unwrap();
        let mut last: Value = serde_json::from_str(all.lines().last()?).unwrap();
        last.as_object_mut().unwrap().remove("root").unwrap();
        Some(last)
    }

    /// All that is in the state folder.
    fn state(&self) -> String {
        fn all(folder: &Path, text: &mut String) {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                match entry.file_type().unwrap().is_dir() {
                    true => all(&entry.path(), text),
                    false => text.push_str(&String::from_utf8_lossy(&fs::read(entry.path()).unwrap())),
                }
            }
        }
        let mut text = String::new();
        all(&self.path().join("state"), &mut text);
        text
    }
}

fn diskproof() -> PathBuf {
    assert_cmd::cargo::cargo_bin("diskproof")
}

const QUESTION: &str = "one: zone (where the machine stands): ";

#[test]
fn a_person_is_asked_only_for_what_no_other_source_says() {
    let home = Home::new(&[]);
    let zone = |zone: &str| Some(serde_json::json!({ "zone": zone }));
    let unasked = |args: &[&str], env: &[(&str, &str)]| {
        let (code, seen) = home.on_a_terminal(None, args, env);
        assert!(code == 0 && !seen.contains(QUESTION.trim()), "{code} {seen}");
        home.asked()
    };
    // `colour` has a default, so it is never asked for, and the driver gets no value of it.
    let (code, seen) = home.on_a_terminal(Some("attic"), &["plan", "e.yaml"], &[]);
    assert!(
        code == 0 && seen.contains(QUESTION) && seen.contains("driver folder creates one"),
        "{code} {seen}"
    );
    assert!(!seen.contains("colour"), "{seen}");
    assert_eq!(home.asked(), zone("attic"));
    // Each source counts before the one above it.
    home.file(", zone: cellar");
    assert_eq!(unasked(&["plan", "e.yaml"], &[]), zone("cellar"));
    let env = [("FOLDER_ZONE", "hall")];
    assert_eq!(unasked(&["plan", "e.yaml"], &env), zone("hall"));
    home.experiment("zone: kitchen, ");
    assert_eq!(unasked(&["plan", "e.yaml"], &env), zone("kitchen"));
    assert_eq!(unasked(&["plan", "e.yaml", "--set", "one.zone=roof"], &env), zone("roof"));
}

#[test]
fn the_word_metadata_works_as_an_answer_too() {
    let home = Home::new(&[]);
    let service = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = service.local_addr().unwrap().to_string();
    let served = std::thread::spawn(move || {
        let (mut stream, _) = service.accept().unwrap();
        let lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
        let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
        let body = "projects/7/zones/garden";
        write!(
            stream,
            "HTTP/1.1 200 OK\r\nMetadata-Flavor: Google\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        head.join("\n")
    });
    let (code, seen) =
        home.on_a_terminal(Some("metadata"), &["plan", "e.yaml"], &[("GCE_METADATA_HOST", at.as_str())]);
    assert_eq!(code, 0, "{seen}");
    assert_eq!(home.asked(), Some(serde_json::json!({ "zone": "garden" })));
    assert!(served.join().unwrap().starts_with("GET /computeMetadata/v1/instance/zone "));
}

#[test]
fn an_empty_answer_and_no_terminal_are_the_error_of_a_missing_setting() {
    let home = Home::new(&[]);
    let (code, seen) = home.on_a_terminal(Some(""), &["plan", "e.yaml"], &[]);
    assert!(code == 2 && seen.contains(QUESTION) && seen.contains("`zone` is missing"), "{code} {seen}");
    for verb in ["plan", "run", "create"] {
        let output = home.command(diskproof()).args([verb, "e.yaml"]).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{verb}: {err}");
        assert!(err.contains("`zone` is missing") && err.contains("or set FOLDER_ZONE"), "{verb}: {err}");
        assert!(!err.contains(QUESTION.trim()), "{verb}: {err}");
    }
    assert_eq!(home.asked(), None, "the driver is not asked about settings that are incomplete");
    assert_eq!(fs::read_dir(home.path().join("root")).unwrap().count(), 0);
}

#[test]
fn an_answer_is_kept_and_a_secret_is_neither_asked_for_nor_kept() {
    let home = Home::new(&[SECRET, FAILS]);
    // The secret is not there, and nothing asks for it: the driver says what it lacks.
    let (code, seen) = home.on_a_terminal(Some("attic"), &["plan", "e.yaml"], &[]);
    assert!(code == 0 && seen.matches("one: ").count() == 1 && !seen.contains("SECRET"), "{code} {seen}");
    let env = [("FOLDER_SECRET", "hunter2hunter2")];
    let (code, seen) = home.on_a_terminal(Some("attic"), &["create", "e.yaml"], &env);
    assert!(code != 0 && seen.contains("out of order"), "{code} {seen}");
    let kept = home.state();
    assert!(kept.contains("attic"), "the journal has the settings that destroy needs: {kept}");
    assert!(!kept.contains("hunter2") && !seen.contains("hunter2"), "{kept}{seen}");
}

#[test]
fn a_setting_that_would_keep_a_secret_is_refused() {
    let home = Home::new(&[SECRET, ("\"FOLDER_ZONE\"", "\"FOLDER_SECRET\"")]);
    let env = [("FOLDER_SECRET", "hunter2hunter2")];
    let (_, seen) = home.on_a_terminal(None, &["create", "e.yaml"], &env);
    assert!(
        seen.contains("its setting `zone` takes its value from FOLDER_SECRET, which is a secret"),
        "{seen}"
    );
    assert!(!home.state().contains("hunter2") && !seen.contains("hunter2"), "{seen}");
}
