//! The blocks of a document as HTML.

use crate::ratios::compared;
use maud::{Markup, html};
use record::printable::one_line;
use report::{
    Align, Block, Branch, Caveat, Cell, Heading, Level, List, Paragraph, Row, Span, Style, Table, Tone, Words,
};

/// A block. A dot plot and the levels of a search are figures, and a title stands at the head of the page: none is rendered here.
pub(crate) fn block(block: &Block) -> Markup {
    match block {
        Block::Title(..) | Block::DotPlot(_) | Block::Scatter(_) => html! {},
        Block::Ratios(plot) => compared(plot).map_or_else(Markup::default, |figure| figure.markup()),
        Block::Answer(items) => html! { ul class="answer" { @for item in items { li { (words(item)) } } } },
        Block::Heading(heading) => self::heading(heading),
        Block::Paragraphs(all) => paragraphs(all),
        Block::List(List { items, .. }) => html! { ul { @for item in items { li { (words(item)) } } } },
        Block::Tree(branches) => {
            html! { ul class="tree" { @for branch in branches { (self::branch(branch)) } } }
        }
        Block::Table(table) => self::table(table),
        Block::Caveats(caveats) => html! { ul class="caveats" { @for one in caveats { (caveat(one)) } } },
        Block::Notes(notes) => html! {
            h2 { "What the figures rest on" }
            ul class="notes" { @for note in notes { li { (one_line(note)) } } }
        },
    }
}

/// The title of a document with the lines below it.
pub(crate) fn title(title: &str, under: &[Paragraph]) -> Markup {
    html! { h1 { (one_line(title)) } (paragraphs(under)) }
}

fn heading(heading: &Heading) -> Markup {
    html! {
        h2 {
            (one_line(&heading.text))
            @if let Some((tone, result)) = &heading.result { ": " span class=(of_tone(*tone)) { (one_line(result)) } }
        }
    }
}

fn paragraphs(all: &[Paragraph]) -> Markup {
    html! {
        @for paragraph in all {
            p { @if let Some(label) = paragraph.label { (label) " " } (words(&paragraph.words)) }
        }
    }
}

fn branch(branch: &Branch) -> Markup {
    // A style sheet has a class for each of the first depths; deeper ones stand with the last.
    html! { li class=(format!("depth-{}", branch.depth.min(8))) { (one_line(&branch.text)) } }
}

fn words(words: &Words) -> Markup {
    html! { @for span in &words.0 { (self::span(span)) } }
}

fn span(span: &Span) -> Markup {
    let text = one_line(&span.text);
    match span.style {
        Style::Plain => html! { (text) },
        Style::Strong => html! { strong { (text) } },
        Style::Struck => html! { s { (text) } },
        Style::Toned(tone) => html! { span class=(of_tone(tone)) { (text) } },
    }
}

fn of_tone(tone: Tone) -> &'static str {
    match tone {
        Tone::Bad => "bad",
        Tone::Warn => "warn",
        Tone::Good => "good",
        Tone::Faint => "faint",
    }
}

fn caveat(caveat: &Caveat) -> Markup {
    let courses = report::sparklines(&caveat.courses).join("; ");
    let said = caveat.text.trim_end();
    let stop = if said.ends_with(['.', '!', '?']) { "" } else { "." };
    html! {
        li {
            strong { span class=(of_tone(caveat.tone)) { (caveat.label) } ": " (caveat.title) }
            ": "
            @if let Some(cell) = &caveat.example { (one_line(cell)) ": " }
            (one_line(said)) (stop)
            @if !courses.is_empty() { " (" (one_line(&courses)) ".)" }
            @if let Some(cells) = &caveat.cells { " In " (one_line(cells)) "." }
            " "
            em { (one_line(&caveat.remedy)) }
        }
    }
}

/// The complete table, each row complete.
fn table(table: &Table) -> Markup {
    let layout: &[usize] = table.layouts.first().map_or(&[], Vec::as_slice);
    let columns = || layout.iter().filter_map(|place| table.columns.get(*place));
    let side = |align: Align| if align == Align::Right { "n" } else { "t" };
    html! {
        @if let Some(title) = table.title { h2 { (title) } }
        div class="scroll" tabindex="0" role="group" aria-label=(table.title.unwrap_or("table")) {
            table {
                thead { tr { @for column in columns() { th scope="col" class=(side(column.align)) { (one_line(column.title)) } } } }
                tbody {
                    @for row in &table.rows {
                        tr class=(begins(row)) {
                            @for (place, column) in layout.iter().zip(columns()) {
                                td class=(side(column.align)) { @if let Some(one) = row.cells.get(*place) { (cell(one)) } }
                            }
                        }
                    }
                }
            }
        }
        @if let Some(left_out) = &table.left_out { p { (words(left_out)) } }
    }
}

fn begins(row: &Row) -> &'static str {
    match row.begins {
        Level::Line => "line",
        Level::Group => "group",
        Level::Part => "part",
    }
}

fn cell(cell: &Cell) -> Markup {
    let text = one_line(format!("{} {}", cell.text, cell.unit).trim());
    span(&Span { text, style: cell.style })
}
