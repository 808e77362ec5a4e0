//! The offers of a price list and their arithmetic. All of it is exact: nothing is rounded here.

use crate::money::{HOURS_PER_MONTH, HOURS_PER_YEAR};
use crate::number::Number;
use record::plan::PriceListInfo;
use std::cmp::Ordering;
use std::collections::BTreeMap;

const SECONDS_PER_HOUR: i128 = 3600;

/// A price list, read.
pub(crate) struct PriceList {
    pub(crate) currency: Option<String>,
    pub(crate) info: PriceListInfo,
    pub(crate) offers: Vec<Offer>,
}

/// What is counted for a price.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Quantity {
    Cpus,
    /// In GB of 1024³ bytes, as all sizes here.
    Memory,
    Size,
    Iops,
    /// In MB/s of 1024² bytes.
    Throughput,
    /// In GB a month.
    Sent,
}

impl Quantity {
    /// Returns its key in `usage`, with an example.
    pub(crate) fn example(self) -> &'static str {
        match self {
            Self::Cpus => "cpus: 2",
            Self::Memory => "memory: 8g",
            Self::Size => "size: 500g",
            Self::Iops => "iops: 4000",
            Self::Throughput => "throughput: 250m",
            Self::Sent => "sent_per_month: 100g",
        }
    }

    fn words(self, amount: Number) -> String {
        match self {
            Self::Cpus if amount == Number::integer(1) => "1 CPU".to_owned(),
            Self::Cpus => format!("{amount} CPUs"),
            Self::Memory => format!("{amount} GB of memory"),
            Self::Size => format!("{amount} GB"),
            Self::Iops => format!("{amount} IOPS"),
            Self::Throughput => format!("{amount} MB/s"),
            Self::Sent => format!("{amount} GB sent a month"),
        }
    }
}

/// For what time a price is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Every {
    Hour,
    /// By the hour or second that is used, though the list names the price of a month.
    Month,
    /// A started month in full.
    WholeMonth,
}

/// A kind of price.
#[derive(Debug)]
pub(crate) struct Charge {
    /// Its key in the price list.
    pub(crate) key: &'static str,
    pub(crate) of: Option<Quantity>,
    every: Every,
    /// What is paid for, where nothing is counted.
    what: &'static str,
}

const fn charge(key: &'static str, of: Option<Quantity>, every: Every, what: &'static str) -> Charge {
    Charge { key, of, every, what }
}

/// All kinds of prices, in the order of a bill.
pub(crate) static CHARGES: [Charge; 9] = [
    charge("per_hour", None, Every::Hour, "hours"),
    charge("per_month", None, Every::WholeMonth, "months"),
    charge("per_cpu_hour", Some(Quantity::Cpus), Every::Hour, "CPUs"),
    charge("per_memory_gb_hour", Some(Quantity::Memory), Every::Hour, "GB of memory"),
    charge("per_gb_month", Some(Quantity::Size), Every::Month, "GB"),
    charge("per_iops_month", Some(Quantity::Iops), Every::Month, "provisioned IOPS"),
    charge("per_throughput_month", Some(Quantity::Throughput), Every::Month, "provisioned MB/s"),
    charge("per_network_hour", None, Every::Hour, "network"),
    charge("per_network_gb", Some(Quantity::Sent), Every::Month, "GB sent"),
];

/// Units of one price.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tier {
    /// The last unit; `None`: all that are left.
    pub(crate) up_to: Option<Number>,
    /// Price of each unit.
    pub(crate) price: Number,
}

/// A price of an offer.
pub(crate) struct Rate {
    pub(crate) charge: &'static Charge,
    pub(crate) tiers: Vec<Tier>,
}

/// Money paid once for a term.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Upfront {
    pub(crate) money: Number,
    pub(crate) term_seconds: Number,
}

