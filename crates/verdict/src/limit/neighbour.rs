//! Others that used a device below the ground.

use super::figures::Figures;
use crate::detect::evidence;
use crate::figures::percent;
use crate::foreign;
use record::judged::{Limit, LimitKind};

/// A device that is busy less has time left for more I/Os in flight.
const BUSY: f64 = 0.8;
/// From this share of the time on, it works mostly for others.
const MOSTLY: f64 = 0.5;
/// From this share of its work on, hardly anything else can be the reason.
const NEARLY_ALL: f64 = 0.9;

/// A device that is busy with the I/O of others leaves the load what they leave.
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
            "{} was busy {} of the time, and {} of its work was the I/O of others: the load got what they left.",
            busiest.device,
            percent(busiest.device_busy),
            percent(busiest.share)
        ),
    })
}
