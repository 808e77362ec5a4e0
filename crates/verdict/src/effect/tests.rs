//! Effects of factors on tables that we made, so we know what they hold.

use super::of;
use crate::generator::Random;
use crate::run_tests::{cell, run_with};
use crate::testing::measure;
use record::judged::{CellView, EffectView, Relation};
use record::plan::{Cell, Plan};

const SIZES: [&str; 3] = ["4k", "64k", "1m"];
const ROUNDS: usize = 6;

/// Normal to three digits: the sum of twelve uniform numbers has the variance 1.
fn normal(random: &mut Random) -> f64 {
    (0..12).map(|_| random.uniform()).sum::<f64>() - 6.0
}

/// A run of these file systems at three block sizes, without figures.
struct Table {
    plan: Plan,
    cells: Vec<CellView>,
    of: Vec<(usize, usize)>,
}

impl Table {
    fn of(stacks: &[&str]) -> Self {
        let mut made: Vec<(Cell, _)> = Vec::new();
        let mut of = Vec::new();
        for (s, stack) in stacks.iter().enumerate() {
            for (b, size) in SIZES.iter().enumerate() {
                let (mut cell, trials) = cell(&format!("{stack}-{size}"), &[20_000; ROUNDS]);
                cell.stack.name = (*stack).to_owned();
                cell.workload.name = format!("randread-{size}");
                cell.levels = [("bs".to_owned(), (*size).to_owned())].into();
                made.push((cell, trials));
                of.push((s, b));
            }
        }
        let cells = run_with(&made, |_| {}).cells;
        let plan = Plan::new("test".to_owned(), made.into_iter().map(|(cell, _)| cell).collect(), measure(6));
        Self { plan, cells, of }
    }

    /// The effects with these true figures, 5 % of noise in each trial and 3 % that a round adds to all cells.
    fn effects(&mut self, truth: impl Fn(usize, usize) -> f64, random: &mut Random) -> Vec<EffectView> {
        let rounds: Vec<f64> = (0..ROUNDS).map(|_| 1.0 + 0.03 * normal(random)).collect();
        for (cell, (stack, size)) in self.cells.iter_mut().zip(&self.of) {
            let metric = cell.metrics.get_mut("iops").unwrap();
            metric.values = rounds
                .iter()
                .map(|round| 1000.0 * truth(*stack, *size) * round * (1.0 + 0.05 * normal(random)).max(0.1))
                .collect();
            metric.estimate = metric.values.iter().sum::<f64>() / ROUNDS as f64;
        }
        of(&self.plan, &self.cells)
    }
}

fn only(views: Vec<EffectView>) -> EffectView {
    let [view] = <[EffectView; 1]>::try_from(views).unwrap_or_else(|views| panic!("{views:?}"));
    view
}

#[test]
fn one_sentence_says_the_ratio_over_everything_and_on_what_it_depends() {
    let mut table = Table::of(&["ext4", "xfs"]);
    let same = only(table.effects(|stack, _| if stack == 1 { 1.5 } else { 1.0 }, &mut Random::new(1)));
    assert_eq!((same.factor.as_str(), same.combinations), ("stack", 3));
    assert_eq!(same.levels, ["xfs", "ext4"]);
    assert_eq!(same.over, ["bs"]);
    let begin = "over all 3 combinations of bs, xfs is 1.5";
    assert!(same.text.starts_with(begin) && same.text.ends_with(", by iops"), "{}", same.text);
    let ratio = same.comparisons[0].ratio.as_ref().unwrap();
    assert!(ratio.low.unwrap() < 1.5 && ratio.high.unwrap() > 1.5, "{ratio:?}");
    let large = |stack, size| if stack == 1 && size > 0 { 1.5 } else { 1.0 };
    let depends = only(table.effects(large, &mut Random::new(1)));
    let text = &depends.text;
    assert!(text.contains(". This depends on bs: at bs 64k and above, xfs is 1."), "{text}");
    assert!(text.ends_with("; at bs 4k, xfs and ext4 can't be told apart"), "{text}");
    assert_eq!(depends.depends_on[0].at.len(), 3);
}

