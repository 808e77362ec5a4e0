//! Workloads as declared, and one workload per combination of their levels.

use crate::diagnostic::printable;
use crate::factor::{Factor, fill_name};
use crate::fields::{Fields, named};
use crate::jobfile::JobFile;
use crate::problems::Problems;
use crate::scope::{Level, Scope};
use crate::tree::{Key, Node, Value};
use crate::value;
use crate::vocabulary::{CACHES, ENGINES, IOENGINES, LAYOUTS, RW, WORKLOAD};
use record::quantity::Bytes;
use record::workload::{Ask, CacheStart, EngineKind, Layout, Options, Rw, Workload};
use std::collections::BTreeMap;
use std::path::Path;

/// A workload of the file, its factors read.
pub(crate) struct Template<'n> {
    pub(crate) key: &'n Key,
    pub(crate) factors: Vec<Factor>,
    pub(crate) fields: Fields<'n>,
}

/// One workload with its levels.
pub(crate) struct Instance {
    pub(crate) levels: Vec<(String, Level)>,
    pub(crate) workload: Workload,
}

/// Reads a workload's frame.
pub(crate) fn template<'n>(
    key: &'n Key,
    node: &'n Node,
    parameters: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<Template<'n>> {
    let named = crate::name::check_template(key, "a workload", problems);
    let fields = Fields::open(node, &WORKLOAD, problems)?;
    let factors = crate::factor::read(fields.get("with"), parameters, problems)?;
    named.map(|()| Template { key, factors, fields })
}

/// The workload of one combination.
pub(crate) fn instance(
    template: &Template<'_>,
    levels: Vec<(String, Level)>,
    parameters: &Scope<'_>,
    base_dir: &Path,
    problems: &mut Problems<'_>,
) -> Option<Instance> {
    let scope = Scope { parent: Some(parameters), names: levels };
    let name = fill_name(template.key, &template.factors, &scope, "workload", problems);
    let fields = &template.fields;
    let layout = pick(fields, "layout", LAYOUTS, &scope, problems).map(|word| match word {
        "unwritten" => Layout::Unwritten,
        "hole" => Layout::Hole,
        _ => Layout::Written,
    });
    let cache = pick(fields, "cache", CACHES, &scope, problems).map(|word| match word {
        "warm" => CacheStart::Warm,
        "keep" => CacheStart::Keep,
        _ => CacheStart::Cold,
    });
    let engine = match pick(fields, "engine", ENGINES, &scope, problems)? {
        "native" => EngineKind::Native,
        _ => EngineKind::Fio,
    };
    let ask = match fields.get("fio") {
        Some(node) if engine == EngineKind::Native => {
            crate::native::refuse_job_file(node, problems);
            None
        }
        Some(node) => job_file(node, fields, base_dir, &scope, problems),
        None => options(template, engine, &scope, problems).map(Ask::Options),
    };
    let workload = Workload { name: name?, engine, ask: ask?, layout: layout?, cache: cache? };
    Some(Instance { levels: scope.names, workload })
}

/// One of some words; the first if it is not given.
fn pick(
    fields: &Fields<'_>,
    name: &str,
    words: &'static [&'static str],
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<&'static str> {
    match fields.get(name) {
        Some(node) => value::choice(node, words, scope, problems),
        None => words.first().copied(),
    }
}

fn job_file(
    node: &Node,
    fields: &Fields<'_>,
    base_dir: &Path,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<Ask> {
    const BESIDE: &[&str] = &["fio", "with", "size", "layout", "cache", "engine"];
    for (key, _) in fields.entries() {
        if !BESIDE.contains(&key.text.as_str()) {
            problems
                .add(key.span, format!("`{}` and `fio` cannot both be given", printable(&key.text, 40)))
                .help("a job file says everything itself: write the option there");
            return None;
        }
    }
    let path = value::text(node, "path of a fio job file", scope, problems)?;
    let JobFile { text, size_bytes, sets_time } = crate::jobfile::read(node, &path, base_dir, problems)?;
    if sets_time {
        problems.note(
            node.span,
            "the job file's own times count where it has them; the forecast knows only `measure`",
        );
    }
    let size_bytes = match (fields.get("size"), size_bytes) {
        (Some(size), _) => value::size(size, scope, problems)?,
        (None, Some(bytes)) if bytes > 0 => bytes,
        (None, _) => {
            problems
                .add_missing(node.span, "the job file does not say how much data its jobs need")
                .expected(
                    "`size=...` (a size, no percentage) in every job, or `size: ...` here for all together",
                );
            return None;
        }
    };
    Some(Ask::JobFile { path, text, size_bytes, jobs: Vec::new() })
}

/// Reads numbers with their defaults; remembers whether all were sound.
struct Numbers<'f, 'n, 'a> {
    fields: &'f Fields<'n>,
    scope: &'f Scope<'a>,
    sound: bool,
}

