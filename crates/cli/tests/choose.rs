//! `choose` on synthetic stores with known prices and rates.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, also in its helpers")]

mod home;
#[path = "../../store/tests/support/sample.rs"]
#[allow(dead_code, reason = "the store's own tests use more of it")]
mod sample;

use home::{Answer, Home};
use record::event::Stopped;
use record::trial::{Totals, Window};
use record::volume::{Volume, VolumeKind};
use record::workload::{Ask, Options, Rw};
use sample::{environment, plan, run_id, trial};

/// Shares of the rate by round: the interval is about 0.6 % wide, or about 30 %.
const STEADY: [f64; 5] = [1.0, 1.005, 0.995, 1.002, 0.998];
const WILD: [f64; 5] = [1.0, 1.22, 0.78, 1.16, 0.84];
const HOURS_PER_MONTH: f64 = 730.0;

/// A stack of one volume: its price per month, its IOPS, and how they vary.
type Offer = (f64, f64, [f64; 5]);

impl Home {
    /// A run of `stack-0`, `stack-1`... with these offers, in this currency.
    fn run(&self, name: &str, currency: &str, offers: &[Offer]) {
        let store = self.store();
        let run = run_id(name);
        let mut plan = plan(u32::try_from(offers.len()).unwrap(), 5);
        plan.prices.currency = Some(currency.to_owned());
        for (cell, (price, ..)) in plan.cells.iter_mut().zip(offers) {
            let volume = format!("vol-{}", cell.stack.name);
            plan.prices.per_hour.insert(volume.clone(), price / HOURS_PER_MONTH);
            cell.stack.volumes = vec![Volume { name: volume, kind: VolumeKind::Disk { id: "x".to_owned() } }];
        }
        store.create_run(&run, &plan, &environment("6.1.0")).unwrap();
        for (cell, (_, rate, shares)) in (0..).zip(offers) {
            for (round, share) in (0..).zip(shares) {
                let mut trial = trial(cell, round);
                let engine = trial.engine.as_mut().unwrap();
                engine.window = Window { start_ns: 0, end_ns: 20_000_000_000 };
                engine.read = Some(Totals {
                    ios: 2_000_000,
                    bytes: 2_000_000 * 4096,
                    seconds: 20.0,
                    iops: rate * share,
                    bytes_per_second: rate * share * 4096.0,
                    latency: record::latency::LatencyHistogram::default(),
                    latency_mean_ns: Some(1e9 / rate),
                });
                store.append_trial(&run, &trial).unwrap();
            }
        }
        store.finish_run(&run, &Stopped::RoundsDone { rounds: 5 }).unwrap();
    }

    fn choose(&self, want: &str, more: &[&str]) -> Answer {
        self.diskproof(&[&["choose", "--want", want], more].concat()).flat()
    }
}

/// A cheap slow stack, a middle one, a dear fast one.
fn home() -> Home {
    let home = Home::new();
    home.run("market", "EUR", &[(4.0, 1000.0, STEADY), (9.0, 3200.0, STEADY), (20.0, 9000.0, STEADY)]);
    home
}

#[test]
fn the_cheapest_stack_that_does_is_chosen() {
    let home = home();
    for (want, stack) in
        [("iops >= 500", "stack-0"), ("iops >= 3000", "stack-1"), ("iops >= 5000", "stack-2")]
    {
        let answer = home.choose(want, &[]);
        assert_eq!(answer.code, 0, "{want}: {}", answer.err);
        assert!(answer.out.contains(stack), "{want}: {}", answer.out);
        let json = home.choose(want, &["--json"]);
        let json: serde_json::Value = serde_json::from_str(&json.out).unwrap();
        assert_eq!(
            (json["currency"].as_str(), json["answers"][0]["outcome"].as_str()),
            (Some("EUR"), Some("chosen"))
        );
        let candidates = json["answers"][0]["candidates"].as_array().unwrap();
        let chosen: Vec<&str> = candidates
            .iter()
            .filter(|one| one["chosen"] == true)
            .map(|one| one["cell"]["stack"].as_str().unwrap())
            .collect();
        assert_eq!(chosen, [stack], "{want}");
    }
}

#[test]
fn none_that_does_is_1_and_one_that_may_is_5() {
    let home = home();
    let none = home.choose("iops >= 20000", &[]);
    assert_eq!(none.code, 1, "{}", none.err);
    assert!(
        none.out.contains("no measured stack meets the limits") && none.out.contains("stack-2"),
        "{}",
        none.out
    );
    // The middle one may do: its interval crosses the limit, and it is cheaper than the one that does.
    home.run("wild", "EUR", &[(4.0, 1000.0, STEADY), (9.0, 3000.0, WILD), (20.0, 9000.0, STEADY)]);
    let open = home.choose("iops >= 3000", &["wild"]);
    assert_eq!(open.code, 5, "{} {}", open.out, open.err);
    assert!(open.out.contains("stack-1") && open.out.contains("stack-2"), "{}", open.out);
    assert_eq!(home.choose("iops >= 6000", &["wild"]).code, 0, "the wild one can't do that");
}

