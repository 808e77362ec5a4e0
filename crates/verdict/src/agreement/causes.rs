//! Possible causes of a difference, from the counters of both engines. A cause is a hint with its evidence, not a proof. If no counter
//! differs, the text says so.

use crate::figures::{bytes, percent, with_unit};
use record::agreement::{
    AgreementStatus, Cause, Conduct, Definition, Evidence, Explanation, MetricAgreement,
};

/// The smallest relative difference of a counter that may explain a difference.
const MATTERS: f64 = 0.05;
/// The smallest difference of shares that may explain a difference.
const SHARE_MATTERS: f64 = 0.02;
/// The share of a core from which a thread has no time left to wait for storage.
const THREAD_FULL: f64 = 0.90;
/// A percentile lies in a gap if it moves by this share when a tenth of the I/Os beyond it move.
const GAP: f64 = 0.10;
/// The part of a difference that a cause must be able to explain.
const MAKES_UP: f64 = 0.5;

/// Both engines' counters in one workload, and the lines that differ there.
struct Case<'a> {
    native: &'a Conduct,
    fio: &'a Conduct,
    lines: Vec<&'a MetricAgreement>,
    rated: bool,
    fio_latency: Definition,
}

/// A cause with the metrics that it may explain.
struct LikelyCause<'a> {
    cause: Cause,
    lines: Vec<&'a MetricAgreement>,
    text: String,
}

/// Explains differences above the margin, workload by workload, also those that are undecided.
pub(super) fn explain(
    lines: &[MetricAgreement],
    evidence: &[Evidence],
    fio_latency: Definition,
    rated: &dyn Fn(&str) -> bool,
) -> Vec<Explanation> {
    let of = |e: &Evidence| of_workload(e, lines, fio_latency, rated(&e.workload));
    evidence.iter().flat_map(of).collect()
}

fn of_workload(
    evidence: &Evidence,
    lines: &[MetricAgreement],
    fio_latency: Definition,
    rated: bool,
) -> Vec<Explanation> {
    let differs = |l: &&MetricAgreement| {
        l.workload == evidence.workload
            && (l.standing == AgreementStatus::Beyond || l.standing == AgreementStatus::Undecided && l.differ)
    };
    let lines: Vec<&MetricAgreement> = lines.iter().filter(differs).collect();
    if lines.is_empty() {
        return Vec::new();
    }
    let case = Case { native: &evidence.native, fio: &evidence.fio, lines, rated, fio_latency };
    let found: Vec<LikelyCause<'_>> = [
        means(&case),
        rate(&case),
        submission(&case),
        cpu(&case),
        depth(&case),
        requests(&case),
        page_cache(&case),
        gap(&case),
    ]
    .into_iter()
    .flatten()
    .collect();
    let names = |lines: &[&MetricAgreement]| lines.iter().map(|l| l.metric.clone()).collect::<Vec<_>>();
    let open: Vec<&MetricAgreement> = case
        .lines
        .iter()
        .filter(|l| !found.iter().any(|f| f.lines.iter().any(|m| m.metric == l.metric)))
        .copied()
        .collect();
    let mut all: Vec<Explanation> = found
        .iter()
        .map(|f| Explanation {
            workload: evidence.workload.clone(),
            metrics: names(&f.lines),
            cause: Some(f.cause),
            text: f.text.clone(),
        })
        .collect();
    if !open.is_empty() {
        all.push(Explanation {
            workload: evidence.workload.clone(),
            metrics: names(&open),
            cause: None,
            text: "no available counter explains it".to_owned(),
        });
    }
    all
}

impl<'a> Case<'a> {
    fn all(&self, cause: Cause, text: String) -> LikelyCause<'a> {
        LikelyCause { cause, lines: self.lines.clone(), text }
    }

    fn those(
        &self,
        cause: Cause,
        text: String,
        wanted: impl Fn(&MetricAgreement) -> bool,
    ) -> Option<LikelyCause<'a>> {
        let lines: Vec<&MetricAgreement> = self.lines.iter().copied().filter(|l| wanted(l)).collect();
        (!lines.is_empty()).then_some(LikelyCause { cause, lines, text })
    }

    /// A counter of both engines, if the values differ enough.
    fn apart(&self, of: fn(&Conduct) -> Option<f64>) -> Option<(f64, f64)> {
        let (native, fio) = (of(self.native)?, of(self.fio)?);
        let apart = (native - fio).abs() > MATTERS * native.abs().max(fio.abs());
        apart.then_some((native, fio))
    }
}

