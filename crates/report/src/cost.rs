//! The document of a price list's costs.

use crate::document::{Block, Cell, Column, Document, Level, Paragraph, Style, Table, Words};
use crate::number::thousands;
use record::cost::{CostOver, Costs, OfferCost};
use record::plan::PriceListInfo;

const HOUR: u64 = 3600;
const MONTH: u64 = 730 * HOUR;
const YEAR: u64 = 8760 * HOUR;

/// The document: the cheapest offer, and a table of all offers with their parts. `today`: the day as YYYY-MM-DD.
#[must_use]
pub fn cost(costs: &Costs, today: &str) -> Document {
    let mut document = Document::new(format!("Offers of {}", costs.file), under(&costs.list, today));
    if !costs.offers.is_empty() {
        document.blocks.push(Block::Table(table(costs)));
        document.blocks.push(Block::Answer(answer(costs)));
    }
    let left_out = costs.left_out.iter().map(|left| {
        Paragraph::labelled(
            "left out:",
            Words::styled(Style::Strong, left.offer.as_str()).then(format!(": {}.", left.text)),
        )
    });
    document.paragraphs(left_out.collect());
    document.blocks.push(Block::Notes(vec![
        "A month has 730 hours, a year 8760. Hour, month and year spread an upfront payment over its term; the last column is what is paid. \
         Computed exactly; amounts are rounded only here."
            .to_owned(),
    ]));
    document
}

/// Where the prices come from, and a note if they no longer hold.
fn under(list: &PriceListInfo, today: &str) -> Vec<Paragraph> {
    let mut told = vec![Paragraph::from(list_in_words(list))];
    if list.is_past(today) {
        let last = list.valid_until.as_deref().unwrap_or_default();
        told.push(Paragraph::labelled(
            "note:",
            format!("these prices were valid until {last}; today is {today}"),
        ));
    }
    told
}

/// Date and source of a price list in words.
#[must_use]
pub fn list_in_words(list: &PriceListInfo) -> String {
    let date = match &list.date {
        Some(date) => format!("prices of {date}"),
        None => "prices without a date".to_owned(),
    };
    match &list.source {
        Some(source) => format!("{date}; source: {source}"),
        None => format!("{date}, without a source"),
    }
}

fn answer(costs: &Costs) -> Vec<Words> {
    let total = |offer: &OfferCost| offer.sum.total.value;
    let least = costs.offers.iter().map(total).fold(f64::INFINITY, f64::min);
    let cheapest: Vec<&OfferCost> = costs.offers.iter().filter(|offer| total(offer) <= least).collect();
    let Some(first) = cheapest.first() else { return Vec::new() };
    let names = cheapest.iter().map(|offer| label(offer)).collect::<Vec<_>>().join(" and ");
    let money = costs.currency.as_deref().map(|currency| format!(" {currency}")).unwrap_or_default();
    let text = if costs.offers.len() == 1 {
        format!(" costs {}{money} over {}", thousands(&first.sum.total.text), in_words(costs.seconds))
    } else {
        format!(
            " {} the cheapest of {} offers over {}: {}{money}",
            if cheapest.len() == 1 { "is" } else { "are" },
            costs.offers.len(),
            in_words(costs.seconds),
            thousands(&first.sum.total.text)
        )
    };
    vec![Words::styled(Style::Strong, names).then(format!("{text}."))]
}

fn label(offer: &OfferCost) -> String {
    if offer.count == "1" { offer.offer.clone() } else { format!("{} x {}", offer.count, offer.offer) }
}

fn table(costs: &Costs) -> Table {
    let mut table = Table::new(vec![
        Column::words("offer").once(Level::Group),
        Column::words("part"),
        Column::numbers("an hour"),
        Column::numbers("a month"),
        Column::numbers("a year"),
        Column::numbers("in all"),
    ]);
    table.title = Some("Costs");
    for offer in &costs.offers {
        let name = label(offer);
        let single = offer.parts.len() == 1;
        for (place, part) in offer.parts.iter().enumerate() {
            table.add(place == 0, row(&name, &part.text, &part.cost, Style::Plain));
        }
        if !single {
            table.add(false, row(&name, "all", &offer.sum, Style::Strong));
        }
    }
    let money = costs.currency.as_deref().map(|currency| format!("{currency}; ")).unwrap_or_default();
    table.left_out =
        Some(format!("{money}\"in all\" is what is paid for {}", in_words(costs.seconds)).into());
    table
}

