//! Workloads of the `bonnie` engine, with the option letters of Bonnie++.

use crate::diagnostic::printable;
use crate::fields::Fields;
use crate::problems::Problems;
use crate::scope::Scope;
use crate::source::Span;
use crate::value;
use crate::vocabulary::BONNIE;
use record::bonnie::BonnieAsk;

/// Keys of a Bonnie++ workload.
const KEYS: &[&str] = &["with", "engine", "bonnie"];
const MIB: u64 = 1 << 20;
/// Unit in which Bonnie++ counts files.
const FILES: u64 = 1024;
/// The most of these units, and the most of any other count.
const MOST_FILES: u64 = 100_000;
/// Range of block sizes; they are powers of two.
const CHUNKS: std::ops::RangeInclusive<u64> = 256..=1 << 20;

/// Reads the options of one combination.
pub(crate) fn read(
    fields: &Fields<'_>,
    place: Span,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<BonnieAsk> {
    let mut sound = true;
    for (key, _) in fields.entries().iter().filter(|(key, _)| !KEYS.contains(&key.text.as_str())) {
        problems.add(key.span, format!("Bonnie++ does not know `{}`", printable(&key.text, 40))).expected(
            "beside `engine: bonnie` only `bonnie`, with Bonnie++'s own letters: s, n, r, c, f, b, D",
        );
        sound = false;
    }
    let Some(node) = fields.get("bonnie") else {
        problems
            .add_missing(place, "a workload of `engine: bonnie` needs `bonnie`")
            .expected("its options, e.g. `bonnie: { s: 32g, n: 16 }`");
        return None;
    };
    let own = Fields::open(node, &BONNIE, problems)?;
    let size = |name: &str, least: u64, default: u64, problems: &mut Problems<'_>| match own.get(name) {
        Some(node) => value::bytes(node, least, scope, problems),
        None => Some(default),
    };
    let count = |name: &str, most: u64, default: u64, problems: &mut Problems<'_>| match own.get(name) {
        Some(node) => value::integer(node, 0..=most, scope, problems),
        None => Some(default),
    };
    let switch = |name: &str, problems: &mut Problems<'_>| match own.get(name) {
        Some(node) => value::switch(node, scope, problems),
        None => Some(false),
    };
    let ram = own.get("r").map(|node| value::bytes(node, 0, scope, problems));
    let chunk = size("chunk", *CHUNKS.start(), 8192, problems)?;
    let ask = BonnieAsk {
        size_bytes: size("s", 0, 0, problems)?,
        chunk_bytes: chunk,
        ram_bytes: match ram {
            Some(ram) => Some(ram?),
            None => None,
        },
        files: count("n", MOST_FILES, 0, problems)? * FILES,
        max_bytes: size("n_max", 0, 0, problems)?,
        min_bytes: size("n_min", 0, 0, problems)?,
        directories: u32::try_from(count("n_dirs", MOST_FILES, 1, problems)?.max(1)).ok()?,
        per_character: !switch("f", problems)?,
        no_buffering: switch("b", problems)?,
        direct: switch("D", problems)?,
        concurrency: u32::try_from(count("c", 64, 1, problems)?.max(1)).ok()?,
    };
    sound &= check(&ask, &own, node.span, problems).is_some();
    sound.then_some(ask)
}

fn check(ask: &BonnieAsk, own: &Fields<'_>, place: Span, problems: &mut Problems<'_>) -> Option<()> {
    let span = |name: &str| own.key(name).map_or(place, |key| key.span);
    if ask.size_bytes == 0 && ask.files == 0 {
        problems
            .add(place, "neither `s` nor `n`: there is nothing to test")
            .expected("e.g. `bonnie: { s: 32g, n: 16 }`");
        return None;
    }
    if !ask.size_bytes.is_multiple_of(MIB) {
        problems.add(span("s"), "Bonnie++ takes whole MiB for `s`").help("write e.g. `s: 512m`");
        return None;
    }
    if !CHUNKS.contains(&ask.chunk_bytes) || !ask.chunk_bytes.is_power_of_two() {
        problems.add(span("chunk"), "Bonnie++ takes powers of two from 256 to 1m for a block");
        return None;
    }
    if ask.min_bytes > ask.max_bytes {
        problems.add(span("n_min"), "`n_min` is more than `n_max`");
        return None;
    }
    if let Some(ram) =
        ask.ram_bytes.filter(|ram| ask.size_bytes > 0 && ask.size_bytes < ram.saturating_mul(2))
    {
        problems
            .add(span("s"), "`s` is less than twice `r`: by Bonnie++'s rule data must be twice the memory")
            .expected(format!("`s: {}m` or more", ram.saturating_mul(2) / MIB))
            .help("raise `s`, or set `r: 0` to accept less data; a finding then says so");
        return None;
    }
    Some(())
}
