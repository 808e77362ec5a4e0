//! What created machines cost and promise.

use super::request::Group;
use driver::protocol::{Offer, Price, Rates};
use record::bill::Priced;
use record::plan::Plan;
use record::target::{Ceiling, CreatedVolume, TargetKind};
use record::volume::{Limits, VolumeKind};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

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

/// Computes what the machines and volumes of groups cost if they exist for `seconds`, by started billing unit; `None` if the experiment
/// and the drivers don't agree on a currency.
#[must_use]
pub fn bill(plan: &Plan, groups: &[Group], seconds: f64) -> Option<Bill> {
    Some(tariff(plan, groups)?.bill(seconds))
}

/// The prices of machines and volumes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tariff {
    /// All machines and volumes, in the order in which drivers are asked for them.
    pub items: Vec<Priced>,
    /// The currency of all; `None`: nobody names one.
    pub currency: Option<String>,
}

/// Returns the prices of the machines and volumes of groups; `None` if the experiment and the drivers don't agree on a currency. A price of
/// the experiment comes before the driver's. Where the driver has none, it counts by the second, and that of a machine covers its volumes.
/// `plan` has the experiment's own prices only: [`put_prices`] comes later.
#[must_use]
pub fn tariff(plan: &Plan, groups: &[Group]) -> Option<Tariff> {
    let mut tariff = Tariff { items: Vec::new(), currency: plan.prices.currency.clone() };
    let offers = groups.iter().flat_map(|group| group.targets.iter().zip(&group.offers));
    for (target, offer) in offers {
        let stated = plan.prices.machines.get(target).copied();
        tariff.add(target.clone(), offer.price.as_ref(), stated)?;
        for (name, volume) in singles(plan, target).zip(&offer.volumes) {
            let own = plan.prices.per_hour.get(&name).copied();
            let is_whole = volume.price.is_none() || plan.prices.with_volumes.contains(target);
            let covered = stated.filter(|_| is_whole).map(|_| 0.0);
            tariff.add(format!("{target}/{name}"), volume.price.as_ref(), own.or(covered))?;
        }
    }
    Some(tariff)
}

impl Tariff {
    fn add(&mut self, name: String, price: Option<&Price>, stated: Option<f64>) -> Option<()> {
        if let Some(price) = price
            && self.currency.get_or_insert_with(|| price.currency.clone()) != &price.currency
        {
            return None;
        }
        self.items.push(Priced {
            name,
            per_hour: stated.or(price.map(|price| price.per_hour)),
            unit_seconds: price.map_or(1, |price| price.unit_seconds),
            least_seconds: price.map_or(0, |price| price.least_seconds),
        });
        Some(())
    }

    /// Computes what all cost if they exist for `seconds`, by started billing unit.
    #[must_use]
    pub fn bill(&self, seconds: f64) -> Bill {
        let costs: Vec<f64> = self.items.iter().filter_map(|item| item.cost(seconds)).collect();
        Bill {
            amount: costs.iter().sum(),
            currency: self.currency.clone(),
            unpriced: self.items.len() - costs.len(),
        }
    }
}

/// The names of a target's volumes in the experiment, in the order in which its driver is asked for them.
fn singles<'p>(plan: &'p Plan, target: &'p str) -> impl Iterator<Item = String> + 'p {
    let volumes = plan.targets.iter().filter(move |one| one.name == target).flat_map(|one| match &one.kind {
        TargetKind::Created { volumes, .. } => volumes.as_slice(),
        _ => &[],
    });
    volumes.flat_map(CreatedVolume::single).map(|(name, _)| name)
}

/// Puts what the drivers declare of their volumes into a plan, so that its forecast counts with it.
pub fn put_rates(plan: &mut Plan, groups: &[Group]) {
    let mut declared: BTreeMap<(String, String), Rates> = BTreeMap::new();
    for (target, offer) in groups.iter().flat_map(|group| group.targets.iter().zip(&group.offers)) {
        for (name, volume) in singles(plan, target).zip(&offer.volumes) {
            declared.insert((target.clone(), name), volume.rates);
        }
    }
    for cell in &mut plan.cells {
        for volume in cell.stack.volumes.iter_mut().chain(&mut cell.stack.beside) {
            if let VolumeKind::Created { limits, .. } = &mut volume.kind
                && let Some(rates) = declared.get(&(cell.target.clone(), volume.name.clone()))
            {
                *limits = limits_of(*rates);
            }
        }
    }
}

