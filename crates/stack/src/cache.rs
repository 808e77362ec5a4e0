//! An LVM cache that is up: its counters, and how it is detached and attached.

use crate::act::device_ref::DeviceRef;
use crate::act::lvm::ChangeGroup;
use crate::act::{Act, Doing};
use crate::error::{ActError, StackError};
use crate::journal::Journal;
use crate::layer::lvm;
use crate::machine::Machine;
use host::{Invocation, Tool};
use record::lvm::{CacheForm, Lvm, LvmCache};
use record::lvm_cache::{CacheRecord, CacheState, DmCache, DmWritecache, Flushed};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// The size of the kernel's sectors, whatever the device's own size is.
const SECTOR_BYTES: u64 = 512;
/// Never set, for commands that don't take long.
static NEVER: AtomicBool = AtomicBool::new(false);

/// The cache of a logical volume of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    /// The device-mapper name of the cached volume.
    pub(crate) volume: String,
    /// Its volume group, and the layer that describes it.
    pub(crate) group: String,
    pub(crate) layer: Lvm,
    /// The devices of the origin, and of the cache.
    pub(crate) main: Vec<DeviceRef>,
    pub(crate) beside: Vec<DeviceRef>,
}

impl Cache {
    /// Detaches the cache. Dirty blocks are flushed to the origin first, so the volume keeps its data; it may be in use
    /// meanwhile. Afterwards it is as fast as its origin. LVM takes as long as the origin needs for the dirty blocks, or until
    /// `cancel` is set.
    ///
    /// # Errors
    /// When LVM refuses, e.g. because there is no cache, or when it was cancelled; then the volume is still cached.
    pub fn detach(
        &self,
        machine: &Machine<'_>,
        journal: &mut Journal,
        cancel: &AtomicBool,
    ) -> Result<Flushed, StackError> {
        let owed_bytes = self.owed_bytes(machine);
        let begun = Instant::now();
        self.perform(machine, journal, lvm::detach_step(&self.group), cancel)?;
        let seconds = begun.elapsed().as_secs_f64();
        self.verify(machine, "detach the cache", |target| !target.contains("cache"))?;
        Ok(Flushed { owed_bytes, seconds, compared_bytes: None })
    }

    /// Attaches an empty cache to the volume, as its layer says; the volume may be in use. Returns the programs that ran.
    ///
    /// # Errors
    /// When LVM refuses, e.g. because there is a cache already; then the volume is not cached.
    pub fn attach(
        &self,
        machine: &Machine<'_>,
        journal: &mut Journal,
    ) -> Result<Vec<Vec<String>>, StackError> {
        let Some(cache) = &self.layer.cache else { return Ok(Vec::new()) };
        let mut argv = Vec::new();
        for step in lvm::attach_steps(cache, &self.group, &paths(&self.beside)) {
            argv.extend(self.perform(machine, journal, step, &NEVER)?);
        }
        self.verify(machine, "attach the cache", |target| target.contains("cache"))?;
        self.verify_policy(machine).map_err(failed("attach the cache"))?;
        Ok(argv)
    }

    /// Enlarges the volume to `size_bytes`, on its own devices; the file system on it keeps its size. The cache must be detached:
    /// many releases of LVM refuse to resize a cached volume.
    ///
    /// # Errors
    /// When LVM refuses: there is a cache, or no space.
    pub fn grow(
        &self,
        machine: &Machine<'_>,
        journal: &mut Journal,
        size_bytes: u64,
    ) -> Result<(), StackError> {
        let step = lvm::grow_step(&self.layer, &self.group, &paths(&self.main), size_bytes);
        self.perform(machine, journal, step, &NEVER).map(|_| ())
    }

    /// Runs one command on the group, under the journal. The acts that created the group also undo it, because a layer that was
    /// built on the volume meanwhile is undone later. The data are ours, so the undo needs no flush.
    fn perform(
        &self,
        machine: &Machine<'_>,
        journal: &mut Journal,
        step: lvm::Step,
        cancel: &AtomicBool,
    ) -> Result<Vec<Vec<String>>, StackError> {
        let devices = self.main.iter().chain(&self.beside).cloned().collect();
        let lvm::Step { command, args } = step;
        let act =
            Act::ChangeGroup(ChangeGroup { group: self.group.clone(), devices, command, args, in_use: true });
        let (mut silent, mut argv) = (|_| {}, Vec::new());
        let mut doing = Doing { machine, progress: &mut silent, cancel, argv: &mut argv };
        journal.perform(&act, &mut doing).map_err(failed(&act.to_string()))?;
        Ok(argv)
    }

