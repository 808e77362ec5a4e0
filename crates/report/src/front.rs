//! The table of prices: what each cell costs, what its performance costs, and which cells nothing cheaper beats.

use crate::cost::list_in_words;
use crate::document::{Block, Cell, Column, Level, Table, Tone, Words};
use crate::index::Index;
use crate::number;
use record::judged::{CellView, FrontCell, FrontPlace, FrontView, PriceFigure};
use record::quantity::money;

/// The columns that each layout leaves out, the widest layout first.
const LEFT_OUT: [&[&str]; 3] = [&[], &[YEAR], &[YEAR, PER_MB_S]];
const YEAR: &str = "a year";
const PER_MB_S: &str = "per MB/s";
const PER_JOB: &str = "per job";
/// The place of the price per job in a row.
const JOB_PLACE: usize = 7;

/// The section about prices; nothing if no cell has one.
pub(crate) fn fronts(index: &Index<'_>) -> Vec<Block> {
    let view = index.view;
    if view.fronts.is_empty() {
        return Vec::new();
    }
    let several = view.fronts.len() > 1;
    let mut told: Vec<Words> = view.fronts.iter().map(|front| sentence(front, several)).collect();
    told.extend(
        view.prices.list.as_ref().map(|list| Words::from(format!("The list has {}.", list_in_words(list)))),
    );
    vec![Block::heading("Price and performance"), Block::Table(table(index, several)), Block::list(told)]
}

fn sentence(front: &FrontView, several: bool) -> Words {
    let workload = if several { format!("{}: ", front.workload) } else { String::new() };
    let confidence = front.confidence * 100.0;
    format!("{workload}{} ({confidence:.0} % confidence for all places together).", front.text).into()
}

fn table(index: &Index<'_>, several: bool) -> Table {
    let mut columns = vec![
        Column::words("workload").once(Level::Group),
        Column::words("stack"),
        Column::numbers("a month"),
        Column::numbers(YEAR),
        Column::numbers("measured"),
        Column::numbers("per 1000 IOPS"),
        Column::numbers(PER_MB_S),
        Column::numbers(PER_JOB),
        Column::words("on the front"),
    ];
    let jobs = index.view.fronts.iter().flat_map(|front| &front.cells).any(|cell| cell.per_job.is_some());
    if !jobs {
        columns.retain(|column| column.title != PER_JOB);
    }
    if !several {
        columns.remove(0);
    }
    let mut table = Table::new(columns);
    table.title = Some("Price and performance");
    let all = || table.columns.iter().enumerate();
    let without = |left_out: &&[&str]| {
        all().filter(|(_, column)| !left_out.contains(&column.title)).map(|(place, _)| place).collect()
    };
    table.layouts = LEFT_OUT.iter().map(without).collect();
    for front in &index.view.fronts {
        for (place, one) in front.cells.iter().enumerate() {
            let Some(cell) = index.view.cells.iter().find(|cell| cell.id == one.cell) else { continue };
            let mut cells = row(index, front, one, cell);
            if !jobs {
                cells.remove(JOB_PLACE);
            }
            if !several {
                cells.remove(0);
            }
            table.add(place == 0, cells);
        }
    }
    let money = index.view.prices.currency.as_deref().map(|name| format!("{name}; ")).unwrap_or_default();
    table.left_out = Some(format!("{money}prices of performance are per month{}", within(index)).into());
    table
}

/// The limits within which searches found the performance.
fn within(index: &Index<'_>) -> String {
    let mut all: Vec<&str> = Vec::new();
    for limits in
        index.view.fronts.iter().flat_map(|front| &front.cells).filter_map(|cell| cell.within.as_deref())
    {
        if !all.contains(&limits) {
            all.push(limits);
        }
    }
    if all.is_empty() { String::new() } else { format!(", of the most IOPS within {}", all.join("; ")) }
}