impl Numbers<'_, '_, '_> {
    fn get<T: TryFrom<u64> + Copy>(
        &mut self,
        name: &str,
        range: std::ops::RangeInclusive<u64>,
        default: T,
        problems: &mut Problems<'_>,
    ) -> T {
        let Some(node) = self.fields.get(name) else { return default };
        let value =
            value::integer(node, range, self.scope, problems).and_then(|value| T::try_from(value).ok());
        self.sound &= value.is_some();
        value.unwrap_or(default)
    }

    fn percentage(&mut self, name: &str, default: u8, problems: &mut Problems<'_>) -> u8 {
        let Some(node) = self.fields.get(name) else { return default };
        let value = value::percentage(node, self.scope, problems).and_then(|value| u8::try_from(value).ok());
        self.sound &= value.is_some();
        value.unwrap_or(default)
    }

    fn switch(&mut self, name: &str, default: bool, problems: &mut Problems<'_>) -> bool {
        let Some(node) = self.fields.get(name) else { return default };
        let value = value::switch(node, self.scope, problems);
        self.sound &= value.is_some();
        value.unwrap_or(default)
    }

    fn size(&mut self, name: &str, default: u64, problems: &mut Problems<'_>) -> u64 {
        let Some(node) = self.fields.get(name) else { return default };
        let value = value::size(node, self.scope, problems);
        self.sound &= value.is_some();
        value.unwrap_or(default)
    }
}

fn options(
    template: &Template<'_>,
    engine: EngineKind,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<Options> {
    let fields = &template.fields;
    let missing: Vec<&str> = ["rw", "size"].into_iter().filter(|name| fields.get(name).is_none()).collect();
    if !missing.is_empty() {
        let list = missing.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" and ");
        problems
            .add_missing(
                template.key.span,
                format!("workload `{}` needs {list}", printable(&template.key.text, 60)),
            )
            .expected("e.g. `rw: randread` and `size: 1g`; or `fio: FILE` for a job file");
        return None;
    }
    let rw = match value::choice(fields.get("rw")?, RW, scope, problems) {
        Some("read") => Some(Rw::Read),
        Some("write") => Some(Rw::Write),
        Some("randread") => Some(Rw::Randread),
        Some("randwrite") => Some(Rw::Randwrite),
        Some("rw") => Some(Rw::Rw),
        Some(_) => Some(Rw::Randrw),
        None => None,
    };
    let other = other(fields.get("fio_options"), scope, problems);
    let random_distribution = match fields.get("random_distribution") {
        Some(node) => distribution(node, scope, problems),
        None => Some("random".to_owned()),
    };
    let ioengine = match fields.get("ioengine") {
        Some(node) => Some(value::choice(node, IOENGINES, scope, problems)?.to_owned()),
        None => None,
    };
    let mut n = Numbers { fields, scope, sound: true };
    let iodepth = n.get("iodepth", 1..=65_536, 1_u32, problems);
    let direct = n.switch("direct", false, problems);
    let buffered_writes = !direct && rw.is_some_and(Rw::writes);
    let rate_iops = n.get("rate_iops", 1..=u64::from(u32::MAX), 0_u64, problems);
    let options = Options {
        rw: rw?,
        rwmixread: n.percentage("rwmixread", 50, problems),
        bs_bytes: n.size("bs", 4096, problems),
        size_bytes: n.size("size", 0, problems),
        iodepth,
        numjobs: n.get("numjobs", 1..=1024, 1, problems),
        direct,
        ioengine: ioengine.unwrap_or_else(|| default_ioengine(engine, iodepth).to_owned()),
        fsync: n.get("fsync", 0..=1_000_000_000, 0, problems),
        fdatasync: n.get("fdatasync", 0..=1_000_000_000, 0, problems),
        end_fsync: n.switch("end_fsync", buffered_writes, problems),
        buffer_compress_percentage: n.percentage("buffer_compress_percentage", 0, problems),
        dedupe_percentage: n.percentage("dedupe_percentage", 0, problems),
        rate_iops: (rate_iops > 0).then_some(rate_iops),
        random_distribution: random_distribution?,
        norandommap: n.switch("norandommap", false, problems),
        other: other?,
        ..Options::new(rw?, 4096, 0)
    };
    if !n.sound {
        return None;
    }
    check(&options, fields, scope, problems)?;
    if engine == EngineKind::Native {
        crate::native::check(&options, fields, problems)?;
    }
    Some(options)
}

