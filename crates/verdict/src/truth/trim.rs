//! Trims: I/Os that move no bytes.

use super::{claims, judged};
use crate::testing::{Truth, filesystem, totals};
use record::finding::Claim;
use record::stack::FsKind;
use record::trial::ErrorCount;
use record::workload::Rw;

fn trims() -> Truth {
    let mut t = Truth::new(Rw::Randtrim, 65536, true, filesystem(FsKind::Ext4), 1);
    t.trial.engine.as_mut().unwrap().trim = Some(totals(20_000, 65536));
    t
}

#[test]
fn trims_alone_are_nothing_to_attribute_and_no_alarm() {
    let (shares, found) = judged(&trims());
    assert!(found.is_empty(), "{found:?}");
    assert_eq!((shares.read, shares.write), (None, None));
}

#[test]
fn trims_beside_writes_leave_the_writes_where_they_went() {
    let mut t = trims();
    t.asked(0, 1 << 30);
    t.device_write = 1 << 30;
    t.trial.engine.as_mut().unwrap().trim = Some(totals(20_000, 65536));
    let (shares, found) = judged(&t);
    assert!(found.is_empty(), "{found:?}");
    assert_eq!(shares.both.device, 1.0);
}

#[test]
fn errors_of_trims_are_weighed_by_trims() {
    let mut t = trims();
    let error = ErrorCount { errno: "EOPNOTSUPP".to_owned(), count: 3, place: None };
    t.trial.engine.as_mut().unwrap().errors = vec![error];
    let found = judged(&t).1;
    assert_eq!(claims(&t), [Claim::IoErrors]);
    assert_eq!(found[0].severity, record::finding::Severity::Caveat, "3 of 20,000");
}
