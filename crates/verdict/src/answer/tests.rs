//! Answers of synthetic runs with known truth.

use crate::generator::Random;
use crate::run_tests::{cell, run_with};
use crate::testing::{Truth, filesystem};
use record::judged::{Answer, Relation, RunView};
use record::plan::{Cell, Derived, Formula, Goal, Plan, Until};
use record::stack::FsKind;
use record::trial::{Outcome, TrialRecord};
use record::volume::{Limits, Volume, VolumeKind};
use record::workload::Rw;
use std::collections::BTreeMap;

type Cells = Vec<(Cell, Vec<TrialRecord>)>;

fn judged(cells: &Cells) -> RunView {
    run_with(cells, |_| ())
}

fn only(view: &RunView) -> &Answer {
    assert_eq!(view.answers.len(), 1, "{:?}", view.answers);
    &view.answers[0]
}

/// I/Os in 20 s, by round. The rounds vary by a fifth for all cells alike, and by `noise` for each cell itself.
fn rounds(factor: f64, noise: f64, n: u32, seed: u64) -> Vec<u64> {
    let mut random = Random::new(seed);
    let round = |i: u32| {
        let common = 1.0 + 0.2 * f64::from(i % 3) / 2.0;
        let own = 1.0 + noise * (2.0 * random.uniform() - 1.0);
        crate::testing::whole(20_000.0 * factor * common * own)
    };
    (0..n).map(round).collect()
}

#[test]
fn one_winner_is_named_with_its_ratio_and_interval() {
    let view = judged(&vec![cell("a", &[2000, 2010, 1990]), cell("b", &[1500, 1510, 1490])]);
    let answer = only(&view);
    assert_eq!((answer.best.0.as_str(), answer.tied.len()), ("a", 0));
    assert_eq!(answer.text, "a is 1.33x b (1.33 to 1.34), the next best; a: 100 IOPS (98.8 to 101 IOPS)");
    let comparison = &answer.comparisons[0];
    assert_eq!((comparison.b.0.as_str(), comparison.relation), ("b", Relation::Apart));
    let ratio = comparison.ratio.unwrap();
    assert!(ratio.low.unwrap() < 4.0 / 3.0 && 4.0 / 3.0 < ratio.high.unwrap() && ratio.n == 3);
}

/// The rounds differ by 20 %, so each cell's interval is wide; within rounds, 5 % at 1 % noise are clear.
#[test]
fn five_percent_at_one_percent_noise_are_told_by_pairs_where_intervals_overlap() {
    let view = judged(&vec![cell("fast", &rounds(1.05, 0.01, 6, 1)), cell("slow", &rounds(1.0, 0.01, 6, 2))]);
    let (fast, slow) = (&view.cells[0].metrics["iops"], &view.cells[1].metrics["iops"]);
    assert!(fast.low.unwrap() < slow.high.unwrap(), "the intervals overlap: {fast:?} {slow:?}");
    let answer = only(&view);
    assert_eq!((answer.best.0.as_str(), answer.tied.len()), ("fast", 0), "{}", answer.text);
}

#[test]
fn two_that_are_the_same_are_told_so_with_what_is_excluded() {
    let view = judged(&vec![cell("a", &rounds(1.0, 0.01, 6, 13)), cell("b", &rounds(1.0, 0.01, 6, 14))]);
    let answer = only(&view);
    assert_eq!(answer.tied.len(), 1);
    assert!(
        answer.text.contains("can't be told apart at this budget; a difference above "),
        "{}",
        answer.text
    );
    let excluded = answer.comparisons[0].excluded_difference.unwrap();
    assert!(excluded > 0.0 && excluded < 0.03, "{excluded}");
}

#[test]
fn of_many_the_set_that_may_be_best_and_how_far_behind_it_may_be() {
    let cells: Cells = vec![
        cell("a", &rounds(1.0, 0.01, 8, 5)),
        cell("b", &rounds(1.0, 0.01, 8, 6)),
        cell("c", &rounds(1.0, 0.01, 8, 7)),
        cell("half", &rounds(0.5, 0.01, 8, 8)),
    ];
    let view = judged(&cells);
    let answer = only(&view);
    assert_eq!(answer.tied.len(), 2, "{}", answer.text);
    assert!(answer.tied.iter().chain([&answer.best]).all(|c| c.0 != "half"));
    assert!(answer.text.contains("can't be told from the best at this budget; none of them is more than"));
    assert!(
        answer.text.contains("x half (") && answer.text.contains("the best of the others"),
        "{}",
        answer.text
    );
    assert_eq!(answer.comparisons.len(), 3);
}