#[test]
fn several_runs_are_one_market_in_one_currency() {
    let home = home();
    home.run("sale", "EUR", &[(6.0, 4000.0, STEADY)]);
    let both = home.choose("iops >= 3000", &["market", "sale"]);
    assert_eq!(both.code, 0, "{}", both.err);
    assert!(both.out.contains("6.00"), "{}", both.out);
    home.run("abroad", "USD", &[(6.0, 4000.0, STEADY)]);
    let mixed = home.choose("iops >= 3000", &["market", "abroad"]);
    assert!(mixed.code == 2 && mixed.err.contains("doesn't convert currencies"), "{}", mixed.err);
}

#[test]
fn what_cannot_be_answered_is_2_and_says_what_to_do() {
    let home = home();
    let cases = [
        (home.choose("iops >= 3000", &["no-such-run"]), "no-such-run"),
        (home.choose("iops >= 3000", &["--workload", "b"]), "there are: a"),
        (home.choose("sync_lat_p99 <= 5ms", &[]), "no cell with a price has `sync_lat_p99`"),
        (Home::new().choose("iops >= 3000", &[]), "no run is kept yet"),
    ];
    for (answer, said) in cases {
        assert_eq!(answer.code, 2, "{}", answer.err);
        assert!(answer.err.contains(said), "{said} in {}", answer.err);
    }
}

/// Results of other tools come without prices: diskproof says how to give one, and doesn't take them for free.
#[test]
fn an_imported_run_has_no_price() {
    let home = Home::new();
    let line = "1.98,2.00a,nas,1,5,16M,,8192,5,,,91000,11,90000,9,,,95000,9,312.5,3,,,,,,,,,,,,,,,,,,,8070us,16093us,,20096us,72082us,,,,,,\n";
    home.put("b.csv", line);
    assert_eq!(home.diskproof(&["import", "b.csv"]).code, 0);
    let answer = home.choose("seeks >= 100", &[]);
    assert!(answer.code == 2 && answer.err.contains("price: 8/month"), "{}", answer.err);
}

/// Two stacks do the same backup: one for 0.10 an hour in an hour, one for 0.20 an hour in a quarter of it.
#[test]
fn a_job_has_a_price_to_the_cent() {
    let home = Home::new();
    home.run("backup", "EUR", &[(73.0, 100.0, STEADY), (146.0, 400.0, STEADY)]);
    let store = home.store();
    let run = run_id("jobs");
    let mut plan = store.head(&run_id("backup")).unwrap().plan;
    (plan.measure.trial_seconds, plan.measure.ramp_seconds) = (7200.0, 0.0);
    for cell in &mut plan.cells {
        let options = Options { time_based: false, ..Options::new(Rw::Read, 4096, 1 << 30) };
        cell.workload.ask = Ask::Options(options);
    }
    store.create_run(&run, &plan, &environment("6.1.0")).unwrap();
    for (cell, seconds) in [(0, 3600.0), (1, 900.0)] {
        for (round, share) in (0..).zip(STEADY) {
            let mut trial = trial(cell, round);
            let engine = trial.engine.as_mut().unwrap();
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "far below 2^52 ns")]
            let end_ns = (seconds * share * 1e9) as u64;
            engine.window = Window { start_ns: 0, end_ns };
            store.append_trial(&run, &trial).unwrap();
        }
    }
    store.finish_run(&run, &Stopped::RoundsDone { rounds: 5 }).unwrap();

    let dear = home.choose("price_per_job <= 0.06", &["jobs"]);
    assert!(
        dear.code == 0
            && dear.out.contains("stack-1 (146.00 EUR a month) is the cheapest that meets the limits"),
        "{}",
        dear.out
    );
    let slow = home.choose("price_per_job <= 0.11, seconds <= 4000s", &["jobs"]);
    assert!(slow.code == 0 && slow.out.contains("stack-0 (73.00 EUR a month)"), "{}", slow.out);
    assert_eq!(home.choose("price_per_job <= 0.04", &["jobs"]).code, 1);
    let view: serde_json::Value =
        serde_json::from_str(&home.diskproof(&["export", "jobs", "--json"]).out).unwrap();
    let prices: Vec<f64> = view["fronts"][0]["cells"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cell| cell["per_job"]["estimate"].as_f64().unwrap())
        .collect();
    assert!((prices[0] - 0.10).abs() < 1e-4 && (prices[1] - 0.05).abs() < 1e-4, "{prices:?}");
    let shown = home.diskproof(&["show", "jobs"]).out;
    assert!(shown.contains("per job") && shown.contains("0.0500 ± "), "{shown}");
    let trials = home.diskproof(&["export", "jobs", "--trials"]).out;
    assert!(trials.contains(",price_per_job,0.05,EUR"), "the first round took 900 s: {trials}");
}
