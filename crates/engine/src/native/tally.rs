//! The counts of one lane: completions inside the measured time exactly, by interval, with their latencies.

use super::board::Board;
use super::histogram::{Histogram, fold};
use super::kind::{KINDS, Kind};
use super::task::{ErrorSeen, Point, Side, Task};
use crate::errno;
use record::latency::LatencyHistogram;
use record::trial::FaultKind;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The measured time; CLOCK_MONOTONIC.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) interval_ns: u64,
    /// Whether completions after the end count too, because a final flush is part of the work.
    pub(crate) open_end: bool,
}

/// The counts of one kind in one interval.
#[derive(Debug, Clone, Copy)]
struct Mark {
    interval: u64,
    /// The place among [`Sum::sides`].
    side: usize,
    bins_from: usize,
    bins_to: usize,
    bytes: u64,
    sum_ns: u64,
    max_ns: u64,
}

struct Current {
    histogram: Histogram,
    bytes: u64,
    sum_ns: u64,
    max_ns: u64,
}

/// The place of the times until writes are durable, after those of the kinds of I/O.
const DURABLE: usize = KINDS.len();

/// Number of sides: the kinds of I/O, and durable writes.
const SIDES: usize = DURABLE + 1;

impl Current {
    #[inline]
    fn add(&mut self, latency_ns: u64, bytes: u64) {
        self.histogram.add(latency_ns);
        self.bytes += bytes;
        self.sum_ns += latency_ns;
        self.max_ns = self.max_ns.max(latency_ns);
    }
}

/// The most offsets that are kept per kind of error.
const OFFSETS_KEPT: usize = 16;

/// The space for bins that is reserved beforehand; its memory is used only as needed.
const BINS_RESERVED: usize = 1 << 16;

/// The counts of one lane.
pub(crate) struct Tally {
    span: Span,
    current: [Current; SIDES],
    /// Whether each write is durable when it completes.
    writes_are_durable: bool,
    next_ns: u64,
    interval: Option<u64>,
    marks: Vec<Mark>,
    bins: Vec<(u16, u32)>,
    errors: Vec<ErrorSeen>,
    /// Where reads and writes are told while the load runs.
    board: Option<Arc<Board>>,
}

impl Tally {
    pub(crate) fn new(span: Span) -> Self {
        let current =
            [(); SIDES].map(|()| Current { histogram: Histogram::new(), bytes: 0, sum_ns: 0, max_ns: 0 });
        let marks = Vec::with_capacity(4096);
        let bins = Vec::with_capacity(BINS_RESERVED);
        Self {
            span,
            current,
            writes_are_durable: false,
            next_ns: span.start_ns,
            interval: None,
            marks,
            bins,
            errors: Vec::new(),
            board: None,
        }
    }

    /// The same with a board for what completes while the load runs.
    pub(crate) fn with_board(self, board: Option<Arc<Board>>) -> Self {
        Self { board, ..self }
    }

    /// The same for a job with writes that are durable when they complete (O_SYNC, O_DSYNC), or not.
    pub(crate) fn with_durable_writes(self, writes_are_durable: bool) -> Self {
        Self { writes_are_durable, ..self }
    }

    /// Whether an interval ended; then the caller must call [`Tally::roll`] before it adds anything.
    #[inline]
    pub(crate) fn is_over(&self, now_ns: u64) -> bool {
        now_ns >= self.next_ns
    }

    /// Counts a completion, seen at the time of the last [`Tally::is_over`].
    #[inline]
    pub(crate) fn add(&mut self, kind: Kind, latency_ns: u64, bytes: u64) {
        self.current[kind as usize].add(latency_ns, bytes);
    }

    /// Counts a write that a sync made durable this long after its submission, seen at the time of the last [`Tally::is_over`].
    #[inline]
    pub(crate) fn durable(&mut self, latency_ns: u64) {
        self.current[DURABLE].add(latency_ns, 0);
    }

    /// Closes the interval; drops those before the measured time.
    pub(crate) fn roll(&mut self, now_ns: u64) {
        self.close();
        let Span { start_ns, end_ns, interval_ns, .. } = self.span;
        if now_ns < end_ns {
            let interval = (now_ns - start_ns) / interval_ns.max(1);
            self.interval = Some(interval);
            self.next_ns = (start_ns + (interval + 1) * interval_ns).min(end_ns);
        } else {
            let last = (end_ns - start_ns).div_ceil(interval_ns.max(1));
            self.interval = self.span.open_end.then_some(last);
            self.next_ns = u64::MAX;
        }
    }

    fn close(&mut self) {
        for (side, current) in self.current.iter_mut().enumerate() {
            let bins_from = self.bins.len();
            let bins = &mut self.bins;
            let is_told = side == Kind::Read as usize || side == Kind::Write as usize;
            let board = self.board.as_deref().filter(|_| is_told && self.interval.is_some());
            match self.interval {
                Some(_) => current.histogram.drain(|bin, count| {
                    bins.push((bin, count));
                    if let Some(board) = board {
                        board.add(bin, count);
                    }
                }),
                None => current.histogram.drain(|_, _| {}),
            }
            if let Some(board) = board {
                board.moved(current.bytes);
            }
            if let Some(interval) = self.interval.filter(|_| self.bins.len() > bins_from) {
                self.marks.push(Mark {
                    interval,
                    side,
                    bins_from,
                    bins_to: self.bins.len(),
                    bytes: current.bytes,
                    sum_ns: current.sum_ns,
                    max_ns: current.max_ns,
                });
            }
            (current.bytes, current.sum_ns, current.max_ns) = (0, 0, 0);
        }
    }

