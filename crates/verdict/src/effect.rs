//! What the levels of factors without an order, and the machines, make of the figures, over all levels of the other factors, and the
//! factors on which that depends (docs/statistics.md).

mod levels;
mod words;

use crate::direction::Direction;
use crate::factors::{Shared, headline_of, number};
use crate::pairing::{FamilyMember, Level, Rivals, family, most_trials};
pub(crate) use levels::placed;
use levels::{Block, means, within};
use record::judged::{CellView, EffectView, InteractionView, LevelView, Relation};
use record::plan::Plan;
use std::collections::{BTreeMap, BTreeSet};

/// A factor with more levels than this is a list of cases, and comparing all pairs of them says nothing.
const MOST_LEVELS: usize = 8;
/// An interaction smaller than this, as a ratio of ratios, is not reported: it decides nothing.
const LEAST_INTERACTION: f64 = 1.05;

/// One view for each factor without an order that is crossed with others: `stack` first, `machine` last.
pub(crate) fn of(plan: &Plan, cells: &[CellView]) -> Vec<EffectView> {
    let placed = placed(plan, &Shared::among(plan), cells);
    let mut factors: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for cell in &placed {
        for (factor, level) in &cell.levels {
            factors.entry(factor).or_default().insert(level);
        }
    }
    let order = |factor: &str| (factor != levels::STACK, factor == levels::MACHINE, factor.to_owned());
    let mut compared: Vec<&str> =
        factors.iter().filter(|(f, levels)| is_compared(f, levels)).map(|(f, _)| *f).collect();
    compared.sort_by_key(|factor| order(factor));
    let level = Level::of([(&plan.measure, most_trials(cells))]);
    let views = compared.iter().enumerate().filter_map(|(at, factor)| {
        let blocks = levels::blocks(&placed, factor, factors.get(factor)?);
        let done = compared.get(..at).unwrap_or_default();
        Effect::of(plan, factor, blocks, level)?.view(done)
    });
    views.collect()
}

/// Whether the levels are compared with each other: names, or two numbers. More numbers are a sweep, and different workloads are no
/// rivals.
fn is_compared(factor: &str, levels: &BTreeSet<&str>) -> bool {
    let numbers = levels.iter().all(|level| number(level).is_some());
    let is_sweep = numbers && levels.len() > 2 && factor != levels::MACHINE;
    (2..=MOST_LEVELS).contains(&levels.len()) && !is_sweep && factor != levels::WORKLOAD
}

/// A factor with the combinations of the others in which all its levels have figures.
struct Effect<'a> {
    factor: &'a str,
    metric: &'static str,
    /// The levels, the best by estimate first.
    levels: Vec<&'a str>,
    blocks: Vec<Block<'a>>,
    level: Level,
    direction: Direction,
    /// The measured time of a trial.
    seconds: f64,
}

impl<'a> Effect<'a> {
    /// `None` with fewer than two combinations: the answers say it then.
    fn of(plan: &Plan, factor: &'a str, blocks: Vec<Block<'a>>, level: Level) -> Option<Self> {
        if blocks.len() < 2 {
            return None;
        }
        let cells = blocks.iter().flat_map(|block| block.cells.values().copied());
        let metric = headline_of(plan, cells);
        let direction = Direction::of(plan, metric);
        let mut ranked: Vec<(&str, f64)> = Vec::new();
        for level in blocks.first()?.cells.keys() {
            let estimate =
                |block: &Block<'_>| Some(block.cells.get(level)?.metrics.get(metric)?.estimate.ln());
            let logs: Vec<f64> = blocks.iter().map(estimate).collect::<Option<_>>()?;
            ranked.push((level, logs.iter().sum()));
        }
        ranked.sort_by(|a, b| direction.order(a.1, b.1));
        let levels = ranked.into_iter().map(|(level, _)| level).collect();
        Some(Self { factor, metric, levels, blocks, level, direction, seconds: plan.measure.trial_seconds })
    }

    /// `done`: the factors with a view of their own before, where an interaction with this one is named.
    fn view(&self, done: &[&str]) -> Option<EffectView> {
        let (best, others) = self.levels.split_first()?;
        let main = self.main_effects();
        let told: Vec<(&str, FamilyMember)> =
            others.iter().filter_map(|other| Some((*other, self.between(best, other, &main)?))).collect();
        if told.iter().all(|(_, member)| member.estimate.is_none()) {
            return None;
        }
        let over: Vec<&str> = self.others().keys().copied().collect();
        let depends_on = self.interactions(done);
        Some(EffectView {
            factor: self.factor.to_owned(),
            metric: self.metric.to_owned(),
            combinations: u32::try_from(self.blocks.len()).unwrap_or(u32::MAX),
            levels: self.levels.iter().map(|level| (*level).to_owned()).collect(),
            comparisons: told.iter().map(|(b, member)| level_view(best, b, None, member)).collect(),
            text: words::effect(self, best, &told, &over, &depends_on),
            over: over.into_iter().map(str::to_owned).collect(),
            depends_on,
        })
    }

    /// All pairs of levels, compared by their means over the combinations, with Holm's adjustment over the pairs.
    fn main_effects(&self) -> Vec<(&'a str, &'a str, FamilyMember)> {
        let pairs: Vec<(&str, &str)> = (0..self.levels.len())
            .flat_map(|a| (a + 1..self.levels.len()).map(move |b| (a, b)))
            .filter_map(|(a, b)| Some((*self.levels.get(a)?, *self.levels.get(b)?)))
            .collect();
        let rivals: Vec<Rivals> = pairs.iter().map(|(a, b)| self.rivals(a, b, &self.all())).collect();
        let told = family(&rivals, &self.level);
        pairs.into_iter().zip(told).map(|((a, b), member)| (a, b, member)).collect()
    }

