//! Options that would make fio leave the device or file system under test, run programs, or break what a trial relies on. `spec`
//! refuses them with their line; this is the second check, at the moment of use, by the same table.

use record::fio_option::{Access, IOENGINES, find, refused_value};
use thiserror::Error;

/// Why fio may not be given an option.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Forbidden {
    /// Nobody may set it.
    #[error("the option {name} can't be set: {why}")]
    Option {
        /// fio's name of it.
        name: String,
        /// Why.
        why: &'static str,
    },
    /// Nobody knows what it does.
    #[error("{name:?} is not among the options that were checked to stay on the volumes")]
    Unknown {
        /// Its name.
        name: String,
    },
    /// It may not have this value.
    #[error("the option {name} can't be {value}: {why}")]
    Value {
        /// fio's name of it.
        name: String,
        /// The value.
        value: String,
        /// Why.
        why: &'static str,
    },
    /// fio would not take its value literally.
    #[error("the option {name} can't hold {c:?}: fio would expand or cut it")]
    Text {
        /// fio's name of it.
        name: String,
        /// The character.
        c: char,
    },
    /// A workload has a key for it.
    #[error("{name} belongs to the workload itself, not among its other options")]
    Own {
        /// fio's name of it.
        name: String,
    },
    /// An I/O engine that does no I/O on the storage under test.
    #[error("the ioengine {name:?} doesn't do I/O on the storage under test; use one of {}", IOENGINES.join(", "))]
    Ioengine {
        /// fio's name of it.
        name: String,
    },
    /// fio would not take the distribution literally.
    #[error("random_distribution can't hold {c:?}")]
    Distribution {
        /// The character.
        c: char,
    },
}

/// Why fio may not be given an option of a user; `None` when it may.
pub(crate) fn reason(name: &str, value: &str) -> Option<Forbidden> {
    match find(name).map(|option| option.access) {
        Some(Access::Refused(why)) => return Some(Forbidden::Option { name: name.to_owned(), why }),
        Some(Access::Alias(alias)) if alias.minus_from.is_none() => return reason(alias.of, value),
        Some(Access::Key(_)) if name == "ioengine" => return ioengine(value),
        Some(_) => {}
        None => {
            return Some(Forbidden::Unknown { name: name.to_owned() });
        }
    }
    if let Some(why) = refused_value(name, value) {
        return Some(Forbidden::Value { name: name.to_owned(), value: value.to_owned(), why });
    }
    unsafe_text(value).map(|c| Forbidden::Text { name: name.to_owned(), c })
}

/// Why a workload may not have an option among its other options, besides its own fields; `None` when it may.
pub(crate) fn among_others(name: &str, value: &str) -> Option<Forbidden> {
    match find(name).map(|option| option.access) {
        Some(Access::Passed | Access::Refused(_)) | None => reason(name, value),
        Some(
            Access::Key(_) | Access::JobFile(_) | Access::Ours(_) | Access::LeftOut(_) | Access::Alias(_),
        ) => Some(Forbidden::Own { name: name.to_owned() }),
    }
}

/// Why an I/O engine may not be used; `None` when it may.
pub(crate) fn ioengine(value: &str) -> Option<Forbidden> {
    (!IOENGINES.contains(&value)).then(|| Forbidden::Ioengine { name: value.to_owned() })
}

/// A character that fio's job file parser would not take literally: comments, expansion of variables, line ends.
pub(crate) fn unsafe_text(value: &str) -> Option<char> {
    value.chars().find(|c| c.is_control() || matches!(c, '$' | ';' | '#'))
}

#[cfg(test)]
mod tests {
    use super::{Forbidden, among_others, ioengine, reason};

    fn said(why: Option<Forbidden>) -> String {
        why.unwrap().to_string()
    }

    #[test]
    fn places_and_programs_are_refused() {
        for name in [
            "opendir",
            "exec_prerun",
            "include",
            "opendir",
            "read_iolog",
            "write-lat-log",
            "DIRECTORY",
            "a b",
            "",
        ] {
            assert!(reason(name, "x").is_some(), "{name}");
        }
        assert!(said(reason("buffer_pattern", "'/etc/shadow'")).contains("another file"));
    }

    #[test]
    fn what_nobody_checked_is_refused() {
        for name in [
            "trigger",
            "trigger-file",
            "aux-path",
            "iomem",
            "program",
            "arguments",
            "std_redirect",
            "mem_of_2040",
        ] {
            assert!(reason(name, "x").is_some(), "{name}");
        }
    }

    #[test]
    fn text_that_fio_would_expand_is_refused() {
        for value in ["$ncpus", "${HOME}", "1\nfilename=/dev/sda", "1;x", "1#x"] {
            assert!(reason("thinktime", value).is_some(), "{value}");
        }
    }

    #[test]
    fn ordinary_options_pass() {
        for (name, value) in
            [("thinktime", "10"), ("bssplit", "4k/50:8k/50"), ("ioengine", "io_uring"), ("rate", "1m,1m")]
        {
            assert_eq!(reason(name, value), None, "{name}");
        }
    }

    #[test]
    fn what_belongs_to_the_workload_is_not_among_its_other_options() {
        for name in ["bs", "filename", "blocksize", "randseed", "thread"] {
            assert!(said(among_others(name, "1")).contains("belongs to the workload itself"), "{name}");
        }
        assert!(said(among_others("exec_prerun", "x")).contains("other programs"));
        assert_eq!(among_others("nonvectored", "1"), None);
    }

    #[test]
    fn engines_that_do_no_io_here_are_refused() {
        for engine in ["null", "net", "external:/tmp/x.so", "rbd", "exec", "cpuio", "filecreate"] {
            assert!(said(ioengine(engine)).contains("use one of psync, libaio"), "{engine}");
        }
    }
}
