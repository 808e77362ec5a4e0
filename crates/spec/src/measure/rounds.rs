//! Number of rounds: `rounds`, `budget: { rounds }`, or as many as `until` needs.

use super::DEFAULT_ROUNDS;
use crate::fields::Fields;
use crate::forecast::FIRST_LOOK;
use crate::problems::Problems;
use crate::scope::Scope;
use crate::tree::Node;
use crate::value;

/// Most rounds with `until` when the file has no number: they suffice for ±5 % up to a spread of about 12 % between trials.
const MOST: u32 = 30;

/// Returns the number of rounds, or the largest number.
pub(super) fn read(
    fields: &Fields<'_>,
    budget: Option<&Fields<'_>>,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> u32 {
    let one = |node: Option<&Node>| {
        let rounds = value::integer(node?, 1..=10_000, scope, problems)?;
        u32::try_from(rounds).ok()
    };
    let places = [fields.get("rounds"), budget.and_then(|budget| budget.get("rounds"))];
    let said = places.map(one);
    let rounds = said.into_iter().flatten().min();
    match fields.key("until").filter(|_| fields.get("until").is_some()) {
        Some(until) => {
            if rounds.is_none() {
                problems.note(
                    until.span,
                    format!(
                        "`until` ends the run when it is enough, after {MOST} rounds at most, since none are said \
                         (`budget: {{ rounds: ... }}`)"
                    ),
                );
            }
            let rounds = rounds.unwrap_or(MOST);
            if rounds < FIRST_LOOK {
                problems.note(
                    until.span,
                    format!(
                        "`until` looks first after {FIRST_LOOK} rounds, and there are {rounds} at most: all of them will be made"
                    ),
                );
            }
            rounds
        }
        None => {
            if let (Some(1), Some(node)) = (rounds, fields.get("rounds")) {
                problems.note(
                    node.span,
                    "one round gives no interval, so its numbers have no known precision; use at least 3",
                );
            }
            rounds.unwrap_or(DEFAULT_ROUNDS)
        }
    }
}
