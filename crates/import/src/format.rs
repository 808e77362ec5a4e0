//! The formats, and the choice of the one that a file is in.

use crate::error::ReadError;
use crate::measured::Found;
use crate::source::Source;
use crate::{bonnie, elbencho, fio, foreign};

/// A format that diskproof reads.
#[derive(Debug)]
pub struct Format {
    /// Its name, for records and messages.
    pub name: &'static str,
    /// Whether a file is in it, by its name or its first lines.
    is: fn(&Source) -> bool,
    /// Whether the file's text is kept, with its first trial.
    keeps_text: bool,
    /// Reads a file that is in it.
    read: fn(&Source) -> Result<Found, ReadError>,
}

/// All formats, in the order in which a file is tried.
pub const FORMATS: &[Format] = &[
    Format { name: fio::logs::FORMAT, keeps_text: false, is: fio::logs::is, read: fio::logs::read },
    Format {
        name: fio::document::FORMAT,
        keeps_text: true,
        is: fio::document::is,
        read: fio::document::read,
    },
    Format { name: bonnie::FORMAT, keeps_text: false, is: bonnie::is, read: bonnie::read },
    Format { name: elbencho::FORMAT, keeps_text: false, is: elbencho::is, read: elbencho::read },
];

/// Reads a file.
///
/// # Errors
/// It is in no known format, in one that diskproof refuses, or damaged.
pub fn read(source: Source) -> Result<Found, ReadError> {
    let Some(format) = FORMATS.iter().find(|format| (format.is)(&source)) else {
        return Err(foreign::refusal(&source.text).unwrap_or(ReadError::Unknown));
    };
    let mut found = (format.read)(&source)?;
    if let Found::Trials(trials) = &mut found
        && let Some(first) = trials.first_mut().filter(|_| format.keeps_text)
    {
        first.output.raw = source.text;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::{FORMATS, read};
    use crate::error::ReadError;
    use crate::measured::Found;
    use crate::source::Source;

    #[test]
    fn the_text_of_a_document_is_kept_once_as_it_is() {
        let side = r#""read" : { "total_ios" : 5, "iops" : 5 }"#;
        let text = format!(
            r#"hello
{{ "jobs" : [ {{ "jobname" : "a", "groupid" : 0, {side} }}, {{ "jobname" : "b", "groupid" : 1, {side} }} ] }}"#
        );
        let source = Source { path: "x.json".to_owned(), text: text.clone(), ..Source::default() };
        let Ok(Found::Trials(trials)) = read(source) else { panic!("no trials") };
        let kept: Vec<&str> = trials.iter().map(|trial| trial.output.raw.as_str()).collect();
        assert_eq!(kept, [text.as_str(), ""]);
    }

    #[test]
    fn what_is_no_result_says_what_would_be_one() {
        for text in ["", "hello\n", "{\"a\": 1}", "<html>", "1,2,3\n"] {
            let source = Source { path: "x.txt".to_owned(), text: text.to_owned(), ..Source::default() };
            assert_eq!(read(source), Err(ReadError::Unknown), "{text}");
        }
        let said = ReadError::Unknown.to_string();
        assert!(FORMATS.iter().all(|format| said.contains(format.name.split(' ').next().unwrap())), "{said}");
    }
}
