//! `diskproof job run`: does one block.

use super::block::{Ended, Task};
use crate::args::JobRun;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;
use crate::signals::Wish;
use fleet::queue::{self, DESCRIPTOR_BYTES, Descriptor};
use record::block::Queue;
use record::printable::Shown as _;
use std::io::Read as _;
use std::path::Path;

/// Most bytes of a file of blocks: 10,000 blocks of 4 KB.
const MOST: u64 = (DESCRIPTOR_BYTES as u64) * 10_000;

pub(super) fn run(args: &JobRun, settings: &Settings) -> Result<Exit, Failure> {
    let block = Descriptor::read(&line(&text(&args.file)?, args.nth)?)?;
    let wish = Wish::listen().map_err(|e| Failure::machine(format!("can't catch signals: {e}")))?;
    if let Err(error) = wish.answer_with(output::aside) {
        output::aside(&format!("warning: diskproof can not say how it handles signals: {error}"));
    }
    let queue = queue::job_here(|name| std::env::var(name).ok()).map(Queue::Slurm);
    let task = Task { block: &block, queue, results: args.results.as_deref(), settings, wish: &wish };
    match task.perform()? {
        Ended::Done => Ok(Exit::Fine),
        Ended::Interrupted => {
            output::aside("interrupted; all that was built is undone, and what was measured is delivered");
            Ok(Exit::Signal(wish.signal().and_then(|signal| u8::try_from(signal).ok()).unwrap_or(2)))
        }
    }
}

fn text(file: &Path) -> Result<String, Failure> {
    let mut text = String::new();
    let read = if file == Path::new("-") {
        std::io::stdin().lock().take(MOST).read_to_string(&mut text)
    } else {
        std::fs::File::open(file).and_then(|file| file.take(MOST).read_to_string(&mut text))
    };
    read.map_err(|error| Failure::input(format!("cannot read {}: {error}", file.shown())))?;
    Ok(text)
}

fn line(text: &str, nth: Option<usize>) -> Result<String, Failure> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    match nth {
        Some(nth) => lines.get(nth).copied().ok_or_else(|| {
            Failure::input(format!(
                "there is no block {nth}: the last one has number {}",
                lines.len().saturating_sub(1)
            ))
        }),
        None if lines.len() > 1 => {
            Err(Failure::input(format!("there are {} blocks: say which one, `--nth N`, from 0", lines.len())))
        }
        None => lines.first().copied().ok_or_else(|| Failure::input("there is no block: the input is empty")),
    }
    .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn the_block_of_several_is_chosen_by_its_number() {
        let text = "a\n\nb\nc\n";
        assert_eq!(line(text, Some(2)).ok().as_deref(), Some("c"));
        assert_eq!(line("a\n", None).ok().as_deref(), Some("a"));
        let refused = [line(text, Some(3)), line(text, None), line(" \n", None)];
        let texts = refused.map(|refused| refused.err().map(|f| f.error.to_string()).unwrap_or_default());
        assert!(texts[0].contains("the last one has number 2"), "{texts:?}");
        assert!(texts[1].contains("`--nth N`"), "{texts:?}");
        assert!(texts[2].contains("empty"), "{texts:?}");
    }
}