/// What a provider declares, as limits of a volume.
pub(super) fn limits_of(rates: Rates) -> Limits {
    Limits { total_iops: rates.iops, total_bps: rates.bytes_per_second, ..Limits::default() }
}

/// Puts the drivers' prices and ceilings into a plan, where the experiment states none. A volume's price is its own if all targets that have
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
    let mut of_volume: BTreeMap<String, Vec<(&str, Option<f64>)>> = BTreeMap::new();
    let mut of_machine: BTreeMap<String, f64> = BTreeMap::new();
    for (target, offer) in &offers {
        for (name, volume) in singles(plan, target).zip(&offer.volumes) {
            let price = volume.price.as_ref().map(|price| price.per_hour);
            of_volume.entry(name).or_default().push((target, price));
        }
        of_machine.extend(offer.price.as_ref().map(|price| ((*target).to_owned(), price.per_hour)));
    }
    let mut with_volumes: BTreeSet<String> = BTreeSet::new();
    for (name, each) in of_volume {
        if plan.prices.per_hour.contains_key(&name) {
            continue;
        }
        match agreed(&each) {
            Some(price) => drop(plan.prices.per_hour.insert(name, price)),
            None => {
                for (target, price) in each {
                    if let Some(price) = price {
                        *of_machine.entry(target.to_owned()).or_default() += price;
                        with_volumes.insert(target.to_owned());
                    }
                }
            }
        }
    }
    for (target, price) in of_machine {
        if let Entry::Vacant(free) = plan.prices.machines.entry(target.clone()) {
            free.insert(price);
            plan.prices.with_volumes.extend(with_volumes.take(&target));
        }
    }
    put_ceilings(plan, &offers);
}

