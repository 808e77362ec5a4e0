//! What each option allows alone may still not go together.

use crate::block_sizes;
use crate::fields::Fields;
use crate::problems::Problems;
use crate::scope::Scope;
use crate::source::Span;
use crate::tree::{Node, Value};
use crate::vocabulary::RW;
use record::quantity::Bytes;
use record::workload::{EngineKind, Options, Rw, SyncMode};

/// Where to complain about options.
struct Places<'f, 'n, 'a> {
    fields: &'f Fields<'n>,
    scope: &'f Scope<'a>,
}

impl Places<'_, '_, '_> {
    /// The value of the first of some keys that is there.
    fn value(&self, names: &[&str]) -> Span {
        let node = names.iter().find_map(|name| self.fields.get(name));
        node.map_or_else(|| self.key(names.first().copied().unwrap_or_default()), |node| node.span)
    }

    fn key(&self, name: &str) -> Span {
        self.fields.key(name).map(|key| key.span).unwrap_or_default()
    }
}

/// The keys that say the block size.
const SIZES: &[&str] = &["bs", "bsrange", "bssplit"];

/// Refuses what can't be performed by any engine.
pub(crate) fn check(
    options: &Options,
    engine: EngineKind,
    fields: &Fields<'_>,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<()> {
    let places = Places { fields, scope };
    sectors(options, &places, problems)?;
    room(options, &places, problems)?;
    files(options, &places, problems)?;
    if options.rate_iops.is_some() && options.rate_bytes_per_second.is_some() {
        problems
            .add(places.key("rate"), format!("`rate` and `rate_iops` cannot both be given{}", scope.levels()))
            .help("with blocks of one size they say the same: keep one of them");
        return None;
    }
    verify(options, &places, problems)?;
    remark(options, engine, fields, problems);
    Some(())
}

/// O_DIRECT needs whole sectors.
fn sectors(options: &Options, places: &Places<'_, '_, '_>, problems: &mut Problems<'_>) -> Option<()> {
    const EXPECTED: &str = "a multiple of 512: O_DIRECT needs whole sectors";
    if !options.direct {
        return Some(());
    }
    let levels = places.scope.levels();
    if let Some(odd) = block_sizes::all(options).into_iter().find(|size| !size.is_multiple_of(512)) {
        problems
            .add(places.value(SIZES), format!("`direct: 1` with blocks of {odd} bytes{levels}"))
            .expected(EXPECTED);
        return None;
    }
    if !options.offset_bytes.is_multiple_of(512) {
        let message = format!("`direct: 1` with `offset` {}{levels}", options.offset_bytes);
        problems.add(places.value(&["offset"]), message).expected(EXPECTED);
        return None;
    }
    Some(())
}

fn room(options: &Options, places: &Places<'_, '_, '_>, problems: &mut Problems<'_>) -> Option<()> {
    let levels = places.scope.levels();
    let largest = block_sizes::largest(options);
    if options.size_bytes < largest {
        let (size, bs) = (Bytes(options.size_bytes), Bytes(largest));
        problems
            .add(places.value(&["size"]), format!("`size` ({size}) is less than one block ({bs}){levels}"))
            .expected("at least one block, and much more to say anything");
        return None;
    }
    let each = options.size_bytes.checked_add(options.offset_bytes);
    let all = each.and_then(|bytes| bytes.checked_mul(u64::from(options.numjobs)));
    if all.is_none_or(|bytes| bytes > 1 << 60) {
        let message = format!("`size` times `numjobs` is too large{levels}");
        problems.add(places.value(&["numjobs", "offset", "size"]), message);
        return None;
    }
    Some(())
}

