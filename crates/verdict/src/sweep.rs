//! How far the figures scale along each factor with numbers as levels, everything else being the same (docs/statistics.md).

use crate::factors::{Rest, Shared, headline_of, number};
use crate::pairing::{Level, Rivals, by_round, family, most_trials, times};
use record::judged::{CellView, RatioView, SweepView};
use record::plan::Plan;
use std::collections::BTreeMap;

/// The least elasticity of a step that scales: twice the level brings 1.41 times the figure.
const LEAST_ELASTICITY: f64 = 0.5;
/// With fewer levels there is a comparison, and no course.
const LEAST_LEVELS: usize = 3;

/// One view for each factor and each combination of everything else, in the order of the cells.
pub(crate) fn of(plan: &Plan, cells: &[CellView]) -> Vec<SweepView> {
    let level = Level::of([(&plan.measure, most_trials(cells))]);
    courses(plan, cells).iter().filter_map(|course| course.view(plan, &level)).collect()
}

/// The cells that differ in one factor only.
struct Course<'a> {
    factor: &'a str,
    /// The names of stack and workload, with `{factor}` for its level.
    of: String,
    /// The levels as numbers and as written, with their cells.
    cells: Vec<(f64, &'a str, &'a CellView)>,
}

fn courses<'a>(plan: &'a Plan, cells: &'a [CellView]) -> Vec<Course<'a>> {
    let shared = Shared::among(plan);
    let several_targets = plan.cells.windows(2).any(|two| two[0].target != two[1].target);
    let views: BTreeMap<_, _> = cells.iter().map(|cell| (&cell.id, cell)).collect();
    let mut places = BTreeMap::new();
    let mut found: Vec<Course<'a>> = Vec::new();
    for cell in &plan.cells {
        let Some(view) = views.get(&cell.id).filter(|view| !view.void) else { continue };
        for (factor, written) in &cell.levels {
            let Some(number) = number(written) else { continue };
            let [stack, workload] =
                [&cell.stack.name, &cell.workload.name].map(|name| shared.name(cell, factor, written, name));
            let key = (Rest::of(cell, factor), stack.clone(), workload.clone());
            let place = *places.entry(key).or_insert_with(|| {
                let target = if several_targets { format!(" on {}", cell.target) } else { String::new() };
                found.push(Course { factor, of: format!("{stack} {workload}{target}"), cells: Vec::new() });
                found.len() - 1
            });
            found[place].cells.push((number, written, view));
        }
    }
    for course in &mut found {
        course.cells.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    found
}

impl Course<'_> {
    /// `None` with too few levels or without figures in common rounds.
    fn view(&self, plan: &Plan, level: &Level) -> Option<SweepView> {
        if self.cells.len() < LEAST_LEVELS {
            return None;
        }
        let metric = headline_of(plan, self.cells.iter().map(|(_, _, cell)| *cell));
        let rounds: Vec<_> =
            self.cells.iter().map(|(_, _, cell)| by_round(cell, metric)).collect::<Option<_>>()?;
        let rounds: Vec<&[Option<f64>]> = rounds.iter().map(Vec::as_slice).collect();
        let levels: Vec<f64> = self.cells.iter().map(|(number, _, _)| *number).collect();
        let scaling = stats::scaling(&levels, &rounds, LEAST_ELASTICITY, level.trim, level.each)?;
        let knee = scaling.knee;
        let last = self.cells.len() - 1;
        let (from, to) = (self.cells.get(knee)?, self.cells.get(last)?);
        let beyond = |metric: &str| {
            let rivals = Rivals::paired(to.2, from.2, metric, plan.measure.trial_seconds);
            family(&[rivals], level).first().filter(|_| knee < last)?.view()
        };
        let (gain, latency) = (beyond(metric), self.latency());
        let cost = latency.and_then(beyond);
        Some(SweepView {
            name: self.of.clone(),
            factor: self.factor.to_owned(),
            metric: metric.to_owned(),
            levels: self.cells.iter().map(|(_, written, _)| (*written).to_owned()).collect(),
            cells: self.cells.iter().map(|(_, _, cell)| cell.id.clone()).collect(),
            scales_to: (knee > 0).then(|| from.1.to_owned()),
            is_decided: scaling.is_decided,
            text: self.text(metric, (knee, scaling.is_decided), gain.as_ref(), latency.zip(cost.as_ref())),
            beyond: gain,
            latency: latency.map(str::to_owned).filter(|_| cost.is_some()),
            latency_beyond: cost,
        })
    }

    /// The tail latency that all cells have: where writes are synced, that of the write and its sync.
    fn latency(&self) -> Option<&'static str> {
        let all_have =
            |metric: &&str| self.cells.iter().all(|(_, _, cell)| cell.metrics.contains_key(*metric));
        ["durable_lat_p99", "read_lat_p99", "write_lat_p99"].into_iter().find(all_have)
    }

    fn text(
        &self,
        metric: &str,
        (knee, is_decided): (usize, bool),
        gain: Option<&RatioView>,
        cost: Option<(&str, &RatioView)>,
    ) -> String {
        let written = |at: usize| self.cells.get(at).map_or("", |(_, written, _)| *written);
        let (from, to) = (written(knee), written(self.cells.len() - 1));
        let said = match (knee, gain) {
            (0, _) if !is_decided => {
                format!("the rounds don't show whether {metric} scales with {}", self.factor)
            }
            (_, Some(_)) if !is_decided => format!(
                "{metric} scales with {} up to {from}, and the rounds don't show whether it does beyond",
                self.factor
            ),
            (0, _) => format!("{metric} doesn't scale with {}", self.factor),
            (_, None) => format!("{metric} scales with {} up to {to}, the highest level", self.factor),
            (_, Some(_)) => format!("{metric} scales with {} up to {from}", self.factor),
        };
        let gained = gain.map_or_else(String::new, |view| {
            format!("; at {to} it is {}", times(view, &format!("that at {from}")))
        });
        let paid = cost.map_or_else(String::new, |(metric, view)| {
            format!(", and {metric} is {}", times(view, "its own"))
        });
        format!("{said}{gained}{paid}")
    }
}

