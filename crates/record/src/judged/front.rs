//! The cells of a workload by price and performance.

use crate::id::CellId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The cells of a workload that have a price, and their Pareto front: which of them nothing cheaper beats.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FrontView {
    /// Name of the workload.
    pub workload: String,
    /// Name of the metric that is compared with the price.
    pub metric: String,
    /// Currency of all prices; `None`: the experiment doesn't say.
    pub currency: Option<String>,
    /// Confidence of all places together, e.g. 0.95.
    pub confidence: f64,
    /// The cells, the cheapest first.
    pub cells: Vec<FrontCell>,
    /// The front in words.
    pub text: String,
}

/// One cell with its price. Prices are of all its volumes together, and of its machine if that has one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FrontCell {
    /// The cell.
    pub cell: CellId,
    /// Price in a month of 730 hours.
    pub per_month: f64,
    /// Price in a year of 8760 hours.
    pub per_year: f64,
    /// Price per month and 1000 IOPS; `None` where the cell has no IOPS.
    pub per_1000_iops: Option<PriceFigure>,
    /// Price per month and MB/s, of 1000² bytes; `None` where the cell has no bandwidth.
    pub per_mb_s: Option<PriceFigure>,
    /// Price of one finished job, by its duration: a copy of the corpus, a run of Bonnie++, a load whose jobs go over their data once;
    /// `None` where the workload is no job that ends by itself, or its time was up before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_job: Option<PriceFigure>,
    /// The limits within which a search (`find`) found the performance, e.g. `read_lat_p99 <= 10ms`; `None` for other cells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// Its place.
    pub place: FrontPlace,
    /// The cell that costs no more and is shown to be better; `None` unless it is dominated.
    pub dominated_by: Option<CellId>,
}

/// A price of a measured amount, with the interval of the measurement.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PriceFigure {
    /// The price.
    pub estimate: f64,
    /// Lower end of the interval; null when there is none.
    pub low: Option<f64>,
    /// Upper end of the interval; null when there is none.
    pub high: Option<f64>,
}

/// The place of a cell between price and performance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FrontPlace {
    /// It is on the front: shown to be better than each cell that costs no more.
    Member,
    /// A cell that costs no more is shown to be better.
    Dominated,
    /// The data show neither.
    Undecided,
}
