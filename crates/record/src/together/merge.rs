//! The sum of several machines' results. Counts and histograms add up exactly; rates are sums of each machine's own rate.

use crate::latency::{Latencies, LatencyHistogram};
use crate::trial::{Departure, EngineOutput, ErrorCount, Part, Phase, Series, Totals, Verified, Window};

/// Returns the results of all machines as those of one engine; `None` if a machine has no result.
///
/// Each machine's command, input, output and cost of the load stay in its part: their sums would say nothing.
#[must_use]
pub fn merged(parts: &[Part]) -> Option<EngineOutput> {
    let each: Vec<(&str, &EngineOutput)> = parts
        .iter()
        .map(|part| Some((part.target.as_str(), part.record.engine.as_ref()?)))
        .collect::<Option<_>>()?;
    let outputs = || each.iter().map(|(_, output)| *output);
    let all = |of: fn(&EngineOutput) -> Option<&Totals>| totals(outputs().map(of));
    let mut sum = EngineOutput::new(name(outputs()), window(parts)?);
    sum.messages =
        each.iter().flat_map(|(on, e)| e.messages.iter().map(move |m| format!("{on}: {m}"))).collect();
    sum.departures = departures(&each);
    sum.read = all(|output| output.read.as_ref());
    sum.write = all(|output| output.write.as_ref());
    sum.trim = all(|output| output.trim.as_ref());
    sum.sync = latencies(outputs().map(|output| output.sync.as_ref()));
    sum.durable = latencies(outputs().map(|output| output.durable.as_ref()));
    sum.phases = phases(&outputs().map(|output| output.phases.as_slice()).collect::<Vec<_>>());
    sum.series = series(outputs().map(|output| output.series.as_ref()), sum.window);
    sum.verified = verified(&each);
    sum.errors = errors(&each);
    sum.shared_files = outputs().any(|output| output.shared_files);
    Some(sum)
}

/// The names of the engines, each once.
fn name<'e>(outputs: impl Iterator<Item = &'e EngineOutput>) -> String {
    let mut names: Vec<&str> = outputs.map(|output| output.engine.as_str()).collect();
    names.dedup();
    names.join(" and ")
}

/// From the first start to the last end, by the controller's clock.
fn window(parts: &[Part]) -> Option<Window> {
    let windows: Vec<Window> = parts.iter().map(Part::window).collect::<Option<_>>()?;
    let start_ns = windows.iter().map(|w| w.start_ns).min()?;
    let end_ns = windows.iter().map(|w| w.end_ns).max()?;
    Some(Window { start_ns, end_ns })
}

/// What all machines did otherwise than asked: once if all say the same, else with the machine's name.
fn departures(each: &[(&str, &EngineOutput)]) -> Vec<Departure> {
    let Some((_, first)) = each.first() else { return Vec::new() };
    if each.iter().all(|(_, output)| output.departures == first.departures) {
        return first.departures.clone();
    }
    let named = |on: &str, d: &Departure| Departure { text: format!("{on}: {}", d.text), matters: d.matters };
    each.iter().flat_map(|(on, output)| output.departures.iter().map(move |d| named(on, d))).collect()
}

fn totals<'t>(each: impl Iterator<Item = Option<&'t Totals>>) -> Option<Totals> {
    let each: Vec<&Totals> = each.flatten().collect();
    let mut sum = (*each.first()?).clone();
    for one in &each[1..] {
        sum.latency_mean_ns = mean((sum.ios, sum.latency_mean_ns), (one.ios, one.latency_mean_ns));
        sum.ios += one.ios;
        sum.bytes += one.bytes;
        sum.seconds = sum.seconds.max(one.seconds);
        sum.iops += one.iops;
        sum.bytes_per_second += one.bytes_per_second;
        sum.latency.merge(&one.latency);
    }
    Some(sum)
}

/// The mean of two groups; a group without members has no say.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn mean(a: (u64, Option<f64>), b: (u64, Option<f64>)) -> Option<f64> {
    match (a, b) {
        ((0, _), (_, mean)) | ((_, mean), (0, _)) => mean,
        ((n, x), (m, y)) => Some((x? * n as f64 + y? * m as f64) / (n as f64 + m as f64)),
    }
}

