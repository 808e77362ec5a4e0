//! The rates with which the volumes are provided.

use record::plan::Cell;
use record::volume::{Limits, VolumeKind};
use record::workload::Rw;

/// The rate of all volumes of a cell together, in IOPS of the one direction that the workload uses; `None` if it uses several directions,
/// or if a volume's rate isn't known.
pub(super) fn iops(cell: &Cell) -> Option<f64> {
    // A volume beside the main ones (a cache) serves an unknown part of the load.
    if !cell.stack.beside.is_empty() {
        return None;
    }
    let options = cell.workload.only_options()?;
    let limit: fn(&Limits) -> Option<u64> = match options.rw {
        Rw::Read | Rw::Randread => |l| l.read_iops.or(l.total_iops),
        Rw::Write | Rw::Randwrite => |l| l.write_iops.or(l.total_iops),
        _ => return None,
    };
    let of = |kind: &VolumeKind| match kind {
        VolumeKind::Emulate { limits, .. } | VolumeKind::Guest { limits, .. } => {
            limit(limits).map(crate::span::float)
        }
        VolumeKind::Disk { .. } | VolumeKind::Created { .. } | VolumeKind::Directory { .. } => None,
    };
    let rates: Option<Vec<f64>> = cell.stack.volumes.iter().map(|v| of(&v.kind)).collect();
    rates.filter(|r| !r.is_empty()).map(|r| r.iter().sum())
}
