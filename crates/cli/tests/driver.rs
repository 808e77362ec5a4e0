//! Tests of `diskproof driver` with the example driver in Python, and with what a mistake in it would do.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, also in its helpers")]

use assert_cmd::Command;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use tempfile::TempDir;

const EXAMPLE: &str = include_str!("../../../examples/drivers/diskproof-driver-folder");

/// A home with the example driver on its PATH, changed by replacements.
fn home(changes: &[(&str, &str)]) -> TempDir {
    let home = tempfile::tempdir().unwrap();
    let mut text = EXAMPLE.to_owned();
    for (from, to) in changes {
        assert!(text.contains(from), "the example has no `{from}` any more");
        text = text.replace(from, to);
    }
    let path = home.path().join("diskproof-driver-folder");
    testkit::script(&path, &text);
    let settings = format!(
        "root: {}\nvolumes: {{ a: {{ size: 1g }}, b: {{}} }}\n",
        home.path().join("root").to_string_lossy()
    );
    std::fs::create_dir(home.path().join("root")).unwrap();
    std::fs::write(home.path().join("settings.yaml"), settings).unwrap();
    home
}

fn diskproof(home: &Path, args: &[&str]) -> (i32, String, String) {
    let output = Command::cargo_bin("diskproof")
        .unwrap()
        .args(args)
        .env_clear()
        .env("HOME", home)
        .env("PATH", format!("{}:/usr/bin:/bin", home.to_string_lossy()))
        .env("FOLDER_SECRET", "hunter2hunter2")
        .env("DISKPROOF_STATE", home.join("state"))
        .current_dir(home)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

fn check(home: &Path) -> (i32, String, String) {
    diskproof(home, &["driver", "check", "folder", "--settings", "settings.yaml"])
}

#[test]
fn the_example_keeps_all_rules_and_leaves_nothing() {
    let home = home(&[]);
    let (code, out, err) = check(home.path());
    assert_eq!((code, out.lines().count()), (0, 1), "{out}{err}");
    assert!(out.contains("driver folder keeps all"), "{out}");
    assert_eq!(err.lines().filter(|line| line.starts_with("pass ")).count(), err.lines().count(), "{err}");
    assert!(err.lines().count() >= 18, "{err}");
    assert_eq!(std::fs::read_dir(home.path().join("root")).unwrap().count(), 0);
    assert_eq!(journal(home.path()), 0);
    let by_path = ["driver", "check", "./diskproof-driver-folder", "--settings", "settings.yaml", "--json"];
    let (code, out, err) = diskproof(home.path(), &by_path);
    assert_eq!(code, 0, "{err}");
    let document: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert!(document["rules"].as_array().unwrap().iter().all(|rule| rule["kept"] == true), "{document}");
}

/// How many files the journal of created machines has.
fn journal(home: &Path) -> usize {
    std::fs::read_dir(home.join("state/created")).map_or(0, Iterator::count)
}

#[test]
fn a_check_that_is_interrupted_or_killed_loses_no_machine() {
    // The driver takes its time once the machines of the first claim exist.
    let slow =
        ("    notes = [", "    if do == \"status\":\n        import time; time.sleep(4)\n    notes = [");
    for (signal, code) in [("TERM", Some(143)), ("KILL", None)] {
        let home = home(&[slow]);
        let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("diskproof"))
            .args(["driver", "check", "folder", "--settings", "settings.yaml"])
            .env_clear()
            .env("HOME", home.path())
            .env("DISKPROOF_STATE", home.path().join("state"))
            .env("PATH", format!("{}:/usr/bin:/bin", home.path().to_string_lossy()))
            .current_dir(home.path())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let said = std::io::BufReader::new(child.stderr.take().unwrap());
        let told = std::io::BufRead::lines(said).map_while(Result::ok);
        assert!(told.take_while(|line| !line.contains("an event tells of each machine")).count() > 0);
        assert!(std::fs::read_dir(home.path().join("root")).unwrap().count() > 0);
        let pid = child.id().to_string();
        assert!(std::process::Command::new("kill").args(["-s", signal, &pid]).status().unwrap().success());
        assert_eq!(child.wait().unwrap().code(), code);
        if code.is_none() {
            assert!(journal(home.path()) > 0);
            let (code, out, err) = diskproof(home.path(), &["undo", "driver-check"]);
            assert!(code == 0 && out.contains("destroyed m1, m2"), "{code} {out}{err}");
        }
        assert_eq!(
            (std::fs::read_dir(home.path().join("root")).unwrap().count(), journal(home.path())),
            (0, 0)
        );
    }
}

#[test]
fn each_mistake_breaks_its_rule() {
    for (change, rule) in [
        // It forgets whose they are.
        (("note[\"claim\"][\"id\"] == claim[\"id\"]", "True"), "`destroy` touches no other claim"),
        // It makes new ones each time.
        (("{claim['id'][:12]}", "{__import__('os').urandom(6).hex()}"), "makes nothing more"),
        // It returns another machine than the one that it has.
        (
            ("return {**machine,", "return {**machine, \"id\": __import__('os').urandom(4).hex(),"),
            "returns the same machines",
        ),
        // It says nothing of what it makes.
        (("        say(\"resource\", exists=True, **resource)\n", ""), "an event tells of each machine"),
        // It takes any key.
        (("one[\"settings\"].keys() ^ SETTINGS.keys()", "()"), "refuses an unknown setting by its name"),
        // It minds no version.
        (("protocol.split(\".\")[0] != \"1\"", "False"), "another major version"),
        // It prints a secret.
        (("\"secrets\": []", "\"secrets\": [\"FOLDER_SECRET\"]"), "no secret is in the output"),
    ] {
        let secret =
            ("try:\n", "import os, sys\nprint(os.environ.get('FOLDER_SECRET', ''), file=sys.stderr)\ntry:\n");
        let changes = if rule.contains("secret") { vec![change, secret] } else { vec![change] };
        let home = home(&changes);
        let (code, out, err) = check(home.path());
        let broken: Vec<&str> = err.lines().filter(|line| line.starts_with("BROKEN")).collect();
        assert!(broken.iter().any(|line| line.contains(rule)), "{change:?}: {err}");
        assert!(code == 1 && out.contains("breaks"), "{change:?}: {code} {out}{err}");
        assert!(!err.contains("hunter2"), "{err}");
    }
}

#[test]
fn drivers_are_listed_and_an_unknown_one_is_named() {
    let home = home(&[]);
    let (code, out, _) = diskproof(home.path(), &["driver", "list"]);
    assert!(code == 0 && out.contains("folder") && out.contains("folders in place of machines"), "{out}");
    let (code, _, err) = diskproof(home.path(), &["driver", "check", "no-such"]);
    assert!(code == 2 && err.contains("diskproof-driver-no-such"), "{code} {err}");
    let (code, _, err) = diskproof(home.path(), &["driver", "no-such"]);
    assert!(code == 2 && err.contains("there is no built-in driver `no-such`"), "{code} {err}");
    std::fs::set_permissions(home.path().join("diskproof-driver-folder"), Permissions::from_mode(0o777))
        .unwrap();
    let (code, _, err) = check(home.path());
    assert!(code == 3 && err.contains("go-w"), "{code} {err}");
}