    fn between(&self, a: &str, b: &str, all: &[(&str, &str, FamilyMember)]) -> Option<FamilyMember> {
        all.iter().find(|(x, y, _)| (*x, *y) == (a, b)).map(|(_, _, member)| *member)
    }

    fn all(&self) -> Vec<&Block<'a>> {
        self.blocks.iter().collect()
    }

    fn rivals(&self, a: &str, b: &str, blocks: &[&Block<'a>]) -> Rivals {
        let side = |level: &str| blocks.iter().filter_map(|block| block.cells.get(level).copied()).collect();
        let [a, b]: [Vec<&CellView>; 2] = [side(a), side(b)];
        Rivals::groups(&a, &b, self.metric, self.seconds)
    }

    /// The other factors with at least two levels, and their levels: numbers in their order.
    fn others(&self) -> BTreeMap<&'a str, Vec<&'a str>> {
        let mut found: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (factor, level) in self.blocks.iter().flat_map(|block| &block.others) {
            let levels = found.entry(factor).or_default();
            if !levels.contains(level) {
                levels.push(level);
            }
        }
        for levels in found.values_mut() {
            if levels.iter().all(|level| number(level).is_some()) {
                levels.sort_by(|a, b| number(a).partial_cmp(&number(b)).unwrap_or(std::cmp::Ordering::Equal));
            }
        }
        found.retain(|_, levels| levels.len() > 1);
        found
    }

    /// The factors on which the best level's lead over another depends: at one of their levels the ratio is shown to differ from
    /// the mean ratio at the others, with Holm's adjustment over all ratios of all factors, and by enough to matter.
    fn interactions(&self, done: &[&str]) -> Vec<InteractionView> {
        let Some((best, rest)) = self.levels.split_first() else { return Vec::new() };
        let others: Vec<(&str, Vec<&str>)> =
            self.others().into_iter().filter(|(factor, _)| !done.contains(factor)).collect();
        let mut asked = Vec::new();
        let mut rivals = Vec::new();
        for other in rest {
            for (factor, levels) in &others {
                // of two levels, one says all
                let tested = if levels.len() == 2 { 1 } else { levels.len() };
                for level in levels.iter().take(tested) {
                    asked.push((*other, *factor));
                    rivals.push(self.departure(best, other, factor, level));
                }
            }
        }
        let told = family(&rivals, &self.level);
        let matters = |member: &FamilyMember| {
            member.relation == Relation::Apart
                && member.estimate.is_some_and(|e| e.log_mean.abs() >= LEAST_INTERACTION.ln())
        };
        let mut shown: Vec<(&str, &str)> = asked
            .into_iter()
            .zip(&told)
            .filter(|(_, member)| matters(member))
            .map(|(pair, _)| pair)
            .collect();
        shown.dedup();
        let levels: BTreeMap<&str, Vec<&str>> = others.into_iter().collect();
        shown
            .into_iter()
            .filter_map(|(other, factor)| Some(self.interaction(best, other, factor, levels.get(factor)?)))
            .collect()
    }

    /// The ratio best / other at one level of a factor over its mean at the others, round by round.
    fn departure(&self, best: &str, other: &str, factor: &str, level: &str) -> Rivals {
        let (here, elsewhere) = within(&self.blocks, factor, level);
        let at = |blocks: &[&Block<'_>]| means(blocks, best, other, self.metric);
        let mut by_level: BTreeMap<&str, Vec<&Block<'_>>> = BTreeMap::new();
        for block in elsewhere {
            by_level.entry(block.others.get(factor).copied().unwrap_or_default()).or_default().push(block);
        }
        let rest: Vec<Vec<Option<f64>>> = by_level.values().map(|blocks| at(blocks)).collect();
        let pair = |(round, here): (usize, Option<f64>)| {
            let logs: Option<Vec<f64>> = rest.iter().map(|mean| *mean.get(round)?).collect();
            let logs = logs?;
            Some((here?.exp(), (logs.iter().sum::<f64>() / logs.len() as f64).exp()))
        };
        let pairs = at(&here).into_iter().enumerate().filter_map(pair).collect();
        let resolution = 2.0 * self.rivals(best, other, &self.all()).resolution;
        Rivals { figures: crate::pairing::Figures::Paired(pairs), resolution, mixed: 0 }
    }

    fn interaction(&self, best: &str, other: &str, factor: &str, levels: &[&str]) -> InteractionView {
        let rivals: Vec<Rivals> = levels
            .iter()
            .map(|level| self.rivals(best, other, &within(&self.blocks, factor, level).0))
            .collect();
        let told: Vec<(&str, FamilyMember)> =
            levels.iter().copied().zip(family(&rivals, &self.level)).collect();
        InteractionView {
            factor: factor.to_owned(),
            at: told.iter().map(|(level, member)| level_view(best, other, Some(level), member)).collect(),
            text: words::interaction(self, (best, other), factor, &told),
        }
    }
}

fn level_view(a: &str, b: &str, at: Option<&str>, member: &FamilyMember) -> LevelView {
    LevelView {
        a: a.to_owned(),
        b: b.to_owned(),
        at: at.map(str::to_owned),
        ratio: member.view(),
        relation: member.relation,
    }
}

#[cfg(test)]
mod tests;
