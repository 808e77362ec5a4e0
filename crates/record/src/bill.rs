//! What the machines cost that drivers created for a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A machine or volume that a driver created, and its price.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Priced {
    /// The target, or the target and its volume: `TARGET/VOLUME`.
    pub name: String,
    /// Money per hour; `None`: it has no price.
    pub per_hour: Option<f64>,
    /// The billing unit in seconds: a unit that has begun counts whole.
    pub unit_seconds: u64,
    /// The least time that is billed, in seconds.
    pub least_seconds: u64,
}

impl Priced {
    /// Returns what it costs if it exists for `seconds`; `None`: it has no price.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "billing units are below 2^53 seconds")]
    pub fn cost(&self, seconds: f64) -> Option<f64> {
        let unit = self.unit_seconds.max(1) as f64;
        let billed = (seconds.max(self.least_seconds as f64) / unit).ceil() * unit;
        Some(self.per_hour? * billed / 3600.0)
    }
}

/// What the machines and volumes of one session cost, from the request that created them to their end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MachineBill {
    /// The claims that the session held. They identify its machines among those of other sessions.
    pub claims: Vec<String>,
    /// When the first driver was asked to create, UTC, seconds since the epoch.
    pub begun_unix: u64,
    /// When all were destroyed; if they stay, when the session ended. UTC, seconds since the epoch.
    pub ended_unix: u64,
    /// Whether they stayed after the session, so that they cost more than this.
    pub stays: bool,
    /// Money by started billing unit, for everything that has a price.
    pub amount: f64,
    /// Its currency; `None`: nobody names one.
    pub currency: Option<String>,
    /// What `run` expected before it created anything, for the whole run.
    pub forecast: Option<f64>,
    /// The machines and volumes.
    pub items: Vec<Priced>,
}

impl MachineBill {
    /// How long the machines existed, in seconds.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "machines live for less than 2^53 seconds")]
    pub fn seconds(&self) -> f64 {
        self.ended_unix.saturating_sub(self.begun_unix) as f64
    }

    /// The number of machines and volumes without a price.
    #[must_use]
    pub fn unpriced(&self) -> usize {
        self.items.iter().filter(|item| item.per_hour.is_none()).count()
    }

    /// Adds the bill to those of earlier sessions. A session on machines that an earlier one left replaces that one's bill, since its own
    /// begins with their creation.
    pub fn add_to(self, bills: &mut Vec<Self>) {
        bills.retain(|earlier| !earlier.claims.iter().any(|claim| self.claims.contains(claim)));
        bills.push(self);
    }
}

#[cfg(test)]
mod tests {
    use super::{MachineBill, Priced};

    fn priced(per_hour: Option<f64>, unit: u64, least: u64) -> Priced {
        Priced { name: "a".to_owned(), per_hour, unit_seconds: unit, least_seconds: least }
    }

    #[test]
    fn a_started_unit_counts_whole() {
        let cost = |unit, least, seconds| priced(Some(3.6), unit, least).cost(seconds).unwrap();
        assert!((cost(3600, 0, 1.0) - 3.6).abs() < 1e-9);
        assert!((cost(3600, 0, 3600.0) - 3.6).abs() < 1e-9);
        assert!((cost(3600, 0, 3601.0) - 7.2).abs() < 1e-9);
        assert!((cost(1, 60, 10.0) - 0.06).abs() < 1e-9);
        assert!((cost(1, 60, 100.5) - 0.101).abs() < 1e-9);
        assert_eq!(priced(None, 1, 0).cost(10.0), None);
    }

    #[test]
    fn machines_that_a_session_left_are_billed_once() {
        let bill = |claim: &str, ended| MachineBill {
            claims: vec![claim.to_owned()],
            begun_unix: 100,
            ended_unix: ended,
            stays: true,
            amount: 1.0,
            currency: None,
            forecast: None,
            items: vec![priced(None, 1, 0)],
        };
        let mut bills = Vec::new();
        bill("a", 200).add_to(&mut bills);
        bill("b", 300).add_to(&mut bills);
        bill("a", 400).add_to(&mut bills);
        assert_eq!(
            bills.iter().map(|one| (one.claims[0].as_str(), one.seconds())).collect::<Vec<_>>(),
            [("b", 200.0), ("a", 300.0)]
        );
        assert_eq!(bills[0].unpriced(), 1);
    }
}
