//! `diskproof cost FILE`: what the offers of a price list cost, without a run.

use super::experiment;
use crate::args::Cost;
use crate::exit::{Exit, Failure};
use crate::settings::Settings;
use crate::{output, page};
use spec::CostAsk;

pub(crate) fn cost(args: &Cost, settings: &Settings) -> Result<Exit, Failure> {
    let ask = CostAsk {
        seconds: args.time,
        size_bytes: args.size,
        iops: args.iops,
        throughput_bps: args.throughput,
    };
    let costs = spec::costs(&args.file, &ask).map_err(experiment::failure)?;
    if let (true, Some(left)) = (costs.offers.is_empty(), costs.left_out.first()) {
        let others = if costs.left_out.len() > 1 { "; no offer of the list has a cost" } else { "" };
        return Err(Failure::input(format!("offer `{}`: {}{others}", left.offer, left.text)));
    }
    let today = experiment::today();
    if args.json {
        output::json(&report::cost_json(&costs).map_err(Failure::ours)?)?;
    } else {
        page::show(&report::cost(&costs, &today), settings)?;
    }
    Ok(Exit::Fine)
}
