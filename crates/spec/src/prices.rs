//! Reads price lists: `prices` of an experiment, or a file of its own with the same keys.

use crate::diagnostic::printable;
use crate::fields::{Fields, named};
use crate::limits::MAX_FILE_BYTES;
use crate::money::{self, HOURS_PER_MONTH, HOURS_PER_YEAR};
use crate::name::check_plain;
use crate::number::Number;
use crate::problems::Problems;
use crate::quantity::{Wrong, duration, percent};
use crate::scope::Scope;
use crate::source::{Source, Span};
use crate::tariff::{CHARGES, Charge, Discount, Offer, PriceList, Quantity, Rate, Tier, Upfront, Usage};
use crate::tree::{Key, Node, Value};
use crate::vocabulary::{ALLOWANCE, BILLED_BY, DISCOUNT, OFFER, PRICES, TIER, USAGE};
use crate::{beside, tree, value};
use record::plan::PriceListInfo;
use record::printable::Shown as _;
use std::cmp::Ordering;
use std::path::Path;

/// A GB of a price list, in bytes.
pub(crate) const GB: i128 = 1 << 30;
/// An MB of a price list, in bytes.
pub(crate) const MB: i128 = 1 << 20;

/// Reads a price list: a map, or the path of a file with one.
pub(crate) fn read(
    node: &Node,
    base_dir: &Path,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<PriceList> {
    if let Value::Map(_) = node.value {
        return list(node, scope, problems);
    }
    let written = value::text(node, "a price list, or the path of a file with one", scope, problems)?;
    let path = base_dir.join(&written);
    match beside::text(&path, MAX_FILE_BYTES) {
        Ok(text) => {
            let source = Source::new(&path.shown().to_string(), &text);
            let mut own = Problems::new(&source);
            let read = of_text(&source, &mut own);
            problems.absorb(node.span, own);
            read
        }
        Err(why) => {
            problems
                .add(
                    node.span,
                    format!(
                        "can't read the price list {}: {}",
                        path.shown(),
                        printable(&why.to_string(), 200)
                    ),
                )
                .expected("a file, by its path from the experiment file");
            None
        }
    }
}

/// Reads a file that is a price list.
pub(crate) fn of_text(source: &Source, problems: &mut Problems<'_>) -> Option<PriceList> {
    let is_blank = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
    if source.text.lines().all(is_blank) {
        problems
            .add(Span::default(), "the file is empty")
            .expected("a price list: at least `offers: { NAME: { per_hour: 1.20 } }`");
        return None;
    }
    let root = tree::parse(&source.text, problems)?;
    list(&root, &Scope::default(), problems)
}

fn list(node: &Node, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<PriceList> {
    let fields = Fields::open(node, &PRICES, problems)?;
    let currency = fields.get("currency").and_then(|node| money::currency(node, problems));
    let info = PriceListInfo {
        date: fields.get("date").and_then(|node| day(node, problems)),
        source: fields
            .get("source")
            .and_then(|node| value::raw(node, "a text", problems))
            .map(|text| printable(text.trim(), 300)),
        valid_until: fields.get("valid_until").and_then(|node| day(node, problems)),
    };
    let node = fields.get("offers")?;
    let entries = named(node, "a map: NAME: { per_hour | per_gb_month | ... }", problems)?;
    if entries.is_empty() {
        problems.add(node.span, "there are no offers").expected("at least one: `NAME: { per_hour: 1.20 }`");
    }
    let mut offers = Vec::new();
    for (key, node) in entries {
        if problems.full() {
            break;
        }
        offers.extend(offer(key, node, scope, problems));
    }
    Some(PriceList { currency, info, offers })
}

/// Reads a day, a month or a year.
fn day(node: &Node, problems: &mut Problems<'_>) -> Option<String> {
    const EXPECTED: &str = "a day, month or year: `2026-11-26`, `2026-11` or `2026`";
    let text = value::raw(node, EXPECTED, problems)?;
    if is_date(text) {
        return Some(text.to_owned());
    }
    problems.add(node.span, format!("`{}` is not a date", printable(text, 20))).expected(EXPECTED);
    None
}

/// Whether a text is a day of the calendar, or a month or year of it.
fn is_date(text: &str) -> bool {
    let sound = matches!(text.len(), 4 | 7 | 10)
        && text
            .bytes()
            .enumerate()
            .all(|(i, b)| if matches!(i, 4 | 7) { b == b'-' } else { b.is_ascii_digit() });
    // What isn't written is the first of them.
    let part =
        |range: std::ops::Range<usize>| text.get(range).map_or(Some(1), |part| part.parse::<u32>().ok());
    let (true, Some(year), Some(month), Some(day)) = (sound, part(0..4), part(5..7), part(8..10)) else {
        return false;
    };
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return false,
    };
    (1..=days).contains(&day)
}

fn offer(key: &Key, node: &Node, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<Offer> {
    check_plain(key, "an offer", problems)?;
    let fields = Fields::open(node, &OFFER, problems)?;
    let mut rates = Vec::new();
    let mut sound = true;
    for charge in &CHARGES {
        let Some(node) = fields.get(charge.key) else { continue };
        match tiers(node, charge, scope, problems) {
            Some(tiers) => rates.push(Rate { charge, tiers }),
            None => sound = false,
        }
    }
    let upfront = upfront(key, &fields, scope, problems)?;
    let discounts = match fields.get("discounts") {
        Some(node) => discounts(node, scope, problems)?,
        None => Vec::new(),
    };
    let usage = match fields.get("usage") {
        Some(node) => usage(node, scope, problems)?,
        None => Usage::default(),
    };
    let unit_seconds = match fields.get("billed_by") {
        Some(node) => match value::choice(node, BILLED_BY, scope, problems)? {
            "second" => 1,
            "minute" => 60,
            _ => 3600,
        },
        None => 3600,
    };
    // A misspelled key was reported; it may be the price.
    let known = fields.entries().iter().all(|(key, _)| OFFER.keys.iter().any(|known| known.name == key.text));
    if sound && known && rates.is_empty() && upfront.is_none() {
        problems
            .add_missing(key.span, format!("offer `{}` has no price", key.text))
            .expected("at least one of per_hour, per_month, per_gb_month, ... or `upfront` with `term`");
        return None;
    }
    sound.then(|| Offer { name: key.text.clone(), unit_seconds, rates, upfront, discounts, usage })
}

fn upfront(
    key: &Key,
    fields: &Fields<'_>,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<Option<Upfront>> {
    const EXPECTED: &str = "a time: `3y`, `36 months`, `365d`";
    match (fields.get("upfront"), fields.get("term")) {
        (None, None) => Some(None),
        (Some(money), Some(term)) => {
            let money = self::money(money, scope, problems)?;
            let written = value::text(term, EXPECTED, scope, problems)?;
            match span(&written) {
                Ok(term_seconds) => Some(Some(Upfront { money, term_seconds })),
                Err(why) => {
                    value::wrong(term, why, scope, problems);
                    problems.amend(term.span).expected(EXPECTED);
                    None
                }
            }
        }
        (Some(_), None) => {
            problems
                .add_missing(key.span, format!("offer `{}` has `upfront` and no `term`", key.text))
                .help("say how long it is paid for: `term: 3y`");
            None
        }
        (None, Some(term)) => {
            problems
                .add(term.span, "`term` has nothing to spread")
                .expected("`upfront`, the money that is paid once for it");
            None
        }
    }
}

/// Parses a time that may have years and months: of 8760 and 730 hours. Returns seconds, above 0.
pub(crate) fn span(text: &str) -> Result<Number, Wrong> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let hours = match unit.trim() {
        "y" | "year" | "years" => Some(HOURS_PER_YEAR),
        "month" | "months" => Some(HOURS_PER_MONTH),
        _ => None,
    };
    let shown = printable(text, 40);
    let seconds = match (hours, Number::parse(digits)) {
        (Some(hours), Some(count)) => count
            .multiply(Number::integer(hours * 3600))
            .ok_or_else(|| Wrong::new(format!("`{shown}` is too long")))?,
        _ => duration(text)?,
    };
    if seconds.is_zero() {
        return Err(Wrong::new(format!("`{shown}` is a time of length 0")));
    }
    Ok(seconds)
}

/// Reads the price of a unit: one, one behind a free allowance, or one per tier.
fn tiers(
    node: &Node,
    charge: &'static Charge,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<Vec<Tier>> {
    if charge.of.is_none() && !matches!(node.value, Value::Text(_)) {
        problems
            .add(node.span, format!("`{}` counts nothing, so it has one price", charge.key))
            .expected("an amount of money, e.g. `0.20`");
        return None;
    }
    match &node.value {
        Value::Map(_) => {
            let fields = Fields::open(node, &ALLOWANCE, problems)?;
            let price = money(fields.get("price")?, scope, problems)?;
            let rest = Tier { up_to: None, price };
            match fields.get("free") {
                Some(free) => {
                    let up_to = Some(count(free, scope, problems)?);
                    Some(vec![Tier { up_to, price: Number::integer(0) }, rest])
                }
                None => Some(vec![rest]),
            }
        }
        Value::List(items) => graduated(node, items, scope, problems),
        Value::Text(_) | Value::Null => {
            Some(vec![Tier { up_to: None, price: money(node, scope, problems)? }])
        }
    }
}

fn graduated(
    node: &Node,
    items: &[Node],
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<Vec<Tier>> {
    let mut tiers: Vec<Tier> = Vec::new();
    for (place, item) in items.iter().enumerate() {
        let fields = Fields::open(item, &TIER, problems)?;
        let price = money(fields.get("price")?, scope, problems)?;
        let up_to = match fields.get("up_to") {
            Some(node) => Some(count(node, scope, problems)?),
            None => None,
        };
        let last = place + 1 == items.len();
        if up_to.is_none() != last {
            let message = if last { "the last tier ends" } else { "this tier has no end" };
            problems.add(item.span, message).expected("`up_to` in each tier but the last");
            return None;
        }
        let before = tiers.last().and_then(|tier| tier.up_to);
        if let (Some(before), Some(up_to)) = (before, up_to)
            && up_to.compare(before) != Some(Ordering::Greater)
        {
            problems
                .add(item.span, format!("this tier ends at {up_to}, and the one before it at {before}"))
                .expected("tiers in rising order");
            return None;
        }
        tiers.push(Tier { up_to, price });
    }
    if tiers.is_empty() {
        problems
            .add(node.span, "there are no tiers")
            .expected("[ { up_to: 3000, price: 0 }, { price: 0.005 } ]");
        return None;
    }
    Some(tiers)
}

fn discounts(node: &Node, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<Vec<Discount>> {
    const OFF: &str = "a percentage above 0%, at most 100%";
    let mut all = Vec::new();
    for item in crate::fields::list(node) {
        let fields = Fields::open(item, &DISCOUNT, problems)?;
        let from = money(fields.get("from")?, scope, problems)?;
        let written = fields.get("off")?;
        let typed = value::text(written, OFF, scope, problems)?;
        let off = match percent(&typed) {
            Ok(off) => off,
            Err(why) => {
                value::wrong(written, why, scope, problems);
                return None;
            }
        };
        if off.is_zero() || off.compare(Number::integer(1)) == Some(Ordering::Greater) {
            problems.add(written.span, format!("`{}` is out of range", printable(&typed, 20))).expected(OFF);
            return None;
        }
        all.push(Discount { from, off });
    }
    Some(all)
}

/// Reads `usage`.
pub(crate) fn usage(node: &Node, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<Usage> {
    let fields = Fields::open(node, &USAGE, problems)?;
    let mut usage = Usage::default();
    let mut sound = true;
    let mut add = |quantity: Quantity, amount: Option<Number>| match amount {
        Some(amount) => {
            usage.of.insert(quantity, amount);
        }
        None => sound = false,
    };
    for (key, quantity, unit) in [
        ("memory", Quantity::Memory, GB),
        ("size", Quantity::Size, GB),
        ("throughput", Quantity::Throughput, MB),
        ("sent_per_month", Quantity::Sent, GB),
    ] {
        let Some(node) = fields.get(key) else { continue };
        add(quantity, value::size(node, scope, problems).and_then(|bytes| Number::new(bytes.into(), unit)));
    }
    if let Some(node) = fields.get("iops") {
        let iops = value::integer(node, 0..=1_000_000_000, scope, problems);
        add(Quantity::Iops, iops.map(|iops| Number::integer(iops.into())));
    }
    if let Some(node) = fields.get("cpus") {
        add(Quantity::Cpus, count(node, scope, problems));
    }
    if let Some(node) = fields.get("count") {
        let count = value::integer(node, 1..=1_000_000_000, scope, problems)?;
        usage.count = Some(Number::integer(count.into()));
    }
    sound.then_some(usage)
}

/// Reads an amount of money; 0 is one.
fn money(node: &Node, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<Number> {
    number(node, "an amount of money, e.g. `0.125`", money::amount, scope, problems)
}

/// Reads a number of units, without suffixes: 3k would be 3072.
fn count(node: &Node, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<Number> {
    let plain = |text: &str, scope: &Scope<'_>| match Number::parse(text) {
        Some(number) => Ok(number),
        None if text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '(') => money::amount(text, scope),
        None => Err(Wrong::new(format!("`{}` is not a plain number", printable(text, 40)))),
    };
    number(node, "a plain number of units, e.g. `3000`", plain, scope, problems)
}

fn number(
    node: &Node,
    expected: &str,
    parse: impl Fn(&str, &Scope<'_>) -> Result<Number, Wrong>,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<Number> {
    let typed = value::text(node, expected, scope, problems)?;
    let result = parse(typed.trim(), scope).and_then(|number| {
        let negative = || Wrong::new(format!("`{}` is negative", printable(&typed, 40)));
        if number.is_negative() { Err(negative()) } else { Ok(number) }
    });
    match result {
        Ok(number) => Some(number),
        Err(why) => {
            value::wrong(node, why, scope, problems);
            problems.amend(node.span).expected(expected);
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{is_date, span};
    use crate::number::Number;

    #[test]
    fn a_date_is_one_of_the_calendar() {
        assert!(["2009-11-01", "2024-02-29", "2000-02-29", "2009-11", "2009"].iter().all(|day| is_date(day)));
        for wrong in [
            "2009-11-31",
            "2023-02-29",
            "1900-02-29",
            "2009-13-01",
            "2009-13",
            "2009-1-01",
            "2009-",
            "209",
            "2009-11-0１",
            "today",
            "",
        ] {
            assert!(!is_date(wrong), "{wrong}");
        }
    }

    #[test]
    fn years_and_months_are_730_hours_a_twelfth() {
        let hours =
            |text| span(text).ok().and_then(|s| s.divide(Number::integer(3600))).and_then(Number::whole);
        assert_eq!(
            ["3y", "1 year", "36 months", "1 month", "365d", "8760h"].map(hours),
            [26_280, 8760, 26_280, 730, 8760, 8760].map(Some)
        );
        assert_eq!(["0y", "3", "3 moons", "-1y", "", "y"].map(hours), [None; 6]);
    }
}
