//! Markets of cells with prices: the Pareto front, and the cheapest cell that keeps limits.

use super::noise::normal;
use super::random::Random;
use super::table::{Table, percent, repetitions, share};
use diskproof_stats::{
    Comparison, FrontPlace, Keeps, Limited, all_pairs, cheapest, front, keeps_all, share_of_error,
};

/// A cell that is sold: its price, and the true means of its IOPS and of its latency.
struct Sold {
    price: f64,
    iops: f64,
    latency: f64,
}

/// Returns a market: prices in steps, so that some are equal; performance that grows with the price, more or less; and every fifth cell
/// is another one at a higher price.
fn market(random: &mut Random) -> Vec<Sold> {
    let cells = 2 + random.below(7);
    let mut all: Vec<Sold> = Vec::new();
    for cell in 0..cells {
        let price = 1.0 + random.below(10) as f64;
        let worth = 1.0 + 0.4 * (random.uniform() - 0.5);
        let iops = 300.0 * price.powf(0.5) * worth;
        let latency = 8.0 / price.powf(0.3) * (1.0 + 0.4 * (random.uniform() - 0.5));
        let twin = all.first().filter(|_| cell % 5 == 4).map(|first| (first.iops, first.latency));
        let (iops, latency) = twin.unwrap_or((iops, latency));
        all.push(Sold { price, iops, latency });
    }
    all
}

/// Returns values by rounds: 3 % that the round adds to all cells, and a spread of the cell's own, skewed to the right as latencies are.
fn measured(truths: &[f64], spread: f64, rounds: usize, random: &mut Random) -> Vec<Vec<f64>> {
    let mut cells = vec![Vec::new(); truths.len()];
    for _ in 0..rounds {
        let common = 0.03 * normal(random);
        for (cell, truth) in cells.iter_mut().zip(truths) {
            let own = spread * normal(random) - spread * spread / 2.0;
            cell.push(truth * (common + own).exp());
        }
    }
    cells
}

/// Of all statements about a front, the wrong ones: a member that another cell beats or equals at a lower price, or a dominated cell
/// that nothing beats.
fn is_wrong(market: &[Sold], places: &[FrontPlace]) -> bool {
    let beaten = |i: usize| {
        let one = &market[i];
        market.iter().enumerate().any(|(j, other)| {
            j != i
                && other.price <= one.price
                && (other.iops > one.iops || other.iops >= one.iops && other.price < one.price)
        })
    };
    places.iter().enumerate().any(|(i, place)| match place {
        FrontPlace::Member => beaten(i),
        FrontPlace::Dominated(by) => market[*by].price > market[i].price || !beaten(i),
        FrontPlace::Undecided => false,
    })
}

#[test]
fn at_most_five_percent_of_the_fronts_have_a_wrong_place() {
    let n = repetitions(1000);
    let columns = ["spread", "rounds", "a place is wrong", "places decided"];
    let mut table = Table::new("90-fronts.md", "Pareto fronts of 2 to 8 cells", &columns);
    for (spread, rounds, least) in [(0.02, 5, 0.8), (0.05, 5, 0.5), (0.05, 20, 0.7), (0.2, 4, 0.15)] {
        let mut random = Random::new(24);
        let (mut wrong, mut decided, mut all) = (0, 0, 0);
        for _ in 0..n {
            let market = market(&mut random);
            let truths: Vec<f64> = market.iter().map(|sold| sold.iops).collect();
            let cells = measured(&truths, spread, rounds, &mut random);
            let cells: Vec<Vec<Option<f64>>> =
                cells.into_iter().map(|cell| cell.into_iter().map(Some).collect()).collect();
            let by_round: Vec<&[Option<f64>]> = cells.iter().map(Vec::as_slice).collect();
            let apart: Vec<Comparison> =
                all_pairs(&by_round, 0.95).into_iter().filter(Comparison::is_apart).collect();
            let better = |i: usize, j: usize| {
                apart.iter().any(|pair| {
                    let (winner, loser) =
                        if pair.ratio.log_mean > 0.0 { (pair.a, pair.b) } else { (pair.b, pair.a) };
                    (winner, loser) == (i, j)
                })
            };
            let prices: Vec<f64> = market.iter().map(|sold| sold.price).collect();
            let places = front(&prices, better).unwrap();
            wrong += u32::from(is_wrong(&market, &places));
            decided += places.iter().filter(|place| **place != FrontPlace::Undecided).count() as u32;
            all += places.len() as u32;
        }
        let (wrong, decided) = (share(wrong, n), share(decided, all));
        table.row(&[percent(spread), rounds.to_string(), percent(wrong), percent(decided)]);
        assert!(wrong <= 0.05, "spread {spread}, {rounds} rounds: {wrong} of the fronts are wrong");
        assert!(
            decided >= least,
            "spread {spread}, {rounds} rounds: only {decided} of the places are decided"
        );
    }
    table.write();
}

