//! Episodes in words: `fell to 0 from second 2.0 to 4.0`; `falls to 40 % every 2.0 s for 0.5 s`.

use super::batches::Batches;
use super::shape::{count, mean};
use super::words::{LIMITS_CHANGED, Said, counter};
use crate::figures::{percent, with_unit};
use stats::Episodes;
use std::collections::BTreeMap;

/// The most episodes that are listed; of more, only the first and the last.
const NAMED: usize = 4;

/// A level below this share of the ordinary one counts as zero.
const NOTHING: f64 = 0.005;

/// Evidence, text, remedy.
pub(super) fn said(found: &Episodes, batches: &Batches, disturbed: bool) -> Said {
    let length = |(from, to): &(usize, usize)| count(to - from) * batches.seconds;
    let all: f64 = found.places.iter().map(length).sum();
    let each = all / count(found.places.len().max(1));
    let period = found.period.map(|samples| samples * batches.seconds);
    let share = found.other / found.ordinary.max(f64::MIN_POSITIVE);
    let mut evidence: BTreeMap<String, f64> = [
        (counter("ordinary", batches.unit), found.ordinary),
        (counter("other", batches.unit), found.other),
        (counter("trial", batches.unit), mean(&batches.rates)),
        ("changes".to_owned(), 2.0 * count(found.places.len())),
        ("episodes".to_owned(), count(found.places.len())),
        ("episodes_seconds".to_owned(), all),
    ]
    .into();
    evidence.extend(period.map(|seconds| ("period_seconds".to_owned(), seconds)));
    evidence.extend(
        found
            .places
            .first()
            .map(|(from, _)| ("changed_at_seconds".to_owned(), count(*from) * batches.seconds)),
    );
    let to = if share < NOTHING {
        "to 0".to_owned()
    } else {
        format!("to {} ({})", percent(share), with_unit(found.other, batches.unit))
    };
    let falls = share < 1.0;
    let did = match (period, falls) {
        (Some(period), true) => format!("falls {to} every {period:.1} s for {each:.1} s"),
        (Some(period), false) => format!("rises {to} every {period:.1} s for {each:.1} s"),
        (None, true) => format!("fell {to} {}", times(found, batches)),
        (None, false) => format!("rose {to} {}", times(found, batches)),
    };
    let text = format!(
        "the rate {did}. The rest of the time it is {}; the mean of the trial, {}, mixes both.",
        with_unit(found.ordinary, batches.unit),
        with_unit(mean(&batches.rates), batches.unit)
    );
    (evidence, text, remedy(period, disturbed))
}

/// The times of the episodes, as in `from second 2.0 to 4.0`.
fn times(found: &Episodes, batches: &Batches) -> String {
    let at = |batch: usize| count(batch) * batches.seconds;
    let one = |(from, to): &(usize, usize)| format!("from second {:.1} to {:.1}", at(*from), at(*to));
    match found.places.as_slice() {
        [all @ .., last] if !all.is_empty() && all.len() < NAMED => {
            let all: Vec<String> = all.iter().map(one).collect();
            format!("{} and {}", all.join(", "), one(last))
        }
        [first, .., last] => {
            format!("{} times, first {}, last {}", found.places.len(), one(first), one(last))
        }
        few => few.iter().map(one).collect(),
    }
}

fn remedy(period: Option<f64>, disturbed: bool) -> String {
    match period {
        _ if disturbed => LIMITS_CHANGED.to_owned(),
        Some(period) => format!(
            "Find what happens every {period:.1} s: a system job, a journal, a throttle's token bucket, another load. A trial of \
             many such periods (trial: {:.0}s or more) averages over them.",
            (20.0 * period).ceil()
        ),
        None => "See what else ran, or was changed, at that time; then run it again.".to_owned(),
    }
}