    fn verify(
        &self,
        machine: &Machine<'_>,
        step: &str,
        expected: impl FnOnce(&str) -> bool,
    ) -> Result<(), StackError> {
        let said = machine.runner.run(&self.ask());
        let said = said.map_err(ActError::tool(format!("look at {}", self.volume))).map_err(failed(step))?;
        match said.stdout.split_whitespace().nth(2) {
            Some(target) if expected(target) => Ok(()),
            target => Err(failed(step)(ActError::Unverified {
                what: format!("target of {}", self.volume),
                expected: "the other kind of volume".to_owned(),
                saw: target.unwrap_or("none").to_owned(),
            })),
        }
    }

    /// Checks that the cache has the requested policy. LVM 2.03.16 has the kernel use `mq` for a cachevol whatever is requested,
    /// and itself reports otherwise.
    pub(crate) fn verify_policy(&self, machine: &Machine<'_>) -> Result<(), ActError> {
        let asked = match self.asked().map(|asked| &asked.form) {
            Some(CacheForm::Cache { policy: Some(policy), .. }) => policy,
            _ => return Ok(()),
        };
        match self.state(machine) {
            Some(CacheState::Cache(DmCache { policy: Some(policy), .. })) if policy != *asked => {
                Err(ActError::Unverified {
                    what: "`policy` of the cache, as the kernel tells it (this LVM may not heed it for a cachevol: use `kind: cachepool`, \
                           or leave it out)"
                        .to_owned(),
                    expected: asked.clone(),
                    saw: policy,
                })
            }
            _ => Ok(()),
        }
    }

    fn ask(&self) -> Invocation {
        Invocation::new(Tool::Dmsetup).args(["status", &self.volume])
    }

    pub(crate) fn asked(&self) -> Option<&LvmCache> {
        self.layer.cache.as_ref()
    }

    /// The cache's counters now; `None` where they can't be read or parsed.
    #[must_use]
    pub fn state(&self, machine: &Machine<'_>) -> Option<CacheState> {
        state_of(&machine.runner.run(&self.ask()).ok()?.stdout)
    }

    /// The record of a trial that has just ended, with the counters from before it.
    #[must_use]
    pub fn record(&self, machine: &Machine<'_>, before: Option<CacheState>) -> CacheRecord {
        CacheRecord { volume: self.volume.clone(), before, after: self.state(machine), flushed: None }
    }

    /// The bytes of dirty blocks, which the origin lacks; `None` where they are unknown.
    fn owed_bytes(&self, machine: &Machine<'_>) -> Option<u64> {
        match self.state(machine)? {
            CacheState::Cache(state) => state.dirty_blocks.checked_mul(state.block_bytes),
            CacheState::Bcache(state) => Some(state.dirty_bytes),
            CacheState::Writecache(state) => {
                // The status counts blocks, and only the table shows their size.
                let ask = Invocation::new(Tool::Dmsetup).args(["table", &self.volume]);
                let block_bytes = writecache_block_bytes(&machine.runner.run(&ask).ok()?.stdout)?;
                state.blocks.saturating_sub(state.free_blocks).checked_mul(block_bytes)
            }
        }
    }
}

fn failed(step: &str) -> impl FnOnce(ActError) -> StackError {
    let step = step.to_owned();
    |source| StackError::Act { step, source, undo: None }
}

fn paths(devices: &[DeviceRef]) -> Vec<&Path> {
    devices.iter().map(|device| device.path.as_path()).collect()
}

/// `<begin> <length> writecache <s or p> <origin> <cache> <block size> ...`
fn writecache_block_bytes(table: &str) -> Option<u64> {
    let mut words = table.split_whitespace().skip(2);
    (words.next()? == "writecache").then(|| words.nth(3)?.parse().ok()).flatten()
}

/// Parses a line of `dmsetup status`: begin, length and kind of the target, then the target's own status.
fn state_of(line: &str) -> Option<CacheState> {
    let mut words = line.split_whitespace().skip(2);
    match words.next()? {
        "cache" => cache(words).map(CacheState::Cache),
        "writecache" => writecache(words).map(CacheState::Writecache),
        _ => None,
    }
}