/// A share that is taken off.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Discount {
    /// The monthly sum from which on it holds.
    pub(crate) from: Number,
    /// The share, from 0 to 1.
    pub(crate) off: Number,
}

/// How much of an offer is used.
#[derive(Debug, Clone, Default)]
pub(crate) struct Usage {
    pub(crate) count: Option<Number>,
    pub(crate) of: BTreeMap<Quantity, Number>,
}

impl Usage {
    /// Returns these quantities, and those of another usage that this one lacks.
    pub(crate) fn or(&self, other: &Self) -> Self {
        let mut of = other.of.clone();
        of.extend(self.of.iter().map(|(quantity, amount)| (*quantity, *amount)));
        Self { count: self.count.or(other.count), of }
    }
}

/// What is sold.
pub(crate) struct Offer {
    pub(crate) name: String,
    /// The unit of time that is paid in full once begun, in seconds.
    pub(crate) unit_seconds: i128,
    pub(crate) rates: Vec<Rate>,
    pub(crate) upfront: Option<Upfront>,
    pub(crate) discounts: Vec<Discount>,
    pub(crate) usage: Usage,
}

/// Money over several times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sums {
    pub(crate) per_hour: Number,
    /// For the time asked for.
    pub(crate) total: Number,
}

impl Sums {
    fn zero() -> Self {
        Self { per_hour: Number::integer(0), total: Number::integer(0) }
    }

    pub(crate) fn per_month(&self) -> Option<Number> {
        self.per_hour.multiply(Number::integer(HOURS_PER_MONTH))
    }

    pub(crate) fn per_year(&self) -> Option<Number> {
        self.per_hour.multiply(Number::integer(HOURS_PER_YEAR))
    }

    fn add(self, other: Self) -> Option<Self> {
        Some(Self { per_hour: self.per_hour.add(other.per_hour)?, total: self.total.add(other.total)? })
    }

    fn times(self, factor: Number) -> Option<Self> {
        Some(Self { per_hour: self.per_hour.multiply(factor)?, total: self.total.multiply(factor)? })
    }
}

/// A part of a bill.
pub(crate) struct Part {
    pub(crate) key: &'static str,
    pub(crate) text: String,
    pub(crate) sums: Sums,
}

/// A bill.
pub(crate) struct Bill {
    pub(crate) count: Number,
    pub(crate) parts: Vec<Part>,
    pub(crate) sum: Sums,
}

/// Why an offer has no cost.
pub(crate) enum NoCost {
    /// It has a price for this, and nothing says how much is used.
    Lacks(&'static Charge, Quantity),
    /// A number is too large.
    OutOfRange,
}

impl Offer {
    /// Returns the bill for so many seconds.
    pub(crate) fn bill(&self, usage: &Usage, seconds: Number) -> Result<Bill, NoCost> {
        let lacks =
            |rate: &Rate| rate.charge.of.filter(|of| !usage.of.contains_key(of)).map(|of| (rate.charge, of));
        if let Some((charge, of)) = self.rates.iter().find_map(lacks) {
            return Err(NoCost::Lacks(charge, of));
        }
        self.complete(usage, seconds).ok_or(NoCost::OutOfRange)
    }

    fn complete(&self, usage: &Usage, seconds: Number) -> Option<Bill> {
        let count = usage.count.unwrap_or(Number::integer(1));
        let mut parts = Vec::new();
        let mut running = Sums::zero();
        for rate in &self.rates {
            let part = self.part(rate, usage, count, seconds)?;
            running = running.add(part.sums)?;
            parts.push(part);
        }
        let mut sum = running;
        if let Some(part) = self.discount(running)? {
            sum = sum.add(part.sums)?;
            parts.push(part);
        }
        if let Some(upfront) = self.upfront {
            let part = upfront.part(count, seconds)?;
            sum = sum.add(part.sums)?;
            // It is paid before everything else.
            parts.insert(0, part);
        }
        Some(Bill { count, parts, sum })
    }