/// The best by estimate may be so uncertain that it isn't shown to be better than any cell, while another one of the best is.
#[test]
fn the_best_of_the_others_is_held_against_one_that_is_shown_to_be_better() {
    let view = judged(&vec![
        cell("wild", &[9000, 1000, 8000, 1200]),
        cell("steady", &[2200, 2210, 2190, 2200]),
        cell("slower", &[2000, 2010, 1990, 2000]),
    ]);
    let text = &only(&view).text;
    assert!(text.starts_with("wild and steady can't be told apart"), "{text}");
    assert!(text.contains("; steady is 1.10x slower (1.10 to 1.10), the best of the others"), "{text}");
}

#[test]
fn one_round_tells_nothing_apart_and_one_cell_has_no_answer() {
    let once = judged(&vec![cell("a", &[2000]), cell("b", &[100])]);
    assert_eq!(only(&once).tied.len(), 1);
    assert!(
        only(&once).text.contains("by one round, which sets no bound on the difference"),
        "{}",
        only(&once).text
    );
    assert!(judged(&vec![cell("a", &[2000])]).answers.is_empty());
}

#[test]
fn failed_rounds_leave_the_pairs_of_the_others() {
    let (a, mut trials) = cell("a", &[2000, 2400, 9000, 2200]);
    trials[2].outcome = Outcome::Failed("gone".to_owned());
    let view = judged(&vec![(a, trials), cell("b", &[1000, 1200, 1100, 1101])]);
    assert_eq!(view.cells[0].rounds, [0, 1, 3]);
    let ratio = only(&view).comparisons[0].ratio.unwrap();
    assert_eq!(ratio.n, 3, "round 3 has no pair");
    assert!((ratio.ratio - 2.0).abs() < 0.01, "{ratio:?}");
}

#[test]
fn a_void_cell_is_left_out_and_named() {
    let (hole, mut trials) = cell("hole", &[90_000, 90_000, 90_000]);
    trials.iter_mut().for_each(|t| t.topology.fs_type = Some("tmpfs".to_owned()));
    let view = judged(&vec![(hole, trials), cell("a", &[2000, 2010, 1990]), cell("b", &[1500, 1510, 1490])]);
    let answer = only(&view);
    assert_eq!(answer.best.0, "a");
    assert!(answer.text.ends_with("(not compared, since their figures are not storage figures: hole)"));
}

#[test]
fn a_void_cell_is_not_the_best_of_the_others_where_all_others_tie() {
    let (hole, mut trials) = cell("hole", &[90_000, 90_000, 90_000]);
    trials.iter_mut().for_each(|t| t.topology.fs_type = Some("tmpfs".to_owned()));
    let view = judged(&vec![cell("a", &[2000, 1500, 1990]), (hole, trials), cell("b", &[1500, 2010, 1490])]);
    let answer = only(&view);
    assert_eq!(answer.tied.len(), 1, "{}", answer.text);
    assert!(!answer.text.contains("the best of the others"), "{}", answer.text);
    assert!(answer.text.ends_with("(not compared, since their figures are not storage figures: hole)"));
}

fn with_volumes((mut cell, trials): (Cell, Vec<TrialRecord>), names: &[&str]) -> (Cell, Vec<TrialRecord>) {
    let kind = VolumeKind::Emulate { size_bytes: 1 << 30, limits: Limits::default() };
    cell.stack.volumes = names.iter().map(|n| Volume { name: (*n).to_owned(), kind: kind.clone() }).collect();
    (cell, trials)
}

fn priced(plan: &mut Plan) {
    plan.prices.currency = Some("EUR".to_owned());
    plan.prices.per_hour = BTreeMap::from([("cheap".to_owned(), 0.01), ("dear".to_owned(), 0.1)]);
}

