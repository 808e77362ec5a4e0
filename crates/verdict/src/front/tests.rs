use crate::run_tests::{cell, run_with};
use record::bonnie::{Bonnie, BonnieAsk, Figure};
use record::judged::{FrontPlace, FrontView, RunView};
use record::plan::{Cell, Plan};
use record::trial::{TrialRecord, Window};
use record::volume::{Limits, Volume, VolumeKind};
use record::workload::{Ask, EngineKind, Options, Rw};
use std::collections::BTreeMap;

/// A cell on volumes of these names.
fn on(name: &str, volumes: &[&str], ios: &[u64]) -> (Cell, Vec<TrialRecord>) {
    let (mut cell, trials) = cell(name, ios);
    let kind = VolumeKind::Emulate { size_bytes: 1 << 30, limits: Limits::default() };
    cell.stack.volumes =
        volumes.iter().map(|name| Volume { name: (*name).to_owned(), kind: kind.clone() }).collect();
    (cell, trials)
}

fn priced(plan: &mut Plan) {
    plan.prices.currency = Some("EUR".to_owned());
    plan.prices.per_hour =
        [("a", 0.01), ("b", 0.02), ("c", 0.04)].map(|(name, price)| (name.to_owned(), price)).into();
}

fn only(view: &RunView) -> &FrontView {
    let [front] = &view.fronts[..] else { panic!("{:?}", view.fronts) };
    front
}

#[test]
fn a_cell_is_on_the_front_beaten_or_undecided() {
    let cells = [
        on("dear", &["c"], &[4000, 4040, 3960]),
        on("small", &["a"], &[1000, 1010, 990]),
        on("slow", &["b"], &[900, 905, 890]),
        on("alike", &["b", "c"], &[4010, 4020, 3990]),
        on("unpriced", &["d"], &[9000, 9010, 8990]),
    ];
    let view = run_with(&cells, priced);
    let front = only(&view);
    let places: Vec<(&str, FrontPlace, Option<&str>)> = front
        .cells
        .iter()
        .map(|one| (one.cell.0.as_str(), one.place, one.dominated_by.as_ref().map(|by| by.0.as_str())))
        .collect();
    assert_eq!(
        places,
        [
            ("small", FrontPlace::Member, None),
            ("slow", FrontPlace::Dominated, Some("small")),
            ("dear", FrontPlace::Member, None),
            ("alike", FrontPlace::Undecided, None),
        ]
    );
    assert_eq!(
        front.text,
        "nothing that costs no more beats small and dear in iops; beaten at the same price or a lower one: slow; undecided: alike"
    );
    assert_eq!((front.metric.as_str(), front.currency.as_deref()), ("iops", Some("EUR")));
}

/// 1000 reads of 4 KiB in 20 s are 50 IOPS and 0.2048 MB/s, for 7.30 a month.
#[test]
fn a_price_has_the_interval_of_what_it_buys() {
    let view = run_with(&[on("small", &["a"], &[1000, 1010, 990])], priced);
    let one = &only(&view).cells[0];
    assert!((one.per_month - 7.3).abs() < 1e-9 && (one.per_year - 87.6).abs() < 1e-9);
    let iops = one.per_1000_iops.unwrap();
    assert!((iops.estimate - 146.0).abs() < 1e-6, "{iops:?}");
    let measured = &view.cells[0].metrics["iops"];
    assert!((iops.low.unwrap() - 7300.0 / measured.high.unwrap()).abs() < 1e-9);
    assert!((iops.high.unwrap() - 7300.0 / measured.low.unwrap()).abs() < 1e-9);
    assert!((one.per_mb_s.unwrap().estimate - 7.3 / 0.2048).abs() < 1e-6);
    assert_eq!(only(&view).text, "only small has a price and iops");
    let once = run_with(&[on("small", &["a"], &[1000])], priced);
    assert_eq!(only(&once).cells[0].per_1000_iops.unwrap().low, None, "one trial has no interval");
}

/// A cell on a volume for 3.60 an hour, which does its work in these times.
fn working(ask: Ask, seconds: &[u64]) -> (Cell, Vec<TrialRecord>) {
    let (mut cell, mut trials) = on("job", &["dear"], &vec![1000; seconds.len()]);
    cell.workload.ask = ask;
    for (trial, seconds) in trials.iter_mut().zip(seconds) {
        let engine = trial.engine.as_mut().unwrap();
        engine.window = Window { start_ns: 0, end_ns: seconds * 1_000_000_000 };
        if let Ask::Bonnie(_) = &cell.workload.ask {
            let figures = [("block_output_bw".to_owned(), Figure::Value(1e8))].into();
            engine.bonnie = Some(Bonnie { figures, ..Bonnie::default() });
        }
    }
    (cell, trials)
}