/// The price of a volume on which all its targets agree.
fn agreed(each: &[(&str, Option<f64>)]) -> Option<f64> {
    let first = each.first()?.1?;
    let is_same = |price: &Option<f64>| price.is_some_and(|price| (price - first).abs() < f64::EPSILON);
    each.iter().all(|(_, price)| is_same(price)).then_some(first)
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
    use super::{Bill, bill, put_prices, put_rates};
    use crate::created::Group;
    use driver::Program;
    use driver::protocol::{Capabilities, Offer, Price, Rates};
    use record::plan::Plan;
    use record::volume::VolumeKind;
    use serde_json::json;
    use std::collections::BTreeMap;
    use std::path::Path;

    /// Two machines with a volume `v` each; `more` stands in the first one.
    fn plan(more: &str, top: &str) -> Plan {
        let text = format!(
            "experiment: demo\n{top}targets: {{ a: {{ driver: d, {more} volumes: {{ v: {{ size: 1g }} }} }}, \
             b: {{ driver: d, volumes: {{ v: {{ size: 1g }} }} }} }}\nstacks: {{ s: {{ on: v }} }}\n\
             workloads: {{ w: {{ rw: read, bs: 4k, size: 64m }} }}\n"
        );
        spec::parse(&text, "demo.yaml", Path::new("/"), &BTreeMap::new()).unwrap().plan
    }

    fn price(per_hour: f64, currency: &str) -> Price {
        Price { per_hour, currency: currency.to_owned(), unit_seconds: 3600, least_seconds: 0 }
    }

    /// The machines with prices of machine and volume.
    fn groups(prices: [(Option<Price>, Option<Price>); 2]) -> Vec<Group> {
        let capabilities = Capabilities {
            protocol: "1.0".to_owned(),
            name: "d".to_owned(),
            about: "a".to_owned(),
            settings: BTreeMap::new(),
            volume_settings: BTreeMap::new(),
            secrets: Vec::new(),
            enforces_deadline: false,
        };
        let offers = prices.map(|(machine, volume)| -> Offer {
            serde_json::from_value(json!({ "price": machine, "volumes": [{ "price": volume }] })).unwrap()
        });
        vec![Group {
            program: Program { name: "d".to_owned(), path: "/d".into(), args: Vec::new() },
            capabilities,
            targets: vec!["a".to_owned(), "b".to_owned()],
            machines: Vec::new(),
            offers: offers.to_vec(),
        }]
    }

    #[test]
    fn a_bill_has_every_machine_and_volume_and_says_what_has_no_price() {
        let eur = |per_hour| Some(price(per_hour, "EUR"));
        let all = groups([(eur(3.0), eur(1.0)), (eur(3.0), eur(1.0))]);
        let whole = bill(&plan("", ""), &all, 10.0).unwrap();
        assert_eq!(whole, Bill { amount: 8.0, currency: Some("EUR".to_owned()), unpriced: 0 });
        let part = groups([(None, None), (eur(3.0), None)]);
        assert_eq!(bill(&plan("", ""), &part, 10.0).unwrap().unpriced, 3);
        // A price of the experiment counts, and covers the volumes of its machine; that of the other one still lacks.
        let stated = bill(&plan("price: 7.2/hour,", "currency: EUR\n"), &part, 3600.0).unwrap();
        assert!((stated.amount - 10.2).abs() < 1e-9 && stated.unpriced == 1, "{stated:?}");
    }

    #[test]
    fn money_of_two_currencies_has_no_sum() {
        let mixed = groups([(Some(price(3.0, "EUR")), None), (Some(price(3.0, "USD")), None)]);
        assert_eq!(bill(&plan("", ""), &mixed, 10.0), None);
        let usd = groups([(None, None), (Some(price(3.0, "USD")), None)]);
        assert_eq!(bill(&plan("price: 7.2/hour,", "currency: EUR\n"), &usd, 10.0), None);
    }

    #[test]
    fn a_volume_on_two_machines_costs_twice() {
        let eur = |per_hour| Some(price(per_hour, "EUR"));
        let mut both = plan("", "");
        put_prices(&mut both, &groups([(eur(3.0), eur(1.0)), (eur(3.0), eur(1.0))]));
        assert!((both.total_price_per_hour() - 8.0).abs() < 1e-9, "{:?}", both.prices);
        // One without a price doesn't cost what the other one does.
        let mut one = plan("", "");
        put_prices(&mut one, &groups([(eur(3.0), eur(1.0)), (eur(3.0), None)]));
        assert!((one.total_price_per_hour() - 7.0).abs() < 1e-9, "{:?}", one.prices);
        assert!(!one.prices.per_hour.contains_key("v"), "{:?}", one.prices);
    }

    #[test]
    fn a_volume_is_forecast_with_what_its_machines_driver_declares() {
        let mut all = groups([(None, None), (None, None)]);
        all[0].offers[0].volumes[0].rates = Rates { iops: Some(3000), bytes_per_second: Some(125 << 20) };
        let mut plan = plan("", "");
        put_rates(&mut plan, &all);
        let declared: Vec<(&str, Option<u64>, Option<u64>)> = plan
            .cells
            .iter()
            .map(|cell| match &cell.stack.volumes[0].kind {
                VolumeKind::Created { limits, .. } => {
                    (cell.target.as_str(), limits.total_iops, limits.total_bps)
                }
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(declared, [("a", Some(3000), Some(125 << 20)), ("b", None, None)]);
    }

    #[test]
    fn a_resumed_bill_counts_volumes_once_where_machines_disagree() {
        let eur = |per_hour| Some(price(per_hour, "EUR"));
        let all = groups([(eur(3.0), eur(1.0)), (eur(3.0), eur(2.0))]);
        let mut stored = plan("", "");
        put_prices(&mut stored, &all);
        // The stored plan has the drivers' prices, with each volume in its machine's.
        assert_eq!(stored.prices.machines.values().copied().collect::<Vec<_>>(), [4.0, 5.0]);
        let again = bill(&stored, &all, 3600.0).unwrap();
        assert_eq!((again.amount, again.unpriced), (9.0, 0));
        assert_eq!(bill(&plan("", ""), &all, 3600.0).unwrap().amount, 9.0);
    }
}
