//! A document as Markdown (GitHub's, for its tables), for issues, wikis and mails.

use crate::document::{
    Align, Block, Caveat, Cell, Document, Heading, List, Paragraph, Row, Span, Style, Table, Tone, Words,
};
use crate::{chart, plot, sparkline};
use record::printable::one_line;

/// The columns of a drawing, which a page shows without wrapping.
const DRAWING: usize = 80;

/// Formats a document as Markdown.
#[must_use]
pub fn markdown(document: &Document) -> String {
    let blocks = document.in_page_order().into_iter().map(block).filter(|text| !text.is_empty());
    blocks.collect::<Vec<_>>().join("\n")
}

/// A block's lines; each ends with a line break.
fn block(block: &Block) -> String {
    match block {
        Block::Title(title, under) if under.is_empty() => format!("# {}\n", text(title)),
        Block::Title(title, under) => format!("# {}\n\n{}", text(title), paragraphs(under)),
        Block::Heading(heading) => self::heading(heading),
        Block::Paragraphs(all) => paragraphs(all),
        Block::Answer(items) => format!("## Answer\n\n{}", list(items)),
        Block::List(List { items, .. }) => list(items),
        Block::Tree(branches) => branches
            .iter()
            .map(|branch| format!("{}* {}\n", "  ".repeat(branch.depth), text(&branch.text)))
            .collect(),
        Block::Table(table) => self::table(table),
        Block::DotPlot(dots) if dots.in_text => drawing(plot::dots(dots, DRAWING)),
        Block::DotPlot(_) => String::new(),
        Block::Ratios(ratios) => drawing(plot::ratios(ratios, DRAWING)),
        Block::Scatter(scatter) => drawing(chart::drawn(scatter, DRAWING)),
        Block::Caveats(caveats) => caveats.iter().map(caveat).collect(),
        Block::Notes(notes) => {
            let notes: Vec<Words> = notes.iter().map(|note| note.as_str().into()).collect();
            format!("## What the figures rest on\n\n{}", list(&notes))
        }
    }
}

/// A drawing in characters as a block of code; nothing if there is none.
fn drawing(lines: Option<Vec<String>>) -> String {
    let Some(lines) = lines else { return String::new() };
    // A fence is longer than any run of its character in the block.
    let longest = lines.iter().flat_map(|line| line.split(|c| c != '`')).map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}text\n{}\n{fence}\n", lines.join("\n"))
}

fn heading(heading: &Heading) -> String {
    let result = heading.result.as_ref().map(|(_, result)| format!(": {}", text(result)));
    format!("## {}{}\n", text(&heading.text), result.unwrap_or_default())
}

fn list(items: &[Words]) -> String {
    items.iter().map(|item| format!("* {}\n", words(item))).collect()
}

fn paragraphs(paragraphs: &[Paragraph]) -> String {
    let one = |paragraph: &Paragraph| {
        let label = paragraph.label.map(|label| format!("{label} ")).unwrap_or_default();
        format!("{}\n", beginning(&format!("{label}{}", words(&paragraph.words))))
    };
    paragraphs.iter().map(one).collect::<Vec<_>>().join("\n")
}

fn words(words: &Words) -> String {
    words.0.iter().map(span).collect()
}

/// A piece of text. Markdown has no colours: what is good or bad is bold.
fn span(span: &Span) -> String {
    let words = text(&span.text);
    match span.style {
        Style::Plain | Style::Toned(Tone::Faint) => words,
        Style::Strong | Style::Toned(_) => format!("**{words}**"),
        Style::Struck => format!("~~{words}~~"),
    }
}