fn in_an_hour_at_most(plan: &mut Plan) {
    plan.prices.currency = Some("EUR".to_owned());
    plan.prices.per_hour = [("dear".to_owned(), 3.6)].into();
    (plan.measure.trial_seconds, plan.measure.ramp_seconds) = (3600.0, 0.0);
}

fn bonnie() -> Ask {
    Ask::Bonnie(BonnieAsk {
        size_bytes: 1 << 30,
        chunk_bytes: 8192,
        ram_bytes: None,
        files: 0,
        max_bytes: 0,
        min_bytes: 0,
        directories: 1,
        per_character: false,
        no_buffering: false,
        direct: false,
        concurrency: 1,
    })
}

fn once(change: impl Fn(&mut Options)) -> Ask {
    let mut options = Options { time_based: false, ..Options::new(Rw::Write, 1 << 20, 1 << 30) };
    change(&mut options);
    Ask::Options(options)
}

/// Ten minutes at 3.60 an hour are 60 cents, and 100 s are 10 cents.
#[test]
fn a_job_has_the_price_of_its_duration() {
    for ask in [once(|_| {}), bonnie()] {
        let view = run_with(&[working(ask, &[600, 610, 590])], in_an_hour_at_most);
        let price = only(&view).cells[0].per_job.unwrap();
        let (metric, seconds) = (&view.cells[0].metrics["price_per_job"], &view.cells[0].metrics["seconds"]);
        assert!((price.estimate - 0.60).abs() < 1e-9, "{price:?}");
        assert_eq!((metric.unit.as_str(), metric.n, metric.low), ("EUR", 3, price.low));
        assert!((price.low.unwrap() - seconds.low.unwrap() / 1000.0).abs() < 1e-9, "{price:?}");
        assert!((price.high.unwrap() - seconds.high.unwrap() / 1000.0).abs() < 1e-9, "{price:?}");
        for (price, expected) in metric.values.iter().zip([0.60, 0.61, 0.59]) {
            assert!((price - expected).abs() < 1e-9, "{:?}", metric.values);
        }
    }
    let once = run_with(&[working(once(|_| {}), &[100])], in_an_hour_at_most);
    let price = only(&once).cells[0].per_job.unwrap();
    assert!(
        (price.estimate - 0.10).abs() < 1e-9 && price.low.is_none(),
        "one trial has no interval: {price:?}"
    );
}

#[test]
fn work_that_its_time_ended_has_no_price() {
    let price = |ask: Ask, plan: fn(&mut Plan)| {
        let view = run_with(&[working(ask, &[600, 610, 590])], |it| {
            in_an_hour_at_most(it);
            plan(it);
        });
        only(&view).cells[0].per_job.map(|price| price.estimate)
    };
    assert_eq!(price(once(|options| options.time_based = true), |_| {}), None);
    assert_eq!(
        price(once(|options| options.runtime_ms = Some(600_000)), |_| {}),
        None,
        "one of three was not done"
    );
    assert_eq!(price(once(|_| {}), |plan| plan.measure.trial_seconds = 605.0), None);
    let engine = |engine: EngineKind| {
        let (mut cell, trials) = working(once(|_| {}), &[600, 610, 590]);
        cell.workload.engine = engine;
        let view = run_with(&[(cell, trials)], |plan| {
            in_an_hour_at_most(plan);
            plan.measure.ramp_seconds = 10.0;
        });
        only(&view).cells[0].per_job.map(|price| price.estimate)
    };
    assert_eq!(
        engine(EngineKind::Fio),
        None,
        "fio's measured time begins after the ramp, to some milliseconds"
    );
    assert!((engine(EngineKind::Native).unwrap() - 0.61).abs() < 1e-9, "with the ramp");
}

/// A machine for 14.60 a month with a volume for 7.30 on it, and one whose disk is part of it.
#[test]
fn a_machine_costs_beside_its_volumes_and_holds_those_without_a_price() {
    let cells = [on("volume", &["a"], &[1000, 1010, 990]), on("disk", &["d"], &[900, 905, 890])];
    let view = run_with(&cells, |plan| {
        priced(plan);
        plan.prices.machines = [("local".to_owned(), 0.02)].into();
    });
    let prices: Vec<f64> = only(&view).cells.iter().map(|one| one.per_month).collect();
    assert!((prices[0] - 14.6).abs() < 1e-9 && (prices[1] - 21.9).abs() < 1e-9, "{prices:?}");
}

#[test]
fn without_prices_there_is_no_front() {
    let cells = [on("small", &["a"], &[1000, 1010, 990])];
    assert!(run_with(&cells, |_| {}).fronts.is_empty());
    let others = |plan: &mut Plan| plan.prices.per_hour = BTreeMap::from([("z".to_owned(), 1.0)]);
    assert!(run_with(&cells, others).fronts.is_empty());
}
