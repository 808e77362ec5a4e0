//! The results of checking, over all blocks of a job.

use super::diagnose::Fault;
use record::trial::{FaultKind, Verified, VerifyFault};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The most offsets that are kept per kind and file.
const OFFSETS_KEPT: usize = 16;

/// Faults of one kind in one file.
#[derive(Debug)]
struct Seen {
    count: u64,
    offsets_bytes: Vec<u64>,
    example: String,
}

/// The checked bytes and the faults.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    bytes: u64,
    seen: BTreeMap<(FaultKind, u32), Seen>,
    /// The wrong units: each counts once, however often it is read.
    units: BTreeSet<(u32, u64)>,
}

impl Faults {
    /// Counts checked bytes, right or wrong.
    #[inline]
    pub(crate) fn checked(&mut self, bytes: u64) {
        self.bytes += bytes;
    }

    /// Adds the fault of a unit; false if that unit is known already.
    #[cold]
    pub(crate) fn add(&mut self, file: u32, unit_bytes: u64, fault: Fault) -> bool {
        if !self.units.insert((file, unit_bytes)) {
            return false;
        }
        let seen = self.seen.entry((fault.kind, file)).or_insert_with(|| Seen {
            count: 0,
            offsets_bytes: Vec::new(),
            example: fault.example,
        });
        seen.count += 1;
        if seen.offsets_bytes.len() < OFFSETS_KEPT {
            seen.offsets_bytes.push(fault.offset_bytes);
        }
        true
    }

    /// Adds the faults of another job, in files of its own.
    pub(crate) fn merge(&mut self, other: Self) {
        self.bytes += other.bytes;
        for (unit, fault) in other.seen {
            self.seen.entry(unit).or_insert(fault);
        }
        self.units.extend(other.units);
    }

    /// The faults in the record's form.
    pub(crate) fn record<'a>(self, path: impl Fn(u32) -> &'a Path) -> Verified {
        let faults = self.seen.into_iter().map(|((kind, file), seen)| VerifyFault {
            kind,
            count: seen.count,
            path: path(file).to_string_lossy().into_owned(),
            offsets_bytes: seen.offsets_bytes,
            example: seen.example,
        });
        Verified { bytes: self.bytes, faults: faults.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::{Fault, Faults};
    use record::trial::FaultKind;
    use std::path::Path;

    fn fault(kind: FaultKind, offset_bytes: u64) -> Fault {
        Fault { kind, offset_bytes, example: format!("at {offset_bytes}") }
    }

    #[test]
    fn a_unit_counts_once() {
        let mut faults = Faults::default();
        faults.checked(8192);
        assert!(faults.add(0, 4096, fault(FaultKind::Corrupt, 5000)));
        assert!(!faults.add(0, 4096, fault(FaultKind::Stale, 4096)));
        assert!(faults.add(1, 4096, fault(FaultKind::Corrupt, 5000)));
        let verified = faults.record(|file| Path::new(if file == 0 { "/a" } else { "/b" }));
        assert_eq!(verified.bytes, 8192);
        let found: Vec<_> = verified.faults.iter().map(|f| (f.kind, f.count, f.path.as_str())).collect();
        assert_eq!(found, [(FaultKind::Corrupt, 1, "/a"), (FaultKind::Corrupt, 1, "/b")]);
    }

    #[test]
    fn all_count_and_the_first_few_are_told() {
        let (mut faults, mut others) = (Faults::default(), Faults::default());
        for unit in 0..100 {
            faults.add(0, unit * 512, fault(FaultKind::Lost, unit * 512));
            others.add(1, unit * 512, fault(FaultKind::Torn, unit * 512 + 7));
        }
        others.checked(10);
        faults.merge(others);
        let verified = faults.record(|_| Path::new("/x"));
        assert_eq!(verified.bytes, 10);
        let [lost, torn] = verified.faults.as_slice() else { panic!("{verified:?}") };
        assert_eq!((lost.kind, lost.count, lost.example.as_str()), (FaultKind::Lost, 100, "at 0"));
        assert_eq!((torn.kind, torn.count, torn.offsets_bytes[1]), (FaultKind::Torn, 100, 519));
        assert_eq!(lost.offsets_bytes.len(), 16);
    }
}