fn caveat(caveat: &Caveat) -> String {
    let example = caveat.example.as_ref().map(|cell| format!("{}: ", text(cell))).unwrap_or_default();
    let courses = sparkline::all(&caveat.courses);
    let course = match courses.is_empty() {
        true => String::new(),
        false => format!(" ({}.)", text(&courses.join("; "))),
    };
    let cells = caveat.cells.as_ref().map(|cells| format!(" In {}.", text(cells))).unwrap_or_default();
    let said = caveat.text.trim_end();
    let stop = if said.ends_with(['.', '!', '?']) { "" } else { "." };
    format!(
        "* **{}: {}**: {example}{}{stop}{course}{cells} *{}*\n",
        text(caveat.label),
        text(caveat.title),
        text(said),
        text(&caveat.remedy)
    )
}

/// The complete table. Each row is complete too, since readers copy and sort them.
fn table(table: &Table) -> String {
    let layout: &[usize] = table.layouts.first().map_or(&[], Vec::as_slice);
    let columns = || layout.iter().filter_map(|index| table.columns.get(*index));
    let title = table.title.map(|title| format!("## {}\n\n", text(title))).unwrap_or_default();
    let rule = |align: Align| if align == Align::Right { "---:" } else { "---" };
    let mut out = title + &line(columns().map(|column| text(column.title)));
    out.push_str(&line(columns().map(|column| rule(column.align).to_owned())));
    for Row { cells, .. } in &table.rows {
        out.push_str(&line(layout.iter().filter_map(|index| cells.get(*index)).map(cell)));
    }
    if let Some(left_out) = &table.left_out {
        out.push_str(&format!("\n{}\n", words(left_out)));
    }
    out
}

fn line(cells: impl Iterator<Item = String>) -> String {
    format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
}

/// A cell of the table: its number with the unit, struck out if nobody may quote it.
fn cell(cell: &Cell) -> String {
    let words = text(format!("{} {}", cell.text, cell.unit).trim());
    if cell.style == Style::Struck { format!("~~{words}~~") } else { words }
}

/// Escapes a text for Markdown; it stays on one line.
fn text(words: &str) -> String {
    let mut out = String::with_capacity(words.len());
    for c in one_line(words).chars() {
        match c {
            '|' | '*' | '_' | '`' | '<' | '>' | '[' | ']' | '#' | '\\' | '~' | '&' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}

/// The same line, with what would make a list or a heading of it at its beginning escaped.
fn beginning(line: &str) -> String {
    let line = line.trim_start();
    let digits = line.find(|c: char| !c.is_ascii_digit()).unwrap_or(line.len());
    let (number, rest) = line.split_at(digits);
    match rest.chars().next() {
        Some('-' | '+' | '=') if number.is_empty() => format!("\\{line}"),
        Some('.' | ')') if !number.is_empty() => format!("{number}\\{rest}"),
        _ => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{beginning, text};
    use crate::testing::{self, list, page};
    use record::finding::{Claim, Severity};

    #[test]
    fn a_stripe_in_markdown() {
        insta::assert_snapshot!("striped_markdown", list(&testing::striped()));
    }

    #[test]
    fn a_trap_in_markdown() {
        insta::assert_snapshot!("trap_markdown", list(&testing::trap()));
    }

    #[test]
    fn every_row_has_as_many_cells_as_the_header_whatever_the_names() {
        let mut view = testing::striped();
        view.cells[0].stack = "a|b `c` <img src=x>\n# no heading".to_owned();
        let page = list(&view);
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
            for page in [list(&view), page(&view, 200)] {
                assert!(page.contains("not done as asked"), "{page}");
                assert!(page.replace('\\', "").contains("in threads instead of io_uring: EPERM"), "{page}");
            }
        }
    }

    #[test]
    fn marks_are_text() {
        assert_eq!(text("a_b*c|d\n`e` &lt;"), "a\\_b\\*c\\|d\\\\n\\`e\\` \\&lt;");
    }

    #[test]
    fn a_paragraph_is_no_list_whatever_it_begins_with() {
        let lines = ["- a", "+ a", "==", "1. a", "12) a", "1 a", "a - b"].map(beginning);
        assert_eq!(lines, ["\\- a", "\\+ a", "\\==", "1\\. a", "12\\) a", "1 a", "a - b"]);
    }
}