#[test]
fn a_winner_that_changes_is_named_on_each_side() {
    let mut table = Table::of(&["ext4", "xfs", "btrfs"]);
    let crossed = |stack, size| match (stack, size) {
        (0, 0) => 1.6,
        (1, 1 | 2) => 1.8,
        (2, _) => 0.5,
        _ => 1.0,
    };
    let view = only(table.effects(crossed, &mut Random::new(3)));
    assert_eq!(view.levels, ["xfs", "ext4", "btrfs"]);
    assert!(view.text.contains("; at bs 4k, ext4 is 1."), "{}", view.text);
    assert!(view.comparisons.iter().all(|c| c.a == "xfs"));
    assert_eq!(view.comparisons[1].relation, Relation::Apart);
}

/// The table's file systems are machines here, and its block sizes are stacks.
fn on_machines(truth: impl Fn(usize, usize) -> f64, random: &mut Random) -> Vec<EffectView> {
    let mut table = Table::of(&["small", "big"]);
    for (cell, view) in table.plan.cells.iter_mut().zip(&mut table.cells) {
        cell.target = std::mem::replace(&mut cell.stack.name, format!("stripe-{}", view.levels["bs"]));
        "randread".clone_into(&mut cell.workload.name);
        cell.levels.clear();
        (view.target, view.stack) = (cell.target.clone(), cell.stack.name.clone());
    }
    table.effects(truth, random)
}

#[test]
fn machines_are_compared_over_all_stacks_and_a_stack_that_wins_on_one_only_is_named() {
    let mut random = Random::new(5);
    let mut covered = 0;
    for _ in 0..30 {
        let views = on_machines(|machine, _| [1.0, 1.8][machine], &mut random);
        let [stack, machine] = <[EffectView; 2]>::try_from(views).unwrap();
        assert_eq!((stack.factor.as_str(), machine.factor.as_str()), ("stack", "machine"));
        assert_eq!(machine.levels, ["big", "small"]);
        let begin = "over all 3 combinations of stack, big is 1.";
        assert!(machine.text.starts_with(begin), "{}", machine.text);
        let ratio = machine.comparisons[0].ratio.as_ref().unwrap();
        covered += u32::from(ratio.low.unwrap() < 1.8 && ratio.high.unwrap() > 1.8);
    }
    // three standard errors below 95 %
    assert!(covered >= 25, "{covered}");

    let only_big = |machine, size| if (machine, size) == (1, 2) { 3.0 } else { 1.0 };
    let views = on_machines(only_big, &mut random);
    let stack = &views[0];
    assert_eq!(stack.levels[0], "stripe-1m");
    assert!(stack.text.contains("This depends on machine: at machine big, stripe-1m is "), "{}", stack.text);
    assert!(stack.text.contains("; at machine small, stripe-1m and stripe-"), "{}", stack.text);
}

#[test]
fn a_factor_that_is_not_crossed_has_no_effect_of_its_own() {
    let mut table = Table::of(&["ext4", "xfs"]);
    for cell in &mut table.cells {
        cell.void = cell.workload != "randread-4k";
    }
    assert_eq!(table.effects(|_, _| 1.0, &mut Random::new(1)), vec![]);
    assert_eq!(Table::of(&["ext4"]).effects(|_, _| 1.0, &mut Random::new(1)), vec![]);
}

/// Of tables without any difference at most 5 % name one, and at most 5 % name an interaction; true ones are named in at least 95 %.
#[test]
fn tables_of_noise_name_nothing_and_true_effects_are_found() {
    const RUNS: u32 = 300;
    let mut table = Table::of(&["ext4", "xfs"]);
    let mut random = Random::new(11);
    let is_main = |view: &EffectView| view.comparisons.iter().any(|c| c.relation == Relation::Apart);
    let mut count = |truth: &dyn Fn(usize, usize) -> f64| {
        let (mut main, mut depends) = (0, 0);
        for _ in 0..RUNS {
            let view = only(table.effects(truth, &mut random));
            main += u32::from(is_main(&view));
            depends += u32::from(!view.depends_on.is_empty());
        }
        (f64::from(main) / f64::from(RUNS), f64::from(depends) / f64::from(RUNS))
    };
    // three standard errors above 5 %
    let (main, depends) = count(&|_, _| 1.0);
    assert!(main <= 0.088 && depends <= 0.088, "{main} {depends}");
    let (main, depends) = count(&|stack, _| if stack == 1 { 1.15 } else { 1.0 });
    assert!(main >= 0.95 && depends <= 0.088, "{main} {depends}");
    let (_, depends) = count(&|stack, size| if stack == 1 && size == 2 { 1.4 } else { 1.0 });
    assert!(depends >= 0.95, "{depends}");
}
