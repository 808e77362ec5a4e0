//! `until: { best: price }`: wrong answers, and device time against measuring every cell in every round.

use super::noise::normal;
use super::random::Random;
use super::table::{Table, percent, repetitions, share};
use diskproof_stats::{Hunt, Keeps, Limited, Offered, Sought, cheapest, keeps_all, share_of_error};

const SOUGHT: Sought = Sought { confidence: 0.95, trim: None };
/// The most rounds, as in a run whose file says nothing else.
const MOST_ROUNDS: usize = 30;
const IOPS: f64 = 3000.0;
const LATENCY: f64 = 5.0;

/// How the trials of a market vary.
#[derive(Debug, Clone, Copy)]
struct Noise {
    name: &'static str,
    /// Spreads of a cell's trials are drawn between these, evenly on a logarithmic scale.
    spread: (f64, f64),
    /// What a round adds to all its cells.
    round: f64,
    /// How much of its deviation a cell keeps from trial to trial.
    kept: f64,
    /// Whether latencies are skewed.
    skewed: bool,
}

const QUIET: Noise =
    Noise { name: "0.5 to 5 %", spread: (0.005, 0.05), round: 0.01, kept: 0.0, skewed: false };

/// A cell: its price, the truth, and the trials that were made.
struct Sold {
    price: f64,
    iops: f64,
    latency: f64,
    spread: f64,
    state: f64,
    made: [Vec<f64>; 2],
}

/// A market: prices over a factor of 20, performance that grows with the price, more or less, so that the limits lie anywhere between
/// the cheapest and beyond the dearest.
fn market(noise: Noise, random: &mut Random) -> Vec<Sold> {
    let cells = 4 + random.below(21);
    let between = |low: f64, high: f64, random: &mut Random| low * (high / low).powf(random.uniform());
    let enough = between(1.0, 25.0, random);
    (0..cells)
        .map(|_| {
            let price = between(1.0, 20.0, random);
            let worth = |random: &mut Random| (price / enough).powf(0.7) * (0.4 * normal(random)).exp();
            let (fast, quick) = (worth(random), worth(random));
            let spread = between(noise.spread.0, noise.spread.1, random);
            let state = normal(random);
            Sold {
                price,
                iops: IOPS * fast,
                latency: LATENCY * 0.7 / quick,
                spread,
                state,
                made: [Vec::new(), Vec::new()],
            }
        })
        .collect()
}

impl Sold {
    fn does(&self) -> bool {
        self.iops >= IOPS && self.latency <= LATENCY
    }

    fn measure(&mut self, noise: Noise, round: f64, random: &mut Random) {
        self.state = noise.kept * self.state + (1.0 - noise.kept * noise.kept).sqrt() * normal(random);
        let of_round = noise.round * round;
        self.made[0].push(self.iops * (1.0 + of_round + self.spread * self.state));
        // A latency varies twice as much, and rises when the rate falls.
        let spread = 2.0 * self.spread;
        let own = 0.6 * -self.state + 0.8 * normal(random);
        let factor = match noise.skewed {
            true => (spread * own - spread * spread / 2.0).exp(),
            false => 1.0 + spread * own,
        };
        self.made[1].push(self.latency * (1.0 - of_round) * factor);
    }

    fn limits(&self) -> Vec<Limited<'_>> {
        vec![
            Limited { values: &self.made[0], at_least: true, limit: IOPS },
            Limited { values: &self.made[1], at_least: false, limit: LATENCY },
        ]
    }
}

fn offered(market: &[Sold]) -> Vec<Offered<'_>> {
    market
        .iter()
        .map(|sold| Offered { family: 0, price: sold.price, limits: sold.limits(), alive: true })
        .collect()
}

/// What a run came to.
#[derive(Default)]
struct Outcome {
    trials: u32,
    rounds: u32,
    decided: bool,
    wrong: bool,
}

