//! Options that can't be combined with `verify`, besides those of each job alone.

use super::stamp::SECTOR_BYTES;
use crate::native::sizes::Sizes;
use crate::native::task::JobTask;
use thiserror::Error;

/// What isn't possible with `verify`, and the remedy.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum UncheckableError {
    #[error("verify needs data that is laid out: layout: written")]
    NotLaidOut,
    #[error("verify can't be combined with trims: what is left of a block is up to the device")]
    Trims,
    #[error("verify can't be combined with dedupe_percentage: every block tells where it belongs")]
    Duplicates,
    #[error(
        "verify needs block sizes that are multiples of {} and of the smallest one; use engine: fio",
        SECTOR_BYTES
    )]
    BlockSizes,
    #[error("verify can't follow {one} and {two} writing the same file; give each its own")]
    SharedWrites { one: String, two: String },
    #[error("verify needs the same smallest block size of {one} and {two}, which share a file")]
    SharedSizes { one: String, two: String },
}

/// # Errors
/// What isn't possible.
pub(crate) fn check(jobs: &[JobTask], laid_out: bool) -> Result<(), UncheckableError> {
    for (index, job) in jobs.iter().enumerate().filter(|(_, job)| job.verify) {
        let unit = job.sizes.smallest();
        if !laid_out {
            return Err(UncheckableError::NotLaidOut);
        }
        if job.rw.trims() {
            return Err(UncheckableError::Trims);
        }
        if job.dedupe_percentage > 0 {
            return Err(UncheckableError::Duplicates);
        }
        if !whole_units(&job.sizes) {
            return Err(UncheckableError::BlockSizes);
        }
        let others = jobs.iter().enumerate().filter(|(other, _)| *other != index);
        others.filter(|(_, other)| share(job, other)).try_for_each(|(_, other)| {
            let (one, two) = (job.name.clone(), other.name.clone());
            if job.rw.writes() || other.rw.writes() || other.rw.trims() {
                return Err(UncheckableError::SharedWrites { one, two });
            }
            if other.verify && other.sizes.smallest() != unit {
                return Err(UncheckableError::SharedSizes { one, two });
            }
            Ok(())
        })?;
    }
    Ok(())
}

fn whole_units(sizes: &Sizes) -> bool {
    let unit = sizes.smallest();
    let multiples = match sizes {
        Sizes::One(_) | Sizes::Range { .. } => true,
        Sizes::Split(shares) => shares.iter().all(|(bytes, _)| u64::from(*bytes).is_multiple_of(unit)),
    };
    unit.is_multiple_of(SECTOR_BYTES as u64) && multiples
}

fn share(one: &JobTask, other: &JobTask) -> bool {
    one.places.iter().any(|place| other.places.iter().any(|p| p.number == place.number))
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::native::sizes::Sizes;
    use crate::native::task::{JobTask, Place};
    use crate::native::testing::job;
    use record::workload::Rw;

    fn verified(rw: Rw) -> JobTask {
        JobTask { verify: true, ..job(rw) }
    }

    fn on(name: &str, number: u32, job: JobTask) -> JobTask {
        let place =
            Place { number, path: "x".into(), offset_bytes: 0, size_bytes: 1 << 20, block_device: false };
        JobTask { name: name.to_owned(), places: vec![place], ..job }
    }

    fn refusal(jobs: &[JobTask]) -> String {
        check(jobs, true).unwrap_err().to_string()
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        assert_eq!(check(&[verified(Rw::Randrw)], true), Ok(()));
        assert!(check(&[verified(Rw::Randrw)], false).unwrap_err().to_string().contains("layout: written"));
        assert!(refusal(&[verified(Rw::Trimwrite)]).contains("trims"));
        assert!(
            refusal(&[JobTask { dedupe_percentage: 1, ..verified(Rw::Write) }]).contains("dedupe_percentage")
        );
        for sizes in [Sizes::One(1000), Sizes::Split(vec![(4096, 50), (6144, 50)])] {
            assert!(refusal(&[JobTask { sizes, ..verified(Rw::Write) }]).contains("multiples"));
        }
        let sizes = Sizes::Split(vec![(4096, 50), (12288, 50)]);
        assert_eq!(check(&[JobTask { sizes, ..verified(Rw::Write) }], true), Ok(()));
    }

    #[test]
    fn a_file_has_one_who_writes_it_or_many_who_read_it() {
        let read = |name, number| on(name, number, verified(Rw::Randread));
        let write = |name, number| on(name, number, verified(Rw::Randwrite));
        assert_eq!(check(&[write("a", 0), write("b", 1)], true), Ok(()));
        assert_eq!(check(&[read("a", 0), read("b", 0)], true), Ok(()));
        assert!(refusal(&[write("a", 0), read("b", 0)]).contains("a and b"));
        let plain = on("b", 0, job(Rw::Write));
        assert!(refusal(&[read("a", 0), plain.clone()]).contains("a and b"));
        assert_eq!(check(&[on("a", 0, job(Rw::Read)), plain], true), Ok(()), "without verify all is allowed");
        let large = JobTask { sizes: Sizes::One(8192), ..read("b", 0) };
        assert!(refusal(&[read("a", 0), large]).contains("smallest block size"));
    }
}
