//! Special files in a state directory: diskproof reports them at once and never blocks on them.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that can't go on panics")]

use diskproof_stack::{JournalError, Machine, NoHooks, UndoError, leftovers, undo_run};
use record::id::RunId;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::path::Path;
use std::sync::mpsc::channel;
use std::time::Duration;

/// The result of `ask` on a state directory, within some seconds.
fn soon<T: Send + 'static>(state: &Path, ask: impl FnOnce(&Machine<'_>) -> T + Send + 'static) -> T {
    let (sender, receiver) = channel();
    let state = state.to_owned();
    std::thread::spawn(move || {
        let roots = device::Roots::default();
        let machine = Machine::local(&host::LocalRunner, &roots, &state, &NoHooks);
        let _ = sender.send(ask(&machine));
    });
    receiver.recv_timeout(Duration::from_secs(20)).expect("it waits for the writer of a FIFO")
}

#[test]
fn a_journal_that_is_a_fifo_or_a_link_is_refused_at_once() {
    let state = tempfile::tempdir().unwrap();
    let dir = state.path().join("journal");
    std::fs::create_dir(&dir).unwrap();
    mknodat(CWD, dir.join("pipe.jsonl"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    std::fs::write(state.path().join("elsewhere"), "").unwrap();
    std::os::unix::fs::symlink(state.path().join("elsewhere"), dir.join("link.jsonl")).unwrap();
    let left = soon(state.path(), |machine| leftovers(machine).unwrap());
    let told: Vec<(String, String)> =
        left.into_iter().map(|left| (left.run.0, left.trouble.unwrap_or_default())).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].0 == "link" && told[0].1.contains("link.jsonl: is a symbolic link"), "{told:?}");
    assert!(told[1].0 == "pipe" && told[1].1.contains("pipe.jsonl: is a FIFO"), "{told:?}");
    for run in ["pipe", "link"] {
        let error = soon(state.path(), move |machine| undo_run(machine, &RunId(run.to_owned()))).unwrap_err();
        assert!(
            matches!(error, UndoError::Journal { source: JournalError::Foreign { .. }, .. }),
            "{run}: {error:?}"
        );
    }
    assert!(dir.join("pipe.jsonl").exists() && dir.join("link.jsonl").exists(), "both stay");
}

#[test]
fn an_empty_or_cut_journal_is_said_to_tell_nothing() {
    for content in ["", "{\"session\":{\"format"] {
        let state = tempfile::tempdir().unwrap();
        let dir = state.path().join("journal");
        std::fs::create_dir(&dir).unwrap();
        std::fs::write(dir.join("run.jsonl"), content).unwrap();
        let said =
            soon(state.path(), |machine| undo_run(machine, &RunId("run".to_owned())).unwrap().to_string());
        assert!(
            said.starts_with("nothing undone; the journal ") && said.contains("run.jsonl is empty or cut"),
            "{said}"
        );
    }
    let state = tempfile::tempdir().unwrap();
    let said = soon(state.path(), |machine| undo_run(machine, &RunId("run".to_owned())).unwrap().to_string());
    assert_eq!(said, "nothing was left to undo", "no journal at all");
}

#[test]
fn a_memory_of_provisioning_that_is_a_fifo_is_refused_at_once() {
    for name in ["provision.json", "provision.lock"] {
        let state = tempfile::tempdir().unwrap();
        mknodat(CWD, state.path().join(name), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        let failed = soon(state.path(), |machine| {
            let wanted = diskproof_stack::Provisioning { steps: &[], boot_id: None, anew: false };
            let never = std::sync::atomic::AtomicBool::new(false);
            diskproof_stack::provision(machine, wanted, &never, &mut |_| {}).1.err().map(|e| e.to_string())
        });
        // A record that can't be read counts as none: all steps run, and the new record goes to a file of its own.
        assert_eq!(failed.is_some(), name == "provision.lock", "{name}: {failed:?}");
    }
}
