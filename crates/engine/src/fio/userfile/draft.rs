//! A job file in the making: its jobs get their places one after the other.

use super::{Rewritten, laid_out};
use crate::fio::ini::{Ini, Section};
use std::collections::BTreeMap;

/// The jobs so far, and who uses which file or span.
pub(super) struct Draft {
    run: Ini,
    layout: Ini,
    /// The number of jobs that use a file or span at the same time, by phase and place. Jobs of different phases never meet.
    users: BTreeMap<(usize, String), u64>,
}

impl Draft {
    /// Begins with the options of the layout.
    pub(super) fn new(layout_head: Section) -> Self {
        Self { run: Ini::default(), layout: Ini { sections: vec![layout_head] }, users: BTreeMap::new() }
    }

    /// Adds a job: the section that runs, and the one that lays its data out.
    pub(super) fn add(&mut self, run: Section, layout: Section) {
        self.run.sections.push(run);
        self.layout.sections.push(layout);
    }

    /// Counts jobs that use a file or span.
    pub(super) fn used(&mut self, phase: usize, place: &str, by_jobs: u64) {
        *self.users.entry((phase, place.to_owned())).or_default() += by_jobs;
    }

    /// Returns the job file without its times, which the caller sets.
    pub(super) fn finish(mut self, needed_bytes: u64) -> Rewritten {
        // What a reader checks is written last, over what other jobs lay out in the same file or span.
        self.layout.sections.sort_by_key(laid_out::is_expected);
        Rewritten {
            run: self.run,
            layout: self.layout,
            shared_files: self.users.values().any(|jobs| *jobs > 1),
            expected_seconds: 0.0,
            asked: BTreeMap::new(),
            phases: Vec::new(),
            needed_bytes,
        }
    }
}