#[cfg(test)]
mod tests {
    use crate::run_tests::{cell, run_with};
    use record::judged::SweepView;

    /// Cells of a workload at depths 1, 2, 4 and 8, with these I/Os in each of five rounds.
    fn sweep(ios: [u64; 4]) -> Vec<SweepView> {
        let cells: Vec<_> = [1_u64, 2, 4, 8]
            .into_iter()
            .zip(ios)
            .map(|(depth, ios)| {
                let rounds: Vec<u64> =
                    [0, 3, 1, 4, 2].into_iter().map(|more| ios + ios * more * depth / 800).collect();
                let (mut cell, trials) = cell(&format!("d{depth}"), &rounds);
                cell.stack.name = "ext4".to_owned();
                cell.workload.name = format!("randread-{depth}");
                cell.levels = [("depth".to_owned(), depth.to_string())].into();
                (cell, trials)
            })
            .collect();
        run_with(&cells, |_| {}).sweeps
    }

    #[test]
    fn the_answer_names_where_it_stops_and_what_more_costs() {
        let views = sweep([10_000, 20_000, 21_000, 21_500]);
        let [view] = views.as_slice() else { panic!("{views:?}") };
        assert_eq!((view.scales_to.as_deref(), view.levels.len()), (Some("2"), 4));
        assert_eq!(view.name, "ext4 randread-{depth}");
        let begin = "iops scales with depth up to 2; at 8 it is 1.0";
        assert!(view.text.starts_with(begin), "{}", view.text);
        let beyond = view.beyond.unwrap();
        assert!(beyond.low.unwrap() < 1.08 && beyond.high.unwrap() > 1.07, "{beyond:?}");
    }

    #[test]
    fn flat_and_steady_growth_are_told_as_such() {
        let flat = sweep([10_000, 10_050, 9_980, 10_020]);
        assert_eq!(flat[0].scales_to, None);
        assert!(flat[0].text.contains("iops doesn't scale with depth; at 8 it is 1.0"), "{}", flat[0].text);
        let steady = sweep([10_000, 20_000, 40_000, 80_000]);
        assert_eq!((steady[0].scales_to.as_deref(), steady[0].beyond), (Some("8"), None));
        assert!(steady[0].text == "iops scales with depth up to 8, the highest level", "{}", steady[0].text);
    }

    #[test]
    fn what_the_rounds_do_not_show_is_said_to_be_open() {
        let cells: Vec<_> = [(1, [2_000, 40_000]), (2, [30_000, 10_000]), (4, [30_000, 90_000])]
            .into_iter()
            .map(|(depth, ios)| {
                let (mut cell, trials) = cell(&format!("d{depth}"), &ios);
                cell.stack.name = "ext4".to_owned();
                cell.workload.name = format!("randread-{depth}");
                cell.levels = [("depth".to_owned(), depth.to_string())].into();
                (cell, trials)
            })
            .collect();
        let view = &run_with(&cells, |_| {}).sweeps[0];
        assert!(!view.is_decided && view.scales_to.is_none(), "{view:?}");
        assert!(
            view.text.starts_with("the rounds don't show whether iops scales with depth; at 4"),
            "{}",
            view.text
        );
    }
}