/// Measures until the answer is final. `all`: every cell in every round.
fn hunt(mut market: Vec<Sold>, noise: Noise, all: bool, random: &mut Random) -> Outcome {
    let mut outcome = Outcome::default();
    loop {
        let look: Hunt = SOUGHT.look(&offered(&market));
        let answer = &look.answers[0].1;
        outcome.decided = answer.open.is_empty();
        if outcome.decided || outcome.rounds as usize == MOST_ROUNDS {
            outcome.wrong = is_wrong(&market, &answer.chosen, outcome.decided);
            return outcome;
        }
        assert!(look.needed.contains(&true), "an open cell is measured");
        let round = normal(random);
        for (sold, needed) in market.iter_mut().zip(&look.needed) {
            if all || *needed {
                sold.measure(noise, round, random);
                outcome.trials += 1;
            }
        }
        outcome.rounds += 1;
    }
}

/// A named cell must keep the limits; a final answer must name the cheapest that does, or none if none does.
fn is_wrong(market: &[Sold], chosen: &[usize], is_final: bool) -> bool {
    let least = market.iter().filter(|sold| sold.does()).map(|sold| sold.price).fold(f64::INFINITY, f64::min);
    let price = chosen.first().map_or(f64::INFINITY, |cell| market[*cell].price);
    chosen.iter().any(|cell| !market[*cell].does()) || is_final && price > least
}

/// Every cell in every round, until `choose` would give a final answer if that number of rounds had been fixed before: its Student
/// intervals, looked at after each round from the third on, although that costs confidence.
fn fixed(mut market: Vec<Sold>, noise: Noise, random: &mut Random) -> Outcome {
    let mut outcome = Outcome::default();
    let error = share_of_error(0.05, market.len(), 2);
    loop {
        let round = normal(random);
        for sold in &mut market {
            sold.measure(noise, round, random);
            outcome.trials += 1;
        }
        outcome.rounds += 1;
        if outcome.rounds < 3 {
            continue;
        }
        let keeps: Vec<Keeps> = market
            .iter()
            .map(|sold| keeps_all(sold.limits().iter().map(|limit| limit.keeps(None, error))))
            .collect();
        let prices: Vec<f64> = market.iter().map(|sold| sold.price).collect();
        let found = cheapest(&prices, &keeps);
        outcome.decided = found.open.is_empty();
        if outcome.decided || outcome.rounds as usize == MOST_ROUNDS {
            outcome.wrong = is_wrong(&market, &found.chosen, outcome.decided);
            return outcome;
        }
    }
}

/// Runs of one kind over all markets.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    trials: u32,
    rounds: u32,
    decided: u32,
    wrong: u32,
}

impl Sum {
    fn add(&mut self, outcome: &Outcome) {
        self.trials += outcome.trials;
        self.rounds += outcome.rounds;
        self.decided += u32::from(outcome.decided);
        self.wrong += u32::from(outcome.wrong);
    }
}

/// The same markets, and the same numbers at random, for each kind of run: this rule, every cell in every round until the same
/// intervals give the answer, and a fixed number of rounds.
fn sums(noise: Noise, markets: u32) -> [Sum; 3] {
    let mut sums = [Sum::default(); 3];
    for seed in 0..markets {
        for (kind, sum) in sums.iter_mut().enumerate() {
            let mut random = Random::new(1 + u64::from(seed));
            let market = market(noise, &mut random);
            sum.add(&match kind {
                0 => hunt(market, noise, false, &mut random),
                1 => hunt(market, noise, true, &mut random),
                _ => fixed(market, noise, &mut random),
            });
        }
    }
    sums
}

