//! A queue of work that can't begin yet, while other work goes on.

use std::collections::VecDeque;

/// The most items that wait; with more, the job itself waits.
const MOST: usize = 64;

/// The waiting work, in order.
#[derive(Debug)]
pub(crate) struct Held<T> {
    waiting: VecDeque<T>,
}

impl<T> Held<T> {
    pub(crate) fn new() -> Self {
        Self { waiting: VecDeque::with_capacity(MOST) }
    }

    /// Removes and returns the oldest item that may begin now.
    #[inline]
    pub(crate) fn take(&mut self, may_begin: impl FnMut(&T) -> bool) -> Option<T> {
        let index = self.waiting.iter().position(may_begin)?;
        self.waiting.remove(index)
    }

    /// Whether no more can wait.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.waiting.len() >= MOST
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    #[inline]
    pub(crate) fn put(&mut self, work: T) {
        self.waiting.push_back(work);
    }
}

#[cfg(test)]
mod tests {
    use super::Held;

    #[test]
    fn the_oldest_that_may_begin_is_first() {
        let mut held = Held::new();
        [5, 3, 4, 3].into_iter().for_each(|work| held.put(work));
        assert_eq!(held.take(|work| *work > 9), None);
        assert_eq!(held.take(|work| *work < 5), Some(3));
        assert_eq!(held.take(|_| true), Some(5));
        assert_eq!((held.take(|_| true), held.take(|_| true), held.take(|_| true)), (Some(4), Some(3), None));
        assert!(held.is_empty());
    }

    #[test]
    fn it_is_full_at_some_time() {
        let mut held = Held::new();
        while !held.is_full() {
            held.put(());
        }
        assert!(held.take(|()| true).is_some());
        assert!(!held.is_full());
    }
}
