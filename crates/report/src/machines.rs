//! The machines that loaded a cell at the same time, as a table.

use crate::document::{Block, Cell, Column, Level, Table};
use crate::index::Index;
use crate::number;
use record::judged::{Metric, TogetherView};
use record::metric::LARGE_BLOCK;

/// The heading, what the machines did together, and the table; nothing if each cell has one machine.
pub(crate) fn machines(index: &Index<'_>) -> Vec<Block> {
    let mut table = Table::new(vec![
        Column::words("cell").once(Level::Group),
        Column::words("machine"),
        Column::words("side").evident(),
        Column::numbers("measured"),
        Column::numbers("p99"),
    ]);
    table.title = Some("Machines");
    let mut said = Vec::new();
    let together = index.view.cells.iter().filter_map(|cell| Some((cell, cell.together.as_ref()?)));
    for (cell, together) in together {
        let name = index.name(&cell.id);
        if !together.text.is_empty() {
            said.push(format!("{name}: {}", together.text).into());
        }
        add(&mut table, &name, together);
    }
    if table.rows.is_empty() {
        return Vec::new();
    }
    let heading = "Each machine's own figures: the cell's figures above are the sums over all machines";
    vec![Block::heading(heading), Block::list(said), Block::Table(table)]
}

fn add(table: &mut Table, name: &str, together: &TogetherView) {
    let mut fresh = true;
    for machine in &together.machines {
        for side in ["read", "write", "trim"] {
            let of = |figure: &str| machine.metrics.get(&format!("{side}_{figure}"));
            let Some(iops) = of("iops") else { continue };
            let (text, unit) = number::with_interval(rate(iops, of("bw")));
            let p99 = of("lat_p99").map(number::alone).unwrap_or_default();
            let measured = Cell { unit, ..text.into() };
            let row = vec![
                name.to_owned().into(),
                machine.target.clone().into(),
                side.into(),
                measured,
                p99.into(),
            ];
            table.add(fresh, row);
            fresh = false;
        }
    }
}

/// The bandwidth where the blocks are large, else the I/Os per second.
#[expect(clippy::cast_precision_loss, reason = "a small power of two")]
fn rate<'m>(iops: &'m Metric, bandwidth: Option<&'m Metric>) -> &'m Metric {
    bandwidth.filter(|bw| bw.estimate >= iops.estimate * LARGE_BLOCK as f64).unwrap_or(iops)
}

#[cfg(test)]
mod tests {
    use crate::testing;
    use record::judged::{MachineView, TogetherView};

    #[test]
    fn every_machine_has_its_own_line_and_the_sentence_stands_above() {
        let mut view = testing::striped();
        let metrics = view.cells[0].metrics.clone();
        let machine = |name: &str| MachineView { target: name.to_owned(), metrics: metrics.clone() };
        view.cells[0].together = Some(TogetherView {
            machines: vec![machine("ham1"), machine("ham2")],
            overlap: Some(0.996),
            start_spread_seconds: Some(0.002),
            uncertain_seconds: Some(0.0004),
            metric: "iops".to_owned(),
            slowest: Some("ham2".to_owned()),
            max_over_min: Some(1.2),
            jain: Some(0.99),
            text: "2 machines ran together in 99.6 % of the time.".to_owned(),
        });
        let page = testing::page(&view, 120);
        for said in ["Each machine's own figures", "ham1", "ham2", "ran together in 99.6 %"] {
            assert!(page.contains(said), "{said}: {page}");
        }
        view.cells[0].together = None;
        assert!(!testing::page(&view, 120).contains("ham2"));
    }
}
