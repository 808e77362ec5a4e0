//! The fio options that the native engine supports. The engine calls the same function just before the trial.

use crate::diagnostic::printable;
use crate::fields::Fields;
use crate::problems::Problems;
use crate::tree::{Key, Value};
use crate::{block_sizes, distribution, together};
use record::fio_option::{Native, find};
use record::workload::{Layout, Options};
use std::fmt;
use std::ops::Range;

/// I/O engines that native supports.
const IOENGINES: &[&str] = &["io_uring", "psync"];

/// Most I/Os in flight of one job: a ring has no more entries.
const MOST_DEPTH: u32 = 32_768;

/// Something that the native engine does not support.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lack {
    /// fio's name of the option.
    pub option: String,
    /// Description of it, for a sentence that begins with "the native engine does not know"; a whole sentence if no engine supports it.
    pub what: String,
    /// Whether another engine supports it.
    pub elsewhere: bool,
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.elsewhere {
            true => write!(f, "the native engine does not know {}; use engine: fio", self.what),
            false => f.write_str(&self.what),
        }
    }
}

/// Returns what the native engine lacks for a workload, including what no engine can do. Empty: it supports the workload.
#[must_use]
pub fn native_lacks(options: &Options, layout: Layout) -> Vec<Lack> {
    let mut lacks = Vec::new();
    if let Err(clash) = together::clash(options, layout) {
        let option = clash.options.first().copied().unwrap_or_default().to_owned();
        return vec![Lack { option, what: clash.message, elsewhere: false }];
    }
    let mut lack =
        |option: &str, what: String| lacks.push(Lack { option: option.to_owned(), what, elsewhere: true });
    other(options, &mut lack);
    issue(options, &mut lack);
    sizes(options, &mut lack);
    if options.rw.is_random()
        && let Err(what) = distribution(options)
    {
        lack("random_distribution", what);
    }
    let one_direction = [options.rw.reads(), options.rw.writes(), options.rw.trims()];
    if one_direction.iter().filter(|does| **does).count() > 1 {
        let each = options.rate_iops.filter(|_| !options.rate_of_all);
        let rates = [("rate_iops", each), ("rate", options.rate_bytes_per_second)];
        for (name, _) in rates.iter().filter(|(_, rate)| rate.is_some()) {
            lack(
                name,
                format!("`{name}` with `rw: {}`: fio applies it to each direction", options.rw.name()),
            );
        }
    }
    if let Some(verify) = options.verify.as_deref().filter(|verify| *verify != "crc32c") {
        lack("verify", format!("`verify: {}`, only crc32c", printable(verify, 20)));
    }
    lacks
}

fn issue(options: &Options, lack: &mut impl FnMut(&str, String)) {
    let ioengine = options.ioengine.as_str();
    if !IOENGINES.contains(&ioengine) {
        let shown = printable(ioengine, 20);
        lack("ioengine", format!("`ioengine: {shown}`, only io_uring, and psync in threads"));
    }
    if options.iodepth > MOST_DEPTH {
        lack("iodepth", format!("`iodepth` above {MOST_DEPTH}"));
    }
    for name in options.other.keys().filter(|_| ioengine == "psync") {
        let why = match find(name).map(|option| option.native) {
            Some(Native::OfIoUring(_)) if on(options, name) => "it belongs to io_uring",
            Some(Native::Batch(_)) => "it has one I/O in flight on each thread",
            _ => continue,
        };
        lack(name, format!("`{name}` with `ioengine: psync`: {why}"));
    }
    if !on(options, "hipri") {
        return;
    }
    let syncs =
        options.fsync > 0 || options.fdatasync > 0 || options.sync != record::workload::SyncMode::None;
    if !options.direct {
        lack("hipri", "`hipri` without `direct: 1`: it polls the device".to_owned());
    } else if options.rw.writes() && syncs {
        lack("hipri", "`hipri` with fsync, fdatasync or sync: a polled ring can't flush".to_owned());
    } else if options.rw.trims() {
        lack("hipri", "`hipri` with trims: a polled ring can't trim".to_owned());
    }
}

/// Whether an entry of `fio_options` is switched on.
fn on(options: &Options, name: &str) -> bool {
    options.other.get(name).is_some_and(|value| value != "0")
}

