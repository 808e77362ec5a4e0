//! The phases of job files, as a table.

use crate::document::{Block, Cell, Column, Level, Table};
use crate::index::Index;
use crate::number;
use record::judged::PhaseView;
use record::metric::LARGE_BLOCK;

/// The most sections of a phase that are named.
const MOST_NAMES: usize = 3;

/// The heading and the table; nothing if no cell has phases.
pub(crate) fn phases(index: &Index<'_>) -> Vec<Block> {
    let mut table = Table::new(vec![
        Column::words("job file").once(Level::Group),
        Column::words("phase"),
        Column::words("side").evident(),
        Column::numbers("measured"),
        Column::numbers("p99"),
    ]);
    table.title = Some("Phases");
    for cell in index.view.cells.iter().filter(|cell| !cell.phases.is_empty()) {
        let name = if index.stacks { index.name(&cell.id) } else { cell.workload.clone() };
        let mut fresh = true;
        for (number, phase) in (1_usize..).zip(&cell.phases) {
            for (side, measured, p99) in sides(phase) {
                let phase = format!("{number}: {}", sections(phase));
                table.add(fresh, vec![name.clone().into(), phase.into(), side.into(), measured, p99.into()]);
                fresh = false;
            }
        }
    }
    if table.rows.is_empty() {
        return Vec::new();
    }
    let heading =
        "Phases of the job file: sections that wait for others run after them, so their rates are not added";
    vec![Block::heading(heading), Block::Table(table)]
}

/// The names of a phase's sections.
fn sections(phase: &PhaseView) -> String {
    let mut names: Vec<String> =
        phase.sections.iter().take(MOST_NAMES).map(|name| format!("[{name}]")).collect();
    match phase.sections.len().saturating_sub(MOST_NAMES) {
        0 => {}
        more => names.push(format!("and {more} more")),
    }
    names.join(" ")
}

/// Each direction of a phase with its rate and the 99th percentile of its latencies. Large blocks have a bandwidth.
fn sides(phase: &PhaseView) -> Vec<(&'static str, Cell, String)> {
    let of = |side: &'static str| {
        let iops = phase.metrics.get(&format!("{side}_iops"))?;
        let bandwidth = phase.metrics.get(&format!("{side}_bw"));
        let large = bandwidth.filter(|bw| bw.estimate >= iops.estimate * LARGE_BLOCK_BYTES);
        let (text, unit) = number::with_interval(large.unwrap_or(iops));
        let p99 = phase.metrics.get(&format!("{side}_lat_p99")).map(number::alone).unwrap_or_default();
        Some((side, Cell { unit, ..text.into() }, p99))
    };
    ["read", "write", "trim"].into_iter().filter_map(of).collect()
}

/// [`LARGE_BLOCK`], for a mean.
#[expect(clippy::cast_precision_loss, reason = "a small power of two")]
const LARGE_BLOCK_BYTES: f64 = LARGE_BLOCK as f64;

#[cfg(test)]
mod tests {
    use crate::testing;
    use record::judged::PhaseView;

    #[test]
    fn every_phase_has_its_own_line() {
        let mut view = testing::striped();
        let metrics = view.cells[0].metrics.clone();
        let phase = |name: &str| PhaseView { sections: vec![name.to_owned()], metrics: metrics.clone() };
        view.cells[0].phases = vec![phase("warm"), phase("load")];
        let page = testing::page(&view, 120);
        assert!(page.contains("Phases of the job file"), "{page}");
        for name in ["1: [warm]", "2: [load]"] {
            assert!(page.contains(name), "{name}: {page}");
        }
        view.cells[0].phases.clear();
        assert!(!testing::page(&view, 120).contains("Phases of the job file"));
    }
}
