//! Effects in words.

use super::Effect;
use crate::answer::words::{AT_THIS_BUDGET, list};
use crate::factors::number;
use crate::pairing::{FamilyMember, times};
use record::judged::{InteractionView, Relation};
use record::quantity::ratios;

/// A level as a sentence names it: `xfs`, `bs 64k`.
fn named(factor: &str, level: &str) -> String {
    if number(level).is_some() { format!("{factor} {level}") } else { level.to_owned() }
}

pub(super) fn effect(
    effect: &Effect<'_>,
    best: &str,
    told: &[(&str, FamilyMember)],
    over: &[&str],
    depends_on: &[InteractionView],
) -> String {
    let name = |level: &str| named(effect.factor, level);
    let ratios: Vec<String> =
        told.iter().map(|(other, member)| member.text(&name(best), &name(other), AT_THIS_BUDGET)).collect();
    let over: Vec<String> = over.iter().map(|factor| (*factor).to_owned()).collect();
    let said = format!(
        "over all {} combinations of {}, {}, by {}",
        effect.blocks.len(),
        list(&over),
        ratios.join("; "),
        effect.metric
    );
    depends_on.iter().fold(said, |said, interaction| format!("{said}. {}", interaction.text))
}

/// What the ratio of two levels is at each level of the factor on which it depends.
pub(super) fn interaction(
    effect: &Effect<'_>,
    (best, other): (&str, &str),
    factor: &str,
    told: &[(&str, FamilyMember)],
) -> String {
    let [best, other] = [best, other].map(|level| named(effect.factor, level));
    let levels: Vec<&str> = told.iter().map(|(level, _)| *level).collect();
    let side = |wanted: Side| -> Vec<(&str, FamilyMember)> {
        told.iter().filter(|(_, member)| Side::of(effect, member) == wanted).copied().collect()
    };
    let ahead = |winner: &str, loser: &str, members: &[(&str, FamilyMember)]| {
        let at = at(factor, &levels, members);
        format!("{at}, {winner} is {}", ratio(members, loser))
    };
    let turned: Vec<(&str, FamilyMember)> =
        side(Side::Behind).into_iter().map(|(level, member)| (level, member.turned())).collect();
    let (first, open) = (side(Side::Ahead), side(Side::Open));
    let mut parts = Vec::new();
    if !first.is_empty() {
        parts.push(ahead(&best, &other, &first));
    }
    if !turned.is_empty() {
        parts.push(ahead(&other, &best, &turned));
    }
    if !open.is_empty() {
        parts.push(format!("{}, {best} and {other} can't be told apart", at(factor, &levels, &open)));
    }
    format!("This depends on {factor}: {}", parts.join("; "))
}

/// Which of two levels is shown to be better.
#[derive(PartialEq, Eq)]
enum Side {
    Ahead,
    Behind,
    Open,
}

impl Side {
    fn of(effect: &Effect<'_>, member: &FamilyMember) -> Self {
        match member.estimate {
            Some(e) if member.relation == Relation::Apart && effect.direction.is_better(e.log_mean) => {
                Self::Ahead
            }
            Some(_) if member.relation == Relation::Apart => Self::Behind,
            _ => Self::Open,
        }
    }
}

/// One ratio with its interval, or the range of several.
fn ratio(members: &[(&str, FamilyMember)], loser: &str) -> String {
    let views: Vec<_> = members.iter().filter_map(|(_, member)| member.view()).collect();
    match views.as_slice() {
        [one] => times(one, loser),
        several => {
            let all = || several.iter().map(|view| view.ratio);
            let ends = [all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max)];
            let [low, high] = ratios(ends);
            if low == high { format!("{low}x {loser}") } else { format!("{low}x to {high}x {loser}") }
        }
    }
}

/// The levels in words: `at bs 64k and above`, `at bs 4k and 16k`.
fn at(factor: &str, levels: &[&str], members: &[(&str, FamilyMember)]) -> String {
    let here: Vec<&str> = members.iter().map(|(level, _)| *level).collect();
    let is_ordered = levels.iter().all(|level| number(level).is_some()) && levels.len() > 2;
    match here.as_slice() {
        [first, _, ..] if is_ordered && levels.ends_with(&here) && here.len() < levels.len() => {
            format!("at {factor} {first} and above")
        }
        [.., _, last] if is_ordered && levels.starts_with(&here) && here.len() < levels.len() => {
            format!("at {factor} {last} and below")
        }
        _ => {
            let names: Vec<String> = here.iter().map(|level| (*level).to_owned()).collect();
            format!("at {factor} {}", list(&names))
        }
    }
}
