//! The least number of scenarios that the suite must make, and their counts.

use super::check::{CheckResult, Outcome};
use std::fmt::Write as _;

/// The least share of made scenarios, of those that are tried.
const FLOOR: f64 = 0.9;
/// The largest share of scenarios that are right only when they run again.
const MOST_UNSTEADY: f64 = 0.05;
/// Scenarios that a machine may be unable to make, with a part of the reason's text. Any other scenario must be made.
const MAY_LACK: [(&str, &str); 3] = [
    ("zram", "/sys/class/zram-control/hot_add: No such file"),
    ("network", "/dev/net/tun"),
    ("quota", "no cgroup controller for the CPU (version 1) is mounted"),
];

/// The number of scenarios by outcome.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) right: usize,
    pub(crate) unsteady: usize,
    pub(crate) wrong: usize,
    pub(crate) unmade: usize,
    pub(crate) skipped: usize,
    pub(crate) false_alarms: usize,
}

impl Tally {
    pub(crate) fn of(outcomes: &[Outcome]) -> Self {
        let mut tally = Self::default();
        for outcome in outcomes {
            tally.false_alarms += outcome.false_alarms();
            *match outcome.standing {
                CheckResult::Right => &mut tally.right,
                CheckResult::Unsteady(_) => &mut tally.unsteady,
                CheckResult::Wrong(_) => &mut tally.wrong,
                CheckResult::Unmade(_) => &mut tally.unmade,
                CheckResult::Skipped(_) => &mut tally.skipped,
            } += 1;
        }
        tally
    }

    /// The summary line, which scripts/test.sh and bench/truth/run.sh read.
    pub(crate) fn line(&self) -> String {
        let Self { right, unsteady, wrong, unmade, skipped, false_alarms } = self;
        format!(
            "truth: {right} right, {unsteady} unsteady, {wrong} wrong, {unmade} unmade, {skipped} skipped, {false_alarms} false alarms"
        )
    }
}

/// A line for each scenario that isn't right, for people and for bench/truth/run.sh.
pub(crate) fn remarks(outcomes: &[Outcome]) -> String {
    let mut text = String::new();
    for Outcome { name, standing, .. } in outcomes {
        let (word, why) = match standing {
            CheckResult::Right => continue,
            CheckResult::Unsteady(why) => ("unsteady", why.join("; ")),
            CheckResult::Wrong(why) => ("wrong", why.join("; ")),
            CheckResult::Unmade(why) => ("unmade", why.join("; ")),
            CheckResult::Skipped(why) => ("skipped", why.clone()),
        };
        let _ = writeln!(text, "truth {word}: {name}: {}", why.replace('\n', " "));
    }
    text
}

/// Why the suite fails; empty: it doesn't. `all`: the run isn't limited to some scenarios by name.
pub(crate) fn complaints(outcomes: &[Outcome], all: bool) -> Vec<String> {
    let wrong = outcomes.iter().filter_map(|o| match &o.standing {
        CheckResult::Wrong(why) => Some(format!("{}: {}", o.name, why.join("; "))),
        _ => None,
    });
    let mut complaints: Vec<String> = wrong.collect();
    let tally = Tally::of(outcomes);
    let tried = outcomes.len() - if all { 0 } else { tally.skipped };
    let lacking = outcomes.iter().filter(|o| is_named(o)).count();
    let made = tally.right + tally.unsteady + tally.wrong;
    let due = tried - lacking;
    if (made as f64) < FLOOR * due as f64 {
        complaints.push(format!(
            "{made} of {due} scenarios were made, less than {FLOOR} of them:\n{}",
            remarks(outcomes)
        ));
    }
    if tally.unsteady as f64 > MOST_UNSTEADY * outcomes.len() as f64 {
        complaints.push(format!(
            "{} of {} scenarios were right only when made again, more than {MOST_UNSTEADY} of them:\n{}",
            tally.unsteady,
            outcomes.len(),
            remarks(outcomes)
        ));
    }
    complaints
}

/// Whether a scenario is unmade for an accepted reason.
fn is_named(outcome: &Outcome) -> bool {
    let CheckResult::Unmade(why) = &outcome.standing else { return false };
    let lacks = |part: &str| why.iter().any(|one| one.contains(part));
    MAY_LACK.iter().any(|(name, part)| outcome.name == *name && lacks(part))
}

#[cfg(test)]
mod tests {
    use super::{CheckResult, Outcome, Tally, complaints};

    fn standing(name: &'static str, standing: CheckResult) -> Outcome {
        Outcome { name, truth: "row", claims: Vec::new(), limit: None, standing }
    }

    fn right(count: usize) -> Vec<Outcome> {
        (0..count).map(|_| standing("right", CheckResult::Right)).collect()
    }

    #[test]
    fn too_many_unmade_ones_fail_the_suite() {
        let unmade =
            || standing("depth-1", CheckResult::Unmade(vec!["others took 0.3 of the CPU time".to_owned()]));
        let with = |count: usize| [right(20 - count), (0..count).map(|_| unmade()).collect()].concat();
        assert!(complaints(&with(2), true).is_empty());
        assert_eq!(complaints(&with(3), true).len(), 1);
    }

    #[test]
    fn only_what_a_machine_may_lack_is_excused() {
        let zram = |why: &str| standing("zram", CheckResult::Unmade(vec![why.to_owned()]));
        let lacks = "/sys/class/zram-control/hot_add: No such file or directory (os error 2)";
        assert!(complaints(&[right(1), vec![zram(lacks)]].concat(), true).is_empty());
        assert_eq!(complaints(&[right(1), vec![zram("mount: busy")]].concat(), true).len(), 1);
        let other = standing("tmpfs", CheckResult::Unmade(vec![lacks.to_owned()]));
        assert_eq!(complaints(&[right(1), vec![other]].concat(), true).len(), 1);
    }

    #[test]
    fn skipped_ones_are_excused_only_where_somebody_chose() {
        let skipped = standing("network", CheckResult::Skipped("sshfs is not installed".to_owned()));
        let outcomes = [right(1), vec![skipped]].concat();
        assert!(complaints(&outcomes, false).is_empty());
        assert_eq!(complaints(&outcomes, true).len(), 1);
    }

    #[test]
    fn a_twentieth_may_be_unsteady_and_its_false_alarms_are_counted() {
        let why = vec!["false alarm: Interference".to_owned(), "missed: Trend".to_owned()];
        let unsteady = || standing("lock", CheckResult::Unsteady(why.clone()));
        let with = |count: usize| [right(20 - count), (0..count).map(|_| unsteady()).collect()].concat();
        assert!(complaints(&with(1), true).is_empty());
        assert_eq!(complaints(&with(2), true).len(), 1);
        let line = "truth: 19 right, 1 unsteady, 0 wrong, 0 unmade, 0 skipped, 1 false alarms";
        assert_eq!(Tally::of(&with(1)).line(), line);
    }

    #[test]
    fn a_wrong_one_fails_the_suite() {
        let wrong = standing("lock", CheckResult::Wrong(vec!["missed: Serialized".to_owned()]));
        assert_eq!(complaints(&[right(99), vec![wrong]].concat(), true), ["lock: missed: Serialized"]);
    }
}
