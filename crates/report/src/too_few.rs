//! Figures that the rounds don't show: their interval is wider than the figure itself.

use crate::document::{Style, Words};
use crate::index::Index;
use crate::measured::{Measured, mark};
use crate::number;
use crate::rows::Line;
use record::judged::{CellView, Metric};

/// The half-width that makes a figure of them, where the experiment doesn't ask for another.
const WANTED: f64 = 0.10;

/// The most figures that are forecast one by one.
const MOST: usize = 8;

/// One line for each such figure in the table: its interval, and how many more rounds would make it a figure. The last line says how to
/// run them.
pub(crate) fn forecasts(index: &Index<'_>, body: &[Measured<'_>]) -> Vec<Words> {
    let wanted = index.view.measure.interval.unwrap_or(WANTED);
    // Without storage figures, and for rounds that climb, more rounds are no remedy.
    let helped = |cell: &CellView| mark(cell).is_none() && !index.climbs(&cell.id);
    let found: Vec<(Words, Option<u32>)> = body
        .iter()
        .filter(|(cell, _)| helped(cell))
        .flat_map(|(cell, lines)| lines.iter().filter_map(|line| forecast(index, cell, line, wanted)))
        .collect();
    let all = found.iter().filter_map(|(_, all)| *all).max();
    let hidden = found.len().saturating_sub(MOST);
    let mut lines: Vec<Words> = found.into_iter().map(|(words, _)| words).take(MOST).collect();
    if hidden > 0 {
        lines.push(Words::from(format!("and {hidden} more.")));
    }
    lines.extend(all.map(|all| Words::from(format!("For all of them: {}.", how_to_run(index, all)))));
    lines
}

/// The forecast of one figure, and the number of all rounds in it; `None` if the rounds are enough for a figure.
fn forecast(index: &Index<'_>, cell: &CellView, line: &Line, wanted: f64) -> Option<(Words, Option<u32>)> {
    let metric = line.metrics.first().and_then(|name| cell.metrics.get(name))?;
    let (low, high) = metric.low.zip(metric.high).filter(|_| metric.is_too_wide())?;
    let (range, unit) = number::interval(low, high, &metric.unit);
    let all = rounds_for(metric, wanted);
    let rounds = match all.map(|all| all.saturating_sub(metric.n).max(1)) {
        None => "no number of rounds can be forecast".to_owned(),
        Some(1) => format!("about 1 more round to ±{}", asked(wanted)),
        Some(more) => format!("about {more} more rounds to ±{}", asked(wanted)),
    };
    let name = Words::styled(Style::Strong, index.name(&cell.id));
    Some((name.then(format!(", {}: {range} {unit}; {rounds}.", line.side)), all))
}

/// How to make this many rounds.
fn how_to_run(index: &Index<'_>, rounds: u32) -> String {
    match index.view.measure.until {
        Some(_) => format!("`diskproof resume {} --rounds {rounds}`", index.view.run),
        None => format!("a new run with `measure: {{ rounds: {rounds} }}`"),
    }
}

/// A share as it is asked for: `5 %`, `2.5 %`.
fn asked(share: f64) -> String {
    let percent = share * 100.0;
    if (percent - percent.round()).abs() < 0.05 { format!("{percent:.0} %") } else { number::percent(share) }
}

/// The number of all rounds that would narrow the interval to this share of the estimate, if the spread stays as it is.
fn rounds_for(metric: &Metric, wanted: f64) -> Option<u32> {
    let n = usize::try_from(metric.n).ok()?;
    stats::rounds_to_narrow(metric.half_width()?, n, metric.confidence, wanted * metric.estimate)
}

#[cfg(test)]
mod tests {
    use crate::testing;
    use record::finding::{Claim, Severity};
    use record::plan::{Goal, Until};

    #[test]
    fn the_table_shows_the_interval_and_the_page_how_many_rounds_would_do() {
        let mut view = testing::striped();
        let wild = view.cells[0].metrics.get_mut("read_iops").unwrap();
        (wild.estimate, wild.low, wild.high, wild.n) = (1100.0, Some(0.0), Some(2900.0), 2);
        for page in [testing::page(&view, 80), testing::page(&view, 120), testing::list(&view)] {
            let page = page.replace('\\', "").split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(page.contains("too few rounds: 0 to"), "{page}");
            assert!(page.contains("0 to 2,900 IOPS; about 14 more rounds to ±10 %"), "{page}");
            assert!(page.contains("a new run with `measure: { rounds: 16 }`"), "{page}");
        }
        assert!(testing::page(&view, 80).contains("160.3 ± 0.9"), "the others are figures");
        view.measure.until = Some(Until::new(Goal::Interval(0.10), None));
        assert!(testing::page(&view, 120).contains("`diskproof resume 20261121-201455-3f9a --rounds 16`"));
        view.measure.interval = Some(0.05);
        assert!(testing::page(&view, 120).contains("more rounds to ±5 %"));
    }

    #[test]
    fn more_rounds_are_no_remedy_for_what_climbs_or_is_void() {
        let mut view = testing::striped();
        for cell in &mut view.cells[..2] {
            let wild = cell.metrics.get_mut("read_iops").unwrap();
            (wild.estimate, wild.low, wild.high) = (1100.0, Some(0.0), Some(2900.0));
        }
        view.cells[0].void = true;
        let id = view.cells[1].id.0.clone();
        view.findings = vec![testing::finding(&id, Claim::Trend, Severity::Caveat, "It climbs.", "Wait.")];
        assert!(!testing::page(&view, 120).contains("more rounds to"));
    }
}
