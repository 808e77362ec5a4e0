//! Other processes that used a device below the ground, as the limit.

use super::figures::Figures;
use crate::detected::evidence;
use crate::figures::percent;
use crate::foreign;
use record::judged::{Limit, LimitKind};

/// A device that is busy for less than this share of the time has time left for more I/Os.
const BUSY: f64 = 0.8;
/// A device that works for others for this share of the time works mostly for others.
const MOSTLY: f64 = 0.5;
/// If this share of its work is for others, hardly anything else can be the reason.
const NEARLY_ALL: f64 = 0.9;

/// The limit, if a device is busy with the I/O of others.
pub(super) fn limit(figures: &Figures<'_>) -> Option<Limit> {
    let busiest = foreign::strongest(figures.facts)?;
    if busiest.busy < MOSTLY {
        return None;
    }
    Some(Limit {
        by: LimitKind::Others,
        shown: busiest.share >= NEARLY_ALL && busiest.device_busy >= BUSY,
        evidence: evidence([
            ("shared_device_busy_share", Some(busiest.device_busy)),
            ("foreign_busy_share", Some(busiest.busy)),
            ("foreign_share", Some(busiest.share)),
        ]),
        against: figures.pick(&["nearest_limit_share", "busiest_thread_cores", "machine_busy_share"]),
        text: format!(
            "{} was busy {} of the time, and {} of its work was the I/O of others: the load got the rest.",
            busiest.device,
            percent(busiest.device_busy),
            percent(busiest.share)
        ),
    })
}
