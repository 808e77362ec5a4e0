//! Which stack delivers most, workload by workload: a first, conservative answer.
//!
//! Two cells count as different only when their intervals don't overlap; that is stricter than a test on the difference
//! (Schenker and Gentleman 2001), so what it tells apart is apart.

use crate::figures::{range, with_unit};
use record::judged::{Answer, CellView, Metric};
use std::collections::BTreeMap;

/// One answer per workload that at least two cells measured with storage figures.
pub(crate) fn of(cells: &[CellView]) -> Vec<Answer> {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut workloads: Vec<(&str, Vec<&CellView>)> = Vec::new();
    for cell in cells {
        let place = *places.entry(&cell.workload).or_insert(workloads.len());
        match workloads.get_mut(place) {
            Some((_, rivals)) => rivals.push(cell),
            None => workloads.push((&cell.workload, vec![cell])),
        }
    }
    workloads.into_iter().filter_map(|(workload, rivals)| answer(workload, &rivals)).collect()
}

/// Large blocks are judged by bandwidth, small ones by I/Os per second.
fn headline(cell: &CellView) -> &'static str {
    match &cell.asked {
        Some(asked) if asked.bs_bytes >= 128 << 10 => "bw",
        _ => "iops",
    }
}

fn answer(workload: &str, cells: &[&CellView]) -> Option<Answer> {
    let (void, rivals): (Vec<&CellView>, Vec<&CellView>) = cells.iter().partition(|c| c.void);
    let metric = headline(rivals.first()?);
    let mut ranked: Vec<(&CellView, &Metric)> =
        rivals.iter().filter_map(|c| Some((*c, c.metrics.get(metric)?))).collect();
    if ranked.len() < 2 {
        return None;
    }
    ranked.sort_by(|a, b| b.1.estimate.total_cmp(&a.1.estimate));
    let (best, top) = ranked[0];
    let overlaps = |m: &Metric| match (top.low, m.high) {
        (Some(low), Some(high)) => high >= low,
        _ => true,
    };
    let tied: Vec<&CellView> = ranked[1..].iter().filter(|(_, m)| overlaps(m)).map(|(c, _)| *c).collect();
    let figure = match (top.low, top.high) {
        (Some(low), Some(high)) => {
            format!("{} ({})", with_unit(top.estimate, &top.unit), range(low, high, &top.unit))
        }
        _ => format!("{} in one trial", with_unit(top.estimate, &top.unit)),
    };
    let text = if tied.is_empty() {
        let (second, next) = ranked[1];
        let times = top.estimate / next.estimate;
        format!(
            "{} delivers most: {figure}, {times:.2} times the next best, {}",
            name(best, &rivals),
            name(second, &rivals)
        )
    } else {
        let names: Vec<String> = tied.iter().map(|c| name(c, &rivals)).collect();
        format!(
            "{} has the highest estimate, {figure}, but can't be told apart from {}",
            name(best, &rivals),
            list(&names)
        )
    };
    let text = if void.is_empty() {
        text
    } else {
        let names: Vec<String> = void.iter().map(|c| name(c, cells)).collect();
        format!("{text} (not compared, since their figures are not storage figures: {})", list(&names))
    };
    Some(Answer {
        comparisons: Vec::new(),
        workload: workload.to_owned(),
        metric: metric.to_owned(),
        best: best.id.clone(),
        tied: tied.into_iter().map(|c| c.id.clone()).collect(),
        text,
    })
}

/// The stack's name, with the target where there are several.
fn name(cell: &CellView, rivals: &[&CellView]) -> String {
    if rivals.iter().any(|r| r.target != cell.target) {
        format!("{} on {}", cell.stack, cell.target)
    } else {
        cell.stack.clone()
    }
}

/// Names in a sentence; of many, the first few and their number.
fn list(names: &[String]) -> String {
    const MOST: usize = 6;
    match names {
        [] => String::new(),
        [one] => one.clone(),
        many if many.len() > MOST => format!("{} and {} more", many[..MOST].join(", "), many.len() - MOST),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}
