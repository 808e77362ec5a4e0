//! Bonnie++'s CSV: one line is one trial.

use crate::error::ReadError;
use crate::measured::{Found, Measured};
use crate::source::Source;
use record::bonnie::{Bonnie, BonnieAsk};
use record::bonnie_csv::{Results, is_before_1_9, read_line};
use record::quantity::Bytes;
use record::trial::{EngineOutput, Outcome, Window};
use record::workload::{Ask, EngineKind};
use std::collections::BTreeMap;

/// The format's name.
pub(crate) const FORMAT: &str = "Bonnie++ CSV";

/// What is said of a line without a version.
const UNVERSIONED: &str = "a line with 27 fields and no version: read as one of Bonnie++ 1.00 to 1.03";

/// The fewest fields of a line of results that begins with its version.
const LEAST_FIELDS: usize = 30;

/// Whether a file holds lines of results.
pub(crate) fn is(source: &Source) -> bool {
    source.text.lines().any(is_result)
}

fn is_result(line: &str) -> bool {
    is_versioned(line) || is_before_1_9(line)
}

fn is_versioned(line: &str) -> bool {
    let version = line.trim_start().split(',').next().unwrap_or_default();
    let numbered = version
        .strip_prefix("1.")
        .is_some_and(|rest| rest.len() == 2 && rest.bytes().all(|b| b.is_ascii_digit()));
    numbered && line.split(',').count() >= LEAST_FIELDS
}

/// Reads every line of results.
pub(crate) fn read(source: &Source) -> Result<Found, ReadError> {
    let lines = source.text.lines().enumerate().filter(|(_, line)| is_result(line));
    let trials = lines.map(|(number, line)| {
        let results = read_line(line).map_err(|why| ReadError::Bonnie { line: number + 1, why })?;
        Ok(trial(source, line, results))
    });
    Ok(Found::Trials(trials.collect::<Result<_, _>>()?))
}

fn trial(source: &Source, line: &str, results: Results) -> Measured {
    let Results { version, machine, ask, figures } = results;
    let engine = format!("bonnie++-{version}");
    let mut options = options(&ask);
    let mut messages = Vec::new();
    if is_before_1_9(line) {
        // It writes single characters by another call and seeks with three processes, not five: no repeat of a newer one.
        options.insert("version".to_owned(), version.clone());
        messages.push(UNVERSIONED.to_owned());
    }
    Measured {
        file: source.path.clone(),
        format: FORMAT,
        folders: source.folders.clone(),
        place: (!machine.is_empty()).then_some(machine),
        job: "bonnie".to_owned(),
        engine: EngineKind::Bonnie,
        options,
        notes: messages.clone(),
        ask: Ask::Bonnie(ask),
        started_unix_ms: source.modified_unix_ms,
        outcome: Outcome::Measured,
        output: EngineOutput {
            raw: line.to_owned(),
            messages,
            bonnie: Some(Bonnie { version, figures, memory_bytes: None }),
            ..EngineOutput::new(engine, Window::default())
        },
    }
}

fn options(ask: &BonnieAsk) -> BTreeMap<String, String> {
    [
        ("size", Bytes(ask.size_bytes).to_string()),
        ("chunk", Bytes(ask.chunk_bytes).to_string()),
        ("files", ask.files.to_string()),
        ("max_size", ask.max_bytes.to_string()),
        ("directories", ask.directories.to_string()),
        ("per_character", u8::from(ask.per_character).to_string()),
        ("concurrency", ask.concurrency.to_string()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

#[cfg(test)]
mod tests {
    use super::{is, read};
    use crate::error::ReadError;
    use crate::measured::Found;
    use crate::source::Source;

    const LINE: &str = "1.98,2.00a,nas,1,5,16M,,8192,5,,,91000,11,+++++,+++,,,+++++,+++,312.5,3,,,,,,,,,,,,,,,,,,,8070us,16093us,,20096us,72082us,,,,,,";

    fn source(text: &str) -> Source {
        Source { path: "b.csv".to_owned(), text: text.to_owned(), modified_unix_ms: 7, ..Source::default() }
    }

    #[test]
    fn each_line_is_a_trial_of_its_machine() {
        let file =
            source(&format!("Writing intelligently...done\n{LINE}\n{}\n", LINE.replace(",nas,", ",other,")));
        assert!(is(&file));
        let Ok(Found::Trials(trials)) = read(&file) else { panic!("no trials") };
        let places: Vec<_> = trials.iter().map(|trial| trial.place.as_deref()).collect();
        assert_eq!(places, [Some("nas"), Some("other")]);
        let metrics = trials[0].output.metrics();
        assert_eq!((metrics["seeks"], metrics["block_output_bw"]), (312.5, 91_000.0 * 1024.0));
        assert_eq!(
            trials[0].output.too_fast().collect::<Vec<_>>(),
            ["block_input_bw", "rewrite_bw"],
            "no number, and not absent"
        );
        assert_eq!(trials[0].options["size"], "16 MiB");
    }

    #[test]
    fn a_line_of_bonnie_1_03_is_said_to_be_one() {
        let old = "box,2G,,,97000,22,41000,9,,,120500,11,310.5,1,,,,,,,,,,,,,";
        let file = source(&format!("done\n{old}\n{LINE}\n"));
        assert!(is(&source(old)));
        let Ok(Found::Trials(trials)) = read(&file) else { panic!("no trials") };
        let [first, second] = &trials[..] else { panic!("{trials:?}") };
        assert_eq!((first.place.as_deref(), first.output.engine.as_str()), (Some("box"), "bonnie++-1.0x"));
        assert!(
            first.notes[0].contains("27 fields") && first.output.messages == first.notes,
            "{:?}",
            first.notes
        );
        assert!(second.notes.is_empty() && first.options.contains_key("version"));
        assert_eq!(first.output.metrics()["block_input_bw"], 120_500.0 * 1024.0);
        let damaged = read(&source(&old.replace(",310.5,", ",fast,"))).unwrap_err();
        assert!(matches!(damaged, ReadError::Bonnie { line: 1, .. }), "{damaged}");
    }

    #[test]
    fn a_line_that_cannot_be_read_is_named() {
        let file = source(&format!("{LINE}\n{}\n", LINE.replace(",312.5,", ",fast,")));
        let error = read(&file).unwrap_err();
        assert!(matches!(error, ReadError::Bonnie { line: 2, .. }), "{error}");
        assert!(error.to_string().contains("seeks: \"fast\" is not a figure"), "{error}");
        assert!(!is(&source("1.98,2.00a\n")) && !is(&source("a,b,c\n")));
    }
}
