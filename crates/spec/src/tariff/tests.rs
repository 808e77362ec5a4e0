use super::{CHARGES, Discount, NoCost, Offer, Quantity, Rate, Tier, Upfront, Usage, graduated};
use crate::number::Number;
use std::collections::BTreeMap;

const YEAR: i128 = 8760 * 3600;

fn number(text: &str) -> Number {
    Number::parse(text).unwrap()
}

fn rate(key: &str, price: &str) -> Rate {
    let charge = CHARGES.iter().find(|charge| charge.key == key).unwrap();
    Rate { charge, tiers: vec![Tier { up_to: None, price: number(price) }] }
}

fn offer(rates: Vec<Rate>) -> Offer {
    Offer {
        name: "offer".to_owned(),
        unit_seconds: 3600,
        rates,
        upfront: None,
        discounts: Vec::new(),
        usage: Usage::default(),
    }
}

/// Money per hour, month and year and for the seconds, as printed.
fn costs(offer: &Offer, seconds: i128) -> [String; 4] {
    let bill = offer.bill(&offer.usage, Number::integer(seconds)).ok().unwrap();
    let sum = bill.sum;
    [sum.per_hour, sum.per_month().unwrap(), sum.per_year().unwrap(), sum.total].map(|n| n.fixed(2).unwrap())
}

/// docs/field-cases.md, "The price of a machine": 32 GB on demand.
#[test]
fn on_demand_is_hours_times_the_price() {
    let demand = offer(vec![rate("per_hour", "1.20")]);
    assert_eq!(costs(&demand, YEAR), ["1.20", "876.00", "10512.00", "10512.00"]);
    assert_eq!(costs(&demand, 3 * YEAR)[3], "31536.00");
}

/// The published sum is 5,312.54, a cent more, as if the third of 4,900 were rounded up. The exact sum is 5,312.53 and a third of a
/// cent.
#[test]
fn a_reserved_machine_pays_its_term_once() {
    let reserved = Offer {
        upfront: Some(Upfront { money: number("4900"), term_seconds: Number::integer(3 * YEAR) }),
        ..offer(vec![rate("per_hour", "0.42")])
    };
    let costs = |seconds| costs(&reserved, seconds);
    assert_eq!(costs(3 * YEAR), ["0.61", "442.71", "5312.53", "15937.60"]);
    assert_eq!(costs(YEAR)[3], "8579.20", "who leaves after a year has paid for three");
    assert_eq!(costs(3 * YEAR + 1)[3], "20838.02", "and a second term begins whole");
    let bill = reserved.bill(&reserved.usage, Number::integer(YEAR)).ok().unwrap();
    let years: Vec<String> =
        bill.parts.iter().map(|part| part.sums.per_year().unwrap().fixed(2).unwrap()).collect();
    assert_eq!(years, ["1633.33", "3679.20"]);
}

#[test]
fn four_machines_a_la_carte_and_their_network() {
    let mut cart = offer(vec![rate("per_hour", "0.24")]);
    assert_eq!(costs(&cart, YEAR)[2], "2102.40");
    cart.usage.count = Some(number("4"));
    assert_eq!(costs(&cart, YEAR)[2], "8409.60");
    // A network hour of 0.20 for each of the four adds 1,752 a year each.
    cart.rates.push(rate("per_network_hour", "0.20"));
    assert_eq!(costs(&cart, YEAR)[2], "15417.60");
    // By resources: 1 CPU at 0.08 and 8 GB at 0.02 are the same 0.24.
    let mut resources = offer(vec![rate("per_cpu_hour", "0.08"), rate("per_memory_gb_hour", "0.02")]);
    resources.usage.of = BTreeMap::from([(Quantity::Cpus, number("1")), (Quantity::Memory, number("8"))]);
    assert_eq!(costs(&resources, YEAR)[2], "2102.40");
}

