//! One limit for the trials of a cell.

use record::judged::{Limit, LimitKind};
use std::collections::BTreeMap;

/// The limit of most trials, in the words of the trial with the median rate among them. `None` without trials.
///
/// Of equally frequent limits, the one whose rule comes first. Each trial comes with its rate.
pub(crate) fn over_trials(mut trials: Vec<(Limit, f64)>) -> Option<Limit> {
    let mut votes: BTreeMap<(usize, LimitKind), usize> = BTreeMap::new();
    for (limit, _) in &trials {
        *votes.entry((place(limit.by), limit.by)).or_default() += 1;
    }
    let of = trials.len();
    // `max_by_key` returns the last of equals, so the order is reversed.
    let (&(_, by), &count) = votes.iter().rev().max_by_key(|(_, n)| **n)?;
    let shown = trials.iter().filter(|(l, _)| l.by == by && l.shown).count() * 2 >= count;
    trials.retain(|(l, _)| l.by == by && l.shown == shown);
    trials.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut limit = trials.swap_remove(trials.len() / 2).0;
    if count < of {
        let others: Vec<String> = votes
            .iter()
            .filter(|((_, k), _)| *k != by)
            .map(|((_, k), n)| format!("{} in {n}", k.name()))
            .collect();
        limit.text.push_str(&format!(" This holds in {count} of {of} trials; {}.", others.join(", ")));
    }
    Some(limit)
}

/// The place of the first rule that names a limit.
fn place(by: LimitKind) -> usize {
    const ORDER: [LimitKind; 13] = [
        LimitKind::AskedRate,
        LimitKind::Journal,
        LimitKind::Throttle,
        LimitKind::Network,
        LimitKind::Memory,
        LimitKind::CpuQuota,
        LimitKind::Cpu,
        LimitKind::Generator,
        LimitKind::Others,
        LimitKind::Lock,
        LimitKind::QueueDepth,
        LimitKind::Device,
        LimitKind::Unknown,
    ];
    ORDER.iter().position(|k| *k == by).unwrap_or(ORDER.len())
}

#[cfg(test)]
mod tests {
    use super::over_trials;
    use record::judged::{Limit, LimitKind};
    use std::collections::BTreeMap;

    fn trial(by: LimitKind, shown: bool, iops: f64) -> (Limit, f64) {
        let (evidence, against) = (BTreeMap::new(), BTreeMap::new());
        (Limit { by, shown, evidence, against, text: format!("At {iops}.") }, iops)
    }

    #[test]
    fn most_trials_win_and_the_others_are_said() {
        use LimitKind::{Device, Throttle};
        assert_eq!(over_trials(vec![]), None);
        let all = over_trials(vec![
            trial(Throttle, true, 3.0),
            trial(Throttle, true, 1.0),
            trial(Throttle, true, 2.0),
        ])
        .unwrap();
        assert_eq!((all.by, all.text.as_str()), (Throttle, "At 2."));
        let most = over_trials(vec![
            trial(Device, false, 1.0),
            trial(Device, false, 2.0),
            trial(Throttle, true, 9.0),
        ])
        .unwrap();
        assert_eq!(most.by, Device);
        assert_eq!(most.text, "At 2. This holds in 2 of 3 trials; throttle in 1.");
    }

    #[test]
    fn of_equals_the_one_heard_first() {
        use LimitKind::{AskedRate, Unknown};
        let limit = over_trials(vec![trial(Unknown, false, 1.0), trial(AskedRate, true, 2.0)]).unwrap();
        assert_eq!(limit.by, AskedRate);
    }

    #[test]
    fn half_of_them_must_show_it() {
        use LimitKind::QueueDepth;
        let limit = |shown: [bool; 3]| {
            over_trials(shown.map(|s| trial(QueueDepth, s, if s { 1.0 } else { 2.0 })).to_vec()).unwrap()
        };
        assert!(limit([true, true, false]).shown);
        assert!(!limit([true, false, false]).shown);
    }
}
