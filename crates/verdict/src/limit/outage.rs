//! What an outage within the trial leaves of its limit.

use crate::facts::Facts;
use crate::figures::percent;
use crate::outage;
use record::judged::{Limit, LimitKind};

/// From this share of the measured time on, means over it are of two states.
const MATTERS: f64 = 0.05;

/// The limit as it can be told of a trial with an outage. Devices that held I/Os which did not complete were not at work, so their mean
/// queue is no sign that they gave what they have.
pub(super) fn doubted(mut limit: Limit, facts: &Facts<'_>) -> Limit {
    let share = outage::stalled_share(facts);
    if share < MATTERS {
        return limit;
    }
    limit.evidence.insert("stalled_share".to_owned(), share);
    let of_time = percent(share);
    if limit.by == LimitKind::Device {
        limit.against.append(&mut limit.evidence);
        limit.by = LimitKind::Unknown;
        limit.shown = false;
        limit.text = format!(
            "Nobody can tell: for {of_time} of the measured time no I/O completed (see the finding stalled), so the devices' mean queue does not \
             show that they gave what they have."
        );
        return limit;
    }
    limit.shown &= limit.by != LimitKind::QueueDepth;
    limit.text = format!(
        "{} For {of_time} of the measured time no I/O completed (see the finding stalled).",
        limit.text
    );
    limit
}