fn sizes(options: &Options, lack: &mut impl FnMut(&str, String)) {
    let name = match (&options.bsrange, options.bssplit.is_empty()) {
        (Some(_), _) => "bsrange",
        (None, false) => "bssplit",
        (None, true) => "bs",
    };
    if u32::try_from(block_sizes::largest(options)).is_err() {
        lack(name, format!("`{name}` of 4g or more"));
    }
    let smallest = options.bs_bytes.max(1);
    if options.verify.is_some() {
        if !smallest.is_multiple_of(512) {
            lack("verify", "`verify` of blocks that are no multiple of 512".to_owned());
        } else if block_sizes::all(options).iter().any(|size| !size.is_multiple_of(smallest)) {
            lack("verify", "`verify` of blocks that are no multiples of the smallest one".to_owned());
        }
    }
}

fn other(options: &Options, lack: &mut impl FnMut(&str, String)) {
    for (name, value) in &options.other {
        let known = match find(name).map(|option| option.native) {
            Some(Native::Performs(values) | Native::OfIoUring(values)) => values.contains(&value.as_str()),
            Some(Native::Batch(_)) => batch(name, value).is_some(),
            _ => {
                lack(name, format!("fio option `{}`", printable(name, 40)));
                continue;
            }
        };
        if !known {
            lack(name, format!("`{name}={}`", printable(value, 20)));
        }
    }
}

/// Checks the distribution. Its parameters have the same limits as in `native/distribution.rs` in `engine`.
fn distribution(options: &Options) -> Result<(), String> {
    let text = options.random_distribution.as_str();
    let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
    let unknown = || format!("the distribution `{}`", printable(text, 40));
    let number = |range: Range<f64>| match rest.parse::<f64>() {
        _ if rest.contains(':') => Err(format!("{} with a centre", unknown())),
        Ok(value) if value > range.start && value < range.end => Ok(()),
        _ => Err(unknown()),
    };
    match kind {
        "random" if rest.is_empty() => Ok(()),
        "zipf" | "pareto" if rest.is_empty() => Ok(()),
        "zipf" => number(0.0..100.0),
        "pareto" => number(0.0..1.0),
        "normal" => number(0.0..100.1),
        "zoned" | "zoned_abs" if rest.contains(',') => Err(format!("{} for several directions", unknown())),
        "zoned" | "zoned_abs" => {
            let block = options.bs_bytes.max(1);
            let blocks = options.size_bytes / u64::from(options.nrfiles.max(1)) / block;
            let fit = distribution::zones_fit(text, blocks, block);
            fit.then_some(())
                .ok_or_else(|| format!("{}: a zone without a block, or beyond `size`", unknown()))
        }
        _ => Err(unknown()),
    }
}

/// Returns the place of an entry of `fio_options`.
fn fio_option<'n>(fields: &Fields<'n>, name: &str) -> Option<&'n Key> {
    match &fields.get("fio_options")?.value {
        Value::Map(entries) => entries.iter().map(|(key, _)| key).find(|key| key.text == name),
        _ => None,
    }
}

/// Returns the number of I/Os of an option about batches ([`Native::Batch`]); `None`: native doesn't support the value. With 0 completions fio polls, and
/// its versions differ in what that means.
#[must_use]
pub fn batch(name: &str, value: &str) -> Option<u32> {
    value.parse().ok().filter(|count| *count > 0 || !name.starts_with("iodepth_batch_complete"))
}

/// Refuses, by name, what the engine lacks.
pub(crate) fn check(
    options: &Options,
    layout: Option<Layout>,
    fields: &Fields<'_>,
    problems: &mut Problems<'_>,
) -> Option<()> {
    let lacks = native_lacks(options, layout.unwrap_or(Layout::Written));
    for lack in &lacks {
        let key = fields.key(&lack.option).or_else(|| fio_option(fields, &lack.option));
        let span = key.or_else(|| fields.key("engine")).map(|key| key.span).unwrap_or_default();
        problems
            .add(span, format!("the native engine does not know {}", lack.what))
            .help("use `engine: fio`");
    }
    lacks.is_empty().then_some(())
}
