//! The table's lines for a cell: the metrics that matter for its workload.

use crate::index::Index;
use crate::number;
use record::finding::Served;
use record::judged::{CellView, ExpectationView, Limit, LimitKind, Metric, ModelView, Status};
use record::metric::{JOB_SECONDS, LARGE_BLOCK, METRICS};
use std::borrow::Cow;

/// The text in place of a metric for which all trials were too fast.
const TOO_FAST: &str = "too fast";

/// One line of a cell: a direction, or the sum of both.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Line {
    /// `read`, `write`, `trim`, `both`, `durable write` or `sync`; for a copy or Bonnie++ the name of the measured figure.
    pub(crate) side: Cow<'static, str>,
    /// Names of the metrics that have this figure, its own first; empty if nothing was measured.
    pub(crate) metrics: Vec<String>,
    pub(crate) value: String,
    pub(crate) unit: &'static str,
    pub(crate) p99: String,
    pub(crate) device: String,
    /// The sources of all other bytes, e.g. `hole 97 %`.
    pub(crate) rest: String,
    pub(crate) expected: Option<(Status, String)>,
    /// The model's rate for the volumes, e.g. `model 240 (1.00x)`; only without an expectation of the user's.
    pub(crate) model: Option<String>,
}

impl Line {
    /// The line of a cell without figures.
    pub(crate) fn not_measured() -> Self {
        Self {
            side: "".into(),
            metrics: Vec::new(),
            value: "not measured".to_owned(),
            unit: "",
            p99: String::new(),
            device: String::new(),
            rest: String::new(),
            expected: None,
            model: None,
        }
    }
}

impl Line {
    /// The line of a search that has no figure.
    pub(crate) fn not_found() -> Self {
        Self { value: "not found".to_owned(), ..Self::not_measured() }
    }
}

/// The lines of a measured cell; none if nothing was measured. `shown` collects the expectations in these lines.
pub(crate) fn lines<'a>(
    index: &Index<'a>,
    cell: &CellView,
    shown: &mut Vec<&'a ExpectationView>,
) -> Vec<Line> {
    // The time of other work that ends by itself says less than its rates.
    let is_copy = cell.metrics.contains_key("files_per_second");
    let labelled = METRICS.iter().filter(|metric| is_copy || metric.name != JOB_SECONDS);
    let own: Vec<Line> = labelled.filter_map(|m| own_line(index, cell, m.label?, m.name, shown)).collect();
    if !own.is_empty() {
        return without_the_too_fast(own);
    }
    let what = if cell.asked.as_ref().is_some_and(|a| a.bs_bytes >= LARGE_BLOCK) { "bw" } else { "iops" };
    let sides: Vec<&'static str> = ["read", "write", "trim"]
        .into_iter()
        .filter(|side| cell.metrics.contains_key(&format!("{side}_{what}")))
        .collect();
    let both = sides.len() > 1;
    let mut lines = Vec::new();
    for side in &sides {
        let own = format!("{side}_{what}");
        let names = if both { vec![own.as_str()] } else { vec![own.as_str(), what] };
        let served = match *side {
            "read" => Moved::Bytes(cell.served_read),
            "write" => Moved::Bytes(cell.served_write),
            _ => Moved::Nothing,
        };
        let p99 = cell.metrics.get(&format!("{side}_lat_p99"));
        if let Some(metric) = cell.metrics.get(&own) {
            lines.push(line(index, cell, side, metric, p99, served, &names, shown));
        }
    }
    lines.extend(waits(index, cell, shown));
    let of_both = index.expectations(&cell.id).iter().any(|e| e.of == what)
        || cell.model.as_ref().is_some_and(|m| m.of == what);
    if both
        && of_both
        && let Some(metric) = cell.metrics.get(what)
    {
        lines.push(line(index, cell, "both", metric, None, Moved::Bytes(cell.served), &[what], shown));
    }
    // The answer of a search in a mix has no directions.
    if lines.is_empty()
        && let Some((name, metric)) = ["iops", "bw"].iter().find_map(|n| Some((*n, cell.metrics.get(*n)?)))
    {
        lines.push(line(index, cell, "both", metric, None, Moved::Bytes(cell.served), &[name], shown));
    }
    lines
}

/// What an application waits for beside its reads and writes: the time until a write is durable, where a sync makes it so. Where its
/// percentiles aren't known, the time of the sync alone stands beside it.
fn waits<'a>(index: &Index<'a>, cell: &CellView, shown: &mut Vec<&'a ExpectationView>) -> Vec<Line> {
    let of = |what: &str, figure: &str| cell.metrics.get(&format!("{what}_lat_{figure}"));
    // Without a sync of its own a write is durable when it completes, and its own line says all.
    let synced = of("sync", "mean").is_some();
    let durable = of("durable", "mean").filter(|_| synced).map(|mean| ("durable write", "durable", mean));
    let sync =
        of("sync", "mean").filter(|_| of("durable", "p99").is_none()).map(|mean| ("sync", "sync", mean));
    let line_of = |(side, what, mean): (&'static str, &str, &Metric)| {
        let name = format!("{what}_lat_mean");
        line(index, cell, side, mean, of(what, "p99"), Moved::Wait, &[name.as_str()], shown)
    };
    durable.into_iter().chain(sync).map(line_of).collect()
}

