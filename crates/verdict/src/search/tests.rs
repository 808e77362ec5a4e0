//! Searches from their stored trials.

use crate::run_tests::run_with;
use crate::testing::{Truth, filesystem};
use record::find::{Find, FindBy, FindLimit, Tried, TriedWhy};
use record::id::CellId;
use record::judged::{Found, RunView, Status};
use record::latency::LatencyHistogram;
use record::plan::{Bound, Cell, Expectation};
use record::stack::FsKind;
use record::trial::TrialRecord;
use record::workload::{Ask, Rw};
use std::collections::BTreeMap;

/// A trial of 20 s at a level: so many I/Os per second were made, with this latency.
struct Made {
    level: u64,
    iops: u64,
    latency_us: u64,
}

fn made(level: u64, iops: u64, latency_us: u64) -> Made {
    Made { level, iops, latency_us }
}

/// A queue of 1000 I/Os per second: 1 ms alone, ten times as much at 900.
fn queue(level: u64) -> Made {
    if level >= 1000 { made(level, 1000, 1_000_000) } else { made(level, level, 1_000_000 / (1000 - level)) }
}

fn searched(by: FindBy, trials: &[Made]) -> RunView {
    run_with(&[cell("s", by, trials)], |plan| {
        plan.expectations = vec![Expectation {
            of: "iops".to_owned(),
            expression: "850".to_owned(),
            bound: Bound::AtLeast,
            within: 0.0,
            values: BTreeMap::from([(CellId("s".to_owned()), 850.0)]),
        }];
    })
}

/// A search with its trials, on a stack of this name.
fn cell(name: &str, by: FindBy, trials: &[Made]) -> (Cell, Vec<TrialRecord>) {
    let truth = || Truth::new(Rw::Randread, 4096, true, filesystem(FsKind::Ext4), 1);
    let mut cell: Cell = truth().cell;
    cell.id = CellId(name.to_owned());
    cell.stack.name = name.to_owned();
    if let Ask::Options(options) = &mut cell.workload.ask {
        options.find = Some(Find {
            most: "iops".to_owned(),
            limits: vec![FindLimit {
                of: "read_lat_p99".to_owned(),
                at_most: 10_000.0,
                written: "10ms".to_owned(),
            }],
            by,
            from: 1,
            to: 10_000,
            within: 0.05,
        });
    }
    let record = |(round, made): (u32, &Made)| {
        let mut t = truth();
        t.asked(made.iops * 20 * 4096, 0);
        t.device_read = made.iops * 20 * 4096;
        let mut record: TrialRecord = t.record();
        record.id.cell = CellId(name.to_owned());
        record.id.round = round;
        record.tried = Some(Tried { level: made.level, why: TriedWhy::Near });
        if let Some(read) = record.engine.as_mut().and_then(|engine| engine.read.as_mut()) {
            read.latency = LatencyHistogram { bins_ns: [(made.latency_us * 1000, made.iops * 20)].into() };
        }
        record
    };
    (cell, (0..).zip(trials).map(record).collect())
}

#[test]
fn the_answer_has_an_interval_and_the_cell_has_it_as_its_metric() {
    let levels = [10_000, 750, 890, 910, 885, 915, 895, 905, 892, 908];
    let trials: Vec<Made> = levels.into_iter().map(queue).collect();
    let view = searched(FindBy::RateIops, &trials);
    let search = &view.searches[0];
    assert_eq!((search.found, search.is_exact, search.tried.len()), (Found::Found, true, 10));
    let value = search.value.unwrap();
    assert!((value.estimate - 900.0).abs() < 9.0 && value.low < 900.0 && value.high > 900.0, "{value:?}");
    assert!(
        search.text.contains(" IOPS (8") && search.text.contains(") at read_lat_p99 <= 10ms; 10 trials"),
        "{}",
        search.text
    );
    let cell = &view.cells[0];
    for (name, per_io) in [("iops", 1.0), ("read_iops", 1.0), ("bw", 4096.0), ("read_bw", 4096.0)] {
        let metric = &cell.metrics[name];
        assert!((metric.estimate - value.estimate * per_io).abs() < 1e-6 * metric.estimate, "{name}");
        assert!(metric.values.is_empty(), "trials of other levels are no repetitions");
    }
    assert_eq!((cell.trials.done, cell.trials.planned), (10, 10));
    assert!(cell.rounds.is_empty() && cell.model.is_none());
    assert_eq!(view.expectations[0].status, Status::Met, "{}", view.expectations[0].text);
    assert!(view.answers.is_empty() && view.sweeps.is_empty());
}

