//! `diskproof plan FILE --choose`: the stacks by model and price, before anything is measured.

use crate::args::PlanArgs;
use crate::exit::{Exit, Failure};
use crate::settings::Settings;
use crate::{output, page};
use record::choice::Want;
use record::plan::Plan;

pub(super) fn choose(plan: &Plan, args: &PlanArgs, settings: &Settings) -> Result<Exit, Failure> {
    let prospect = verdict::prospect(plan, wanted(plan, args)?);
    if args.json {
        output::json(&report::prospect_json(&prospect).map_err(Failure::ours)?)?;
    } else {
        page::show(&report::prospect(&prospect), settings)?;
    }
    Ok(Exit::Fine)
}

/// The limits of the command line, else those of the experiment.
fn wanted<'a>(plan: &'a Plan, args: &'a PlanArgs) -> Result<&'a [Want], Failure> {
    if let Some(typed) = &args.want {
        return Ok(&typed.0);
    }
    plan.measure.until.as_ref().and_then(|until| until.cheapest_with()).ok_or_else(|| {
        Failure::input(
            "the experiment doesn't say what a stack must do: add `--want 'iops >= 3000'`, or write `until: { best: price, want: ... }`",
        )
    })
}