fn row(offer: &str, part: &str, cost: &CostOver, style: Style) -> Vec<Cell> {
    let amounts = [&cost.per_hour, &cost.per_month, &cost.per_year, &cost.total];
    let words = [Cell::from(offer), Cell::styled(style, part)];
    words.into_iter().chain(amounts.map(|amount| Cell::styled(style, thousands(&amount.text)))).collect()
}

/// A time in words: `3 years`, `8 months`, `90 minutes`.
fn in_words(seconds: u64) -> String {
    let units =
        [("year", YEAR), ("month", MONTH), ("day", 24 * HOUR), ("hour", HOUR), ("minute", 60), ("second", 1)];
    let fitting = units.into_iter().find(|(_, length)| seconds >= *length && seconds.is_multiple_of(*length));
    let (unit, length) = fitting.unwrap_or(("second", 1));
    let count = seconds / length;
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::{cost, in_words};
    use crate::{markdown, terminal};
    use record::cost::{Amount, COST_FORMAT, CostOver, Costs, OfferCost, OfferLeftOut, PartCost};
    use record::plan::PriceListInfo;

    fn over(texts: [&str; 4]) -> CostOver {
        let [per_hour, per_month, per_year, total] =
            texts.map(|text| Amount { value: text.parse().unwrap(), text: text.to_owned() });
        CostOver { per_hour, per_month, per_year, total }
    }

    fn made() -> Costs {
        let part =
            |key: &str, text: &str, cost| PartCost { key: key.to_owned(), text: text.to_owned(), cost };
        let demand = over(["1.2000", "876.00", "10512.00", "31536.00"]);
        Costs {
            format: COST_FORMAT.to_owned(),
            file: "prices.yaml".to_owned(),
            currency: Some("USD".to_owned()),
            list: PriceListInfo {
                date: Some("2009-11-01".to_owned()),
                source: Some("a price page".to_owned()),
                valid_until: Some("2009-12-31".to_owned()),
            },
            seconds: 3 * super::YEAR,
            offers: vec![
                OfferCost {
                    offer: "on-demand".to_owned(),
                    count: "1".to_owned(),
                    parts: vec![part("per_hour", "hours", demand.clone())],
                    sum: demand,
                },
                OfferCost {
                    offer: "reserved".to_owned(),
                    count: "1".to_owned(),
                    parts: vec![
                        part("upfront", "once for 3 years", over(["0.1865", "136.11", "1633.33", "4900.00"])),
                        part("per_hour", "hours", over(["0.4200", "306.60", "3679.20", "11037.60"])),
                    ],
                    sum: over(["0.6065", "442.71", "5312.53", "15937.60"]),
                },
            ],
            left_out: vec![OfferLeftOut { offer: "volume".to_owned(), text: "it has no size".to_owned() }],
        }
    }

    #[test]
    fn the_cheapest_offer_and_all_parts_are_told() {
        let text = terminal(&cost(&made(), "2009-11-30"), 100, false);
        insta::assert_snapshot!("cost_100", text);
        assert!(text.contains("reserved is the cheapest of 2 offers over 3 years: 15,937.60 USD."), "{text}");
        assert!(!text.contains("were valid until"), "{text}");
        let page = markdown(&cost(&made(), "2026-11-26"));
        assert!(page.contains("these prices were valid until 2009-12-31; today is 2026-11-26"), "{page}");
    }

    #[test]
    fn a_time_is_told_in_its_largest_whole_unit() {
        let times = [3 * super::YEAR, super::MONTH, 90 * 60, 3600, 61, 36 * 3600];
        assert_eq!(
            times.map(in_words),
            ["3 years", "1 month", "90 minutes", "1 hour", "61 seconds", "36 hours"]
        );
    }
}