#[test]
fn what_is_fastest_need_not_be_best_by_money() {
    let cells = vec![
        with_volumes(cell("fast", &[4000, 4020, 3980]), &["dear"]),
        with_volumes(cell("slow", &[2000, 2010, 1990]), &["cheap"]),
    ];
    let view = run_with(&cells, priced);
    let [cheapest, fastest] = &view.answers[..] else { panic!("{:?}", view.answers) };
    assert_eq!((fastest.best.0.as_str(), cheapest.best.0.as_str()), ("fast", "slow"));
    assert_eq!(cheapest.metric, "iops/price_per_month");
    assert!(
        cheapest.text.ends_with("this compares what the file declares, and measures no provider)"),
        "{}",
        cheapest.text
    );
    assert!(!fastest.text.contains("provider"), "{}", fastest.text);
    assert!(cheapest.text.starts_with("by iops per EUR a month: slow is 5.00x fast"), "{}", cheapest.text);
    assert!(cheapest.text.contains("13.7 IOPS per EUR a month"), "100 / 7.30: {}", cheapest.text);
    let same = vec![
        with_volumes(cell("a", &[4000, 4020, 3980]), &["dear"]),
        with_volumes(cell("b", &[2000, 2010, 1990]), &["dear"]),
    ];
    assert_eq!(run_with(&same, priced).answers.len(), 1, "one price for all says nothing new");
    let unknown = vec![
        with_volumes(cell("a", &[4000, 4020, 3980]), &["dear"]),
        with_volumes(cell("b", &[2000, 2010, 1990]), &["cheap", "unpriced"]),
    ];
    assert_eq!(run_with(&unknown, priced).answers.len(), 1);
}

#[test]
fn a_derived_price_leads_too_and_disks_that_are_bought_are_measured() {
    let cells = |id: &str, kind: fn() -> VolumeKind| {
        let (mut cell, trials) = with_volumes(cell(id, &[2000, 2010, 1990]), &["vol"]);
        cell.stack.volumes[0].kind = kind();
        (cell, trials)
    };
    let per_euro = |plan: &mut Plan| {
        let formula = Formula { factor: 0.1, over: Some("iops".to_owned()), under: None };
        plan.derived = vec![Derived {
            name: "iops_per_eur".to_owned(),
            expression: "iops / price_per_month".to_owned(),
            cells: plan.cells.iter().map(|c| (c.id.clone(), formula.clone())).collect(),
        }];
    };
    let bought: fn() -> VolumeKind = || VolumeKind::Disk { id: "nvme-x".to_owned() };
    let imitated: fn() -> VolumeKind =
        || VolumeKind::Emulate { size_bytes: 1 << 30, limits: Limits::default() };
    for (kind, said) in [(bought, false), (imitated, true)] {
        let view = run_with(&[cells("a", kind), cells("b", kind)], per_euro);
        assert_eq!(view.answers[0].metric, "iops_per_eur");
        assert_eq!(view.answers[0].text.contains("measures no provider"), said, "{}", view.answers[0].text);
    }
}

#[test]
fn derived_metrics_are_answered_too_and_costs_are_better_low() {
    let cells = vec![cell("a", &[4000, 4020, 3980]), cell("b", &[2000, 2010, 1990])];
    let view = run_with(&cells, |plan| {
        let formula = Formula { factor: 1000.0, over: None, under: Some("iops".to_owned()) };
        plan.derived = vec![Derived {
            name: "ms_per_io".to_owned(),
            expression: "1000 / iops".to_owned(),
            cells: plan.cells.iter().map(|c| (c.id.clone(), formula.clone())).collect(),
        }];
    });
    assert_eq!(view.cells[0].metrics["ms_per_io"].values, [5.0, 1000.0 / 201.0, 1000.0 / 199.0]);
    let answer = &view.answers[1];
    assert_eq!((answer.metric.as_str(), answer.best.0.as_str()), ("ms_per_io", "a"));
    assert!(answer.text.starts_with("by ms_per_io: a is 0.50x b"), "{}", answer.text);
}

