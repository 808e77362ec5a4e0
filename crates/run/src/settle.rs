//! Brings caches to the state in which a load begins.

use crate::context::TurnError;
use record::workload::CacheStart;
use stack::{ActError, Built, Journal, Machine, StackError};
use std::path::PathBuf;
use thiserror::Error;

/// Why caches could not be brought to the requested state.
#[derive(Debug, Error)]
pub(crate) enum SettleError {
    /// The page cache.
    #[error(transparent)]
    PageCache(#[from] stack::settle::SettleError),
    /// The cache of a ZFS pool.
    #[error(transparent)]
    Pool(#[from] ActError),
    /// An NFS mount or export could not be taken down for that, or not be brought back.
    #[error(transparent)]
    Nfs(#[from] StackError),
    /// The caches of the node that serves the file system under test.
    #[error(transparent)]
    Server(#[from] TurnError),
}

/// Brings the page cache to the state that the workload asks for.
pub(crate) fn page_cache(
    machine: &Machine<'_>,
    files: &[PathBuf],
    cache: CacheStart,
) -> Result<(), SettleError> {
    match cache {
        CacheStart::Keep => {}
        CacheStart::Cold => stack::settle::drop_caches(machine, files)?,
        CacheStart::Warm => stack::settle::read_all(files)?,
    }
    Ok(())
}

/// Brings the caches of this node to the state that the workload asks for.
pub(crate) fn settle(
    machine: &Machine<'_>,
    journal: &mut Journal,
    built: &Built,
    files: &[PathBuf],
    cache: CacheStart,
) -> Result<(), SettleError> {
    page_cache(machine, files, cache)?;
    let cold = cache == CacheStart::Cold;
    match (&built.pool, &built.nfs) {
        // ZFS can't export a pool, and so empty its cache, while NFS exports a directory of it.
        (Some(pool), Some(nfs)) if cold => {
            nfs.while_down(machine, journal, || pool.settle(machine, cold))?;
        }
        (Some(pool), _) => pool.settle(machine, cold)?,
        (None, _) => {}
    }
    Ok(())
}
