//! The levels that searches tried.

use crate::document::{Block, Cell, Column, Heading, Point, Scatter, Table, Tone};
use crate::index::Index;
use crate::number;
use record::judged::{Found, SearchView, TriedView};
use record::metric::{MetricInfo, info};

/// A heading and a table for each search.
pub(crate) fn searches(index: &Index<'_>) -> Vec<Block> {
    let tried = index.view.searches.iter().filter(|search| !search.tried.is_empty());
    let blocks = tried.flat_map(|search| {
        let heading = Block::Heading(heading(index, search));
        let drawn = scatters(search).map(Block::Scatter);
        [heading].into_iter().chain(drawn).chain([Block::Table(table(search))])
    });
    blocks.collect()
}

/// The tried levels and what they did, one plot for each limit.
fn scatters(search: &SearchView) -> impl Iterator<Item = Scatter> {
    search.limits.iter().filter_map(|limit| {
        let metric = info(&limit.of)?;
        let point = |tried: &TriedView| {
            let up = *tried.limited.get(metric.name)?;
            #[expect(clippy::cast_precision_loss, reason = "levels are far below 2^52")]
            let across = tried.level as f64;
            Some(Point { across, up, is_told: tried.kept.is_some() })
        };
        Some(Scatter {
            across: search.by.name(),
            up: metric.name,
            unit: metric.unit,
            limit: limit.at_most,
            points: search.tried.iter().filter_map(point).collect(),
        })
    })
}

fn heading(index: &Index<'_>, search: &SearchView) -> Heading {
    let (tone, result) = match search.found {
        Found::Found if search.is_exact => (Tone::Good, "found"),
        Found::Found => (Tone::Warn, "found, wider than asked"),
        Found::NotEven | Found::AtLeast => (Tone::Warn, "the limit lies outside"),
        Found::Open => (Tone::Warn, "open"),
    };
    Heading { text: format!("Tried: {}", index.name(&search.cell)), result: Some((tone, result.to_owned())) }
}

/// One row for each tried level, in their order.
fn table(search: &SearchView) -> Table {
    let limited: Vec<&'static MetricInfo> = search.limits.iter().filter_map(|l| info(&l.of)).collect();
    let most = info(&search.most);
    let mut columns = vec![Column::numbers("trial"), Column::numbers(search.by.name())];
    columns.extend(most.map(|metric| Column::numbers(metric.name)));
    columns.extend(limited.iter().map(|metric| Column::numbers(metric.name)));
    columns.extend([Column::words("limit"), Column::words("why")]);
    let mut table = Table::new(columns);
    table.title = Some("Tried levels");
    for tried in &search.tried {
        table.add(false, row(tried, most, &limited));
    }
    table
}

fn row(tried: &TriedView, most: Option<&MetricInfo>, limited: &[&'static MetricInfo]) -> Vec<Cell> {
    let shown = |value: Option<f64>, metric: &MetricInfo| -> Cell {
        value.map_or_else(|| "?".to_owned(), |value| number::expected(value, metric.unit)).into()
    };
    let mut cells = vec![(tried.round + 1).to_string().into(), number::level(tried.level).into()];
    cells.extend(most.map(|metric| shown(tried.value, metric)));
    cells.extend(limited.iter().map(|metric| shown(tried.limited.get(metric.name).copied(), metric)));
    cells.push(match tried.kept {
        Some(true) => Cell::toned(Tone::Good, "kept"),
        Some(false) => Cell::toned(Tone::Bad, "broken"),
        None => Cell::toned(Tone::Warn, "too few I/Os to say"),
    });
    cells.push(tried.why.words().into());
    cells
}

#[cfg(test)]
mod tests {
    use crate::testing;
    use record::event::Stopped;
    use record::find::{FindBy, FindLimit, TriedWhy};
    use record::judged::{Found, Interval, RunView, SearchView, TriedView};
    use record::workload::Rw;

    fn searched() -> RunView {
        let mut cell = testing::cell("s", "ext4", "randread", Rw::Randread, 4096);
        testing::side(&mut cell, "read", (2310.0, Some(60.0)), 9_900.0);
        let mut view = testing::run("most-iops", "How many IOPS within 10 ms?", vec![cell]);
        let tried = |round, level, iops: f64, p99: f64, why| TriedView {
            round,
            level,
            why,
            value: Some(iops),
            limited: [("read_lat_p99".to_owned(), p99)].into(),
            kept: Some(p99 <= 10_000.0),
            reached: Some(iops),
        };
        view.searches = vec![SearchView {
            cell: view.cells[0].id.clone(),
            most: "iops".to_owned(),
            limits: vec![FindLimit {
                of: "read_lat_p99".to_owned(),
                at_most: 10_000.0,
                written: "10ms".to_owned(),
            }],
            by: FindBy::RateIops,
            from: 1,
            to: 10_000_000,
            within: 0.05,
            found: Found::Found,
            level: Some(Interval { estimate: 2310.0, low: 2250.0, high: 2370.0 }),
            value: Some(Interval { estimate: 2310.0, low: 2250.0, high: 2370.0 }),
            confidence: 0.95,
            n: 8,
            is_exact: true,
            tried: vec![
                tried(0, 10_000_000, 2520.0, 98_000.0, TriedWhy::Highest),
                tried(1, 1890, 1889.0, 2_410.0, TriedWhy::Lower),
                tried(2, 2300, 2301.0, 9_400.0, TriedWhy::Near),
            ],
            text: "2,310 IOPS (2,250 to 2,370) at read_lat_p99 <= 10ms; 3 trials".to_owned(),
        }];
        view
    }

    #[test]
    fn a_search_has_a_sentence_and_the_levels_it_tried() {
        insta::assert_snapshot!(testing::page(&searched(), 100));
    }

    #[test]
    fn the_plot_is_on_both_pages() {
        let view = searched();
        let (terminal, markdown) = (testing::page(&view, 100), testing::list(&view));
        let legend = "read_lat_p99 over rate_iops, both on logarithmic scales; o kept, x broken; the line is the limit";
        assert!(terminal.contains(&format!("  {legend}\n")), "{terminal}");
        let block = markdown.split("```").nth(1).unwrap();
        let words = block.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(block.starts_with("text\n") && words.contains(legend), "{markdown}");
        assert!(block.contains("10 ms ┼"), "{markdown}");
    }

    #[test]
    fn a_limit_beyond_the_levels_is_no_precision_that_was_reached() {
        let mut view = searched();
        view.stopped = Stopped::Enough { rounds: 3 };
        let page = |view: &RunView| testing::page(view, 400);
        assert!(page(&view).contains("the requested precision is reached"), "{}", page(&view));
        view.cells[0].metrics.clear();
        view.searches[0].found = Found::AtLeast;
        assert!(page(&view).contains("a limit lies beyond the levels of its search"), "{}", page(&view));
        assert!(
            page(&view).contains("not found") && !page(&view).contains("not measured"),
            "{}",
            page(&view)
        );
        view.searches[0].is_exact = false;
        assert!(page(&view).contains("what can still be measured"), "{}", page(&view));
    }

    #[test]
    fn a_level_without_an_answer_says_so() {
        let mut view = searched();
        let tried = &mut view.searches[0].tried[1];
        (tried.kept, tried.value) = (None, None);
        tried.limited.clear();
        let page = testing::page(&view, 100);
        assert!(page.contains("too few I/Os to say"), "{page}");
    }
}