fn latencies<'t>(each: impl Iterator<Item = Option<&'t Latencies>>) -> Option<Latencies> {
    // A machine on which none completed has none.
    let each: Vec<&Latencies> = each.flatten().collect();
    if each.is_empty() {
        return None;
    }
    let mut sum = Latencies::default();
    let mut histogram = LatencyHistogram::default();
    for one in each {
        sum.mean_ns = mean((sum.count, sum.mean_ns), (one.count, one.mean_ns));
        sum.max_ns =
            if sum.count == 0 { one.max_ns } else { sum.max_ns.zip(one.max_ns).map(|(a, b)| a.max(b)) };
        sum.count += one.count;
        histogram.merge(&one.histogram);
    }
    Some(Latencies { histogram, ..sum })
}

/// The phases, if all machines had the same ones.
fn phases(each: &[&[Phase]]) -> Vec<Phase> {
    let Some((first, others)) = each.split_first() else { return Vec::new() };
    let phase = |(index, phase): (usize, &Phase)| {
        let others = others.iter().map(|phases| phases.get(index).filter(|other| other.jobs == phase.jobs));
        let all: Vec<&Phase> = std::iter::once(Some(phase)).chain(others).collect::<Option<_>>()?;
        let of = |totals_of: fn(&Phase) -> Option<&Totals>| totals(all.iter().map(|phase| totals_of(phase)));
        Some(Phase {
            jobs: phase.jobs.clone(),
            seconds: all.iter().map(|phase| phase.seconds).fold(0.0, f64::max),
            read: of(|phase| phase.read.as_ref()),
            write: of(|phase| phase.write.as_ref()),
            trim: of(|phase| phase.trim.as_ref()),
        })
    };
    first.iter().enumerate().map(phase).collect::<Option<_>>().unwrap_or_default()
}

/// The sums step by step, as far as all machines have steps. The first steps count as simultaneous: they differ by the spread of the
/// starts. `None` if a machine has no series, or the steps differ in length.
fn series<'s>(each: impl Iterator<Item = Option<&'s Series>>, window: Window) -> Option<Series> {
    let each: Vec<&Series> = each.collect::<Option<_>>()?;
    let step_ns = each.first()?.step_ns;
    if each.iter().any(|series| series.step_ns != step_ns) {
        return None;
    }
    let sum = |of: fn(&Series) -> &Vec<u64>| -> Vec<u64> {
        let steps = each.iter().map(|series| of(series).len()).min().unwrap_or(0);
        (0..steps).map(|step| each.iter().map(|series| of(series)[step]).sum()).collect()
    };
    Some(Series {
        start_ns: window.start_ns,
        step_ns,
        read_ios: sum(|series| &series.read_ios),
        write_ios: sum(|series| &series.write_ios),
        trim_ios: sum(|series| &series.trim_ios),
        bytes: sum(|series| &series.bytes),
        // Percentiles can't be merged; those of each machine are in its part.
        read_latency: None,
        write_latency: None,
    })
}

/// What was checked on all machines; `None` if one of them checked nothing.
fn verified(each: &[(&str, &EngineOutput)]) -> Option<Verified> {
    let mut sum = Verified::default();
    for (on, output) in each {
        let one = output.verified.as_ref()?;
        sum.bytes += one.bytes;
        sum.faults.extend(one.faults.iter().cloned().map(|mut fault| {
            fault.path = format!("{on}:{}", fault.path);
            fault
        }));
    }
    Some(sum)
}

fn errors(each: &[(&str, &EngineOutput)]) -> Vec<ErrorCount> {
    let named = |on: &str, error: &ErrorCount| {
        let place = error.place.as_ref().map_or_else(|| on.to_owned(), |place| format!("{on}:{place}"));
        ErrorCount { place: Some(place), ..error.clone() }
    };
    each.iter().flat_map(|(on, output)| output.errors.iter().map(move |error| named(on, error))).collect()
}
