use crate::run_tests::{cell, run_with};
use record::judged::{FrontPlace, FrontView, RunView};
use record::plan::{Cell, Plan};
use record::trial::TrialRecord;
use record::volume::{Limits, Volume, VolumeKind};
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

/// A job of 100 s on volumes for 7.30 a month, which is 0.01 an hour.
#[test]
fn a_job_has_the_price_of_its_duration() {
    let job = |values: &[f64]| record::judged::Metric {
        estimate: 100.0,
        low: Some(90.0),
        high: Some(110.0),
        confidence: 0.95,
        n: 3,
        unit: "s".to_owned(),
        values: values.to_vec(),
        median: None,
        trimmed: None,
    };
    let price = super::per_job(7.3, &job(&[100.0]));
    assert!((price.estimate - 0.01 / 36.0).abs() < 1e-12, "{price:?}");
    assert!(
        (price.low.unwrap() - 0.009 / 36.0).abs() < 1e-12
            && (price.high.unwrap() - 0.011 / 36.0).abs() < 1e-12
    );
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