#[test]
fn the_first_overload_is_no_finding_of_the_answer() {
    let mut trials: Vec<Made> = [890, 910, 885, 915, 895, 905, 892, 908].into_iter().map(queue).collect();
    let without = searched(FindBy::RateIops, &trials);
    trials.insert(0, queue(10_000));
    let with = searched(FindBy::RateIops, &trials);
    assert_eq!(
        with.cells[0].limited_by.as_ref().map(|l| l.by),
        without.cells[0].limited_by.as_ref().map(|l| l.by)
    );
    assert_eq!(with.findings.len(), without.findings.len(), "{:?}", with.findings);
}

#[test]
fn a_depth_is_told_beside_its_rate() {
    let at = |depth: u64| made(depth, 2000, depth * 500);
    let trials: Vec<Made> = [256, 16, 19, 21, 18, 22, 20, 21, 19, 20].into_iter().map(at).collect();
    let search = &searched(FindBy::Iodepth, &trials).searches[0];
    assert!(search.text.contains("IOPS") && search.text.contains("at iodepth 20"), "{}", search.text);
    let level = search.level.unwrap();
    assert!(level.low <= 20.0 && level.high >= 20.0 && level.high < 22.0, "{level:?}");
}

#[test]
fn limits_outside_the_levels_have_no_figure() {
    let hopeless: Vec<Made> =
        [10_000, 700, 100, 10, 1, 1, 1].into_iter().map(|l| made(l, 50, 20_000)).collect();
    let view = searched(FindBy::Iodepth, &hopeless);
    assert_eq!(view.searches[0].found, Found::NotEven);
    assert!(view.searches[0].text.starts_with("not even iodepth 1, "), "{}", view.searches[0].text);
    assert!(view.cells[0].metrics.is_empty());
    assert_eq!(view.expectations[0].status, Status::Undecided);
    let easy: Vec<Made> = (0..3).map(|_| made(10_000, 10_000, 500)).collect();
    let text = &searched(FindBy::RateIops, &easy).searches[0].text;
    assert!(
        text.starts_with("at least 10,000 IOPS: read_lat_p99 <= 10ms held even at rate_iops 10,000"),
        "{text}"
    );
}

#[test]
fn what_few_trials_do_not_show_is_open() {
    let trials: Vec<Made> = [10_000, 750, 875].into_iter().map(queue).collect();
    let search = &searched(FindBy::RateIops, &trials).searches[0];
    assert_eq!((search.found, search.is_exact, search.value), (Found::Open, false, None));
    assert!(search.text.ends_with("rate_iops 875 kept it, rate_iops 1,000 broke it"), "{}", search.text);
    assert_eq!(searched(FindBy::RateIops, &[]).searches[0].text, "no trial was measured");
}

#[test]
fn stacks_are_ranked_by_what_they_carry_within_the_limit() {
    let levels = |capacity: u64| -> Vec<Made> {
        [1000, 890, 910, 885, 915, 895, 905, 892, 908]
            .into_iter()
            .map(|of| {
                made(
                    of * capacity / 1000,
                    of * capacity / 1000,
                    if of < 1000 { 1_000_000 / (1000 - of) } else { 1_000_000 },
                )
            })
            .collect()
    };
    let cells = [
        cell("slow", FindBy::RateIops, &levels(1000)),
        cell("fast", FindBy::RateIops, &levels(2000)),
        cell("hopeless", FindBy::RateIops, &[made(1, 1, 50_000), made(1, 1, 50_000), made(1, 1, 50_000)]),
    ];
    let view = run_with(&cells, |_| {});
    let answer = &view.answers[0];
    assert_eq!((answer.best.0.as_str(), answer.tied.len(), answer.comparisons.len()), ("fast", 0, 1));
    let ratio = answer.comparisons[0].ratio.unwrap();
    assert!((ratio.ratio - 2.0).abs() < 0.01 && ratio.low.unwrap() > 1.9, "{ratio:?}");
}
