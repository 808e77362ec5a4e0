//! Prices of volumes and machines: `price: 8/month` or `price: OFFER`, and `currency: EUR` at the top.

use crate::diagnostic::{nearest, printable};
use crate::fields::Fields;
use crate::money::{self, HOURS_PER_MONTH, HOURS_PER_YEAR};
use crate::number::Number;
use crate::problems::Problems;
use crate::quantity::Wrong;
use crate::scope::Scope;
use crate::tariff::{NoCost, Offer, PriceList, Quantity, Usage};
use crate::tree::{Node, Value};
use crate::vocabulary::VOLUME_PRICE;
use crate::{prices, value};
use record::plan::Prices;
use record::volume::{Limits, Volume, VolumeKind};

const UNITS: [(&str, i128); 4] =
    [("hour", 1), ("day", 24), ("month", HOURS_PER_MONTH), ("year", HOURS_PER_YEAR)];
const EXPECTED: &str = "money per time: `8/month`, `0.011/hour`, also `/day` and `/year`";

/// The price of a volume or machine, as written.
pub(crate) enum Price {
    PerHour(Number),
    /// By an offer of the price list; with what is paid for, where it differs from the volume's declaration.
    Offer {
        name: String,
        usage: Usage,
    },
}

/// Reads the price of a volume or machine: money per time, or the name of an offer.
pub(crate) fn read(node: &Node, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<Price> {
    if let Value::Map(_) = node.value {
        let fields = Fields::open(node, &VOLUME_PRICE, problems)?;
        let name = value::text(fields.get("offer")?, "the name of an offer", scope, problems)?;
        let usage = match fields.get("usage") {
            Some(node) => prices::usage(node, scope, problems)?,
            None => Usage::default(),
        };
        return Some(Price::Offer { name, usage });
    }
    let typed = value::text(node, EXPECTED, scope, problems)?;
    if is_name_of_offer(&typed) {
        return Some(Price::Offer { name: typed, usage: Usage::default() });
    }
    match per_hour(&typed, scope) {
        Ok(price) => Some(Price::PerHour(price)),
        Err(why) => {
            value::wrong(node, why, scope, problems);
            problems.amend(node.span).expected(EXPECTED);
            None
        }
    }
}

/// Whether a price names an offer: a name has no `/`, and isn't a number.
fn is_name_of_offer(typed: &str) -> bool {
    typed.starts_with(|c: char| c.is_ascii_alphabetic())
        && typed.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
}

/// Returns what each of these volumes costs per hour by its price; empty if there is none, which was reported.
pub(crate) fn of_volumes(
    price: &Price,
    volumes: &[Volume],
    node: &Node,
    list: Option<&PriceList>,
    problems: &mut Problems<'_>,
) -> Vec<Number> {
    match price {
        Price::PerHour(per_hour) => vec![*per_hour; volumes.len()],
        Price::Offer { name, usage } => {
            let Some(offer) = find(name, node, list, problems) else { return Vec::new() };
            let of = |volume: &Volume| {
                let usage = usage.or(&offer.usage).or(&declared(volume));
                by_offer(offer, &usage, &volume.name, node, problems)
            };
            volumes.iter().map(of).collect::<Option<_>>().unwrap_or_default()
        }
    }
}

/// Returns what a machine costs per hour by its price; `None` if there is none, which was reported.
pub(crate) fn of_machine(
    price: &Price,
    name: &str,
    node: &Node,
    list: Option<&PriceList>,
    problems: &mut Problems<'_>,
) -> Option<Number> {
    match price {
        Price::PerHour(per_hour) => Some(*per_hour),
        Price::Offer { name: offer, usage } => {
            let offer = find(offer, node, list, problems)?;
            by_offer(offer, &usage.or(&offer.usage), name, node, problems)
        }
    }
}

fn find<'l>(
    name: &str,
    node: &Node,
    list: Option<&'l PriceList>,
    problems: &mut Problems<'_>,
) -> Option<&'l Offer> {
    let offers = list.map_or(&[][..], |list| &list.offers);
    let found = offers.iter().find(|offer| offer.name == *name);
    if found.is_none() {
        let diagnostic = problems.add(node.span, format!("there is no offer `{}`", printable(name, 40)));
        let known = offers.iter().map(|offer| offer.name.as_str());
        diagnostic.suggest(name, known.clone());
        if offers.is_empty() {
            diagnostic.expected(EXPECTED);
            diagnostic.help("offers stand in a price list: `prices: FILE` or `prices: { offers: ... }`");
        } else {
            let known = printable(&known.collect::<Vec<_>>().join(", "), 200);
            diagnostic.expected(format!("one of {known}, or money per time as `8/month`"));
        }
    }
    found
}

