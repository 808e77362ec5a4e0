//! Combinations of options that are not allowed, although each option alone is.

use crate::block_sizes;
use crate::fields::Fields;
use crate::problems::Problems;
use crate::scope::Scope;
use crate::tree::{Node, Value};
use record::fio_option::RW_WORDS;
use record::quantity::Bytes;
use record::workload::{EngineKind, Layout, Options, Rw, SyncMode};

/// Options that no engine can perform together.
pub(crate) struct Clash {
    /// The options at fault; the message is placed at the first one that the file has.
    pub(crate) options: &'static [&'static str],
    pub(crate) message: String,
    expected: Option<String>,
    help: Option<&'static str>,
}

impl Clash {
    fn new(options: &'static [&'static str], message: String) -> Self {
        Self { options, message, expected: None, help: None }
    }

    fn expected(self, expected: impl Into<String>) -> Self {
        Self { expected: Some(expected.into()), ..self }
    }

    fn help(self, help: &'static str) -> Self {
        Self { help: Some(help), ..self }
    }
}

/// The options that set the block size.
const SIZES: &[&str] = &["bs", "bsrange", "bssplit"];

/// Refuses combinations that no engine can run; adds notes about combinations that are probably unintended.
pub(crate) fn check(
    options: &Options,
    engine: EngineKind,
    layout: Option<Layout>,
    fields: &Fields<'_>,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<()> {
    let Err(clash) = clash(options, layout.unwrap_or(Layout::Written)) else {
        remark(options, engine, fields, problems);
        return Some(());
    };
    let node = clash.options.iter().find_map(|name| fields.get(name));
    let span = node.map(|node| node.span).unwrap_or_default();
    let diagnostic = problems.add(span, format!("{}{}", clash.message, scope.levels()));
    diagnostic.expected = clash.expected;
    diagnostic.help = clash.help.map(str::to_owned);
    None
}

/// Checks whether the options can be combined.
pub(crate) fn clash(options: &Options, layout: Layout) -> Result<(), Clash> {
    sectors(options)?;
    room(options)?;
    files(options)?;
    if options.rate_iops.is_some() && options.rate_bytes_per_second.is_some() {
        return Err(Clash::new(&["rate"], "`rate` and `rate_iops` cannot both be given".to_owned())
            .help("with blocks of one size they say the same: keep one of them"));
    }
    verify(options, layout)
}

/// Checks that O_DIRECT has whole sectors.
fn sectors(options: &Options) -> Result<(), Clash> {
    const EXPECTED: &str = "a multiple of 512: O_DIRECT needs whole sectors";
    let odd = block_sizes::all(options).into_iter().find(|size| !size.is_multiple_of(512));
    if let (true, Some(odd)) = (options.direct, odd) {
        return Err(Clash::new(SIZES, format!("`direct: 1` with blocks of {odd} bytes")).expected(EXPECTED));
    }
    if options.direct && !options.offset_bytes.is_multiple_of(512) {
        let message = format!("`direct: 1` with `offset` {}", options.offset_bytes);
        return Err(Clash::new(&["offset"], message).expected(EXPECTED));
    }
    Ok(())
}

fn room(options: &Options) -> Result<(), Clash> {
    if options.bsrange.is_some() && !options.bssplit.is_empty() {
        return Err(Clash::new(&["bssplit"], "`bsrange` and `bssplit` cannot both be given".to_owned()));
    }
    if let Some(range) =
        options.bsrange.filter(|range| !range.high_bytes.is_multiple_of(range.low_bytes.max(1)))
    {
        let step = Bytes(range.low_bytes);
        return Err(Clash::new(&["bsrange"], "the range's end is no multiple of its begin".to_owned())
            .expected(format!("an end that is a multiple of {step}: sizes are drawn in steps of {step}")));
    }
    let largest = block_sizes::largest(options);
    if options.size_bytes < largest {
        let (size, bs) = (Bytes(options.size_bytes), Bytes(largest));
        return Err(Clash::new(&["size"], format!("`size` ({size}) is less than one block ({bs})"))
            .expected("at least one block, and much more to say anything"));
    }
    if options.data_bytes() > 1 << 60 {
        let message = "`size` times `numjobs` is too large".to_owned();
        return Err(Clash::new(&["numjobs", "offset", "size"], message));
    }
    Ok(())
}

fn files(options: &Options) -> Result<(), Clash> {
    let files = options.nrfiles;
    if files == 1 {
        return Ok(());
    }
    let each = options.size_bytes / u64::from(files.max(1));
    let largest = block_sizes::largest(options);
    if each < largest {
        let (each, largest) = (Bytes(each), Bytes(largest));
        let message = format!("each of {files} files would have {each}, less than one block ({largest})");
        return Err(Clash::new(&["nrfiles"], message).help("fewer files, or a larger `size`"));
    }
    if options.filename.is_some() {
        return Err(Clash::new(&["nrfiles"], "`nrfiles` and `filename` cannot both be given".to_owned())
            .help("`filename` means one file that all jobs share"));
    }
    Ok(())
}

/// Checks `verify`: blocks can be verified only where their expected content is known.
fn verify(options: &Options, layout: Layout) -> Result<(), Clash> {
    if options.verify.is_none() {
        return Ok(());
    }
    let shared = options.filename.is_some() && options.numjobs > 1 && options.rw.writes();
    let (with, help) = if options.dedupe_percentage > 0 {
        ("`dedupe_percentage`", "blocks that are alike can't carry their own place: leave one of them out")
    } else if options.rw.trims() {
        ("trims", "what a trimmed block holds is not defined: leave `verify` out, or use another `rw`")
    } else if shared {
        (
            "a `filename` that several jobs write",
            "it is unknown which job wrote last: give each job its own file, or `numjobs: 1`",
        )
    } else if layout != Layout::Written {
        (
            "a `layout` other than written",
            "zeros carry no checksum: leave `layout` out, or write `layout: written`",
        )
    } else {
        return Ok(());
    };
    Err(Clash::new(&["verify"], format!("`verify` does not go with {with}")).help(help))
}

/// Adds notes about options that are allowed but probably unintended.
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

/// Adds notes about options without effect.
fn idle(options: &Options, fields: &Fields<'_>, problems: &mut Problems<'_>) {
    let mut note = |name: &str, why: &str| {
        if let Some(key) = fields.key(name) {
            problems.note(key.span, format!("`{name}` has no effect{why}"));
        }
    };
    if fields.get("thinktime").is_none() {
        note("thinktime_blocks", " without `thinktime`");
        note("thinktime_spin", " without `thinktime`");
    }
    let searched = options.find.is_some() && options.rate_iops.is_some();
    if fields.get("rate").is_none() && fields.get("rate_iops").is_none() && !searched {
        note("rate_process", " without `rate` or `rate_iops`");
    }
    // Where the pattern is a factor, some levels don't use some options. That is intended.
    if !matches!(fields.get("rw"), Some(Node { value: Value::Text(word), .. }) if RW_WORDS.contains(&word.as_str()))
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
