//! `measure: { until: ... }`: the goal that ends a run.

use super::{agreed, best, confidence, share};
use crate::fields::Fields;
use crate::problems::Problems;
use crate::scope::Scope;
use crate::tree::Node;
use crate::value;
use crate::vocabulary::UNTIL;
use record::plan::{Goal, Measure, Until};

const GOALS: [&str; 4] = ["interval", "ratios", "told", "best"];

/// Reads `until` into `measure`. The other keys of `measure` were read before.
pub(super) fn read(
    node: &Node,
    own: &Fields<'_>,
    measure: &mut Measure,
    metrics: &[&str],
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<()> {
    let fields = Fields::open(node, &UNTIL, problems)?;
    let goal = goal(node, &fields, scope, problems);
    let range = own.get("trial").filter(|_| measure.max_trial_seconds.is_some());
    let wants = best::wants(&fields, goal, range, metrics, scope, problems);
    let of = match fields.get("of").filter(|_| goal != Some(Goal::Cheapest)) {
        Some(of) => Some(value::choice(of, metrics, scope, problems)?.to_owned()),
        None => None,
    };
    if let Some(node) = fields.get("confidence") {
        let confidence = confidence(node, scope, problems)?;
        let said = own.get("confidence").map(|_| measure.confidence);
        measure.confidence = agreed("confidence", node, confidence, said, problems);
    }
    let (goal, wants) = (goal?, wants?);
    if let (Goal::Interval(interval), Some(node)) = (goal, fields.get("interval")) {
        measure.interval = Some(agreed("interval", node, interval, measure.interval, problems));
    }
    let of = of.or_else(|| wants.first().map(|want| want.of.clone()));
    measure.until = Some(Until { goal, of, wants });
    Some(())
}

/// Reads the goal: exactly one.
fn goal(node: &Node, fields: &Fields<'_>, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<Goal> {
    const EXPECTED: &str = "exactly one of `interval` (of every cell), `ratios` (between cells), `told` (which cell is better), `best` (the cheapest)";
    let asked: Vec<&str> = GOALS.into_iter().filter(|goal| fields.get(goal).is_some()).collect();
    match asked.as_slice() {
        ["best"] => {
            value::choice(fields.get("best")?, &["price"], scope, problems)?;
            Some(Goal::Cheapest)
        }
        [one] => {
            let expected = "above 0%, at most 100%, e.g. `5%`";
            let wanted = share(fields.get(one)?, 0.0, 1.0, expected, scope, problems)?;
            Some(match *one {
                "interval" => Goal::Interval(wanted),
                "ratios" => Goal::Ratios(wanted),
                _ => Goal::Told(wanted),
            })
        }
        [] if fields
            .entries()
            .iter()
            .any(|(key, _)| UNTIL.keys.iter().all(|known| known.name != key.text)) =>
        {
            None
        }
        [] => {
            problems
                .add_missing(node.span, "`until` does not say what is enough")
                .expected(EXPECTED)
                .help("e.g. `until: { interval: 5% }`");
            None
        }
        [first, second, ..] => {
            let span = fields.key(second).map_or(node.span, |key| key.span);
            problems
                .add(span, format!("`{second}` does not go with `{first}`: a run ends by one rule"))
                .expected(EXPECTED)
                .help("`measure: { interval: 5% }`, outside `until`, only marks what is wider");
            None
        }
    }
}
