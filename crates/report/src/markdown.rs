//! The result as Markdown (GitHub's, for its tables), for issues, wikis and mails. It has the same sentences as the terminal's text.

use crate::caveats;
use crate::footer;
use crate::index::Index;
use crate::rows::{self, Line};
use crate::table::{NOT_STORAGE, WRONG_CONTENT, by_workload};
use record::judged::{CellView, RunView, Status};
use record::printable::is_hidden;
use std::fmt::Write as _;

const COLUMNS: [&str; 9] =
    ["workload", "stack", "side", "measured", "p99", "n", "device", "limited by", "expected"];

/// Formats a run as Markdown: the question, the answer, the table, the caveats, and how it was measured.
#[must_use]
pub fn markdown(view: &RunView) -> String {
    let index = Index::of(view);
    let mut out = format!("# {}\n\n", text(&view.experiment));
    let mut paragraph = |words: &str| {
        let _ = writeln!(out, "{}\n", text(words));
    };
    if let Some(question) = &view.question {
        paragraph(question);
    }
    if !view.parameters.is_empty() {
        let list: Vec<String> = view.parameters.iter().map(|(k, v)| format!("{k} = {v}")).collect();
        paragraph(&format!("with {}", list.join(", ")));
    }
    out.push_str(&section(
        "Answer",
        view.answers
            .iter()
            .map(|a| format!("**{}**: {}.", text(&a.workload), text(&a.text)))
            .chain(
                view.contrasts
                    .iter()
                    .map(|c| format!("**{}**, {}: {}.", text(&c.name), c.metric, text(&c.text))),
            )
            .chain(view.sweeps.iter().map(|s| format!("**{}**: {}.", text(&s.name), text(&s.text)))),
    ));
    out.push_str(&table(&index));
    out.push_str(&section("Precision", view.reached.iter().map(|r| format!("{}.", text(&r.text)))));
    out.push_str(&section(
        "Expectations",
        view.expectations.iter().map(|e| {
            let status = match e.status {
                Status::Met => "met",
                Status::Missed => "**missed**",
                Status::Undecided => "undecided",
            };
            format!("{status}: {}: {}.", text(&index.name(&e.cell)), text(&e.text))
        }),
    ));
    out.push_str(&section(
        "What to know before quoting these numbers",
        caveats::in_words(&index).into_iter().map(|c| {
            format!(
                "**{}: {}**: {} In {}. *{}*",
                text(c.label),
                text(c.title),
                text(&c.text),
                text(&c.cells),
                text(&c.remedy)
            )
        }),
    ));
    out.push_str(&section("What they rest on", footer::lines(view).iter().map(|line| text(line))));
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

/// A heading and a list; an empty text if the list is empty.
fn section(title: &str, items: impl Iterator<Item = String>) -> String {
    let list: String = items.fold(String::new(), |mut list, item| {
        let _ = writeln!(list, "* {item}");
        list
    });
    if list.is_empty() { list } else { format!("## {title}\n\n{list}\n") }
}

fn table(index: &Index<'_>) -> String {
    let target = index.targets.then_some("target");
    let names: Vec<&str> = target.into_iter().chain(COLUMNS).chain(["the rest"]).collect();
    let mut out = format!("## Measured\n\n{}{}", row(&names), row(&vec!["---"; names.len()]));
    for cell in by_workload(index.view) {
        let lines = rows::lines(index, cell, &mut Vec::new());
        let lines = if lines.is_empty() { vec![Line::not_measured()] } else { lines };
        for line in lines {
            let words = cells(cell, &line);
            let target = index.targets.then(|| text(&cell.target));
            out.push_str(&row(&target.into_iter().chain(words).collect::<Vec<_>>()));
        }
    }
    out.push('\n');
    out
}

fn row<T: AsRef<str>>(cells: &[T]) -> String {
    let cells: Vec<&str> = cells.iter().map(AsRef::as_ref).collect();
    format!("| {} |\n", cells.join(" | "))
}

fn cells(cell: &CellView, line: &Line) -> Vec<String> {
    let mark = match (cell.verified.as_ref().is_some_and(|c| c.wrong_blocks > 0), cell.void) {
        (true, _) => format!("{WRONG_CONTENT}; "),
        (_, true) => format!("{NOT_STORAGE}; "),
        _ => String::new(),
    };
    let expected = line.expected.as_ref().map(|(_, words)| words.clone()).or(line.model.clone());
    let limit = cell.limited_by.as_ref().map_or("", |l| l.by.name());
    [
        cell.workload.clone(),
        cell.stack.clone(),
        line.side.to_string(),
        format!("{} {}", line.value, line.unit),
        line.p99.clone(),
        cell.trials.done.to_string(),
        line.device.clone(),
        limit.to_owned(),
        expected.unwrap_or_default(),
        format!("{mark}{}", line.rest).trim_end_matches("; ").to_owned(),
    ]
    .iter()
    .map(|words| text(words.trim()))
    .collect()
}

/// Escapes a text for Markdown; it stays on one line.
fn text(words: &str) -> String {
    let mut out = String::with_capacity(words.len());
    for c in words.chars() {
        match c {
            '|' | '*' | '_' | '`' | '<' | '>' | '[' | ']' | '#' | '\\' | '~' => out.extend(['\\', c]),
            c if is_hidden(c) => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{markdown, text};
    use crate::testing;
    use record::finding::{Claim, Severity};

    #[test]
    fn a_trap_in_markdown() {
        insta::assert_snapshot!("trap_markdown", markdown(&testing::trap()));
    }

    #[test]
    fn every_row_has_as_many_cells_as_the_header_whatever_the_names() {
        let mut view = testing::striped();
        view.cells[0].stack = "a|b `c` <img src=x>\n# no heading".to_owned();
        let page = markdown(&view);
        // An escaped bar doesn't separate columns.
        let bars = |line: &str| line.replace("\\|", "").matches('|').count();
        let rows: Vec<usize> = page.lines().filter(|l| l.starts_with('|')).map(bars).collect();
        assert!(rows.len() > view.cells.len() && rows.iter().all(|n| *n == rows[0]), "{page}");
        assert!(page.contains("\\<img src=x\\>") && !page.contains("\n# no heading"), "{page}");
    }

    #[test]
    fn what_was_not_done_as_asked_is_on_the_page_and_in_the_terminal() {
        let mut view = testing::trap();
        let text = "Not done as asked: pread and pwrite in threads instead of io_uring: EPERM.";
        for severity in [Severity::Note, Severity::Caveat] {
            let cell = view.cells[0].id.0.clone();
            view.findings = vec![testing::finding(&cell, Claim::NotAsAsked, severity, text, "Compare it.")];
            for page in [markdown(&view), crate::terminal(&view, 200, false)] {
                assert!(page.contains("not done as asked"), "{page}");
                assert!(page.replace('\\', "").contains("in threads instead of io_uring: EPERM"), "{page}");
            }
        }
    }

    #[test]
    fn marks_are_text() {
        assert_eq!(text("a_b*c|d\n`e`"), "a\\_b\\*c\\|d \\`e\\`");
    }
}
