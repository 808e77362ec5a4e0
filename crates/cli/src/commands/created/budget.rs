//! The budget of money for created machines: checked before anything is created.

use super::COMING_AND_GOING;
use crate::exit::Failure;
use fleet::created::{Bill, Group, bill};
use record::plan::{Measure, Plan};
use report::money;

/// What the machines of a plan cost from their creation to their end; `None`: the prices are in several currencies. The plan has the
/// experiment's own prices, not yet the drivers'.
pub(super) fn cost(plan: &Plan, groups: &[Group]) -> Option<Bill> {
    bill(plan, groups, seconds(plan) + COMING_AND_GOING)
}

/// The seconds of all rounds. A budget of money would cut the forecast at itself, and so hide what is beyond it.
fn seconds(plan: &Plan) -> f64 {
    let measure = Measure { max_cost: None, ..plan.measure.clone() };
    spec::forecast(&Plan { measure, ..plan.clone() }).seconds
}

/// What the rest of a run costs, and what its earlier sessions of `earlier` seconds cost; they count as one session, so this is the least
/// that they can have cost.
pub(super) fn cost_again(plan: &Plan, groups: &[Group], earlier: f64) -> Option<Bill> {
    let rest = bill(plan, groups, (seconds(plan) - earlier).max(0.0) + COMING_AND_GOING)?;
    if earlier <= 0.0 {
        return Some(rest);
    }
    let before = bill(plan, groups, earlier + COMING_AND_GOING)?;
    Some(Bill { amount: rest.amount + before.amount, ..rest })
}

/// Refuses a run whose machines would cost more than its budget of money, by started billing unit.
pub(super) fn within(plan: &Plan, bill: Option<&Bill>) -> Result<(), Failure> {
    let Some(most) = plan.measure.max_cost else { return Ok(()) };
    match bill {
        None => Err(Failure::input(
            "the prices of the experiment and of the machines' drivers are in several currencies, so no budget of money can hold",
        )),
        Some(bill) if bill.unpriced > 0 => Err(Failure::input(format!(
            "{} of the machines and volumes have no price, so no budget of money can hold; write `price:` in their targets, or leave the budget out",
            bill.unpriced
        ))),
        Some(bill) if bill.amount > most => {
            let shown = |amount| money(amount, bill.currency.as_deref());
            Err(Failure::input(format!(
                "the machines would cost {} by started billing unit, and the budget is {}: fewer rounds, fewer machines, or a larger budget",
                shown(bill.amount),
                shown(most)
            )))
        }
        Some(_) => Ok(()),
    }
}