/// The answer about one market: `None`: not final. Else whether it is right.
fn answer(
    market: &[Sold],
    limits: (f64, f64),
    spread: f64,
    rounds: usize,
    random: &mut Random,
) -> Option<bool> {
    let (iops_wanted, most_latency) = limits;
    let iops: Vec<f64> = market.iter().map(|sold| sold.iops).collect();
    let latency: Vec<f64> = market.iter().map(|sold| sold.latency).collect();
    let iops = measured(&iops, spread, rounds, random);
    let latency = measured(&latency, 2.0 * spread, rounds, random);
    let error = share_of_error(0.05, market.len(), 2);
    let of = |(iops, latency): (&Vec<f64>, &Vec<f64>)| {
        let iops = Limited { values: iops, at_least: true, limit: iops_wanted };
        let latency = Limited { values: latency, at_least: false, limit: most_latency };
        keeps_all([iops.keeps(None, error), latency.keeps(None, error)])
    };
    let keeps: Vec<Keeps> = iops.iter().zip(&latency).map(of).collect();
    let prices: Vec<f64> = market.iter().map(|sold| sold.price).collect();
    let found = cheapest(&prices, &keeps);
    let does = |sold: &Sold| sold.iops >= iops_wanted && sold.latency <= most_latency;
    let least = market.iter().filter(|sold| does(sold)).map(|sold| sold.price).fold(f64::INFINITY, f64::min);
    let sound = found.chosen.iter().all(|cell| does(&market[*cell]));
    if !found.open.is_empty() {
        // A cell that is named although cheaper ones are open must still do.
        return (!sound).then_some(false);
    }
    let price = found.chosen.first().map_or(f64::INFINITY, |cell| market[*cell].price);
    Some(sound && price <= least)
}

#[test]
fn at_most_five_percent_of_the_markets_get_a_wrong_answer() {
    let columns = ["markets", "spread", "rounds", "wrong", "final answers"];
    let mut table = Table::new("91-markets.md", "The cheapest cell for two limits, 2 to 8 cells", &columns);
    for (markets, spread, rounds, least) in
        [(200, 0.02, 5, 0.5), (1000, 0.05, 5, 0.3), (1000, 0.05, 20, 0.6), (1000, 0.15, 5, 0.05)]
    {
        let n = repetitions(markets);
        let mut random = Random::new(25);
        let (mut wrong, mut last) = (0, 0);
        for _ in 0..n {
            let market = market(&mut random);
            let limits = (500.0 + 400.0 * random.uniform(), 3.5 + 4.0 * random.uniform());
            let right = answer(&market, limits, spread, rounds, &mut random);
            wrong += u32::from(right == Some(false));
            last += u32::from(right.is_some());
        }
        let (wrong, last) = (share(wrong, n), share(last, n));
        table.row(&[n.to_string(), percent(spread), rounds.to_string(), percent(wrong), percent(last)]);
        assert!(wrong <= 0.05, "spread {spread}, {rounds} rounds: {wrong} of the answers are wrong");
        assert!(last >= least, "spread {spread}, {rounds} rounds: only {last} of the answers are final");
    }
    table.write();
}
