//! The workload itself is the limit: it requests no more.

use super::figures::Figures;
use crate::detected::evidence;
use crate::facts::Facts;
use crate::figures::{percent, with_unit};
use crate::span::float;
use crate::usage::rate;
use record::judged::{Limit, LimitKind};

/// If jobs pause for this share of the time by their options, no storage could make twice the rate.
const PAUSED: f64 = 0.5;

pub(super) fn limit(figures: &Figures<'_>) -> Option<Limit> {
    let facts = figures.facts;
    let made = rate::rates(facts).filter(|_| rate::is_made(facts));
    let paused = paused(facts);
    let text = match (made, paused.filter(|share| *share >= PAUSED)) {
        (Some((made, asked, unit)), _) => format!(
            "The load made {} of the requested {}; the storage may do more.",
            with_unit(made, unit),
            with_unit(asked, unit)
        ),
        (None, Some(share)) => {
            format!(
                "The jobs paused {} of the time, as thinktime asks; the storage may do more.",
                percent(share)
            )
        }
        (None, None) => return None,
    };
    Some(Limit {
        by: LimitKind::AskedRate,
        shown: true,
        evidence: evidence([
            ("made_of_asked_rate_share", made.map(|(made, asked, _)| made / asked)),
            ("paused_share", paused),
        ]),
        against: figures.pick(&["nearest_limit_share", "busiest_thread_cores"]),
        text,
    })
}

/// The share of the time that each job was in a pause of `thinktime`; `None` without pauses.
fn paused(facts: &Facts<'_>) -> Option<f64> {
    let options = facts.options().filter(|o| o.thinktime_us > 0)?;
    let each = float(options.thinktime_us) / 1e6 / f64::from(options.thinktime_blocks.max(1));
    let jobs = f64::from(options.numjobs.max(1)) * facts.machines();
    Some((rate::made_iops(facts) / jobs * each).min(1.0))
}