    /// Counts an error. Errors at any time count, including the ramp and after the end.
    #[cold]
    pub(crate) fn error(&mut self, job: u32, kind: Kind, error: Failure, offset_bytes: u64) {
        let errno = error.name(kind);
        let index =
            self.errors.iter().position(|e| e.errno == errno && e.kind == kind).unwrap_or_else(|| {
                let content = matches!(error, Failure::Content(_));
                self.errors.push(ErrorSeen {
                    errno,
                    kind,
                    content,
                    job,
                    count: 0,
                    offsets_bytes: Vec::new(),
                });
                self.errors.len() - 1
            });
        if let Some(seen) = self.errors.get_mut(index) {
            seen.count += 1;
            if seen.offsets_bytes.len() < OFFSETS_KEPT {
                seen.offsets_bytes.push(offset_bytes);
            }
        }
    }
}

impl Tally {
    /// Whether a failed I/O ended the load; wrong content is no such failure.
    pub(crate) fn ended_by_io(&self, task: &Task) -> bool {
        self.errors.iter().any(|error| !error.content && !task.tolerates(error))
    }
}

/// The failure of an I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    /// An error number.
    Errno(i32),
    /// It moved too few bytes.
    Short,
    /// It read wrong content.
    Content(FaultKind),
}

impl Failure {
    fn name(self, kind: Kind) -> String {
        match (self, kind) {
            (Self::Errno(number), _) => errno::name(number.into()),
            (Self::Short, Kind::Read) => "short read".to_owned(),
            (Self::Short, Kind::Trim) => "short trim".to_owned(),
            (Self::Short, _) => "short write".to_owned(),
            (Self::Content(FaultKind::Lost), _) => "lost write".to_owned(),
            (Self::Content(FaultKind::Stale), _) => "stale content".to_owned(),
            (Self::Content(FaultKind::Torn), _) => "torn write".to_owned(),
            (Self::Content(FaultKind::Misdirected), _) => "misdirected write".to_owned(),
            (Self::Content(FaultKind::Corrupt), _) => "corrupt content".to_owned(),
        }
    }
}

/// The counts of all lanes together.
#[derive(Default)]
pub(crate) struct Sum {
    /// The kinds of I/O in their order, then durable writes.
    pub(crate) sides: [Side; SIDES],
    pub(crate) series: [Vec<Point>; SIDES],
    /// The latencies of each interval that has any, with its number, for [`super::series::latencies`].
    pub(crate) latencies: [Vec<(u64, LatencyHistogram)>; SIDES],
    pub(crate) errors: Vec<ErrorSeen>,
}

/// Adds lanes up, exactly: percentiles come from the merged histograms.
pub(crate) fn sum(tallies: Vec<Tally>) -> Sum {
    let mut sum = Sum::default();
    let mut intervals: BTreeMap<(usize, u64), Side> = BTreeMap::new();
    let mut interval_ns = 0;
    for mut tally in tallies {
        tally.close();
        interval_ns = tally.span.interval_ns;
        for mark in &tally.marks {
            let bins = tally.bins.get(mark.bins_from..mark.bins_to).unwrap_or_default();
            add(intervals.entry((mark.side, mark.interval)).or_default(), mark, bins);
            if tally.writes_are_durable && mark.side == Kind::Write as usize {
                add(intervals.entry((DURABLE, mark.interval)).or_default(), mark, bins);
            }
        }
        merge_errors(&mut sum.errors, tally.errors);
    }
    for ((place, interval), side) in intervals {
        sum.series[place].push(point(interval * interval_ns / 1_000_000, &side));
        let total = &mut sum.sides[place];
        total.ios += side.ios;
        total.bytes += side.bytes;
        total.latency_sum_ns += side.latency_sum_ns;
        total.latency_max_ns = total.latency_max_ns.max(side.latency_max_ns);
        total.latency.merge(&side.latency);
        sum.latencies[place].push((interval, side.latency));
    }
    sum
}

/// Merges errors: lanes of one job may see the same ones.
fn merge_errors(into: &mut Vec<ErrorSeen>, more: Vec<ErrorSeen>) {
    for error in more {
        match into.iter_mut().find(|e| (e.job, e.kind) == (error.job, error.kind) && e.errno == error.errno) {
            Some(seen) => {
                seen.count += error.count;
                let space = OFFSETS_KEPT.saturating_sub(seen.offsets_bytes.len());
                seen.offsets_bytes.extend(error.offsets_bytes.into_iter().take(space));
            }
            None => into.push(error),
        }
    }
}

fn add(side: &mut Side, mark: &Mark, bins: &[(u16, u32)]) {
    side.ios += bins.iter().map(|(_, count)| u64::from(*count)).sum::<u64>();
    side.bytes += mark.bytes;
    side.latency_sum_ns += mark.sum_ns;
    side.latency_max_ns = side.latency_max_ns.max(mark.max_ns);
    fold(&mut side.latency, bins);
}

fn point(start_ms: u64, side: &Side) -> Point {
    let percentile = |latency: &LatencyHistogram, q| latency.percentile_ns(q).unwrap_or(0);
    Point {
        start_ms,
        ios: side.ios,
        bytes: side.bytes,
        p50_ns: percentile(&side.latency, 0.5),
        p99_ns: percentile(&side.latency, 0.99),
        p999_ns: percentile(&side.latency, 0.999),
        max_ns: side.latency_max_ns,
    }
}

#[cfg(test)]
mod tests;
