//! What created machines cost, in a sentence.

use record::bill::MachineBill;
use record::quantity::{Seconds, money};

/// Tells what the machines of one session cost; `None`: nothing of them has a price.
#[must_use]
pub fn bill(bill: &MachineBill) -> Option<String> {
    let unpriced = bill.unpriced();
    if unpriced == bill.items.len() {
        return None;
    }
    let shown = |amount| money(amount, bill.currency.as_deref());
    let existed = Seconds(bill.seconds());
    let lived = if bill.stays {
        format!("had existed for {existed} at the end of the session, and stayed")
    } else {
        format!("existed for {existed}")
    };
    let forecast = bill.forecast.map(|amount| format!("; the forecast was {}", shown(amount)));
    let without = match unpriced {
        0 => String::new(),
        1 => "; 1 machine or volume has no price".to_owned(),
        several => format!("; {several} machines and volumes have no price"),
    };
    Some(format!(
        "Created machines: they {lived}, which costs {} by started billing unit{}{without}.",
        shown(bill.amount),
        forecast.unwrap_or_default()
    ))
}

#[cfg(test)]
mod tests {
    use super::bill;
    use record::bill::{MachineBill, Priced};

    fn item(per_hour: Option<f64>) -> Priced {
        Priced { name: "one".to_owned(), per_hour, unit_seconds: 3600, least_seconds: 60 }
    }

    fn made(items: Vec<Priced>, stays: bool, forecast: Option<f64>) -> MachineBill {
        let amount = items.iter().filter_map(|item| item.cost(720.0)).sum();
        MachineBill {
            claims: vec!["c".to_owned()],
            begun_unix: 1000,
            ended_unix: 1720,
            stays,
            amount,
            currency: Some("EUR".to_owned()),
            forecast,
            items,
        }
    }

    #[test]
    fn a_bill_says_time_money_forecast_and_what_it_leaves_out() {
        assert_eq!(
            bill(&made(vec![item(Some(3.6)), item(Some(3.6))], false, Some(14.4))).unwrap(),
            "Created machines: they existed for 12 min 0 s, which costs 7.20 EUR by started billing unit; the forecast was 14.40 EUR."
        );
        let part = bill(&made(vec![item(Some(3.6)), item(None)], true, None)).unwrap();
        assert_eq!(
            part,
            "Created machines: they had existed for 12 min 0 s at the end of the session, and stayed, which costs 3.60 EUR by started billing \
             unit; 1 machine or volume has no price."
        );
        assert_eq!(bill(&made(vec![item(None)], false, None)), None);
    }
}