fn is_latency(line: &MetricAgreement) -> bool {
    line.metric.contains("_lat_")
}

fn means<'a>(case: &Case<'a>) -> Option<LikelyCause<'a>> {
    let (native, fio) = (case.native.issued_by.as_deref()?, case.fio.issued_by.as_deref()?);
    let by_ring = |by: &str| by.contains("io_uring");
    let text = format!("they issued I/O by different means: native by {native}, fio by {fio}");
    (by_ring(native) != by_ring(fio)).then(|| case.all(Cause::Means, text))
}

fn rate<'a>(case: &Case<'a>) -> Option<LikelyCause<'a>> {
    if !case.rated {
        return None;
    }
    let text =
        "with a rate, native counts latency from when an I/O was due, fio from when it was issued".to_owned();
    case.those(Cause::Definition, text, is_latency)
}

/// fio's latencies begin when the call that submits has returned, native's before that call.
fn submission<'a>(case: &Case<'a>) -> Option<LikelyCause<'a>> {
    if case.fio_latency == Definition::Total {
        return None;
    }
    let us = case.fio.submission_us?;
    let made_up =
        |l: &MetricAgreement| is_latency(l) && l.native > l.fio && us >= MAKES_UP * (l.native - l.fio);
    let text = format!(
        "native counts latency from before the call that submits, fio from after it; fio's submissions took {} on average",
        with_unit(us, "us")
    );
    case.those(Cause::Definition, text, made_up)
}

fn cpu<'a>(case: &Case<'a>) -> Option<LikelyCause<'a>> {
    let full = |conduct: &Conduct| conduct.busiest_thread.filter(|t| *t >= THREAD_FULL);
    let (who, share) = match (full(case.native), full(case.fio)) {
        (Some(share), None) => ("native", share),
        (None, Some(share)) => ("fio", share),
        _ => return None,
    };
    let text = format!(
        "{who}'s busiest thread used {} of a core and had no time to wait for storage",
        percent(share)
    );
    Some(case.all(Cause::Cpu, text))
}

fn depth<'a>(case: &Case<'a>) -> Option<LikelyCause<'a>> {
    let (native, fio) = case.apart(|c| c.engine_depth)?;
    let text = format!(
        "they kept different numbers of I/Os in flight: native {native:.2}, fio {fio:.2} (rate times mean latency)"
    );
    // An engine with fewer I/Os in flight is slower, or its latencies are shorter.
    let fits = |l: &MetricAgreement| (l.native < l.fio) == (native < fio);
    case.those(Cause::Depth, text, fits)
}

fn requests<'a>(case: &Case<'a>) -> Option<LikelyCause<'a>> {
    if let Some((native, fio)) = case.apart(|c| c.device_ios_per_io) {
        let text = format!(
            "their I/Os became different numbers of device I/Os: {native:.3} per I/O of native, {fio:.3} per I/O of fio"
        );
        return Some(case.all(Cause::Requests, text));
    }
    let (native, fio) = case.apart(|c| c.device_io_bytes)?;
    let text = format!(
        "their device I/Os have different sizes: {} on average from native, {} from fio",
        bytes(native),
        bytes(fio)
    );
    Some(case.all(Cause::Requests, text))
}

fn page_cache<'a>(case: &Case<'a>) -> Option<LikelyCause<'a>> {
    let (native, fio) = (case.native.page_cache?, case.fio.page_cache?);
    let text =
        format!("the page cache served {} of native's bytes and {} of fio's", percent(native), percent(fio));
    ((native - fio).abs() > SHARE_MATTERS).then(|| case.all(Cause::PageCache, text))
}

/// A percentile in a gap of the distribution moves far when few I/Os move.
fn gap<'a>(case: &Case<'a>) -> Option<LikelyCause<'a>> {
    let width = |l: &MetricAgreement| {
        let of = |c: &Conduct| c.spread.get(&l.metric).copied().unwrap_or(0.0);
        of(case.native).max(of(case.fio))
    };
    let widest = case.lines.iter().map(|l| width(l)).fold(0.0, f64::max);
    let text = format!(
        "the percentile lies where the distribution is steep or has a gap: a tenth of the I/Os beyond it moves it by up to {}",
        percent(widest)
    );
    case.those(Cause::Gap, text, |l| width(l) >= GAP.max((l.ratio.ln().abs() * MAKES_UP).exp_m1()))
}
