//! What the machine itself passes on, all its volumes together.

use super::forecast::Forecast;
use super::geometry::float;
use super::load::Load;
use super::provisioned::ios_per_request;
use super::stacking::Stacking;
use crate::detected::evidence;
use crate::figures::{bytes, percent, rate};
use record::judged::{CellView, Limit, LimitKind};
use record::plan::{Cell, Plan};
use std::collections::BTreeMap;

/// From this share of the ceiling on, the machine is the limit.
const REACHED: f64 = 0.95;

/// The requests per second that a machine passes on, and why.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Passed {
    pub(crate) requests_per_second: f64,
    pub(crate) step: String,
}

/// Returns what the cell's machine passes on; `None` if the experiment doesn't say.
pub(crate) fn ceiling(plan: &Plan, cell: &Cell, stacking: &Stacking, load: &Load) -> Option<Passed> {
    let target = plan.targets.iter().find(|target| target.name == cell.target)?;
    let ceiling = target.ceiling?;
    let copies = f64::from(stacking.geometry.copies);
    let ios = ios_per_request(stacking, load);
    let moved = load.mean_bytes() * (load.read_share + (1.0 - load.read_share) * copies);
    let of_ios =
        ceiling.iops.map(|most| (float(most) / ios, format!("iops {}", rate(float(most))), rate(ios)));
    let of_bytes = ceiling
        .bytes_per_second
        .map(|most| (float(most) / moved, format!("bps {}/s", bytes(float(most))), bytes(moved)));
    let (requests_per_second, limit, demand) =
        [of_ios, of_bytes].into_iter().flatten().min_by(|a, b| a.0.total_cmp(&b.0))?;
    let step = format!(
        "the machine {} passes on {limit}, and a request needs {demand} of it: {} requests/s",
        target.name,
        rate(requests_per_second)
    );
    Some(Passed { requests_per_second, step })
}

/// Lowers a forecast to what the machine passes on.
pub(crate) fn lowered(mut forecast: Forecast, passed: Option<Passed>) -> Forecast {
    let Some(passed) = passed.filter(|passed| passed.requests_per_second < forecast.at_most) else {
        return forecast;
    };
    let most = passed.requests_per_second;
    forecast.steps.push(passed.step);
    (forecast.expected, forecast.at_least, forecast.at_most) =
        (forecast.expected.min(most), forecast.at_least.min(most), most);
    forecast
}

/// Names the machine as the limit of each cell that reaches what it passes on, unless a throttle was met.
pub(crate) fn name_limits(plan: &Plan, cells: &mut [CellView]) {
    for (planned, view) in plan.cells.iter().zip(cells) {
        let met =
            view.limited_by.as_ref().is_some_and(|limit| limit.by == LimitKind::Throttle && limit.shown);
        if met || view.void || planned.find().is_some() {
            continue;
        }
        if let Some(limit) = limit_of(plan, planned, view) {
            view.limited_by = Some(limit);
        }
    }
}

fn limit_of(plan: &Plan, planned: &Cell, view: &CellView) -> Option<Limit> {
    let load = Load::of(&planned.workload)?;
    let stacking = Stacking::of(&planned.stack, &load)?;
    let passed = ceiling(plan, planned, &stacking, &load)?;
    let iops = view.metrics.get("iops")?.estimate;
    let share = iops / passed.requests_per_second;
    (share >= REACHED).then(|| Limit {
        by: LimitKind::Machine,
        shown: false,
        evidence: evidence([
            ("machine_limit_share", Some(share)),
            ("machine_limit_iops", Some(passed.requests_per_second)),
        ]),
        against: BTreeMap::new(),
        text: format!("It reached {} of what its machine passes on: {}.", percent(share), passed.step),
    })
}

#[cfg(test)]
mod tests {
    use crate::run_tests::{cell, run_with};
    use record::judged::LimitKind;
    use record::plan::Plan;
    use record::target::{Ceiling, Target, TargetKind};
    use record::volume::{Volume, VolumeKind};

    /// 1000 reads of 4 KiB in 20 s are 50 IOPS.
    #[test]
    fn a_cell_at_the_machine_s_ceiling_is_limited_by_the_machine() {
        let by = |iops: u64, name: &str| {
            let (mut cell, trials) = cell("a", &[1000, 1010, 990]);
            let kind = VolumeKind::Directory { path: "/srv".into() };
            cell.stack.volumes = vec![Volume { name: "v".to_owned(), kind }];
            let mut view = run_with(&[(cell, trials)], |plan: &mut Plan| {
                let ceiling = Some(Ceiling { iops: Some(iops), bytes_per_second: None });
                let name = name.to_owned();
                plan.targets = vec![Target {
                    name,
                    kind: TargetKind::Local,
                    address: None,
                    ceiling,
                    shares: Vec::new(),
                    hosted_by: None,
                }];
            });
            view.cells.remove(0).limited_by.unwrap()
        };
        let limit = by(51, "local");
        assert_eq!((limit.by, limit.shown), (LimitKind::Machine, false), "{}", limit.text);
        assert!(limit.text.contains("the machine local passes on iops 51"), "{}", limit.text);
        assert!((limit.evidence["machine_limit_share"] - 50.0 / 51.0).abs() < 1e-9);
        assert_ne!(by(60, "local").by, LimitKind::Machine);
        assert_ne!(by(51, "other").by, LimitKind::Machine);
    }
}
