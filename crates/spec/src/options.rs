//! Options of a workload, with fio's names: from the keys of the file to values, with all defaults filled in.

use crate::diagnostic::printable;
use crate::fields::{Fields, named};
use crate::problems::Problems;
use crate::quantity::Wrong;
use crate::scope::Scope;
use crate::template::Template;
use crate::tree::Node;
use crate::value;
use crate::{block_sizes, distribution, together};
use record::fio_option::{Field, KEYS};
use record::workload::{EngineKind, Layout, Options, Rw};
use std::collections::BTreeMap;

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
    let mut sound = one_block_size(fields, problems).is_some();
    let mut options = Options::new(Rw::Read, 4096, 0);
    for option in KEYS {
        let (Some(key), Some(node)) = (option.key(), fields.get(option.name)) else { continue };
        sound &= set(&key.field, &mut options, node, scope, problems).is_some();
    }
    if sound {
        crate::find::read(engine, &mut options, fields, scope, problems)?;
    }
    if fields.get("ioengine").is_none() {
        default_ioengine(engine, options.iodepth).clone_into(&mut options.ioengine);
    }
    if fields.get("end_fsync").is_none() {
        options.end_fsync = !options.direct && options.rw.writes();
    }
    options.other = other(fields.get("fio_options"), scope, problems)?;
    if !sound {
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

/// Refuses several keys that say how large blocks are.
fn one_block_size(fields: &Fields<'_>, problems: &mut Problems<'_>) -> Option<()> {
    let given: Vec<_> = ["bs", "bsrange", "bssplit"].iter().filter_map(|name| fields.key(name)).collect();
    let [first, second, ..] = given.as_slice() else { return Some(()) };
    problems
        .add(second.span, format!("`{}` and `{}` cannot both be given", first.text, second.text))
        .help("keep one of them: bs (all blocks alike), bsrange (a range), bssplit (sizes with shares)");
    None
}

/// Reads the value of a key and puts it into its field.
fn set(
    field: &Field,
    options: &mut Options,
    node: &Node,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<()> {
    match field {
        Field::Switch { set, .. } => set(options, value::switch(node, scope, problems)?),
        Field::Percent(set) => {
            set(options, u8::try_from(value::percentage(node, scope, problems)?).ok()?);
        }
        Field::Count { least, most, set } => {
            let count = value::integer(node, *least..=*most, scope, problems)?;
            set(options, u32::try_from(count).ok()?);
        }
        Field::Size { least, set } => set(options, value::bytes(node, *least, scope, problems)?),
        Field::Rate { bytes, set } => {
            let rate = match bytes {
                true => value::bytes(node, 0, scope, problems)?,
                false => value::integer(node, 0..=u64::from(u32::MAX), scope, problems)?,
            };
            set(options, Some(rate).filter(|rate| *rate > 0));
        }
        Field::Time { unit, per_second, least, most, set } => {
            set(options, value::time(node, unit, *per_second, *least..=*most, scope, problems)?);
        }
        Field::Words { words, set } => set(options, value::choice(node, words, scope, problems)?),
        Field::Name(set) => {
            set(options, parsed(node, "a plain name: a-z 0-9 . _ -", scope, problems, plain_name)?);
        }
        Field::Distribution(set) => {
            const EXPECTED: &str =
                "one of random, zipf:THETA, pareto:POWER, normal:DEVIATION, zoned:..., zoned_abs:...";
            set(options, parsed(node, EXPECTED, scope, problems, distribution::check)?);
        }
        Field::SizeRange(set) => {
            const EXPECTED: &str = "a range of sizes, e.g. `4k-64k`";
            set(options, parsed(node, EXPECTED, scope, problems, block_sizes::range)?);
        }
        Field::SizeShares(set) => {
            const EXPECTED: &str = "sizes with their shares, e.g. `4k/60:64k/40`";
            set(options, parsed(node, EXPECTED, scope, problems, block_sizes::split)?);
        }
    }
    Some(())
}

/// Reads a text with its own grammar.
fn parsed<T>(
    node: &Node,
    expected: &str,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
    parse: impl FnOnce(&str) -> Result<T, Wrong>,
) -> Option<T> {
    let text = value::text(node, expected, scope, problems)?;
    match parse(&text) {
        Ok(value) => Some(value),
        Err(why) => {
            value::wrong(node, why, scope, problems);
            problems.amend(node.span).expected(expected);
            None
        }
    }
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
    Err(Wrong::with(format!("`{}` is not a plain name", printable(text, 40)), help))
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
