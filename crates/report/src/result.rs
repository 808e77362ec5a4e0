//! The document of a judged run.

use crate::caveats::caveats;
use crate::choice;
use crate::document::{Block, Document, Heading, Paragraph, Style, Tone, Words};
use crate::expectations::expectations;
use crate::figures::figures;
use crate::footer;
use crate::front::fronts;
use crate::index::Index;
use crate::leaves::leaves;
use crate::machines::machines;
use crate::measured::{in_common, measured, table};
use crate::phases::phases;
use crate::searches::searches;
use crate::summary::summary;
use crate::too_few;
use record::event::Stopped;
use record::judged::{Reached, RunView};

/// The document of a run: the question, the figures and their table, the answer, the caveats, and how it was measured.
#[must_use]
pub fn result(view: &RunView) -> Document {
    let index = Index::of(view);
    let (body, shown) = measured(&index);
    let mut document = Document::new(view.experiment.as_str(), under(&index));
    let mut answers = answers(&index);
    // what one stack gives is the first line; what a comparison says needs its table first
    if let Some(text) = summary(view) {
        answers.insert(0, text.into());
        document.blocks.push(Block::Answer(std::mem::take(&mut answers)));
    }
    document.blocks.extend(figures(&index, &body).into_iter().map(Block::DotPlot));
    document.blocks.push(Block::Table(table(&index, &body)));
    document.blocks.extend(phases(&index));
    document.blocks.extend(machines(&index));
    if !answers.is_empty() {
        document.blocks.push(Block::Answer(answers));
    }
    document.blocks.extend(fronts(&index));
    document.blocks.extend(view.choice.iter().flat_map(choice::of_run));
    if !matches!(view.stopped, Stopped::Imported { .. }) {
        document.section("Too few rounds", too_few::forecasts(&index, &body));
    }
    document.blocks.extend(view.reached.iter().flat_map(precision));
    document.blocks.extend(expectations(&index, &shown));
    document.blocks.extend(searches(&index));
    let caveats = caveats(&index);
    if !caveats.is_empty() {
        document.blocks.push(Block::heading("What to know before quoting these numbers"));
        document.blocks.push(Block::Caveats(caveats));
    }
    let tree = leaves(&index);
    if !tree.is_empty() {
        document.blocks.extend([Block::heading("Devices"), Block::Tree(tree)]);
    }
    document.blocks.push(Block::Notes(footer::lines(view)));
    document
}

/// The question, the parameters, and what all cells have in common.
fn under(index: &Index<'_>) -> Vec<Paragraph> {
    let view = index.view;
    let parameters: Vec<String> = view.parameters.iter().map(|(k, v)| format!("{k} = {v}")).collect();
    let common = in_common(index);
    [
        view.question.as_deref().map(Paragraph::from),
        (!parameters.is_empty()).then(|| Paragraph::labelled("with", parameters.join(", "))),
        (!common.is_empty()).then(|| Paragraph::from(common)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn answers(index: &Index<'_>) -> Vec<Words> {
    let view = index.view;
    let subject = |name: &str| Words::styled(Style::Strong, name);
    let answers = view.answers.iter().map(|a| subject(&a.workload).then(format!(": {}.", a.text)));
    let contrasts =
        view.contrasts.iter().map(|c| subject(&c.name).then(format!(", {}: {}.", c.metric, c.text)));
    let sweeps = view.sweeps.iter().map(|s| subject(&s.name).then(format!(": {}.", s.text)));
    let effects = view.effects.iter().map(|e| subject(&e.factor).then(format!(": {}.", e.text)));
    let searches = view.searches.iter().map(|s| subject(&index.name(&s.cell)).then(format!(": {}.", s.text)));
    let cheapest = view.choice.iter().flat_map(choice::answers);
    cheapest.chain(answers).chain(contrasts).chain(sweeps).chain(effects).chain(searches).collect()
}

/// Whether the intervals are as narrow as the experiment asks.
fn precision(reached: &Reached) -> [Block; 2] {
    let (tone, mark) = if reached.all { (Tone::Good, "as asked") } else { (Tone::Warn, "not as asked") };
    let heading = Heading { text: "Precision".to_owned(), result: Some((tone, mark.to_owned())) };
    [Block::Heading(heading), Block::list(vec![format!("{}.", reached.text).into()])]
}

#[cfg(test)]
mod tests {
    use crate::testing::{self, list, page};
    use std::collections::BTreeSet;

    /// The words of a page, without the punctuation of its medium.
    fn words(page: &str) -> BTreeSet<String> {
        page.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase).collect()
    }

    #[test]
    fn the_terminal_and_markdown_say_the_same() {
        // Where a drawing is smaller, an interval may be too small to be drawn in it.
        let of_pages_only = words("Measured; What the figures rest on; side; text; narrower than a mark");
        for view in [testing::striped(), testing::trap(), testing::guest()] {
            let (terminal, markdown) = (words(&page(&view, 400)), words(&list(&view)));
            assert_eq!(terminal.difference(&markdown).collect::<Vec<_>>(), [""; 0]);
            let more: Vec<_> =
                markdown.difference(&terminal).filter(|w| !of_pages_only.contains(*w)).collect();
            assert_eq!(more, [""; 0]);
        }
    }

    #[test]
    fn control_characters_are_text_in_each_medium() {
        let mut view = testing::trap();
        let evil = "x\u{1b}[2J\nFORGED\u{202e}";
        view.cells[0].stack = evil.to_owned();
        (view.experiment, view.question) = (evil.to_owned(), Some(evil.to_owned()));
        view.findings[0].text = evil.to_owned();
        for page in [page(&view, 100), list(&view)] {
            assert!(page.replace('\\', "").contains("xx1b[2JnFORGEDu{202e}"), "{page}");
            assert!(!page.contains(|c| c != '\n' && record::printable::is_hidden(c)), "{page}");
        }
    }
}
