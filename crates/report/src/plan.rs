//! A plan for people: the matrix, the order of the first round, the forecast.

use crate::paint::{Paint, Tone};
use crate::table::STYLE;
use crate::wrap::fill;
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table};
use record::quantity::{Bytes, Seconds};
use std::fmt::Write as _;

/// No more cells than this are listed; their number always is.
const MOST_CELLS: usize = 60;

/// One cell of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanCell {
    /// Name of the stack.
    pub stack: String,
    /// Name of the workload.
    pub workload: String,
    /// What the workload asks, in words.
    pub asks: String,
}

/// What a run would cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Forecast {
    /// Trials in all.
    pub trials: u64,
    /// Seconds in all.
    pub seconds: f64,
    /// Bytes written in all, laying out included.
    pub bytes_written: u64,
    /// The most space taken at once, in bytes.
    pub space_bytes: u64,
    /// Whether the node needs root.
    pub needs_root: bool,
}

/// A plan, ready to be shown.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanView {
    /// The experiment's name.
    pub experiment: String,
    /// Its question.
    pub question: Option<String>,
    /// The volumes, one sentence each.
    pub volumes: Vec<String>,
    /// The cells, in the order of the file.
    pub cells: Vec<PlanCell>,
    /// For the first round: indices into `cells`, in the order they would be measured.
    pub first_round: Vec<usize>,
    /// Rounds planned.
    pub rounds: u32,
    /// Seed of the order.
    pub seed: u64,
    /// What it would cost.
    pub forecast: Forecast,
}

/// A plan as a page of text.
#[must_use]
pub fn plan(view: &PlanView, width: usize, colour: bool) -> String {
    let paint = Paint { colour };
    let mut out = paint.text(Tone::Heading, &view.experiment);
    out.push('\n');
    if let Some(question) = &view.question {
        out.push_str(&fill("", question, width));
    }
    let _ = write!(out, "\n{}\n", paint.text(Tone::Heading, "Volumes"));
    for volume in &view.volumes {
        out.push_str(&fill("  ", volume, width));
    }
    let heading = format!("Cells: {}, measured once per round, in another order each time", view.cells.len());
    let _ = write!(out, "\n{}\n", paint.text(Tone::Heading, &heading));
    out.push_str(&cells(view, width));
    if view.cells.len() > MOST_CELLS {
        let _ = writeln!(out, "  and {} more (--json lists all)", view.cells.len() - MOST_CELLS);
    }
    let order: Vec<String> = view.first_round.iter().take(MOST_CELLS).map(|i| (i + 1).to_string()).collect();
    let more = if view.first_round.len() > MOST_CELLS { " ..." } else { "" };
    let _ = write!(out, "\n{}\n", paint.text(Tone::Heading, "Forecast"));
    let forecast = &view.forecast;
    out.push_str(&fill("  ", &format!("round 1 (seed {}): {}{more}", view.seed, order.join(" ")), width));
    let rounds = if view.rounds == 1 { "1 round".to_owned() } else { format!("{} rounds", view.rounds) };
    let _ = writeln!(out, "  {} trials: {} cells x {rounds}", forecast.trials, view.cells.len());
    let _ = writeln!(out, "  about {}", Seconds(forecast.seconds));
    let _ = writeln!(out, "  about {} written", Bytes(forecast.bytes_written));
    let _ = writeln!(out, "  {} of space", Bytes(forecast.space_bytes));
    let root = if forecast.needs_root { "root, or sudo" } else { "no root" };
    let _ = writeln!(out, "  needs {root}");
    out
}

fn cells(view: &PlanView, width: usize) -> String {
    let mut table = Table::new();
    table.load_style(STYLE).set_content_arrangement(ContentArrangement::Dynamic).force_no_tty();
    table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
    table.set_header(["", "stack", "workload", "asks"]);
    for (index, cell) in view.cells.iter().take(MOST_CELLS).enumerate() {
        let number = Cell::new(index + 1).set_alignment(CellAlignment::Right);
        table.add_row(vec![number, Cell::new(&cell.stack), Cell::new(&cell.workload), Cell::new(&cell.asks)]);
    }
    table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

#[cfg(test)]
mod tests {
    use super::{Forecast, PlanCell, PlanView, plan};

    #[test]
    fn a_plan_at_80() {
        let cell = |n: u32, workload: &str, asks: &str| PlanCell {
            stack: format!("btrfs-raid0-{n}"),
            workload: workload.to_owned(),
            asks: asks.to_owned(),
        };
        let view = PlanView {
            experiment: "striped-volumes".to_owned(),
            question: Some("How many IOPS does a stripe of N provisioned volumes deliver?".to_owned()),
            volumes: vec!["vol[0] to vol[3]: emulated, 1 GiB, 80 read IOPS, 80 write IOPS".to_owned()],
            cells: vec![
                cell(1, "randread-16k", "randread, 16 KiB, depth 64, direct"),
                cell(2, "randread-16k", "randread, 16 KiB, depth 64, direct"),
                cell(1, "randrw-16k", "randrw 50/50, 16 KiB, depth 64, direct"),
            ],
            first_round: vec![2, 0, 1],
            rounds: 3,
            seed: 7,
            forecast: Forecast {
                trials: 9,
                seconds: 254.0,
                bytes_written: 7 << 30,
                space_bytes: 4 << 30,
                needs_root: true,
            },
        };
        insta::assert_snapshot!(plan(&view, 80, false));
    }
}