fn by_offer(
    offer: &Offer,
    usage: &Usage,
    of: &str,
    node: &Node,
    problems: &mut Problems<'_>,
) -> Option<Number> {
    let name = &offer.name;
    match offer.bill(usage, Number::integer(3600)) {
        Ok(bill) => {
            let price = bill.sum.per_hour;
            if (1e-9..=1e9).contains(&price.to_f64()) {
                return Some(price);
            }
            problems
                .add(node.span, format!("by offer `{name}`, `{of}` costs {price} an hour: out of range"))
                .help("leave the price out where there is none; such a volume has no cost");
            None
        }
        Err(NoCost::Lacks(charge, quantity)) => {
            let message = format!("offer `{name}` has a `{}`, and `{of}` does not declare it", charge.key);
            problems
                .add(node.span, message)
                .help(format!("write `price: {{ offer: {name}, usage: {{ {} }} }}`", quantity.example()));
            None
        }
        Err(NoCost::OutOfRange) => {
            problems.add(node.span, format!("by offer `{name}`, the price of `{of}` is out of range"));
            None
        }
    }
}

/// Returns what a volume declares: its size, and the highest of its limits.
fn declared(volume: &Volume) -> Usage {
    let (size, limits) = match &volume.kind {
        VolumeKind::Emulate { size_bytes, limits } => (*size_bytes, *limits),
        VolumeKind::Guest { size_bytes, limits, .. } => (*size_bytes, *limits),
        VolumeKind::Created { size_bytes: Some(size_bytes), .. } => (*size_bytes, Limits::default()),
        VolumeKind::Created { .. } | VolumeKind::Directory { .. } | VolumeKind::Disk { .. } => {
            return Usage::default();
        }
    };
    let over = |amount: u64, unit: i128| Number::new(i128::from(amount), unit);
    let iops = limits.total_iops.or(limits.read_iops.max(limits.write_iops));
    let bps = limits.total_bps.or(limits.read_bps.max(limits.write_bps));
    let found = [
        (Quantity::Size, over(size, prices::GB)),
        (Quantity::Iops, iops.and_then(|iops| over(iops, 1))),
        (Quantity::Throughput, bps.and_then(|bps| over(bps, prices::MB))),
    ];
    let of = found.into_iter().filter_map(|(quantity, amount)| Some((quantity, amount?))).collect();
    Usage { count: None, of }
}

/// Parses money per time, and returns money per hour.
pub(crate) fn per_hour(typed: &str, scope: &Scope<'_>) -> Result<Number, Wrong> {
    let shown = printable(typed, 40);
    let Some((amount, unit)) = typed.rsplit_once('/') else {
        return Err(Wrong::with(
            format!("`{shown}` does not say for how long"),
            format!("write e.g. `{shown}/month`"),
        ));
    };
    let unit = unit.trim();
    let Some((_, hours)) = UNITS.iter().find(|(name, _)| *name == unit) else {
        let message = format!("`{}` is not a period of a price", printable(unit, 20));
        let near = nearest(unit, UNITS.iter().map(|(name, _)| *name));
        return Err(Wrong { message, help: None, near });
    };
    let amount = money::amount(amount.trim(), scope)?;
    let price = amount.divide(Number::integer(*hours)).filter(|price| (1e-9..=1e9).contains(&price.to_f64()));
    price.ok_or_else(|| {
        let help =
            "leave the price out where there is none; such a volume has no cost, and no price in `derive`";
        Wrong::with(format!("`{shown}` is out of range"), help)
    })
}

/// Returns the currency of the experiment or of its price list; both must be one.
pub(crate) fn one_currency(
    fields: &Fields<'_>,
    own: Option<String>,
    list: Option<&PriceList>,
    problems: &mut Problems<'_>,
) -> Option<String> {
    let of_list = list.and_then(|list| list.currency.clone());
    if let (Some(key), Some(own), Some(of_list)) = (fields.key("currency"), &own, &of_list)
        && own != of_list
    {
        problems
            .add(key.span, format!("the experiment is in {own}, and its price list in {of_list}"))
            .help("use one currency; diskproof doesn't convert");
    }
    own.or(of_list)
}

/// Notes a currency or a price list that no price uses.
pub(crate) fn check(fields: &Fields<'_>, prices: &Prices, problems: &mut Problems<'_>) {
    if let (Some(key), true) = (fields.key("prices"), prices.is_empty()) {
        problems.note(key.span, "no volume and no machine of any cell has a `price`, so no offer is used");
    }
    if let (Some(currency), true) = (fields.get("currency"), prices.is_empty()) {
        problems.note(
            currency.span,
            "no volume and no machine of any cell has a `price`, so nothing is in this currency",
        );
    }
}
