//! The effect of an outage within the trial on its limit.

use crate::facts::Facts;
use crate::figures::percent;
use crate::outage;
use record::judged::{Limit, LimitKind};

/// If outages take this share of the measured time, its means mix two states.
const MATTERS: f64 = 0.05;

/// Weakens the limit of a trial with an outage. Devices with I/Os that didn't complete weren't working, so their mean queue doesn't show
/// that they reached their full rate.
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
            "Unknown: for {of_time} of the measured time no I/O completed (see the finding stalled), so the devices' mean queue \
             does not show that they gave all they can."
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
