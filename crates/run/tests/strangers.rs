//! A machine at the other end of ssh that we no longer control: all that it sends is shown as plain text.

#![expect(clippy::unwrap_used, reason = "a test that cannot set up what it needs has failed")]

#[path = "../../store/tests/support/sample.rs"]
#[allow(dead_code, reason = "the store's own tests use more of it")]
mod sample;

use diskproof_run::Earlier;
use diskproof_run::controller::{How, NodeAt, RunError, execute, undo};
use diskproof_run::fault::Fault;
use diskproof_run::protocol::{PROTOCOL, Reply};
use record::environment::Environment;
use record::event::Event;
use record::id::RunId;
use record::printable::chain;
use record::printable::is_hidden;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tempfile::TempDir;

const EVIL: &str = "x\u{1b}]0;owned\u{7}\nFORGED: all is well\r\u{1b}[2J\u{9b}5A\u{202e}\u{2028}";

/// A fake node that sends `lines` for any request, and `complaints` on its standard error.
fn node(dir: &Path, lines: &[String], complaints: &[u8]) -> Vec<OsString> {
    std::fs::write(dir.join("lines"), lines.iter().map(|line| format!("{line}\n")).collect::<String>())
        .unwrap();
    std::fs::write(dir.join("complaints"), complaints).unwrap();
    let script = "cat \"$0/complaints\" >&2; sleep 0.3; cat \"$0/lines\"; exec cat >/dev/null";
    ["/bin/sh".into(), "-c".into(), script.into(), dir.into()].to_vec()
}

fn line(reply: &Reply) -> String {
    serde_json::to_string(reply).unwrap()
}

fn hello() -> String {
    line(&Reply::Hello { protocol: PROTOCOL, environment: Box::new(Environment::default()), nfs_name: None })
}

fn is_safe(text: &str) {
    assert!(!text.contains(|c| c != '\n' && is_hidden(c)), "{text:?}");
    assert!(!text.lines().any(|line| line.starts_with("FORGED")), "{text:?}");
}

/// The error with its sources, as it is stored and printed.
fn said(error: &RunError) -> String {
    let all = chain(error);
    is_safe(&all);
    all
}

#[test]
fn lines_of_an_undo_are_text() {
    let dir = TempDir::new().unwrap();
    let undone = line(&Reply::Undone { lines: vec![EVIL.to_owned()], clean: true, going_on: false });
    let done = undo(&node(dir.path(), &[hello(), undone], b""), None, None).unwrap();
    assert!(done.clean && done.lines.len() == 1);
    is_safe(&done.lines[0]);
    assert!(done.lines[0].contains("\n    FORGED"), "{}", done.lines[0]);
}

#[test]
fn refusals_and_rubbish_are_text() {
    let dir = TempDir::new().unwrap();
    let failed = line(&Reply::Failed { blame: Fault::Machine, error: EVIL.to_owned() });
    let rubbish = format!("{{\"reply\": \"{}", EVIL.replace('\n', " "));
    let unknown = format!("{{\"reply\": {}}}", serde_json::to_string(EVIL).unwrap());
    let out_of_turn = line(&Reply::Served { directory: EVIL.into() });
    for replies in [vec![hello(), failed], vec![rubbish], vec![unknown], vec![hello(), out_of_turn]] {
        let error = undo(&node(dir.path(), &replies, b""), None, None).unwrap_err();
        assert!(said(&error).contains("FORGED"), "{error}");
    }
}

#[test]
fn what_ssh_says_before_it_ends_is_quoted_as_text() {
    let dir = TempDir::new().unwrap();
    std::fs::write(dir.path().join("complaints"), EVIL).unwrap();
    let argv = ["/bin/sh", "-c", "cat \"$0/complaints\" >&2; exit 255"].map(OsString::from);
    let argv = [&argv[..], &[dir.path().into()]].concat();
    let told = said(&undo(&argv, None, None).unwrap_err());
    assert!(told.contains("    | x\\x1b]0;owned\\x07\n    | FORGED: all is well\\r\\x1b[2J"), "{told}");
}

#[test]
fn events_and_standard_error_of_a_node_are_text() {
    let dir = TempDir::new().unwrap();
    let event = |event| line(&Reply::Event { event });
    let replies = [
        hello(),
        event(Event::Step { cell: None, step: EVIL.to_owned(), done: None }),
        event(Event::Warning { text: EVIL.to_owned() }),
        line(&Reply::Failed { blame: Fault::Machine, error: EVIL.to_owned() }),
    ];
    let flood = [EVIL.as_bytes(), b"\n\xff\n", &b"y\n".repeat(5000)].concat();
    let argv = node(dir.path(), &replies, &flood);
    let mut plan = sample::plan(1, 1);
    "far".clone_into(&mut plan.cells[0].target);
    let how = How {
        run: RunId("20261101-0000".to_owned()),
        nodes: vec![NodeAt { target: "far".to_owned(), argv, remote: false, hosted: Vec::new() }],
        routes: Vec::new(),
        earlier: Earlier::default(),
        provision_anew: false,
        wishes: Arc::default(),
        forecast_seconds: 0.0,
        live: false,
    };
    let mut heard = Vec::new();
    let error = execute(&plan, &how, &AtomicBool::new(false), &mut |event| {
        match event {
            Event::Step { step, .. } => heard.push(step),
            Event::Warning { text } => heard.push(text),
            _ => {}
        }
        Ok(())
    })
    .unwrap_err();
    said(&error);
    // The warning that the connection is lost quotes the last lines, each on one of its own.
    for line in heard.iter().flat_map(|text| text.split("\n    | ")) {
        assert!(!line.contains(is_hidden), "{line:?}");
    }
    let all = heard.join("\n");
    assert!(all.contains("target far says: FORGED: all is well\\r\\x1b[2J\\u{9b}5A"), "{all}");
    assert!(all.contains("target far says: \\xff"), "{all}");
    assert!(heard.iter().filter(|text| text.contains("\\nFORGED")).count() == 2, "{all}");
    // The node closes its output, so it can't say that it has closed.
    assert!(all.contains("target far: the connection to the agent process is lost"), "{all}");
    let passed_on = heard.iter().filter(|text| text.starts_with("target far says: ")).count();
    assert!(passed_on <= 1000, "a flood is not passed on: {passed_on}");
}