fn files(options: &Options, places: &Places<'_, '_, '_>, problems: &mut Problems<'_>) -> Option<()> {
    if options.nrfiles == 1 {
        return Some(());
    }
    let levels = places.scope.levels();
    let each = options.size_bytes / u64::from(options.nrfiles);
    let largest = block_sizes::largest(options);
    if each < largest {
        let (each, largest) = (Bytes(each), Bytes(largest));
        problems
            .add(
                places.value(&["nrfiles"]),
                format!(
                    "each of {} files would have {each}, less than one block ({largest}){levels}",
                    options.nrfiles
                ),
            )
            .help("fewer files, or a larger `size`");
        return None;
    }
    for (name, given) in [("filename", options.filename.is_some()), ("offset", options.offset_bytes > 0)] {
        if given {
            problems
                .add(places.key("nrfiles"), format!("`nrfiles` and `{name}` cannot both be given{levels}"))
                .help(match name {
                    "filename" => "`filename` means one file that all jobs share",
                    _ => "each file would begin with its own gap: leave one of them out",
                });
            return None;
        }
    }
    Some(())
}

/// Blocks can be checked only where it is known what they must hold.
fn verify(options: &Options, places: &Places<'_, '_, '_>, problems: &mut Problems<'_>) -> Option<()> {
    if options.verify.is_none() {
        return Some(());
    }
    let shared = options.filename.is_some() && options.numjobs > 1 && options.rw.writes();
    let (with, help) = if options.dedupe_percentage > 0 {
        ("`dedupe_percentage`", "blocks that are alike can't carry their own place: leave one of them out")
    } else if options.rw.trims() {
        ("trims", "what a trimmed block holds is not defined: leave `verify` out, or use another `rw`")
    } else if shared {
        (
            "a `filename` that several jobs write",
            "nobody knows which job wrote last: give each job its own file, or `numjobs: 1`",
        )
    } else {
        return Some(());
    };
    let message = format!("`verify` does not go with {with}{}", places.scope.levels());
    problems.add(places.key("verify"), message).help(help);
    None
}

/// Notes: allowed, but probably not what was meant.
fn remark(options: &Options, engine: EngineKind, fields: &Fields<'_>, problems: &mut Problems<'_>) {
    let span = |name: &str| fields.key(name).map(|key| key.span).unwrap_or_default();
    let ioengine = options.ioengine.as_str();
    let by_fio = engine == EngineKind::Fio;
    if by_fio && options.iodepth > 1 && !matches!(ioengine, "libaio" | "io_uring" | "posixaio") {
        let text = format!(
            "`iodepth` has no effect: {ioengine} does one I/O at a time; use libaio, io_uring, or `numjobs`"
        );
        problems.note(span("iodepth"), text);
    } else if options.iodepth > 1 && ioengine == "libaio" && !options.direct {
        problems.note(
            span("iodepth"),
            "`iodepth` has no effect: libaio does buffered I/O one at a time; use `direct: 1` or `ioengine: io_uring`",
        );
    }
    let alike = options.bsrange.is_none() && options.bssplit.is_empty();
    if alike && !options.size_bytes.is_multiple_of(options.bs_bytes) {
        problems.note(span("size"), "`size` is not a multiple of `bs`: the rest is never touched");
    }
    idle(options, fields, problems);
}

/// Notes about options that do nothing.
fn idle(options: &Options, fields: &Fields<'_>, problems: &mut Problems<'_>) {
    let mut note = |name: &str, why: &str| {
        if let Some(key) = fields.key(name) {
            problems.note(key.span, format!("`{name}` has no effect{why}"));
        }
    };
    if options.thinktime_us == 0 && fields.get("thinktime").is_none() {
        note("thinktime_blocks", " without `thinktime`");
    }
    if fields.get("rate").is_none() && fields.get("rate_iops").is_none() {
        note("rate_process", " without `rate` or `rate_iops`");
    }
    // Where the pattern is a factor, some levels make no use of some options: that is meant.
    if !matches!(fields.get("rw"), Some(Node { value: Value::Text(word), .. }) if RW.contains(&word.as_str()))
    {
        return;
    }
    let pattern = format!(" with `rw: {}`", options.rw.name());
    if !matches!(options.rw, Rw::Rw | Rw::Randrw) {
        note("rwmixread", &pattern);
    }
    if !options.rw.is_random() {
        note("random_distribution", &pattern);
    }
    if !options.rw.writes() {
        for name in ["fsync", "fdatasync", "end_fsync"] {
            note(name, ": the workload does not write");
        }
        if options.sync != SyncMode::None {
            note("sync", ": the workload does not write");
        }
    }
}