fn row(index: &Index<'_>, front: &FrontView, one: &FrontCell, cell: &CellView) -> Vec<Cell> {
    let measured = cell.metrics.get(&front.metric).map_or_else(Cell::default, |metric| {
        let ends = index.climbs(&cell.id).then(|| number::first_to_last(metric)).flatten();
        let (text, unit) =
            ends.or_else(|| number::too_few(metric)).unwrap_or_else(|| number::with_interval(metric));
        Cell { unit, ..Cell::from(text) }
    });
    let stack = if index.targets { format!("{} on {}", cell.stack, cell.target) } else { cell.stack.clone() };
    vec![
        front.workload.as_str().into(),
        stack.into(),
        money(one.per_month, None).into(),
        money(one.per_year, None).into(),
        measured,
        figure(one.per_1000_iops),
        figure(one.per_mb_s),
        figure(one.per_job),
        place(index, one),
    ]
}

/// A price of performance with its interval.
fn figure(price: Option<PriceFigure>) -> Cell {
    let Some(PriceFigure { estimate, low, high }) = price else { return Cell::default() };
    number::of_ends(estimate, low, high, "").0.into()
}

fn place(index: &Index<'_>, one: &FrontCell) -> Cell {
    match one.place {
        FrontPlace::Member => Cell::toned(Tone::Good, "yes"),
        FrontPlace::Undecided => Cell::toned(Tone::Warn, "undecided"),
        FrontPlace::Dominated => {
            let winner = one.dominated_by.as_ref();
            let by = winner.and_then(|winner| index.view.cells.iter().find(|cell| cell.id == *winner));
            Cell::toned(Tone::Faint, by.map_or_else(|| "no".to_owned(), |by| format!("no: {}", by.stack)))
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{self, list, page};
    use record::id::CellId;
    use record::judged::{FrontCell, FrontPlace, FrontView, PriceFigure, RunView};
    use record::plan::PriceListInfo;

    fn priced() -> RunView {
        let mut view = testing::striped();
        let cell = |place: usize, per_month: f64, at: FrontPlace, by: Option<usize>| FrontCell {
            cell: view.cells[place].id.clone(),
            per_month,
            per_year: per_month * 12.0,
            per_1000_iops: Some(PriceFigure {
                estimate: per_month * 4.0,
                low: Some(per_month * 3.9),
                high: Some(per_month * 4.1),
            }),
            per_mb_s: None,
            per_job: None,
            within: None,
            place: at,
            dominated_by: by.map(|by| view.cells[by].id.clone()),
        };
        let cells = vec![
            cell(0, 4.0, FrontPlace::Member, None),
            cell(1, 8.0, FrontPlace::Dominated, Some(0)),
            cell(2, 14.0, FrontPlace::Undecided, None),
        ];
        view.fronts = vec![FrontView {
            workload: view.cells[0].workload.clone(),
            metric: "iops".to_owned(),
            currency: Some("EUR".to_owned()),
            confidence: 0.95,
            cells,
            text: "nothing that costs no more beats it".to_owned(),
        }];
        view.prices.currency = Some("EUR".to_owned());
        view.prices.list =
            Some(PriceListInfo { date: Some("2026-01-01".to_owned()), ..PriceListInfo::default() });
        view
    }

    #[test]
    fn prices_stand_in_a_table_of_their_own() {
        for width in [80, 120] {
            let text = page(&priced(), width);
            assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
            let section = text.split("Price and performance").nth(1).unwrap();
            let section = section.split("(95 % confidence").next().unwrap();
            insta::assert_snapshot!(format!("front_{width}"), section);
        }
        let text = list(&priced());
        assert!(text.contains("prices of 2026-01-01, without a source"), "{text}");
        assert!(!page(&testing::striped(), 100).contains("Price and performance"));
    }

    #[test]
    fn a_cell_that_is_no_more_there_has_no_row() {
        let mut view = priced();
        view.fronts[0].cells[0].cell = CellId("gone".to_owned());
        let text = page(&view, 120);
        assert!(text.contains("   8.00   96.00") && !text.contains("   4.00   48.00"), "{text}");
    }
}
