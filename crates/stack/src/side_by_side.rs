//! Does the same for several devices in parallel: most of the time is that of programs and of the kernel.

use std::panic::resume_unwind;
use std::thread::scope;

/// Calls `act` for each item in parallel; returns the results in the order of the items.
pub(crate) fn side_by_side<T: Sync, R: Send>(items: &[T], act: impl Fn(&T) -> R + Sync) -> Vec<R> {
    if let [only] = items {
        return vec![act(only)];
    }
    let act = &act;
    scope(|scope| {
        let threads: Vec<_> = items.iter().map(|item| scope.spawn(move || act(item))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::side_by_side;
    use std::sync::Barrier;

    #[test]
    fn all_are_at_work_at_once_and_results_keep_their_order() {
        let all_there = Barrier::new(3);
        let doubled = side_by_side(&[1, 2, 3], |n| {
            all_there.wait();
            n * 2
        });
        assert_eq!(doubled, [2, 4, 6]);
        assert_eq!(side_by_side(&[] as &[i32], |n| *n), Vec::<i32>::new());
    }
}