#[test]
fn a_started_unit_is_paid_in_full() {
    let by = |unit_seconds| Offer { unit_seconds, ..offer(vec![rate("per_hour", "3.60")]) };
    let total = |unit: i128, seconds| costs(&by(unit), seconds)[3].clone();
    assert_eq!(
        [1, 60, 3600].map(|unit| total(unit, 601)),
        ["0.60", "0.66", "3.60"],
        "ten minutes and a second"
    );
    assert_eq!([1, 60, 3600].map(|unit| total(unit, 3600)), ["3.60"; 3]);
    assert_eq!([1, 60, 3600].map(|unit| total(unit, 3601)), ["3.60", "3.66", "7.20"]);
    // A fixed price is that of a whole month.
    let monthly = offer(vec![rate("per_month", "40")]);
    assert_eq!(costs(&monthly, 3600), ["0.05", "40.00", "480.00", "40.00"]);
    assert_eq!(costs(&monthly, YEAR)[3], "480.00");
    assert_eq!(costs(&monthly, YEAR + 1)[3], "520.00");
}

#[test]
fn tiers_are_graduated_behind_what_is_free() {
    let tiers = |all: &[(Option<&str>, &str)]| -> Vec<Tier> {
        all.iter().map(|(up_to, price)| Tier { up_to: up_to.map(number), price: number(price) }).collect()
    };
    let io = tiers(&[(Some("32000"), "0.065"), (Some("64000"), "0.0455"), (None, "0.032")]);
    let price = |tiers: &[Tier], amount| graduated(tiers, number(amount)).unwrap().fixed(2).unwrap();
    assert_eq!(
        ["0", "1", "32000", "32001", "64000", "100000"].map(|amount| price(&io, amount)),
        ["0.00", "0.07", "2080.00", "2080.05", "3536.00", "4688.00"]
    );
    let free = tiers(&[(Some("3000"), "0"), (None, "0.005")]);
    assert_eq!(["100", "3000", "4000"].map(|amount| price(&free, amount)), ["0.00", "0.00", "5.00"]);
    // 500 GB at 0.08, 4000 IOPS of which 3000 are free, 250 MB/s of which 125 are free: 40 + 5 + 5.
    let free = |key: &str, free: &str, price: &str| {
        let tiers = tiers(&[(Some(free), "0"), (None, price)]);
        Rate { tiers, ..rate(key, "0") }
    };
    let mut volume = offer(vec![
        rate("per_gb_month", "0.08"),
        free("per_iops_month", "3000", "0.005"),
        free("per_throughput_month", "125", "0.04"),
    ]);
    volume.unit_seconds = 1;
    let used = [(Quantity::Size, "500"), (Quantity::Iops, "4000"), (Quantity::Throughput, "250")];
    volume.usage.of = used.into_iter().map(|(of, amount)| (of, number(amount))).collect();
    assert_eq!(costs(&volume, 730 * 3600), ["0.07", "50.00", "600.00", "50.00"]);
    assert_eq!(costs(&volume, 73 * 3600)[3], "5.00", "a tenth of a month");
}

#[test]
fn the_largest_discount_that_the_monthly_sum_reaches_is_taken_off() {
    let at = |per_hour: &str| {
        let of = |from: &str, off: &str| Discount { from: number(from), off: number(off) };
        let discounts = vec![of("500", "0.1"), of("1000", "0.2")];
        costs(&Offer { discounts, ..offer(vec![rate("per_hour", per_hour)]) }, YEAR)[1].clone()
    };
    assert_eq!(
        ["0.5", "0.684", "0.7", "1", "2"].map(at),
        ["365.00", "499.32", "459.90", "657.00", "1168.00"]
    );
}

#[test]
fn what_nothing_says_is_no_zero() {
    let volume = offer(vec![rate("per_gb_month", "0.08")]);
    assert!(matches!(
        volume.bill(&volume.usage, Number::integer(1)),
        Err(NoCost::Lacks(charge, Quantity::Size)) if charge.key == "per_gb_month"
    ));
    let huge = offer(vec![rate("per_hour", "99999999999999999999999999999")]);
    let usage = Usage { count: Some(number("999999999999999999999999999999")), ..Usage::default() };
    assert!(matches!(huge.bill(&usage, Number::integer(1)), Err(NoCost::OutOfRange)));
}
