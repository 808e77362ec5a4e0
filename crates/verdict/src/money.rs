//! What cells cost.

use record::judged::CellView;
use record::plan::Plan;

/// Hours per month: 365 days of 24 hours, divided by 12.
pub(crate) const HOURS_PER_MONTH: f64 = 730.0;

/// The price of all volumes of a cell per month; `None` if a volume has no price, or if all cost nothing.
pub(crate) fn per_month(plan: &Plan, view: &CellView) -> Option<f64> {
    let cell = plan.cells.iter().find(|c| c.id == view.id)?;
    plan.price_per_hour(cell).map(|per_hour| per_hour * HOURS_PER_MONTH)
}