/// 200 markets each (times the factor): wrong answers, and trials against every cell in every round.
#[test]
fn the_cheapest_cell_takes_a_third_of_the_trials() {
    let columns = [
        "cells vary by",
        "markets",
        "wrong",
        "decided in 30 rounds",
        "rounds",
        "trials per market",
        "against all cells in all rounds, by the same rule",
        "its decided",
        "against all cells in a fixed number of rounds",
        "its decided",
        "its wrong",
    ];
    let mut table =
        Table::new("92-cheapest.md", "`until: { best: price }`: 4 to 24 cells, two limits", &columns);
    let noises = [
        QUIET,
        Noise { name: "2 to 15 %", spread: (0.02, 0.15), round: 0.03, ..QUIET },
        Noise {
            name: "2 to 15 %, latencies skewed",
            spread: (0.02, 0.15),
            round: 0.03,
            skewed: true,
            ..QUIET
        },
        Noise { name: "1 to 10 %, autocorrelation 0.3", spread: (0.01, 0.1), kept: 0.3, ..QUIET },
    ];
    for noise in noises {
        let n = repetitions(200);
        let [own, all, fixed] = sums(noise, n);
        let against = |other: Sum| f64::from(own.trials) / f64::from(other.trials);
        table.row(&[
            noise.name.to_owned(),
            n.to_string(),
            percent(share(own.wrong, n)),
            percent(share(own.decided, n)),
            format!("{:.1}", share(own.rounds, n)),
            format!("{:.1}", share(own.trials, n)),
            percent(against(all)),
            percent(share(all.decided, n)),
            percent(against(fixed)),
            percent(share(fixed.decided, n)),
            percent(share(fixed.wrong, n)),
        ]);
        assert!(share(own.wrong, n) <= 0.05, "{}: {} of {n} are wrong", noise.name, own.wrong);
        assert!(against(all) <= 1.0 / 3.0, "{}: {} of the trials", noise.name, against(all));
        assert!(own.decided + n / 20 >= all.decided, "{}: {own:?} against {all:?}", noise.name);
    }
    table.write();
}

/// Every cell lies within half a spread of the first limit, on the wrong side, and the dearest alone keeps it well: the most wrong
/// answers that a rule can give.
#[test]
fn cells_close_to_their_limits_are_seldom_taken_for_what_they_are_not() {
    let columns =
        ["distance from the limit, in spreads", "trials vary", "markets", "wrong", "decided in 30 rounds"];
    let mut table =
        Table::new("93-close.md", "`until: { best: price }`: 8 cells close to the limit", &columns);
    let skewed = Noise { name: "skewed", skewed: true, ..QUIET };
    let again = Noise { name: "normal, autocorrelation 0.3", kept: 0.3, ..QUIET };
    let normal = Noise { name: "normal", ..QUIET };
    for (noise, distance) in [(normal, 0.01), (normal, 0.2), (normal, 0.5), (skewed, 0.01), (again, 0.01)] {
        let n = repetitions(400);
        let noise = Noise { round: 0.0, ..noise };
        let (mut wrong, mut decided) = (0, 0);
        for seed in 0..n {
            let mut random = Random::new(7 + u64::from(seed));
            let close: Vec<Sold> = (0..8)
                .map(|place: u32| {
                    let spread = 0.05;
                    let off = if place == 7 { 3.0 } else { -distance };
                    Sold {
                        price: 1.0 + f64::from(place),
                        iops: IOPS * (1.0 + off * spread),
                        latency: LATENCY / 3.0,
                        spread,
                        state: super::noise::normal(&mut random),
                        made: [Vec::new(), Vec::new()],
                    }
                })
                .collect();
            let outcome = hunt(close, noise, false, &mut random);
            wrong += u32::from(outcome.wrong);
            decided += u32::from(outcome.decided);
        }
        let row = [
            format!("{distance}"),
            noise.name.to_owned(),
            n.to_string(),
            percent(share(wrong, n)),
            percent(share(decided, n)),
        ];
        table.row(&row);
        assert!(share(wrong, n) <= 0.05, "{}, {distance} spreads: {wrong} of {n} are wrong", noise.name);
    }
    table.write();
}
