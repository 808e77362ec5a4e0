//! Checks of options of fio, in `fio_options` and in job files, by the table of all options.

use crate::diagnostic::{nearest, printable};
use crate::quantity::amount;
use crate::vocabulary::WORKLOAD;
use record::fio_option::{Access, Field, IOENGINES, VERIFY_WORDS, all, find, is_own, refused_value};

/// Values of `verify` that only a job file may have: fio takes them, but most don't detect a changed byte.
const OTHER_VERIFY_WORDS: &[&str] =
    &["meta", "null", "pattern", "pattern_hdr", "sha512", "murmur", "crc32c-sw"];
/// Options whose value is any text.
const FREE_TEXT: &[&str] =
    &["buffer_pattern", "description", "directory", "filename", "filename_format", "verify_pattern"];
/// Keywords of `filename_format`.
const KEYWORDS: &[&str] = &["$jobname", "$jobnum", "$filenum"];

/// Why an option can't be passed on, with the nearest one that can.
pub(crate) struct Refused {
    pub(crate) message: String,
    pub(crate) help: String,
    pub(crate) near: Option<String>,
}

/// Checks an entry of `fio_options`.
pub(crate) fn check(name: &str, value: &str) -> Result<(), Refused> {
    let own_key = || Refused {
        message: format!("`{}` is a key of its own", printable(name, 40)),
        help: format!("write `{name}: {}` beside `fio_options`", printable(value, 40)),
        near: None,
    };
    match find(name).map(|option| option.access) {
        Some(Access::Passed) => check_value(name, value),
        Some(Access::JobFile(why) | Access::Ours(why) | Access::LeftOut(why) | Access::Refused(why)) => {
            Err(refused(name, why))
        }
        Some(Access::Alias(alias)) if find(alias.of).is_some_and(|main| main.key().is_some()) => {
            let minus = alias.minus_from.map(|sum| format!(": {sum} minus it")).unwrap_or_default();
            Err(refused(name, &format!("write `{}`{minus}", alias.of)))
        }
        Some(Access::Alias(alias)) => check(alias.of, value),
        Some(Access::Key(_)) => Err(own_key()),
        None if WORKLOAD.keys.iter().any(|key| key.name == name) => Err(own_key()),
        None => Err(unknown(name, |access| matches!(access, Access::Passed))),
    }
}

/// Checks one option of a job file. `value`: `None` if the name stands alone.
pub(crate) fn check_in_job_file(name: &str, value: Option<&str>) -> Result<(), Refused> {
    let text = value.unwrap_or("1");
    match find(name).map(|option| option.access) {
        Some(Access::Refused(why)) => return Err(refused(name, why)),
        // What is left out or replaced says nothing.
        Some(Access::Ours(_) | Access::LeftOut(_)) => return Ok(()),
        Some(Access::JobFile(_)) if name == "filename_format" => return check_format(text),
        Some(Access::Key(_)) if name == "ioengine" && !IOENGINES.contains(&text) => {
            return check_value(name, text).and(Err(Refused {
                message: format!("ioengine `{}` is refused", printable(text, 40)),
                help: format!("engines that do storage I/O through files: {}", IOENGINES.join(", ")),
                near: nearest(text, IOENGINES.iter().copied()),
            }));
        }
        Some(_) => {}
        None => return Err(unknown(name, |access| !matches!(access, Access::Refused(_)))),
    }
    if is_own(name, text) {
        return Ok(());
    }
    if let Some(rest) = text.strip_prefix('=').filter(|_| !FREE_TEXT.contains(&name)) {
        let written = format!("{name}={text}");
        return Err(Refused {
            message: format!("`{}` has one `=` too many: fio does not take it", printable(&written, 60)),
            help: format!("write `{name}={}`", printable(rest, 40)),
            near: None,
        });
    }
    check_value(name, text).map_err(|refused| match text.contains('$') {
        true => {
            Refused { help: format!("{}, or `${{NAME}}` and `--set NAME=VALUE`", refused.help), ..refused }
        }
        false => refused,
    })?;
    match find(name).and_then(|option| option.key()) {
        Some(key) => check_form(name, &key.field, value),
        None => Ok(()),
    }
}

