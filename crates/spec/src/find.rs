//! `find` of a workload: a search for the highest load within limits.

use crate::block_sizes;
use crate::diagnostic::printable;
use crate::fields::{Fields, named};
use crate::problems::Problems;
use crate::quantity::{Wrong, duration};
use crate::scope::Scope;
use crate::source::Span;
use crate::tree::{Key, Node, find};
use crate::value;
use crate::vocabulary::{FIND, FIND_BY, FIND_LIMIT};
use record::find::{Find, FindBy, FindLimit};
use record::metric::{METRICS, MetricInfo, MetricOf};
use record::plan::{Cell, Measure};
use record::quantity::Seconds;
use record::workload::{EngineKind, Options, RateProcess};
use std::ops::RangeInclusive;

/// Requested relative half-width of the answer, unless the file says otherwise.
pub(crate) const WITHIN: f64 = 0.05;
/// The highest rate, unless the file says otherwise: no machine reaches it, so the first trial shows what this one reaches.
const MOST_RATE: u64 = 10_000_000;
/// The highest depth and number of jobs, unless the file says otherwise.
const MOST_DEPTH: u64 = 256;
const MOST_JOBS: u64 = 64;
/// I/Os in flight of an open loop, unless the file says otherwise: arrivals shouldn't wait for a place. Fewer where their buffers
/// would take more than [`OPEN_BYTES`].
const OPEN_DEPTH: u64 = 256;
const OPEN_BYTES: u64 = 64 << 20;
/// A trial should be at least so many times as long as a limit.
const LIMITS_PER_TRIAL: f64 = 200.0;
/// The most trials of a search, unless `rounds` says otherwise.
const MOST_TRIALS: u32 = 40;
/// The fewest trials that a search usually takes; `plan` warns of fewer rounds.
pub const FEWEST_TRIALS: u32 = 12;

/// Reads `find`, and sets the option that it varies to its highest level.
pub(crate) fn read(
    engine: EngineKind,
    options: &mut Options,
    fields: &Fields<'_>,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<()> {
    let (Some(key), Some(node)) = (fields.key("find"), fields.get("find")) else { return Some(()) };
    let own = Fields::open(node, &FIND, problems)?;
    let most = own.get("most").and_then(|node| metric(node, is_rate, options, scope, problems));
    let limits = own.get("while").and_then(|node| limits(node, options, scope, problems));
    let by = own.get("by").and_then(|node| by(node, scope, problems))?;
    let ends = ends(by, key, &own, scope, problems);
    let within = match own.get("within") {
        Some(node) => share(node, scope, problems)?,
        None => WITHIN,
    };
    fits(by, engine, options, fields, problems)?;
    let ((from, to), limits) = (ends?, limits?);
    by.set(options, to);
    if by == FindBy::RateIops {
        open_loop(options, fields);
    }
    options.find = Some(Find { most: most?.name.to_owned(), limits, by, from, to, within });
    Some(())
}

