//! What created machines cost and promise.

use super::request::Group;
use driver::protocol::{Offer, Price};
use record::plan::Plan;
use record::target::{Ceiling, CreatedVolume, TargetKind};
use std::collections::BTreeMap;

/// What machines cost in a time.
#[derive(Debug, Clone, PartialEq)]
pub struct Bill {
    /// The money; units that have begun count whole.
    pub amount: f64,
    /// Its currency.
    pub currency: Option<String>,
    /// Machines and volumes that have no price.
    pub unpriced: usize,
}

/// Computes what the machines and volumes of groups cost if they exist for `seconds`, by started billing unit; `None` if the drivers
/// don't agree on a currency.
#[must_use]
pub fn bill(groups: &[Group], seconds: f64) -> Option<Bill> {
    let offers = groups.iter().flat_map(|group| &group.offers);
    let each =
        offers.flat_map(|offer| std::iter::once(&offer.price).chain(offer.volumes.iter().map(|v| &v.price)));
    let mut bill = Bill { amount: 0.0, currency: None, unpriced: 0 };
    for price in each {
        let Some(price) = price else {
            bill.unpriced += 1;
            continue;
        };
        if bill.currency.get_or_insert_with(|| price.currency.clone()) != &price.currency {
            return None;
        }
        bill.amount += of(price, seconds);
    }
    Some(bill)
}

/// What one thing costs for a time.
#[expect(clippy::cast_precision_loss, reason = "billing units are below 2^53 seconds")]
fn of(price: &Price, seconds: f64) -> f64 {
    let unit = price.unit_seconds.max(1) as f64;
    let billed = (seconds.max(price.least_seconds as f64) / unit).ceil() * unit;
    price.per_hour * billed / 3600.0
}

/// Puts the drivers' prices and limits into a plan, where the experiment states none. A volume's price is its own if all targets that have
/// it agree; else it is part of its machine's.
pub fn put_prices(plan: &mut Plan, groups: &[Group]) {
    let offers: BTreeMap<&str, &Offer> =
        groups.iter().flat_map(|group| group.targets.iter().map(String::as_str).zip(&group.offers)).collect();
    let priced =
        offers.values().flat_map(|o| std::iter::once(&o.price).chain(o.volumes.iter().map(|v| &v.price)));
    let currencies: Vec<&str> = priced.flatten().map(|price| price.currency.as_str()).collect();
    let own = plan.prices.currency.clone();
    let Some(first) = own.as_deref().or(currencies.first().copied()) else {
        return put_ceilings(plan, &offers);
    };
    if currencies.iter().any(|currency| *currency != first) {
        // Money of two currencies can't be summed, and rates of exchange are nobody's business here.
        return put_ceilings(plan, &offers);
    }
    plan.prices.currency = Some(first.to_owned());
    let mut of_volume: BTreeMap<String, Vec<(&str, f64)>> = BTreeMap::new();
    for target in &plan.targets {
        let (Some(offer), TargetKind::Created { volumes, .. }) =
            (offers.get(target.name.as_str()), &target.kind)
        else {
            continue;
        };
        let names = volumes.iter().flat_map(CreatedVolume::single).map(|(name, _)| name);
        for (name, price) in names.zip(offer.volumes.iter().map(|volume| &volume.price)) {
            if let Some(price) = price {
                of_volume.entry(name).or_default().push((&target.name, price.per_hour));
            }
        }
        if let Some(price) = &offer.price {
            plan.prices.machines.entry(target.name.clone()).or_insert(price.per_hour);
        }
    }
    for (name, each) in of_volume {
        let agreed = each.iter().all(|(_, price)| (price - each[0].1).abs() < f64::EPSILON);
        if agreed {
            plan.prices.per_hour.entry(name).or_insert(each[0].1);
        } else if !plan.prices.per_hour.contains_key(&name) {
            for (target, price) in each {
                *plan.prices.machines.entry(target.to_owned()).or_default() += price;
            }
        }
    }
    put_ceilings(plan, &offers);
}

fn put_ceilings(plan: &mut Plan, offers: &BTreeMap<&str, &Offer>) {
    for target in &mut plan.targets {
        let Some(offer) = offers.get(target.name.as_str()) else { continue };
        let told = Ceiling { iops: offer.ceiling.iops, bytes_per_second: offer.ceiling.bytes_per_second };
        if target.ceiling.is_none() && told != Ceiling::default() {
            target.ceiling = Some(told);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::of;
    use driver::protocol::Price;

    #[test]
    fn a_started_unit_counts_whole() {
        let price = |unit, least| Price {
            per_hour: 3.6,
            currency: "EUR".to_owned(),
            unit_seconds: unit,
            least_seconds: least,
        };
        assert!((of(&price(3600, 0), 1.0) - 3.6).abs() < 1e-9);
        assert!((of(&price(3600, 0), 3601.0) - 7.2).abs() < 1e-9);
        assert!((of(&price(1, 60), 10.0) - 0.06).abs() < 1e-9);
        assert!((of(&price(1, 60), 100.5) - 0.101).abs() < 1e-9);
    }
}
