//! Options of a workload, with fio's names: from the keys of the file to values, with all defaults filled in.

use crate::diagnostic::printable;
use crate::fields::{Fields, named};
use crate::problems::Problems;
use crate::quantity::Wrong;
use crate::scope::Scope;
use crate::template::Template;
use crate::tree::Node;
use crate::value;
use crate::vocabulary::{IOENGINES, RATE_PROCESSES, RW, SYNC, VERIFY};
use crate::{block_sizes, distribution, together};
use record::workload::{EngineKind, Layout, Options, RateProcess, Rw, SizeRange, SizeShare, SyncMode};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// The longest pause between two I/Os: an hour.
const MAX_THINKTIME_US: u64 = 3_600_000_000;
/// The longest trial: a day.
const MAX_TIME_MS: u64 = 86_400_000;
/// The shortest trial.
const MIN_RUNTIME_MS: u64 = 500;

/// Reads options, one value each, and remembers whether all were valid.
struct Reader<'f, 'n, 'a> {
    fields: &'f Fields<'n>,
    scope: &'f Scope<'a>,
    sound: bool,
}

impl<'n> Reader<'_, 'n, '_> {
    /// Returns the value of a key, as `read` parses it, or the default if the key is absent.
    fn take<T>(
        &mut self,
        name: &str,
        default: T,
        problems: &mut Problems<'_>,
        read: impl FnOnce(&'n Node, &Scope<'_>, &mut Problems<'_>) -> Option<T>,
    ) -> T {
        let Some(node) = self.fields.get(name) else { return default };
        let value = read(node, self.scope, problems);
        self.sound &= value.is_some();
        value.unwrap_or(default)
    }

    fn number<T: TryFrom<u64>>(
        &mut self,
        name: &str,
        range: RangeInclusive<u64>,
        default: T,
        problems: &mut Problems<'_>,
    ) -> T {
        self.take(name, default, problems, |node, scope, problems| {
            value::integer(node, range, scope, problems).and_then(|value| T::try_from(value).ok())
        })
    }

    fn percentage(&mut self, name: &str, default: u8, problems: &mut Problems<'_>) -> u8 {
        self.take(name, default, problems, |node, scope, problems| {
            value::percentage(node, scope, problems).and_then(|value| u8::try_from(value).ok())
        })
    }

    fn switch(&mut self, name: &str, default: bool, problems: &mut Problems<'_>) -> bool {
        self.take(name, default, problems, value::switch)
    }

    fn size(&mut self, name: &str, least: u64, problems: &mut Problems<'_>) -> Option<u64> {
        self.take(name, None, problems, |node, scope, problems| {
            value::bytes(node, least, scope, problems).map(Some)
        })
    }

    fn word(
        &mut self,
        name: &str,
        words: &'static [&'static str],
        problems: &mut Problems<'_>,
    ) -> Option<&'static str> {
        self.take(name, None, problems, |node, scope, problems| {
            value::choice(node, words, scope, problems).map(Some)
        })
    }

    /// Reads a time in steps of `1 / per_second` seconds; without a unit it is in `unit`.
    fn time(
        &mut self,
        name: &str,
        unit: &str,
        per_second: u32,
        range: RangeInclusive<u64>,
        problems: &mut Problems<'_>,
    ) -> Option<u64> {
        self.take(name, None, problems, |node, scope, problems| {
            value::time(node, unit, per_second, range, scope, problems).map(Some)
        })
    }

    /// Reads a text with its own grammar.
    fn parsed<T>(
        &mut self,
        name: &str,
        expected: &str,
        problems: &mut Problems<'_>,
        parse: impl FnOnce(&str) -> Result<T, Wrong>,
    ) -> Option<T> {
        self.take(name, None, problems, |node, scope, problems| {
            let text = value::text(node, expected, scope, problems)?;
            match parse(&text) {
                Ok(value) => Some(Some(value)),
                Err(why) => {
                    value::wrong(node, why, scope, problems);
                    problems.amend(node.span).expected(expected);
                    None
                }
            }
        })
    }
}