/// Reads the requested half-width.
fn share(node: &Node, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<f64> {
    let ratio = value::ratio(node, scope, problems)?;
    if ratio > 0.0 && ratio <= 0.5 {
        return Some(ratio);
    }
    problems
        .add(node.span, format!("{} is out of range", node.kind()))
        .expected("above 0%, at most 50%, e.g. `5%`");
    None
}

/// Sets the number of rounds of an experiment with searches, where the file has none: each round gives each search one trial. `node`
/// is the file's `measure`.
pub(crate) fn rounds(
    node: Option<&Node>,
    measure: &mut Measure,
    cells: &[Cell],
    problems: &mut Problems<'_>,
) {
    let Some(longest) = cells.iter().filter_map(longest_limit).max_by(f64::total_cmp) else { return };
    let until = node.and_then(|node| find(node, "until"));
    if let (Some(until), true) = (until, cells.iter().all(|cell| cell.find().is_some())) {
        problems
            .add(
                until.span,
                "`until` has nothing to decide: every workload is a search, and a search ends by itself",
            )
            .help("leave it out; `within` of `find` says how exact the answer is to be");
    }
    let said = [node.and_then(|node| find(node, "rounds")), budget_rounds(node)].into_iter().flatten().next();
    match said {
        None if measure.until.is_none() => measure.rounds = MOST_TRIALS,
        Some(said) if measure.rounds < FEWEST_TRIALS => problems.note(
            said.span,
            format!(
                "each round is one trial of a search, and a search takes {FEWEST_TRIALS} or more: {} may not be enough",
                measure.rounds
            ),
        ),
        _ => {}
    }
    if longest * LIMITS_PER_TRIAL > measure.trial_seconds {
        let span = node.and_then(|node| find(node, "trial").or(Some(node))).map(|node| node.span);
        problems.note(
            span.unwrap_or_default(),
            format!(
                "trials of {} are short for a limit of {}: a queue needs {LIMITS_PER_TRIAL} times its latency to show itself",
                Seconds(measure.trial_seconds),
                Seconds(longest)
            ),
        );
    }
}

/// The longest limit of a cell's search, in seconds.
fn longest_limit(cell: &Cell) -> Option<f64> {
    cell.find()?.limits.iter().map(|limit| limit.at_most / 1e6).max_by(f64::total_cmp)
}

fn budget_rounds(node: Option<&Node>) -> Option<&Node> {
    find(find(node?, "budget")?, "rounds")
}

/// Refuses `find` in a workload that is no load by options.
pub(crate) fn refuse(fields: &Fields<'_>, what: &str, problems: &mut Problems<'_>) -> Option<()> {
    let Some(key) = fields.key("find") else { return Some(()) };
    problems
        .add(key.span, format!("`find` does not go with {what}"))
        .help("a search varies rate_iops, iodepth or numjobs of a workload with fio's options");
    None
}

/// Defaults of an open loop: arrivals as from many independent users, which don't wait for a place in the queue. The arrivals of a
/// mix have one schedule, and each is a read or a write in the mix's proportion.
fn open_loop(options: &mut Options, fields: &Fields<'_>) {
    options.rate_of_all = options.rw.is_mixed();
    if fields.get("rate_process").is_none() {
        options.rate_process = RateProcess::Poisson;
    }
    if fields.get("iodepth").is_none() {
        let fitting = (OPEN_BYTES / block_sizes::largest(options).max(1)).clamp(1, OPEN_DEPTH);
        options.iodepth = u32::try_from(fitting).unwrap_or(1);
    }
}

fn by(node: &Node, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<FindBy> {
    Some(match value::choice(node, FIND_BY, scope, problems)? {
        "iodepth" => FindBy::Iodepth,
        "numjobs" => FindBy::Numjobs,
        _ => FindBy::RateIops,
    })
}

/// Reads the range of levels.
fn ends(
    by: FindBy,
    key: &Key,
    own: &Fields<'_>,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<(u64, u64)> {
    let (range, default): (RangeInclusive<u64>, u64) = match by {
        FindBy::RateIops => (1..=u64::from(u32::MAX), MOST_RATE),
        FindBy::Iodepth => (1..=32_768, MOST_DEPTH),
        FindBy::Numjobs => (1..=4096, MOST_JOBS),
    };
    let mut end = |name: &str, default: u64| match own.get(name) {
        Some(node) => value::integer(node, range.clone(), scope, problems),
        None => Some(default),
    };
    let (from, to) = (end("from", 1)?, end("to", default)?);
    if from >= to {
        let span = own.key("to").or_else(|| own.key("from")).map_or(key.span, |key| key.span);
        problems
            .add(span, format!("nothing lies between `from: {from}` and `to: {to}`"))
            .expected("a `from` below `to`");
        return None;
    }
    Some((from, to))
}

fn limits(
    node: &Node,
    options: &Options,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<Vec<FindLimit>> {
    const EXPECTED: &str = "limits by metric, e.g. { read_lat_p99: { at_most: 10ms } }";
    let entries = named(node, EXPECTED, problems)?;
    if entries.is_empty() {
        problems.add(node.span, "`while` has no limit").expected(EXPECTED);
        return None;
    }
    let mut limits = Vec::new();
    let mut sound = true;
    for (key, node) in entries {
        match limit(key, node, options, scope, problems) {
            Some(limit) => limits.push(limit),
            None => sound = false,
        }
    }
    sound.then_some(limits)
}

fn limit(
    key: &Key,
    node: &Node,
    options: &Options,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<FindLimit> {
    let info = known(&key.text, key.span, is_latency, options, problems)?;
    let fields = Fields::open(node, &FIND_LIMIT, problems)?;
    let node = fields.get("at_most")?;
    let written = value::text(node, "a time with its unit, e.g. `10ms`", scope, problems)?;
    match duration(&written) {
        Ok(seconds) if seconds.to_f64() > 0.0 => {
            let at_most = seconds.to_f64() * 1e6;
            Some(FindLimit { of: info.name.to_owned(), at_most, written: printable(&written, 40) })
        }
        Ok(_) => {
            problems.add(node.span, "a limit of 0 is never kept").expected("a time, e.g. `10ms`");
            None
        }
        Err(why) => {
            value::wrong(node, why, scope, problems);
            None
        }
    }
}

/// Rates of loads.
fn is_rate(metric: &MetricInfo) -> bool {
    matches!(metric.unit, "1/s" | "B/s")
        && !matches!(metric.of, MetricOf::Bonnie | MetricOf::Copy | MetricOf::Flush)
}

/// Latencies of loads.
fn is_latency(metric: &MetricInfo) -> bool {
    metric.unit == "us" && metric.of != MetricOf::Bonnie
}

fn metric(
    node: &Node,
    fits: fn(&MetricInfo) -> bool,
    options: &Options,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<&'static MetricInfo> {
    let words: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
    if value::replaced(node, &words, scope, problems) {
        return None;
    }
    let name = value::text(node, "a metric, e.g. `iops`", scope, problems)?;
    known(&name, node.span, fits, options, problems)
}

/// The metric of a name, if it fits and the workload has it.
fn known(
    name: &str,
    span: Span,
    fits: fn(&MetricInfo) -> bool,
    options: &Options,
    problems: &mut Problems<'_>,
) -> Option<&'static MetricInfo> {
    let had = |metric: &&MetricInfo| fits(metric) && metric.is_of(options);
    let found = METRICS.iter().find(|metric| metric.name == name && fits(metric));
    let all: Vec<&str> = METRICS.iter().filter(had).map(|metric| metric.name).collect();
    match found {
        Some(metric) if metric.is_of(options) => Some(metric),
        Some(_) => {
            problems
                .add(span, format!("`rw: {}` has no `{}`", options.rw.name(), printable(name, 40)))
                .expected(format!("one of {}", all.join(", ")));
            None
        }
        None => {
            let wrong = Wrong::new(format!("`{}` does not fit here", printable(name, 40)));
            problems
                .add(span, wrong.message)
                .suggest(name, all.iter().copied())
                .expected(format!("one of {}", all.join(", ")));
            None
        }
    }
}

/// Refuses what a search can't be combined with.
fn fits(
    by: FindBy,
    engine: EngineKind,
    options: &Options,
    fields: &Fields<'_>,
    problems: &mut Problems<'_>,
) -> Option<()> {
    let span = |name: &str| fields.key(name).map(|key| key.span).unwrap_or_default();
    if fields.get(by.name()).is_some() {
        let message = format!("`{}` is what `find` varies", by.name());
        problems
            .add(span(by.name()), message)
            .help("leave it out; `from` and `to` of `find` say where the search begins and ends");
        return None;
    }
    if !options.time_based {
        problems
            .add(span("time_based"), "`find` needs trials of one length, not one pass over the data")
            .help("leave out `time_based: 0`");
        return None;
    }
    if by != FindBy::RateIops {
        return Some(());
    }
    if engine == EngineKind::Fio {
        problems
            .add(span("engine"), "fio does not search by rate_iops: it counts latency from when it issues an I/O, so an I/O that \
                                  waits because the one before is late seems fast")
            .help("use `engine: native`, which counts from the scheduled time; or `by: iodepth`");
        return None;
    }
    if fields.get("rate").is_some() {
        problems.add(span("rate"), "`rate` does not go with `find` by rate_iops").help("leave it out");
        return None;
    }
    if options.rw.trims() && options.rw.writes() {
        problems
            .add(
                span("rw"),
                format!(
                    "`find` by rate_iops does not take `rw: {}`: its trims and writes come in turn",
                    options.rw.name()
                ),
            )
            .help("use `by: iodepth` or `by: numjobs`");
        return None;
    }
    Some(())
}
