//! Trials with departures from the request.

use super::judged;
use crate::detected::Detected;
use crate::testing::{GIB, MIB, Truth, filesystem};
use record::finding::{Claim, Severity};
use record::stack::FsKind;
use record::trial::Departure;
use record::workload::{Ask, EngineKind, Rw};

fn plain() -> Truth {
    let mut t = Truth::new(Rw::Randread, 4096, true, filesystem(FsKind::Ext4), 1);
    t.asked(GIB, 0);
    t.device_read = GIB;
    t
}

fn departed(truth: &Truth) -> Vec<Detected> {
    judged(truth).1.into_iter().filter(|found| found.claim == Claim::NotAsAsked).collect()
}

#[test]
fn threads_instead_of_a_ring_are_named() {
    let mut t = plain();
    let text = "pread and pwrite in threads instead of io_uring: EPERM".to_owned();
    t.trial.engine.as_mut().unwrap().departures = vec![Departure { text: text.clone(), matters: true }];
    let found = departed(&t);
    assert_eq!((found.len(), found[0].severity), (1, Severity::Caveat), "{found:?}");
    assert!(found[0].text.contains(&text), "{}", found[0].text);
    // as older records have it
    let mut t = plain();
    t.trial.engine.as_mut().unwrap().messages = vec!["something else".to_owned(), text.clone()];
    let found = departed(&t);
    assert!(found[0].text.contains(&text) && !found[0].text.contains("else"), "{found:?}");
}

#[test]
fn what_does_not_change_the_figure_is_a_note() {
    let mut t = plain();
    let departure = Departure { text: "discards by threads".to_owned(), matters: false };
    t.trial.engine.as_mut().unwrap().departures = vec![departure];
    assert_eq!(departed(&t)[0].severity, Severity::Note);
    assert!(departed(&plain()).is_empty());
}

#[test]
fn what_a_job_file_leaves_open_is_said() {
    let of = |text: &str, engine| {
        let mut t = plain();
        t.cell.workload.engine = engine;
        let ask = Ask::JobFile {
            path: "my.fio".to_owned(),
            text: text.to_owned(),
            size_bytes: 256 * MIB,
            jobs: Vec::new(),
        };
        t.cell.workload.ask = ask;
        departed(&t).into_iter().map(|found| found.text).collect::<Vec<_>>()
    };
    let both = of("[global]\nioengine=libaio\n[a]\nrw=randread\n", EngineKind::Native);
    assert!(
        both[0].contains("my.fio sets no runtime") && both[0].contains("issued its I/O by io_uring"),
        "{both:?}"
    );
    let time = of("[a]\nrw=randread\nioengine=libaio\n", EngineKind::Fio);
    assert!(time[0].contains("repeated until") && !time[0].contains("libaio"), "{time:?}");
    for said in ["runtime=30", "timeout=30s", "time_based=0", "time_based"] {
        assert!(of(&format!("[a]\nrw=randread\n{said}\n"), EngineKind::Fio).is_empty(), "{said}");
    }
    assert_eq!(of("[a]\nrw=randread\nruntime=0\n", EngineKind::Fio).len(), 1);
}
