//! The order of a document's blocks on a page, whose first screen has the answer, its picture, and what to know before quoting it.

use crate::lookup::dot_plots;
use maud::{Markup, html};
use record::judged::RunView;
use record::printable::printable_lines;
use report::{Block, Document, DotPlot};

/// The sentences of the answer.
pub(crate) fn answers(document: &Document) -> impl Iterator<Item = &Block> {
    document.blocks.iter().filter(|block| matches!(block, Block::Answer(_)))
}

/// Dot plots with their places among all of the document, from 1.
pub(crate) type Placed<'a> = Vec<(usize, &'a DotPlot)>;

/// The dot plots: those that the answer is about, or else the first one; and the others.
pub(crate) fn plots(document: &Document) -> (Placed<'_>, Placed<'_>) {
    (1..).zip(dot_plots(document)).partition(|(_, plot)| plot.leads)
}

/// The blocks that belong on the first screen (caveats and expectations with their headings), and all others.
pub(crate) fn blocks(document: &Document) -> (Vec<&Block>, Vec<&Block>) {
    let shown = |block: &&Block| !matches!(block, Block::Title(..) | Block::Answer(_) | Block::DotPlot(_));
    let all: Vec<&Block> = document.blocks.iter().filter(shown).collect();
    let heads = |block: &Block| matches!(block, Block::Heading(_) | Block::Table(_) | Block::Notes(_));
    let sections: Vec<&[&Block]> =
        all.chunk_by(|before, next| !heads(next) || is_heading_of(before, next)).collect();
    let (top, rest): (Vec<_>, Vec<_>) = sections.into_iter().partition(|section| is_for_the_top(section));
    // What is wrong with the figures comes before what was expected of them.
    let (caveats, expected): (Vec<_>, Vec<_>) =
        top.into_iter().partition(|section| section.iter().any(|block| matches!(block, Block::Caveats(_))));
    (caveats.concat().into_iter().chain(expected.concat()).collect(), rest.concat())
}

/// Whether a block says how the figures were measured: that stands at the end.
pub(crate) fn is_note(block: &Block) -> bool {
    matches!(block, Block::Notes(_))
}

/// Whether a heading's content begins with the next block: a table below a heading belongs to it.
fn is_heading_of(before: &Block, next: &Block) -> bool {
    matches!(before, Block::Heading(_)) && matches!(next, Block::Table(_))
}

fn is_for_the_top(section: &[&Block]) -> bool {
    section.iter().any(|block| match block {
        Block::Caveats(_) => true,
        Block::Heading(heading) => heading.text == report::EXPECTATIONS,
        _ => false,
    })
}

/// The experiment file, and how to run it again.
pub(crate) fn again(view: &RunView, source: &str) -> Markup {
    let set = |(name, value): (&String, &String)| format!(" --set {name}={value}");
    let set: String = view.parameters.iter().map(set).collect();
    let command = format!("diskproof run experiment.yaml --seed {}{set}", view.seed);
    html! {
        @if !source.is_empty() {
            h2 { "The experiment file" }
            p { "To run it again, save this text as experiment.yaml; then " code { (printable_lines(&command)) } "." }
            details { summary { "Its text" } pre tabindex="0" { (printable_lines(source)) } }
        }
    }
}
