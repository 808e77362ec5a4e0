//! The caches of a stack, attached and detached around what is measured.

use super::Built;
use crate::cache::Cache;
use crate::error::StackError;
use crate::journal::Journal;
use crate::machine::Machine;
use record::lvm::{Attach, Detach};
use record::lvm_cache::Flushed;
use std::sync::atomic::AtomicBool;

impl Built {
    /// Attaches the caches that the stack attaches after the layout. All written data are on the origins by then, so the caches
    /// hold none of them. Returns the programs that ran.
    ///
    /// # Errors
    /// When LVM refuses.
    pub fn attach_caches(
        &self,
        machine: &Machine<'_>,
        journal: &mut Journal,
    ) -> Result<Vec<Vec<String>>, StackError> {
        let late = |cache: &&Cache| cache.asked().is_some_and(|asked| asked.attach == Attach::LaidOut);
        let mut late = self.caches.iter().filter(late).peekable();
        if late.peek().is_some() {
            rustix::fs::sync();
        }
        let attached: Vec<_> = late.map(|cache| cache.attach(machine, journal)).collect::<Result<_, _>>()?;
        Ok(attached.concat())
    }

    /// Flushes and detaches the caches that the stack removes after the measured time. Returns the dirty bytes of each and the
    /// time it took, from the bottom up; `None` for a cache that stays.
    ///
    /// # Errors
    /// When LVM refuses, or it was cancelled.
    pub fn flush_caches(
        &self,
        machine: &Machine<'_>,
        journal: &mut Journal,
        cancel: &AtomicBool,
    ) -> Result<Vec<Option<Flushed>>, StackError> {
        let flush = |cache: &Cache| match cache.asked().map(|asked| asked.detach) {
            Some(Detach::Flush) => cache.detach(machine, journal, cancel).map(Some),
            Some(Detach::Undo) | None => Ok(None),
        };
        self.caches.iter().map(flush).collect()
    }
}
