//! Time to attach LVM caches after the data is laid out, and to flush them after the load: for forecasts.

use crate::forecast::rates::{LAYER_SECONDS, LAYOUT_RATE, UNLIMITED_RATE};
use crate::pace::write_limits;
use record::lvm::{Attach, CacheForm, CacheMode, Detach, LvmCache};
use record::plan::Cell;
use record::volume::{Volume, VolumeKind};
use record::workload::Ask;

/// Bytes per write-back request where the cache has no block size: LVM's smallest block.
const PIECE: f64 = 65_536.0;

/// Returns the most seconds in one trial. `slowness` is the factor by which LVM's programs are slower than here.
pub(crate) fn seconds(cell: &Cell, slowness: f64) -> f64 {
    cell.stack.lvm_caches().map(|cache| of_cache(cell, cache, LAYER_SECONDS * slowness)).sum()
}

fn of_cache(cell: &Cell, cache: &LvmCache, step_seconds: f64) -> f64 {
    let attach = if cache.attach == Attach::LaidOut { step_seconds } else { 0.0 };
    if cache.detach == Detach::Undo {
        return attach;
    }
    let verified = cell.workload.all_options().iter().any(|options| options.verify.is_some());
    let data = float(cell.workload.data_bytes());
    let compared = if verified { 2.0 * data / LAYOUT_RATE } else { 0.0 };
    attach + step_seconds + compared + owed_bytes(cell, cache) / rate(cell, cache)
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
    let data = cell.workload.data_bytes().saturating_add(cell.workload.made_bytes());
    let own = cell.stack.beside.iter().filter(|volume| cache.volumes.contains(&volume.name));
    let holds: Option<u64> = own.map(size_bytes).sum();
    float(holds.map_or(data, |holds| data.min(holds)))
}

fn size_bytes(volume: &Volume) -> Option<u64> {
    match volume.kind {
        VolumeKind::Emulate { size_bytes, .. } | VolumeKind::Guest { size_bytes, .. } => Some(size_bytes),
        VolumeKind::Disk { .. } | VolumeKind::Directory { .. } => None,
    }
}

/// Returns the bytes per second that the origin takes. The limits of emulated volumes don't apply to a cache's write-back.
fn rate(cell: &Cell, cache: &LvmCache) -> f64 {
    let piece = match cache.form {
        CacheForm::Cache { chunk_bytes: Some(bytes), .. } => float(bytes),
        CacheForm::Cache { .. } | CacheForm::Writecache => PIECE,
    };
    let of = |volume: &Volume| match &volume.kind {
        VolumeKind::Guest { limits, .. } => {
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
