//! What the table of fio's options says of one option.

use crate::workload::{Options, SizeRange, SizeShare};

/// An option of fio.
#[derive(Debug, Clone, Copy)]
pub struct FioOption {
    /// fio's name of it.
    pub name: &'static str,
    /// Who may set it.
    pub access: Access,
    /// What the native engine makes of it.
    pub native: Native,
}

/// Who may set an option of fio. A reason is the second half of a sentence that begins "it is refused:".
#[derive(Debug, Clone, Copy)]
pub enum Access {
    /// A workload, by a key of its own; in a job file by this name.
    Key(Key),
    /// A workload, in `fio_options`, and a job file. fio gets it unchanged.
    Passed,
    /// Only a job file, with the reason why a workload may not.
    JobFile(&'static str),
    /// Only diskproof, with the reason. A job file may contain it, but its value is dropped.
    Ours(&'static str),
    /// Nobody, with the reason, which is a main clause. A job file may contain it: it is left out, and the plan says so.
    LeftOut(&'static str),
    /// Nobody, with the reason.
    Refused(&'static str),
    /// Another name of an option, for job files.
    Alias(Alias),
}

/// An option that is a field of [`Options`].
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// The form of its value, and the field.
    pub field: Field,
    /// What fio's job file says for a workload with these options; `None`: nothing. Places, sizes and times are always `None`: the
    /// engine writes them for each trial.
    pub told: fn(&Options) -> Option<String>,
    /// One line for editors.
    pub help: &'static str,
}

/// The form of a key's value, and the function that puts it into its field.
#[derive(Debug, Clone, Copy)]
pub enum Field {
    /// 0 or 1. `bare`: in a job file the name alone means 1.
    Switch {
        /// Whether the name alone is allowed.
        bare: bool,
        /// Sets the field.
        set: fn(&mut Options, bool),
    },
    /// A whole number from 0 to 100.
    Percent(fn(&mut Options, u8)),
    /// A whole number.
    Count {
        /// The smallest number.
        least: u64,
        /// The largest number.
        most: u64,
        /// Sets the field.
        set: fn(&mut Options, u32),
    },
    /// A number of bytes.
    Size {
        /// The smallest number.
        least: u64,
        /// Sets the field.
        set: fn(&mut Options, u64),
    },
    /// A limit per second; 0 is no limit.
    Rate {
        /// Whether it limits bytes; else it limits I/Os.
        bytes: bool,
        /// Sets the field.
        set: fn(&mut Options, Option<u64>),
    },
    /// A time in steps of `1 / per_second` seconds.
    Time {
        /// The unit of a number without one.
        unit: &'static str,
        /// The number of steps in a second.
        per_second: u32,
        /// The fewest steps that an experiment may ask for.
        least: u64,
        /// The most steps that an experiment may ask for.
        most: u64,
        /// Sets the field.
        set: fn(&mut Options, u64),
    },
    /// One of some words.
    Words {
        /// The words.
        words: &'static [&'static str],
        /// Sets the field to one of the words.
        set: fn(&mut Options, &str),
    },
    /// The plain name of a file.
    Name(fn(&mut Options, String)),
    /// A distribution of offsets, in fio's syntax.
    Distribution(fn(&mut Options, String)),
    /// A range of block sizes, e.g. `4k-64k`.
    SizeRange(fn(&mut Options, SizeRange)),
    /// Block sizes with their shares, e.g. `4k/60:64k/40`.
    SizeShares(fn(&mut Options, Vec<SizeShare>)),
}

/// Another name of an option.
#[derive(Debug, Clone, Copy)]
pub struct Alias {
    /// The main name.
    pub of: &'static str,
    /// The value of the main option is this number minus the value of the alias; `None`: both have the same value.
    pub minus_from: Option<u8>,
}

/// What the native engine makes of an option.
#[derive(Debug, Clone, Copy)]
pub enum Native {
    /// It does not know it.
    No,
    /// It performs the key; `spec` checks the limits, which depend on other options.
    Key,
    /// It ignores it in a job file: with these values the option does not change the load. Empty: with any value.
    Ignores(&'static [&'static str]),
    /// It performs these values.
    Performs(&'static [&'static str]),
    /// It performs these values. In a job file the option belongs to fio's `io_uring`.
    OfIoUring(&'static [&'static str]),
    /// It performs any number of I/Os to submit or reap at once. These values don't hold I/Os back.
    Batch(&'static [&'static str]),
    /// It ignores it in a job file with a single job.
    IgnoresAlone,
}

impl FioOption {
    /// Returns the option as a key of a workload.
    #[must_use]
    pub const fn key(&self) -> Option<&Key> {
        match &self.access {
            Access::Key(key) => Some(key),
            _ => None,
        }
    }

    /// Returns this option with another behaviour of the native engine.
    pub(super) const fn native(self, native: Native) -> Self {
        Self { native, ..self }
    }
}

/// An option that fio gets unchanged.
pub(super) const fn passed(name: &'static str) -> FioOption {
    FioOption { name, access: Access::Passed, native: Native::No }
}

/// An option that only a job file may set.
pub(super) const fn job_file(name: &'static str, why: &'static str) -> FioOption {
    FioOption { name, access: Access::JobFile(why), native: Native::No }
}

/// An option that diskproof sets.
pub(super) const fn ours(name: &'static str, why: &'static str) -> FioOption {
    FioOption { name, access: Access::Ours(why), native: Native::Ignores(&[]) }
}

/// An option that is left out of a job file.
pub(super) const fn left_out(name: &'static str, why: &'static str) -> FioOption {
    FioOption { name, access: Access::LeftOut(why), native: Native::Ignores(&[]) }
}

/// An option that nobody may set.
pub(super) const fn refused(name: &'static str, why: &'static str) -> FioOption {
    FioOption { name, access: Access::Refused(why), native: Native::No }
}

/// Another name of an option.
pub(super) const fn alias(name: &'static str, of: &'static str, minus_from: Option<u8>) -> FioOption {
    FioOption { name, access: Access::Alias(Alias { of, minus_from }), native: Native::No }
}