fn default_ioengine(engine: EngineKind, iodepth: u32) -> &'static str {
    match engine {
        EngineKind::Native => "io_uring",
        EngineKind::Fio if iodepth > 1 => "libaio",
        EngineKind::Fio => "psync",
    }
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

fn distribution(node: &Node, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<String> {
    const KINDS: [&str; 6] = ["random", "zipf", "pareto", "normal", "zoned", "zoned_abs"];
    let text = value::text(node, "a distribution of fio, e.g. random, zipf:1.1", scope, problems)?;
    let kind = text.split(':').next().unwrap_or("");
    let plain =
        text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b':' | b'.' | b'/' | b'_' | b','));
    if !KINDS.contains(&kind) || !plain || text.len() > 1000 {
        problems
            .add(node.span, format!("`{}` is no distribution of fio", printable(&text, 40)))
            .suggest(kind, KINDS)
            .expected("one of random, zipf:THETA, pareto:POWER, normal:DEVIATION, zoned:..., zoned_abs:...");
        return None;
    }
    Some(text)
}

/// What each option allows alone may still not go together.
fn check(
    options: &Options,
    fields: &Fields<'_>,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<()> {
    let at = |name: &str| fields.key(name).map(|key| key.span).unwrap_or_default();
    if options.direct && !options.bs_bytes.is_multiple_of(512) {
        problems
            .add(
                fields.get("bs").map_or(at("direct"), |node| node.span),
                format!("`direct: 1` with blocks of {} bytes{}", options.bs_bytes, scope.levels()),
            )
            .expected("a multiple of 512: O_DIRECT needs whole sectors");
        return None;
    }
    if options.size_bytes < options.bs_bytes {
        let (size, bs) = (Bytes(options.size_bytes), Bytes(options.bs_bytes));
        problems
            .add(
                fields.get("size").map_or(at("size"), |node| node.span),
                format!("`size` ({size}) is less than one block ({bs}){}", scope.levels()),
            )
            .expected("at least one block, and much more to say anything");
        return None;
    }
    if options.size_bytes.checked_mul(u64::from(options.numjobs)).is_none_or(|bytes| bytes > 1 << 60) {
        problems.add(at("numjobs"), format!("`size` times `numjobs` is too large{}", scope.levels()));
        return None;
    }
    remark(options, fields, problems);
    Some(())
}

/// Notes: allowed, but probably not what was meant.
fn remark(options: &Options, fields: &Fields<'_>, problems: &mut Problems<'_>) {
    let span = |name: &str| fields.key(name).map(|key| key.span).unwrap_or_default();
    let engine = options.ioengine.as_str();
    if options.iodepth > 1 && !matches!(engine, "libaio" | "io_uring" | "posixaio") {
        let text = format!(
            "`iodepth` has no effect: {engine} does one I/O at a time; use libaio, io_uring, or `numjobs`"
        );
        problems.note(span("iodepth"), text);
    } else if options.iodepth > 1 && engine == "libaio" && !options.direct {
        problems.note(
            span("iodepth"),
            "`iodepth` has no effect: libaio does buffered I/O one at a time; use `direct: 1` or `ioengine: io_uring`",
        );
    }
    if !options.size_bytes.is_multiple_of(options.bs_bytes) {
        problems.note(span("size"), "`size` is not a multiple of `bs`: the rest is never touched");
    }
    // Where the pattern is a factor, some levels make no use of some options: that is meant.
    if !matches!(fields.get("rw"), Some(Node { value: Value::Text(word), .. }) if RW.contains(&word.as_str()))
    {
        return;
    }
    if fields.get("rwmixread").is_some() && !matches!(options.rw, Rw::Rw | Rw::Randrw) {
        problems
            .note(span("rwmixread"), format!("`rwmixread` has no effect with `rw: {}`", options.rw.name()));
    }
    if fields.get("random_distribution").is_some() && !options.rw.is_random() {
        let text = format!("`random_distribution` has no effect with `rw: {}`", options.rw.name());
        problems.note(span("random_distribution"), text);
    }
    for name in ["fsync", "fdatasync", "end_fsync"] {
        if fields.get(name).is_some() && !options.rw.writes() {
            problems.note(span(name), format!("`{name}` has no effect: the workload does not write"));
        }
    }
}
