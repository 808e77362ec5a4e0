//! What the offers of a price list cost: computed from the list alone, without a run.

use crate::plan::PriceListInfo;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Name and version of the output format of `diskproof cost --json`. Within a major version, fields are only added.
pub const COST_FORMAT: &str = "diskproof.cost/1.0";

/// The cost of every offer of a price list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "diskproof.cost/1.0")]
pub struct Costs {
    /// Name and version of this document: [`COST_FORMAT`] if this build wrote it.
    pub format: String,
    /// The file that the prices come from, as given on the command line.
    pub file: String,
    /// Currency, e.g. `EUR`; `None`: the list doesn't say.
    pub currency: Option<String>,
    /// Date and source of the prices.
    pub list: PriceListInfo,
    /// The time that `total` is for, in seconds.
    pub seconds: u64,
    /// The offers, in the order of the list.
    pub offers: Vec<OfferCost>,
    /// Offers without a cost.
    pub left_out: Vec<OfferLeftOut>,
}

/// The cost of one offer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OfferCost {
    /// Name of the offer.
    pub offer: String,
    /// How many of it are paid for, as a plain decimal number.
    pub count: String,
    /// What is paid for, part by part, for all of them together.
    pub parts: Vec<PartCost>,
    /// The sum of the parts.
    pub sum: CostOver,
}

/// One part of the cost of an offer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartCost {
    /// The key of the price list that the part comes from, e.g. `per_gb_month`.
    pub key: String,
    /// What is paid for, in words, e.g. `500 GB`.
    pub text: String,
    /// Its cost.
    pub cost: CostOver,
}

/// A cost over several times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CostOver {
    /// In an hour of continuous use, with an upfront payment spread evenly over its term.
    pub per_hour: Amount,
    /// In a month of 730 hours, likewise.
    pub per_month: Amount,
    /// In a year of 8760 hours, likewise.
    pub per_year: Amount,
    /// What is paid for the whole time asked for: started units and months in full, and an upfront payment in full for each term begun.
    pub total: Amount,
}

/// An amount of money. It is computed exactly, and rounded only here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Amount {
    /// The floating-point number that is nearest to the exact amount.
    pub value: f64,
    /// The exact amount rounded to hundredths (`per_hour`: to ten-thousandths), a half away from zero, e.g. `5312.53`.
    pub text: String,
}

/// An offer without a cost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OfferLeftOut {
    /// Name of the offer.
    pub offer: String,
    /// Why, and what to write.
    pub text: String,
}