/// `<metadata block size> <used>/<all metadata blocks> <cache block size> <used>/<all cache blocks> <read hits> <read misses>
/// <write hits> <write misses> <demotions> <promotions> <dirty> <n> <feature>*n <m> <core argument>*m <policy> ...`
fn cache<'w>(mut words: impl Iterator<Item = &'w str>) -> Option<DmCache> {
    let block_bytes = words.nth(2)?.parse::<u64>().ok()?.checked_mul(SECTOR_BYTES)?;
    let (used, all) = words.next()?.split_once('/')?;
    let (used_blocks, blocks) = (used.parse().ok()?, all.parse().ok()?);
    let mut number = || words.next()?.parse::<u64>().ok();
    let [read_hits, read_misses, write_hits, write_misses, demotions, promotions, dirty_blocks] =
        [number()?, number()?, number()?, number()?, number()?, number()?, number()?];
    let mut list = || {
        let length = words.next()?.parse().ok()?;
        Some(words.by_ref().take(length).collect::<Vec<_>>())
    };
    let features = list();
    let known = ["writethrough", "writeback", "passthrough"];
    let mode = features.iter().flatten().find(|word| known.contains(word)).map(|word| (*word).to_owned());
    let policy = features.and_then(|_| list()).and_then(|_| words.next()).map(str::to_owned);
    Some(DmCache {
        block_bytes,
        blocks,
        used_blocks,
        read_hits,
        read_misses,
        write_hits,
        write_misses,
        demotions,
        promotions,
        dirty_blocks,
        mode,
        policy,
    })
}

/// `<error> <blocks> <free> <under write-back>`, and from Linux 5.15 on `<reads> <read hits> <writes> <hits uncommitted>
/// <hits committed> <around> <allocated> <waits> <flushes> <discards>`.
fn writecache<'w>(mut words: impl Iterator<Item = &'w str>) -> Option<DmWritecache> {
    let error = words.next()?.parse().ok()?;
    let [blocks, free_blocks, writeback_blocks] =
        [words.next()?.parse().ok()?, words.next()?.parse().ok()?, words.next()?.parse().ok()?];
    let mut number = || words.next()?.parse::<u64>().ok();
    Some(DmWritecache {
        error,
        blocks,
        free_blocks,
        writeback_blocks,
        reads: number(),
        read_hits: number(),
        writes: number(),
        write_hits_uncommitted: number(),
        write_hits_committed: number(),
        writes_around: number(),
        writes_allocated: number(),
        waits_for_free: number(),
        flushes: number(),
        discards: number(),
    })
}

#[cfg(test)]
mod tests {
    use super::{state_of, writecache_block_bytes};
    use record::lvm_cache::{CacheState, DmCache, DmWritecache};

    #[test]
    fn a_cache_tells_hits_promotions_and_how_it_writes() {
        let line = "0 524288 cache 8 38/2048 64 1792/4992 11 22 33 44 5 1797 7 3 metadata2 writeback no_discard_passdown \
                    2 migration_threshold 2048 smq 0 rw - \n";
        let expected = DmCache {
            block_bytes: 32 << 10,
            blocks: 4992,
            used_blocks: 1792,
            read_hits: 11,
            read_misses: 22,
            write_hits: 33,
            write_misses: 44,
            demotions: 5,
            promotions: 1797,
            dirty_blocks: 7,
            mode: Some("writeback".to_owned()),
            policy: Some("smq".to_owned()),
        };
        assert_eq!(state_of(line), Some(CacheState::Cache(expected)));
    }

    #[test]
    fn an_old_writecache_has_no_counters() {
        let old =
            DmWritecache { blocks: 100, free_blocks: 60, writeback_blocks: 3, ..DmWritecache::default() };
        assert_eq!(state_of("0 524288 writecache 0 100 60 3"), Some(CacheState::Writecache(old)));
        let Some(CacheState::Writecache(new)) = state_of(
            "0 524288 writecache 0 100 60 3 9 4 8 1 2 3 4 0 5 6 2 high_watermark 50 low_watermark 45",
        ) else {
            panic!("not understood")
        };
        assert_eq!(
            (new.reads, new.read_hits, new.writes, new.discards),
            (Some(9), Some(4), Some(8), Some(6))
        );
    }

    #[test]
    fn a_writecaches_table_tells_how_large_its_blocks_are() {
        let table = "0 524288 writecache s 253:3 253:2 4096 4 high_watermark 50 low_watermark 45 \n";
        assert_eq!(writecache_block_bytes(table), Some(4096));
        assert_eq!(writecache_block_bytes("0 524288 cache 253:1 253:0 253:3 64 1 writeback smq 0"), None);
        assert_eq!(writecache_block_bytes("0 524288 writecache s 253:3"), None);
    }

    #[test]
    fn what_is_not_understood_is_none() {
        for line in [
            "",
            "0 8 cache Fail",
            "0 8 cache Error",
            "0 8 linear",
            "0 8 writecache",
            "0 8 cache 8 1/2 64 3 4",
        ] {
            assert_eq!(state_of(line), None, "{line}");
        }
    }
}