/// The answer is about the stop rule's metric, and the comparisons of a run under a stop rule are stricter.
#[test]
fn a_run_under_a_stop_rule_is_answered_by_its_metric_and_level() {
    let cells = vec![cell("a", &rounds(1.0, 0.02, 6, 9)), cell("b", &rounds(0.99, 0.02, 6, 10))];
    let plain = judged(&cells);
    let looked = run_with(&cells, |plan| {
        plan.measure.until = Some(Until::new(Goal::Interval(0.05), Some("read_bw".to_owned())));
    });
    assert_eq!(only(&looked).metric, "read_bw");
    let width = |view: &RunView| {
        let r = only(view).comparisons[0].ratio.unwrap();
        (r.high.unwrap() / r.low.unwrap()).ln()
    };
    assert!(width(&looked) > 1.1 * width(&plain));
}

/// Three equal cells, many times: a false difference in at most 5 %.
#[test]
fn equal_cells_are_seldom_told_apart() {
    let (n, mut wrong) = (300, 0);
    let template = judged(&vec![cell("a", &[1; 5]), cell("b", &[1; 5]), cell("c", &[1; 5])]).cells;
    let plan = plan();
    for seed in 0..n {
        let mut cells = template.clone();
        for (i, cell) in (0..).zip(&mut cells) {
            let trials: Vec<BTreeMap<String, f64>> = rounds(1.0, 0.02, 5, 1000 + seed * 3 + i)
                .iter()
                .map(|ios| BTreeMap::from([("iops".to_owned(), *ios as f64 / 20.0)]))
                .collect();
            cell.metrics = crate::metrics::over_trials(
                &trials,
                &crate::sequential::Means::plain(&crate::testing::measure(5)),
            );
        }
        wrong += u64::from(super::of(&plan, &cells, &[])[0].tied.len() < 2);
    }
    // 5 % of 300, plus four standard errors.
    assert!(wrong <= 30, "{wrong} of {n}");
}

fn plan() -> Plan {
    let mut kept = None;
    run_with(&[], |plan| kept = Some(plan.clone()));
    kept.unwrap()
}

/// A cell whose devices delivered 70 % of the bytes; the page cache served the rest.
fn partly_cached(name: &str, ios: &[u64]) -> (Cell, Vec<TrialRecord>) {
    let mut cell = Truth::new(Rw::Randread, 4096, false, filesystem(FsKind::Ext4), 1).cell;
    cell.id = record::id::CellId(name.to_owned());
    name.clone_into(&mut cell.stack.name);
    let trial = |(round, ios): (u32, &u64)| {
        let mut truth = Truth::new(Rw::Randread, 4096, false, filesystem(FsKind::Ext4), 1);
        truth.asked(ios * 4096, 0);
        truth.device_read = ios * 4096 * 7 / 10;
        let mut record = truth.record();
        record.id.cell = cell.id.clone();
        record.id.round = round;
        record
    };
    let trials = (0..).zip(ios).map(trial).collect();
    (cell, trials)
}

#[test]
fn a_winner_served_in_part_from_memory_is_named_with_that() {
    let cells =
        vec![partly_cached("a", &[2000, 2010, 1990]), cell("b", &[1500, 1510, 1490]), cell("c", &[500; 3])];
    let view = run_with(&cells, |plan| {
        let ids = |name: &str| vec![record::id::CellId(name.to_owned())];
        plan.contrasts = vec![
            record::plan::Contrast {
                name: "least".to_owned(),
                of: "iops".to_owned(),
                a: ids("b"),
                b: ids("c"),
            },
            record::plan::Contrast {
                name: "most".to_owned(),
                of: "iops".to_owned(),
                a: ids("c"),
                b: ids("a"),
            },
        ];
    });
    let answer = only(&view);
    assert!(!view.cells[0].void && answer.best.0 == "a", "{:?}", view.findings);
    assert!(
        answer.text.ends_with("100 IOPS (98.8 to 101 IOPS) (in part from a cache in memory: a)"),
        "{}",
        answer.text
    );
    let doubted: Vec<bool> = view.contrasts.iter().map(|c| c.text.contains("cache in memory: a")).collect();
    assert_eq!(doubted, [false, true], "{:?}", view.contrasts);
}