/// Reads the options of one combination of levels.
pub(crate) fn read(
    template: &Template<'_>,
    engine: EngineKind,
    layout: Option<Layout>,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<Options> {
    let fields = &template.fields;
    check_needed(template, problems)?;
    let mut reader = Reader { fields, scope, sound: true };
    let rw = reader.word("rw", RW, problems).map(pattern);
    let other = other(fields.get("fio_options"), scope, problems);
    let sizes = sizes(&mut reader, problems);
    let mut options = Options::new(rw?, sizes.smallest, 0);
    options.bsrange = sizes.range;
    options.bssplit = sizes.split;
    data(&mut options, &mut reader, problems);
    issue(&mut options, engine, &mut reader, problems);
    pace(&mut options, &mut reader, problems);
    options.other = other?;
    if !reader.sound {
        return None;
    }
    together::check(&options, engine, layout, fields, scope, problems)?;
    match engine {
        EngineKind::Native => crate::native::check(&options, layout, fields, problems)?,
        EngineKind::Fio => crate::fio_lacks::check(&options, fields, problems)?,
        // These engines have their own options.
        EngineKind::Corpus | EngineKind::Bonnie => return None,
    }
    Some(options)
}

fn check_needed(template: &Template<'_>, problems: &mut Problems<'_>) -> Option<()> {
    let missing: Vec<&str> =
        ["rw", "size"].into_iter().filter(|name| template.fields.get(name).is_none()).collect();
    if missing.is_empty() {
        return Some(());
    }
    let list = missing.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" and ");
    problems
        .add_missing(
            template.key.span,
            format!("workload `{}` needs {list}", printable(&template.key.text, 60)),
        )
        .expected("e.g. `rw: randread` and `size: 1g`; or `fio: FILE` for a job file");
    None
}

/// Returns the pattern for fio's word; `readwrite` is an alias of `rw`.
pub(crate) fn pattern(word: &str) -> Rw {
    Rw::ALL.into_iter().find(|rw| rw.name() == word).unwrap_or(Rw::Rw)
}

struct Sizes {
    smallest: u64,
    range: Option<SizeRange>,
    split: Vec<SizeShare>,
}

fn sizes(reader: &mut Reader<'_, '_, '_>, problems: &mut Problems<'_>) -> Sizes {
    let given: Vec<_> =
        ["bs", "bsrange", "bssplit"].iter().filter_map(|name| reader.fields.key(name)).collect();
    if let [first, second, ..] = given.as_slice() {
        problems
            .add(second.span, format!("`{}` and `{}` cannot both be given", first.text, second.text))
            .help("keep one of them: bs (all blocks alike), bsrange (a range), bssplit (sizes with shares)");
        reader.sound = false;
    }
    let plain = reader.size("bs", 1, problems);
    let range = reader.parsed("bsrange", "a range of sizes, e.g. `4k-64k`", problems, block_sizes::range);
    let expected = "sizes with their shares, e.g. `4k/60:64k/40`";
    let split = reader.parsed("bssplit", expected, problems, block_sizes::split).unwrap_or_default();
    let smallest = split.iter().map(|share| share.bs_bytes).chain(range.map(|range| range.low_bytes)).min();
    Sizes { smallest: smallest.or(plain).unwrap_or(4096), range, split }
}

/// Reads the options about what is read and written, and where.
fn data(options: &mut Options, reader: &mut Reader<'_, '_, '_>, problems: &mut Problems<'_>) {
    options.rwmixread = reader.percentage("rwmixread", 50, problems);
    options.size_bytes = reader.size("size", 1, problems).unwrap_or(0);
    options.offset_bytes = reader.size("offset", 0, problems).unwrap_or(0);
    options.nrfiles = reader.number("nrfiles", 1..=65_536, 1, problems);
    options.filename = reader.parsed("filename", "a plain name: a-z 0-9 . _ -", problems, plain_name);
    let expected = "one of random, zipf:THETA, pareto:POWER, normal:DEVIATION, zoned:..., zoned_abs:...";
    if let Some(text) = reader.parsed("random_distribution", expected, problems, distribution::check) {
        options.random_distribution = text;
    }
    options.norandommap = reader.switch("norandommap", false, problems);
    options.buffer_compress_percentage = reader.percentage("buffer_compress_percentage", 0, problems);
    options.dedupe_percentage = reader.percentage("dedupe_percentage", 0, problems);
    options.verify =
        reader.word("verify", VERIFY, problems).filter(|word| *word != "none").map(str::to_owned);
}

