//! What the offers of a price list cost, without a run.

use crate::limits::MAX_FILE_BYTES;
use crate::load::{LoadError, single};
use crate::number::Number;
use crate::problems::Problems;
use crate::scope::Scope;
use crate::source::Source;
use crate::tariff::{Bill, NoCost, Offer, PriceList, Quantity, Sums, Usage};
use crate::tree::find;
use crate::{beside, diagnostic, money, parameter, prices, tree};
use record::cost::{Amount, COST_FORMAT, CostOver, Costs, OfferCost, OfferLeftOut, PartCost};
use record::printable::Shown as _;
use std::collections::BTreeMap;
use std::path::Path;

const SECONDS_PER_YEAR: u64 = 8760 * 3600;

/// What to compute costs for.
#[derive(Debug, Clone, Copy, Default)]
pub struct CostAsk {
    /// The time in seconds; `None`: the longest term of the offers, or a year.
    pub seconds: Option<u64>,
    /// Bytes of a volume, for offers that don't name a size.
    pub size_bytes: Option<u64>,
    /// Provisioned IOPS, for offers that don't name them.
    pub iops: Option<u64>,
    /// Provisioned bytes per second, for offers that don't name them.
    pub throughput_bps: Option<u64>,
}

/// Computes what the offers of a price list cost. The file is a price list, or an experiment with `prices`.
///
/// # Errors
/// The file can't be read, is wrong, or has no price list; all errors in it are reported together.
pub fn costs(path: &Path, ask: &CostAsk) -> Result<Costs, LoadError> {
    let io =
        |error: beside::NoText| LoadError::Io { path: path.to_owned(), source: std::io::Error::other(error) };
    let text = beside::text(path, MAX_FILE_BYTES).map_err(io)?;
    let name = path.shown().to_string();
    let source = Source::new(&name, &text);
    let mut problems = Problems::new(&source);
    let list = list(&source, path, &mut problems);
    problems.finish().map_err(LoadError::Diagnostics)?;
    let list = list.ok_or_else(|| {
        single(diagnostic::Diagnostic {
            file: name.clone(),
            message: "there is no price list in it".to_owned(),
            expected: Some("a map with `offers`, or an experiment with `prices`".to_owned()),
            ..diagnostic::Diagnostic::default()
        })
    })?;
    Ok(of_list(&list, name, ask))
}

fn list(source: &Source, path: &Path, problems: &mut Problems<'_>) -> Option<PriceList> {
    let experiment = source.text.lines().any(|line| line.starts_with("experiment:"));
    if !experiment {
        return prices::of_text(source, problems);
    }
    let root = tree::parse(&source.text, problems)?;
    let names = parameter::resolve(find(&root, "parameters"), &BTreeMap::new(), problems).values;
    let base_dir = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let own = find(&root, "currency").and_then(|node| money::currency(node, problems));
    let list = prices::read(find(&root, "prices")?, base_dir, &Scope { parent: None, names }, problems)?;
    Some(PriceList { currency: list.currency.or(own), ..list })
}

fn of_list(list: &PriceList, file: String, ask: &CostAsk) -> Costs {
    let terms = list.offers.iter().filter_map(|offer| offer.upfront?.term_seconds.ceil()?.whole());
    let longest = terms.max().and_then(|seconds| u64::try_from(seconds).ok()).unwrap_or(SECONDS_PER_YEAR);
    let seconds = ask.seconds.unwrap_or(longest);
    let usual = usual(ask);
    let (mut offers, mut left_out) = (Vec::new(), Vec::new());
    for offer in &list.offers {
        match of_offer(offer, &usual, seconds) {
            Ok(cost) => offers.push(cost),
            Err(text) => left_out.push(OfferLeftOut { offer: offer.name.clone(), text }),
        }
    }
    Costs {
        format: COST_FORMAT.to_owned(),
        file,
        currency: list.currency.clone(),
        list: list.info.clone(),
        seconds,
        offers,
        left_out,
    }
}

fn usual(ask: &CostAsk) -> Usage {
    let over = |amount: Option<u64>, unit: i128| Number::new(amount?.into(), unit);
    let given = [
        (Quantity::Size, over(ask.size_bytes, prices::GB)),
        (Quantity::Iops, over(ask.iops, 1)),
        (Quantity::Throughput, over(ask.throughput_bps, prices::MB)),
    ];
    let of = given.into_iter().filter_map(|(quantity, amount)| Some((quantity, amount?))).collect();
    Usage { count: None, of }
}

fn of_offer(offer: &Offer, usual: &Usage, seconds: u64) -> Result<OfferCost, String> {
    const TOO_LARGE: &str = "its price is out of range";
    let bill =
        offer.bill(&offer.usage.or(usual), Number::integer(seconds.into())).map_err(|why| match why {
            NoCost::OutOfRange => TOO_LARGE.to_owned(),
            NoCost::Lacks(charge, quantity) => format!(
                "it has a `{}`, and nothing says how much: write `usage: {{ {} }}`{}",
                charge.key,
                quantity.example(),
                match quantity {
                    Quantity::Size => ", or --size 500g",
                    Quantity::Iops => ", or --iops 4000",
                    Quantity::Throughput => ", or --throughput 250m",
                    Quantity::Cpus | Quantity::Memory | Quantity::Sent => "",
                }
            ),
        })?;
    rounded(&offer.name, &bill).ok_or_else(|| TOO_LARGE.to_owned())
}

/// Rounds a bill; `None` if an amount is too large for it.
fn rounded(name: &str, bill: &Bill) -> Option<OfferCost> {
    let part = |part: &crate::tariff::Part| {
        Some(PartCost { key: part.key.to_owned(), text: part.text.clone(), cost: over(&part.sums)? })
    };
    Some(OfferCost {
        offer: name.to_owned(),
        count: bill.count.to_string(),
        parts: bill.parts.iter().map(part).collect::<Option<_>>()?,
        sum: over(&bill.sum)?,
    })
}

fn over(sums: &Sums) -> Option<CostOver> {
    let amount = |exact: Number| Some(Amount { value: exact.to_f64(), text: exact.fixed(2)? });
    Some(CostOver {
        // An hour costs less than a cent often enough.
        per_hour: Amount { value: sums.per_hour.to_f64(), text: sums.per_hour.fixed(4)? },
        per_month: amount(sums.per_month()?)?,
        per_year: amount(sums.per_year()?)?,
        total: amount(sums.total)?,
    })
}