/// Checks the form of a value as fio does, which names no line. Forms that only fio reads (a value per direction, `rw=read:8k`) pass.
fn check_form(name: &str, field: &Field, value: Option<&str>) -> Result<(), Refused> {
    let number = |text: &str| amount(text)?.ok()?.whole();
    let each = |fits: &dyn Fn(&str) -> bool| value.is_some_and(|text| text.split([',', ':']).all(fits));
    let expected = match field {
        Field::Switch { bare, .. } if value.map_or(*bare, |value| matches!(value, "0" | "1")) => {
            return Ok(());
        }
        Field::Switch { .. } => "0 or 1".to_owned(),
        Field::Percent(_) if each(&|text| number(text).is_some_and(|n| (0..=100).contains(&n))) => {
            return Ok(());
        }
        Field::Percent(_) => "a whole number from 0 to 100".to_owned(),
        Field::Count { least, .. } if each(&|text| number(text).is_some_and(|n| n >= i128::from(*least))) => {
            return Ok(());
        }
        Field::Count { least, .. } => format!("a whole number from {least} on"),
        Field::Words { words, .. } => {
            let word = value.unwrap_or_default();
            let word = if name == "rw" { word.split(':').next().unwrap_or(word) } else { word };
            if words.contains(&word) || (name == "verify" && OTHER_VERIFY_WORDS.contains(&word)) {
                return Ok(());
            }
            let near = nearest(word, words.iter().copied());
            let words = if name == "verify" { VERIFY_WORDS } else { words };
            return Err(Refused { near, ..misfit(name, value, &format!("one of {}", words.join(", "))) });
        }
        _ => return Ok(()),
    };
    Err(misfit(name, value, &expected))
}

fn misfit(name: &str, value: Option<&str>, expected: &str) -> Refused {
    let given = value.map_or_else(|| name.to_owned(), |value| format!("{name}={value}"));
    Refused {
        message: format!("`{}`: fio does not take this value", printable(&given, 60)),
        help: format!("`{name}` takes {expected}"),
        near: None,
    }
}

fn check_format(format: &str) -> Result<(), Refused> {
    let rest = KEYWORDS.iter().fold(format.to_owned(), |rest, keyword| rest.replace(keyword, ""));
    check_value("filename_format", &rest)
        .map_err(|refused| Refused { help: format!("known here: {}", KEYWORDS.join(", ")), ..refused })
}

fn refused(name: &str, why: &str) -> Refused {
    Refused {
        message: format!("fio option `{}` is refused", printable(name, 40)),
        help: why.to_owned(),
        near: None,
    }
}

fn unknown(name: &str, taken: impl Fn(&Access) -> bool) -> Refused {
    let near = all().filter(|option| taken(&option.access) || option.key().is_some());
    Refused {
        message: format!("fio option `{}` is not known", printable(name, 40)),
        help:
            "diskproof passes on only options that were checked to stay on the volumes (docs/experiment-file.md)"
                .to_owned(),
        near: nearest(name, near.map(|option| option.name)),
    }
}

/// Refuses characters that fio interprets: it replaces `$` keywords and backticks in values (backticks run programs), and may cut
/// values at comments.
fn check_value(name: &str, value: &str) -> Result<(), Refused> {
    let bad = value.chars().find(|c| matches!(c, '$' | '`' | '#' | ';') || c.is_control());
    match bad {
        Some(c) => Err(Refused {
            message: format!(
                "the value of `{}` holds {}",
                printable(name, 40),
                match c {
                    '$' => "a dollar sign",
                    '`' => "a backtick",
                    '#' | ';' => "the beginning of a comment",
                    _ => "a control character",
                }
            ),
            help: "fio would evaluate it, cut it, or run programs for it; write the value itself".to_owned(),
            near: None,
        }),
        None => match refused_value(name, value) {
            Some(why) => Err(Refused {
                message: format!("fio option `{name}={}` is refused", printable(value, 40)),
                help: why.to_owned(),
                near: None,
            }),
            None => Ok(()),
        },
    }
}