/// Reads the options about how I/O is issued and made durable.
fn issue(
    options: &mut Options,
    engine: EngineKind,
    reader: &mut Reader<'_, '_, '_>,
    problems: &mut Problems<'_>,
) {
    options.iodepth = reader.number("iodepth", 1..=65_536, 1, problems);
    options.numjobs = reader.number("numjobs", 1..=1024, 1, problems);
    options.direct = reader.switch("direct", false, problems);
    let ioengine = reader.word("ioengine", IOENGINES, problems);
    options.ioengine = ioengine.unwrap_or_else(|| default_ioengine(engine, options.iodepth)).to_owned();
    options.fsync = reader.number("fsync", 0..=1_000_000_000, 0, problems);
    options.fdatasync = reader.number("fdatasync", 0..=1_000_000_000, 0, problems);
    options.sync = reader.word("sync", SYNC, problems).map_or(SyncMode::None, sync_mode);
    let buffered_writes = !options.direct && options.rw.writes();
    options.end_fsync = reader.switch("end_fsync", buffered_writes, problems);
}

/// Returns the mode for a word of fio's `sync`.
pub(crate) fn sync_mode(word: &str) -> SyncMode {
    match word {
        "dsync" => SyncMode::Dsync,
        "sync" | "1" => SyncMode::Sync,
        _ => SyncMode::None,
    }
}

/// Reads the options about when I/O is issued, and for how long.
fn pace(options: &mut Options, reader: &mut Reader<'_, '_, '_>, problems: &mut Problems<'_>) {
    let iops = reader.number("rate_iops", 0..=u64::from(u32::MAX), 0_u64, problems);
    options.rate_iops = Some(iops).filter(|rate| *rate > 0);
    options.rate_bytes_per_second = reader.size("rate", 0, problems).filter(|rate| *rate > 0);
    if reader.word("rate_process", RATE_PROCESSES, problems) == Some("poisson") {
        options.rate_process = RateProcess::Poisson;
    }
    options.thinktime_us =
        reader.time("thinktime", "us", 1_000_000, 0..=MAX_THINKTIME_US, problems).unwrap_or(0);
    options.thinktime_blocks = reader.number("thinktime_blocks", 1..=u64::from(u32::MAX), 1, problems);
    options.runtime_ms = reader.time("runtime", "s", 1000, MIN_RUNTIME_MS..=MAX_TIME_MS, problems);
    options.ramp_time_ms = reader.time("ramp_time", "s", 1000, 0..=MAX_TIME_MS, problems);
    options.time_based = reader.switch("time_based", true, problems);
}

fn default_ioengine(engine: EngineKind, iodepth: u32) -> &'static str {
    match engine {
        EngineKind::Native => "io_uring",
        EngineKind::Fio if iodepth > 1 => "libaio",
        EngineKind::Fio | EngineKind::Corpus | EngineKind::Bonnie => "psync",
    }
}

/// Checks the name of a shared file.
pub(crate) fn plain_name(text: &str) -> Result<String, Wrong> {
    let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'.' | b'_' | b'-');
    let starts = text.bytes().next().is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    if starts && text.bytes().all(fits) && text.len() <= crate::limits::MAX_NAME {
        return Ok(text.to_owned());
    }
    let help = match text.contains(['/', ':']) {
        true => "diskproof places the data itself; a name only says that all jobs share one file",
        false => "it begins with a letter or digit and has at most 100 characters",
    };
    Err(Wrong::with(format!("`{}` is no plain name", printable(text, 40)), help))
}

fn other(
    node: Option<&Node>,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<BTreeMap<String, String>> {
    let mut other = BTreeMap::new();
    let Some(node) = node else { return Some(other) };
    let mut sound = true;
    for (key, node) in named(node, "a map of fio options", problems)? {
        let Some(text) = value::text(node, "a value of a fio option", scope, problems) else {
            sound = false;
            continue;
        };
        if let Err(refused) = crate::fio_option::check(&key.text, &text) {
            let diagnostic = problems.add(key.span, refused.message);
            diagnostic.help = Some(refused.help);
            diagnostic.did_you_mean = refused.near;
            sound = false;
        }
        other.insert(key.text.clone(), text);
    }
    sound.then_some(other)
}