/// A line of one metric; `too fast` if the trials were too fast for it.
fn own_line<'a>(
    index: &Index<'a>,
    cell: &CellView,
    side: &'static str,
    name: &str,
    shown: &mut Vec<&'a ExpectationView>,
) -> Option<Line> {
    if let Some(metric) = cell.metrics.get(name) {
        let moved = if name == "files_per_second" { Moved::Bytes(cell.served_write) } else { Moved::Nothing };
        return Some(line(index, cell, side, metric, None, moved, &[name], shown));
    }
    let trials = cell.too_fast.get(name)?;
    let value = if *trials == cell.trials.done {
        TOO_FAST.to_owned()
    } else {
        format!("too fast in {trials} of {}", cell.trials.done)
    };
    Some(Line { side: side.into(), value, device: "-".to_owned(), ..Line::not_measured() })
}

/// Joins several lines that are all `too fast` into one; the finding names them.
fn without_the_too_fast(all: Vec<Line>) -> Vec<Line> {
    let (fast, mut lines): (Vec<Line>, Vec<Line>) =
        all.iter().cloned().partition(|line| line.value == TOO_FAST);
    let Some(one) = fast.first().filter(|_| fast.len() > 1) else { return all };
    let others = if lines.is_empty() { "all" } else { "others" };
    lines.push(Line { side: format!("{} {others}", fast.len()).into(), ..one.clone() });
    lines
}

#[expect(clippy::too_many_arguments, reason = "one line of a table has that many parts")]
fn line<'a>(
    index: &Index<'a>,
    cell: &CellView,
    side: &'static str,
    metric: &Metric,
    p99: Option<&Metric>,
    moved: Moved,
    names: &[&str],
    shown: &mut Vec<&'a ExpectationView>,
) -> Line {
    let climbs = index.climbs(&cell.id);
    let ends = climbs.then(|| number::first_to_last(metric)).flatten();
    let (value, unit) =
        ends.or_else(|| number::too_few(metric)).unwrap_or_else(|| number::with_interval(metric));
    let expectation = index.expectations(&cell.id).iter().find(|e| names.contains(&e.of.as_str())).copied();
    shown.extend(expectation);
    let model = cell.model.as_ref().filter(|m| expectation.is_none() && names.contains(&m.of.as_str()));
    Line {
        side: side.into(),
        metrics: names.iter().map(ToString::to_string).collect(),
        value,
        unit,
        p99: p99.map(number::alone).unwrap_or_default(),
        device: moved.device(),
        rest: moved.rest(),
        expected: expectation.map(|e| (e.status, number::expected(e.expected, &metric.unit))),
        model: model.map(|m| model_words(m, gets_what_it_asks(cell), climbs, &metric.unit)),
    }
}

/// The model in words: `model 240 (1.00x)`, with `≤` if it is an upper bound. A requested rate below the volumes' own is an expected value
/// and no bound. If the rounds rise or fall steadily there is no ratio, since it would be that of the mean.
fn model_words(model: &ModelView, asked_rate: bool, climbs: bool, unit: &str) -> String {
    let bound = model.at_least < model.expected && model.expected >= model.at_most;
    let most = if bound && !asked_rate { "≤ " } else { "" };
    let ratio = model.ratio.filter(|_| !climbs).map(|r| format!(" ({:.2}x)", r.ratio)).unwrap_or_default();
    format!("model {most}{}{ratio}", number::expected(model.expected, unit))
}

/// Whether only the requested rate limited the cell.
fn gets_what_it_asks(cell: &CellView) -> bool {
    cell.limited_by.as_ref().is_some_and(|limit| limit.by == LimitKind::AskedRate)
}

/// The data that one direction moved.
#[derive(Debug, Clone, Copy)]
enum Moved {
    /// Bytes with their source or destination; `None` if that isn't known.
    Bytes(Option<Served>),
    /// Trims move no bytes.
    Nothing,
    /// The line is about a time.
    Wait,
}

impl Moved {
    fn device(self) -> String {
        match self {
            Self::Bytes(served) => served.map_or_else(|| "?".to_owned(), |s| device(&s)),
            Self::Nothing => "-".to_owned(),
            Self::Wait => String::new(),
        }
    }

    fn rest(self) -> String {
        match self {
            Self::Bytes(served) => served.map_or_else(String::new, |s| rest(&s)),
            Self::Nothing | Self::Wait => String::new(),
        }
    }
}

/// The devices' share; `?` if it isn't known.
fn device(served: &Served) -> String {
    if served.unknown >= 0.995 { "?".to_owned() } else { number::percent(served.device) }
}

/// The shares of everything but the devices, the largest first, without those below 0.5 %.
fn rest(served: &Served) -> String {
    let mut parts = [
        (served.hole, "hole"),
        (served.page_cache, "page cache"),
        (served.other_cache, "other cache"),
        (served.other, "compression"),
        (served.unknown, "unknown"),
    ];
    parts.sort_by(|a, b| b.0.total_cmp(&a.0));
    let worth: Vec<String> = parts
        .iter()
        .filter(|(share, _)| *share >= 0.005)
        .map(|(s, name)| format!("{name} {}", number::percent(*s)))
        .collect();
    worth.join(", ")
}

/// The limit of a cell, with a question mark if it is only likely. Empty if nothing was measured.
pub(crate) fn limited_by(cell: &CellView) -> String {
    match &cell.limited_by {
        None => String::new(),
        Some(Limit { by: LimitKind::Unknown, .. }) => "?".to_owned(),
        Some(limit) => format!("{}{}", limit.by.name(), if limit.shown { "" } else { "?" }),
    }
}

/// The number of trials: `4`, or `2 of 4` if some are missing.
pub(crate) fn trials(cell: &CellView) -> String {
    if cell.trials.done >= cell.trials.planned && cell.trials.failed == 0 {
        cell.trials.done.to_string()
    } else {
        format!("{} of {}", cell.trials.done, cell.trials.planned)
    }
}
