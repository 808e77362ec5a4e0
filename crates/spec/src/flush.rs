//! Time to attach LVM caches after the data is laid out, to flush them after the load, and to read and flush bcache: for forecasts.

use crate::forecast::rates::{LAYER_SECONDS, LAYOUT_RATE, UNLIMITED_RATE};
use crate::pace::write_limits;
use record::lvm::{Attach, CacheForm, CacheMode, Detach, LvmCache};
use record::plan::Cell;
use record::stack::{Bcache, BcacheMode, Layer};
use record::volume::{Volume, VolumeKind};
use record::workload::Ask;

/// Bytes per write-back request where the cache has no block size: LVM's smallest block.
const PIECE: f64 = 65_536.0;
/// The most seconds until the kernel shows what bcache counted, before and after a load.
const COUNTED_SECONDS: f64 = 2.0 * 14.0;

/// Returns the most seconds in one trial. `slowness` is the factor by which LVM's programs are slower than here.
pub(crate) fn seconds(cell: &Cell, slowness: f64) -> f64 {
    let of_lvm = cell.stack.lvm_caches().map(|cache| of_cache(cell, cache, LAYER_SECONDS * slowness));
    let of_bcache = cell.stack.layers.iter().map(|layer| match layer {
        Layer::Bcache(bcache) => of_bcache(cell, bcache),
        _ => 0.0,
    });
    of_lvm.chain(of_bcache).sum()
}

/// The undo flushes it. Its requests are as large as those of the load.
fn of_bcache(cell: &Cell, bcache: &Bcache) -> f64 {
    if bcache.mode != BcacheMode::Writeback {
        return COUNTED_SECONDS;
    }
    let sizes = cell.workload.all_options().into_iter().map(|options| float(options.bs_bytes));
    let piece = sizes.reduce(f64::min).unwrap_or(PIECE);
    COUNTED_SECONDS + held_bytes(cell, std::slice::from_ref(&bcache.cache)) / rate(cell, piece)
}

fn of_cache(cell: &Cell, cache: &LvmCache, step_seconds: f64) -> f64 {
    let attach = if cache.attach == Attach::LaidOut { step_seconds } else { 0.0 };
    if cache.detach == Detach::Undo {
        return attach;
    }
    let verified = cell.workload.all_options().iter().any(|options| options.verify.is_some());
    let data = float(cell.workload.data_bytes());
    let compared = if verified { 2.0 * data / LAYOUT_RATE } else { 0.0 };
    let piece = match cache.form {
        CacheForm::Cache { chunk_bytes: Some(bytes), .. } => float(bytes),
        CacheForm::Cache { .. } | CacheForm::Writecache => PIECE,
    };
    attach + step_seconds + compared + owed_bytes(cell, cache) / rate(cell, piece)
}

/// Returns the most bytes that the origin may lack: all data that the cache can hold, if the cache keeps writes.
fn owed_bytes(cell: &Cell, cache: &LvmCache) -> f64 {
    let through = matches!(cache.form, CacheForm::Cache { mode: CacheMode::Writethrough, .. });
    let jobs = cell.workload.all_options();
    let writes = jobs.iter().any(|options| options.rw.writes())
        || matches!(cell.workload.ask, Ask::Copy(_) | Ask::Bonnie(_));
    if through || (cache.attach == Attach::LaidOut && !writes) {
        return 0.0;
    }
    held_bytes(cell, &cache.volumes)
}

/// Returns the most bytes of the data that a cache on these volumes can hold.
fn held_bytes(cell: &Cell, volumes: &[String]) -> f64 {
    let data = cell.workload.data_bytes().saturating_add(cell.workload.made_bytes());
    let own = cell.stack.beside.iter().filter(|volume| volumes.contains(&volume.name));
    let holds: Option<u64> = own.map(size_bytes).sum();
    float(holds.map_or(data, |holds| data.min(holds)))
}

fn size_bytes(volume: &Volume) -> Option<u64> {
    match volume.kind {
        VolumeKind::Emulate { size_bytes, .. } | VolumeKind::Guest { size_bytes, .. } => Some(size_bytes),
        VolumeKind::Created { size_bytes, .. } => size_bytes,
        VolumeKind::Disk { .. } | VolumeKind::Directory { .. } => None,
    }
}

/// Returns the bytes per second that the origin takes in requests of `piece` bytes. The limits of emulated volumes don't apply to a cache's write-back.
fn rate(cell: &Cell, piece: f64) -> f64 {
    let of = |volume: &Volume| match &volume.kind {
        VolumeKind::Guest { limits, .. } | VolumeKind::Created { limits, .. } => {
            let (iops, bps) = write_limits(limits);
            let by_iops = iops.map_or(UNLIMITED_RATE, |iops| float(iops) * piece);
            by_iops.min(bps.map_or(UNLIMITED_RATE, float))
        }
        VolumeKind::Emulate { .. } | VolumeKind::Disk { .. } | VolumeKind::Directory { .. } => UNLIMITED_RATE,
    };
    cell.stack.volumes.iter().map(of).sum::<f64>().max(1.0)
}

#[expect(clippy::cast_precision_loss, reason = "a forecast has two good digits")]
fn float(n: u64) -> f64 {
    n as f64
}
