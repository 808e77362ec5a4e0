//! Chooses a job's next I/O under `verify`: a write that overlaps another one in flight waits until that has ended.

use super::books::{Book, Books};
use super::held::Held;
use super::ledger::LedgerError;
use crate::native::chooser::Choice;
use crate::native::task::JobTask;

/// The choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pick {
    Io(Choice),
    /// None before an I/O has ended.
    Wait,
    /// None any more.
    Over,
}

/// A job's ledgers and the waiting writes.
pub(crate) struct Guard {
    books: Books,
    held: Held<Choice>,
}

impl Guard {
    /// # Errors
    /// When the ledgers exceed the address space.
    pub(crate) fn new(job: &JobTask) -> Result<Self, LedgerError> {
        Ok(Self { books: Books::new(job)?, held: Held::new() })
    }

    /// The next I/O that may begin: a waiting one, or a newly drawn one.
    #[inline]
    pub(crate) fn pick(&mut self, mut draw: impl FnMut() -> Option<Choice>) -> Pick {
        let Self { books, held } = self;
        if let Some(choice) = held.take(|choice| books.may_begin(choice)) {
            return Pick::Io(choice);
        }
        while !held.is_full() {
            match draw() {
                Some(choice) if books.may_begin(&choice) => return Pick::Io(choice),
                Some(choice) => held.put(choice),
                None if held.is_empty() => return Pick::Over,
                None => break,
            }
        }
        Pick::Wait
    }

    /// Begins an I/O that was picked; see [`Books::begin`].
    #[inline]
    pub(crate) fn begin(&mut self, choice: &Choice, noted: &mut [u32]) {
        self.books.begin(choice, noted);
    }

    /// Ends an I/O; see [`Books::end`].
    #[inline]
    pub(crate) fn end(&mut self, choice: &Choice, good: bool, newest: &mut [u32]) {
        self.books.end(choice, good, newest);
    }

    pub(crate) fn into_books(self) -> Vec<Book> {
        self.books.into_books()
    }
}

#[cfg(test)]
mod tests {
    use super::{Guard, Pick};
    use crate::native::chooser::Choice;
    use crate::native::kind::Kind;
    use crate::native::random::Random;
    use crate::native::task::{JobTask, Place};
    use crate::native::testing::job;
    use proptest::prelude::{any, proptest};
    use record::workload::Rw;

    fn guard() -> Guard {
        let place = Place {
            number: 0,
            path: "x".into(),
            offset_bytes: 0,
            size_bytes: 16 * 4096,
            block_device: false,
        };
        Guard::new(&JobTask { places: vec![place], ..job(Rw::Randrw) }).unwrap()
    }

    fn choice(kind: Kind, unit: u64, units: u32) -> Choice {
        let (length_bytes, offset_bytes) = (units * 4096, unit * 4096);
        Choice { kind, data_only: false, file: 0, length_bytes, offset_bytes }
    }

    #[test]
    fn a_write_waits_for_another_and_lets_others_pass() {
        let mut guard = guard();
        let (first, second, other) =
            (choice(Kind::Write, 2, 2), choice(Kind::Write, 3, 1), choice(Kind::Write, 4, 1));
        let mut drawn = [first, second, other].into_iter();
        let mut noted = [0; 4];
        assert_eq!(guard.pick(|| drawn.next()), Pick::Io(first));
        guard.begin(&first, &mut noted);
        assert_eq!(guard.pick(|| drawn.next()), Pick::Io(other));
        guard.begin(&other, &mut noted);
        assert_eq!(guard.pick(|| drawn.next()), Pick::Wait);
        let read = choice(Kind::Read, 2, 4);
        assert_eq!(guard.pick(|| Some(read)), Pick::Io(read), "reads wait for nothing");
        guard.end(&first, false, &mut noted);
        assert_eq!(guard.pick(|| None), Pick::Io(second), "also after a failure");
        assert_eq!(guard.pick(|| None), Pick::Over);
    }

    #[test]
    fn what_waits_has_its_bounds() {
        let mut guard = guard();
        let write = choice(Kind::Write, 0, 1);
        assert_eq!(guard.pick(|| Some(write)), Pick::Io(write));
        guard.begin(&write, &mut [0]);
        let mut drawn = 0;
        for _ in 0..3 {
            let draw = || {
                drawn += 1;
                Some(write)
            };
            assert_eq!(guard.pick(draw), Pick::Wait);
        }
        assert!(drawn < 1000, "{drawn} are held");
    }

    proptest! {
        /// All drawn I/Os are done, each once, and never two writes of a unit at the same time.
        #[test]
        fn nothing_is_lost_and_nothing_overlaps(seed in any::<u64>(), depth in 1_usize..40) {
            let mut random = Random::new(seed, 0);
            let mut guard = guard();
            let mut wanted: Vec<Choice> = (0..300).map(|_| {
                let kind = if random.percent(20) { Kind::Read } else { Kind::Write };
                let units = 1 + random.below(3);
                choice(kind, random.below(16 - units + 1), u32::try_from(units).unwrap())
            }).collect();
            let mut drawn = wanted.clone().into_iter();
            let (mut done, mut flying): (Vec<Choice>, Vec<Choice>) = (Vec::new(), Vec::new());
            let mut noted = [0; 4];
            loop {
                let pick = if flying.len() < depth { guard.pick(|| drawn.next()) } else { Pick::Wait };
                match pick {
                    Pick::Io(new) => {
                        let end = |c: &Choice| c.offset_bytes + u64::from(c.length_bytes);
                        let meets = |c: &&Choice| c.offset_bytes < end(&new) && new.offset_bytes < end(c);
                        let writes = |c: &&Choice| c.kind == Kind::Write;
                        assert!(new.kind == Kind::Read || !flying.iter().filter(writes).any(|c| meets(&c)));
                        guard.begin(&new, &mut noted);
                        flying.push(new);
                    }
                    Pick::Over if flying.is_empty() => break,
                    _ => {
                        let index = random.below(flying.len() as u64);
                        let ended = flying.swap_remove(usize::try_from(index).unwrap());
                        guard.end(&ended, true, &mut noted);
                        done.push(ended);
                    }
                }
            }
            let key = |c: &Choice| (c.offset_bytes, c.length_bytes, c.kind);
            done.sort_by_key(key);
            wanted.sort_by_key(key);
            assert_eq!(done, wanted);
        }
    }
}
