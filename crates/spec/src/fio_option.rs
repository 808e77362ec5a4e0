//! Checks of options of fio, in `fio_options` and in job files, by the table of all options.

use crate::diagnostic::{nearest, printable};
use crate::vocabulary::WORKLOAD;
use record::fio_option::{Access, IOENGINES, all, find};

const ELSEWHERE: &str = "it would point fio to other files or devices; diskproof places the data itself";
const PATTERN_FILE: &str = "it would replay or read other files";

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
        Some(Access::JobFile(why) | Access::Ours(why) | Access::Refused(why)) => Err(refused(name, why)),
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

/// Checks one option of a job file.
pub(crate) fn check_in_job_file(name: &str, value: &str) -> Result<(), Refused> {
    match find(name).map(|option| option.access) {
        Some(Access::Refused(why)) => return Err(refused(name, why)),
        // A plain name: the engine puts the file inside the directory under test. Jobs that name the same file share it.
        Some(Access::Key(_)) if name == "filename" && (value.contains('/') || value.is_empty()) => {
            return Err(refused(name, ELSEWHERE));
        }
        Some(Access::Key(_)) if name == "ioengine" && !IOENGINES.contains(&value) => {
            return Err(Refused {
                message: format!("ioengine `{}` is refused", printable(value, 40)),
                help: format!("engines that do storage I/O through files: {}", IOENGINES.join(", ")),
                near: nearest(value, IOENGINES.iter().copied()),
            });
        }
        Some(_) => {}
        None => return Err(unknown(name, |access| !matches!(access, Access::Refused(_)))),
    }
    check_value(name, value)
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
            "only options that were checked to stay on the volumes are handed over (docs/experiment-file.md)"
                .to_owned(),
        near: nearest(name, near.map(|option| option.name)),
    }
}

/// Refuses characters that fio interprets: it replaces `$` keywords and backticks in values (backticks run programs), and may cut
/// values at comments.
fn check_value(name: &str, value: &str) -> Result<(), Refused> {
    let bad = value.chars().find(|c| matches!(c, '$' | '`' | '#' | ';') || c.is_control());
    let pattern_file = matches!(name, "buffer_pattern" | "verify_pattern") && value.contains('\'');
    match bad {
        Some(c) => Err(Refused {
            message: format!(
                "the value of `{}` holds {}",
                printable(name, 40),
                match c {
                    '$' => "a dollar sign",
                    '`' => "a backtick",
                    '#' | ';' => "the begin of a comment",
                    _ => "a control character",
                }
            ),
            help: "fio would evaluate it, cut it, or run programs for it; write the value itself".to_owned(),
            near: None,
        }),
        None if pattern_file => Err(refused(name, PATTERN_FILE)),
        None => Ok(()),
    }
}