    fn part(&self, rate: &Rate, usage: &Usage, count: Number, seconds: Number) -> Option<Part> {
        let charge = rate.charge;
        let amount = charge.of.and_then(|of| usage.of.get(&of).copied());
        let price = graduated(&rate.tiers, amount.unwrap_or(Number::integer(1)))?.multiply(count)?;
        let month = Number::integer(HOURS_PER_MONTH);
        let hours = seconds.divide(Number::integer(SECONDS_PER_HOUR))?;
        let sums = match charge.every {
            Every::Hour => Sums { per_hour: price, total: price.multiply(self.billed_hours(seconds)?)? },
            Every::Month => {
                let per_hour = price.divide(month)?;
                Sums { per_hour, total: per_hour.multiply(self.billed_hours(seconds)?)? }
            }
            Every::WholeMonth => {
                Sums { per_hour: price.divide(month)?, total: price.multiply(hours.divide(month)?.ceil()?)? }
            }
        };
        let text = match charge.of.zip(amount) {
            Some((of, amount)) => of.words(amount),
            None => charge.what.to_owned(),
        };
        Some(Part { key: charge.key, text, sums })
    }

    /// Returns the hours that are paid for: started units in full.
    fn billed_hours(&self, seconds: Number) -> Option<Number> {
        let unit = Number::integer(self.unit_seconds);
        let units = seconds.divide(unit)?.ceil()?;
        units.multiply(unit)?.divide(Number::integer(SECONDS_PER_HOUR))
    }

    /// Returns the largest discount that the monthly sum reaches. `None`: a number is too large.
    fn discount(&self, running: Sums) -> Option<Option<Part>> {
        let monthly = running.per_month()?;
        let mut best: Option<Discount> = None;
        for discount in &self.discounts {
            let reached = monthly.compare(discount.from)? != Ordering::Less;
            let more = match best {
                Some(best) => discount.off.compare(best.off)? == Ordering::Greater,
                None => true,
            };
            if reached && more {
                best = Some(*discount);
            }
        }
        let Some(best) = best else { return Some(None) };
        let percent = best.off.multiply(Number::integer(100))?;
        let text = format!("{percent} % off, from {} a month on", best.from);
        Some(Some(Part { key: "discounts", text, sums: running.times(best.off.negate()?)? }))
    }
}

impl Upfront {
    fn part(self, count: Number, seconds: Number) -> Option<Part> {
        let money = self.money.multiply(count)?;
        let hours = self.term_seconds.divide(Number::integer(SECONDS_PER_HOUR))?;
        let terms = seconds.divide(self.term_seconds)?.ceil()?;
        let sums = Sums { per_hour: money.divide(hours)?, total: money.multiply(terms)? };
        Some(Part { key: "upfront", text: format!("once for {}", term(hours)?), sums })
    }
}

/// Returns a term in words.
fn term(hours: Number) -> Option<String> {
    for (unit, length) in [("year", HOURS_PER_YEAR), ("month", HOURS_PER_MONTH), ("day", 24)] {
        let count = hours.divide(Number::integer(length))?;
        if let Some(whole) = count.whole() {
            return Some(format!("{whole} {unit}{}", if whole == 1 { "" } else { "s" }));
        }
    }
    Some(format!("{hours} hours"))
}

/// Returns the price of an amount: each tier's price for the units within it.
fn graduated(tiers: &[Tier], amount: Number) -> Option<Number> {
    let mut begin = Number::integer(0);
    let mut sum = Number::integer(0);
    for tier in tiers {
        let end = match tier.up_to {
            Some(up_to) if up_to.compare(amount)? == Ordering::Less => up_to,
            _ => amount,
        };
        let units = end.add(begin.negate()?)?;
        sum = sum.add(units.multiply(tier.price)?)?;
        begin = end;
        if end == amount {
            break;
        }
    }
    Some(sum)
}

#[cfg(test)]
mod tests;
