//! The footer of a report: how and on which machines the run was measured, and which version judged it.

use crate::bill::bill;
use crate::index::says_it_climbs;
use crate::{asked, number, provisioning};
use record::environment::Environment;
use record::event::Stopped;
use record::judged::{CellView, Found, Metric, RunView};
use record::metric::{MetricInfo, info};
use record::plan::Measure;
use record::quantity::{Bytes, Seconds};
use record::volume::VolumeFacts;
use std::collections::{BTreeMap, BTreeSet};

/// The footer, one sentence per line, not wrapped.
pub(crate) fn lines(view: &RunView) -> Vec<String> {
    let measure = &view.measure;
    let ramp = if measure.ramp_seconds > 0.0 {
        format!(" after {} of ramp", Seconds(measure.ramp_seconds))
    } else {
        String::new()
    };
    let to_completion = |cell: &CellView| {
        let mut names = cell.metrics.keys().chain(cell.too_fast.keys());
        names.any(|name| info(name).is_some_and(MetricInfo::is_to_completion))
    };
    let length = if !view.cells.is_empty() && view.cells.iter().all(to_completion) {
        ", each until it was done".to_owned()
    } else {
        format!(" of {}{ramp}", length(measure))
    };
    let searched = |cell: &CellView| view.searches.iter().any(|search| search.cell == cell.id);
    let only_searches = !view.cells.is_empty() && view.cells.iter().all(searched);
    let interval = if only_searches {
        "interval of the load at the limit (Fieller's)"
    } else if measure.until.is_some() {
        "interval that allows for looking after every round"
    } else {
        "interval (Student's t)"
    };
    let mut lines = vec![format!(
        "± is the half-width of the {:.0} % {interval} over n trials{length}; seed {}; {}.",
        measure.confidence * 100.0,
        view.seed,
        stopped(view)
    )];
    if !only_searches && !view.searches.is_empty() {
        lines.push("Of a search it is that of the load at the limit (Fieller's interval).".to_owned());
    }
    if view.findings.iter().any(says_it_climbs) {
        lines.push(
            "a → b are the first and the last round of a cell with rounds that climb or fall: their mean describes no lasting state."
                .to_owned(),
        );
    }
    if let Some(share) = measure.trim {
        lines.push(format!(
            "As the experiment asks, estimates are trimmed means: {} of the trials is left out at each end.",
            number::percent(share)
        ));
    }
    if !view.volumes.is_empty() {
        lines.push(format!("Volumes: {}.", volumes(&view.volumes)));
    }
    lines.extend(asked::stacks(&view.cells));
    lines.extend(asked::workloads(&view.cells));
    lines.extend(load(view));
    lines.extend(content(view));
    lines.push(format!("Machine: {}.", machines(view)));
    lines.extend(view.environment.bills.iter().filter_map(bill));
    lines.extend(emulated(view));
    lines.extend(provisioning::lines(view));
    lines.push(format!("Run {}, judged by {}.", view.run, view.judged_by));
    lines
}

/// The length of trials, or the range that it was chosen from.
fn length(measure: &Measure) -> String {
    let shortest = Seconds(measure.trial_seconds);
    match measure.max_trial_seconds {
        Some(longest) => format!("{shortest} to {}", Seconds(longest)),
        None => shortest.to_string(),
    }
}

/// The engines that ran the load and the CPU time that they took, over all cells; `None` if no load was run.
fn load(view: &RunView) -> Option<String> {
    let engines: BTreeSet<&str> = view.cells.iter().flat_map(|c| &c.engines).map(String::as_str).collect();
    let range = |name: &str, show: fn(&Metric) -> String| {
        let known = || view.cells.iter().filter_map(|c| c.metrics.get(name));
        let least = known().min_by(|a, b| a.estimate.total_cmp(&b.estimate))?;
        let most = known().max_by(|a, b| a.estimate.total_cmp(&b.estimate))?;
        let (low, high) = (show(least), show(most));
        Some(if low == high { low } else { format!("{low} to {high}") })
    };
    let share = |m: &Metric| number::percent(m.estimate);
    let cost = [
        range("engine_cpu_per_io", number::alone).map(|cost| format!("{cost} of CPU per I/O")),
        range("engine_instructions_per_io", number::alone).map(|n| format!("{n} instructions in user mode")),
        range("engine_busiest_thread", share).map(|s| format!("busiest thread running {s} of the time")),
    ];
    let parts: Vec<String> =
        engines.iter().map(|name| (*name).to_owned()).chain(cost.into_iter().flatten()).collect();
    (!engines.is_empty()).then(|| format!("Load by {}.", parts.join(", ")))
}

/// A sentence that all checked content was right; wrong content is a finding.
fn content(view: &RunView) -> Option<String> {
    let checked = || view.cells.iter().filter_map(|c| c.verified);
    let (cells, wrong) = (checked().count(), checked().any(|v| v.wrong_blocks > 0));
    if cells == 0 || wrong {
        return None;
    }
    let bytes = checked().map(|v| v.bytes).fold(0, u64::saturating_add);
    let trials: u32 = checked().map(|v| v.trials).fold(0, u32::saturating_add);
    let of = if trials == 1 { "1 trial".to_owned() } else { format!("{trials} trials") };
    Some(if bytes == 0 {
        format!("Content was to be verified in {of}, but no block could be checked.")
    } else {
        format!("Content verified: {} checked in {of}, all as it was written.", Bytes(bytes))
    })
}

fn stopped(view: &RunView) -> String {
    let exact = view.searches.iter().all(|search| search.is_exact);
    let reached = exact && view.reached.as_ref().is_none_or(|reached| reached.all);
    let beyond = view.searches.iter().any(|s| matches!(s.found, Found::NotEven | Found::AtLeast));
    match &view.stopped {
        Stopped::RoundsDone { rounds: 1 } => "stopped after its one round".to_owned(),
        Stopped::RoundsDone { rounds } => format!("stopped after all {rounds} rounds"),
        Stopped::Enough { rounds } if reached && beyond => {
            format!("stopped after {rounds} rounds: a limit lies beyond the levels of its search")
        }
        Stopped::Enough { rounds } if reached && view.choice.is_some() => {
            format!("stopped after {rounds} rounds: the cheapest is known")
        }
        Stopped::Enough { rounds } if reached => {
            format!("stopped after {rounds} rounds: the requested precision is reached")
        }
        Stopped::Enough { rounds } => {
            format!("stopped after {rounds} rounds: what can still be measured has the requested precision")
        }
        Stopped::WrittenSpent => "stopped because the budget of bytes written was spent".to_owned(),
        Stopped::CostSpent => "stopped because the cost budget was spent".to_owned(),
        Stopped::TimeSpent => "stopped because the time budget was spent".to_owned(),
        Stopped::Requested { rounds: 1 } => {
            "ended on request after its first round; `diskproof resume` goes on".to_owned()
        }
        Stopped::Requested { rounds } => {
            format!("ended on request after {rounds} rounds; `diskproof resume` goes on")
        }
        Stopped::Interrupted => "interrupted; `diskproof resume` goes on".to_owned(),
        Stopped::Failed { error } => format!("stopped by an error: {error}"),
        Stopped::Imported { files: 1 } => "imported from a file, not run by diskproof".to_owned(),
        Stopped::Imported { files } => format!("imported from {files} files, not run by diskproof"),
        Stopped::Queued { .. } => "not finished: its blocks are in a queue; `diskproof job submit RUN` submits those that lack a trial".to_owned(),
        Stopped::Unfinished => "not finished; `diskproof resume` goes on".to_owned(),
    }
}

/// The volumes, grouped by kind: `vol[0] to vol[3], 1 GiB each, probed at 80.1 to 80.3 of 80 read_iops`.
fn volumes(volumes: &[VolumeFacts]) -> String {
    let several = volumes.iter().any(|v| volumes.first().is_some_and(|first| first.target != v.target));
    let base = |volume: &VolumeFacts| volume.name.split('[').next().unwrap_or(&volume.name).to_owned();
    let limits = |volume: &VolumeFacts| -> Vec<(&str, f64)> {
        volume.verified.iter().map(|probe| (probe.limit.name(), probe.asked)).collect()
    };
    let made_of = |v: &VolumeFacts| (v.identity.clone(), v.backing_fs.clone());
    let by_host = |v: &VolumeFacts| v.host_limits.clone();
    let kind = |v: &VolumeFacts| {
        (v.target.clone(), base(v), v.size_bytes, v.burst, limits(v), made_of(v), by_host(v))
    };
    let texts: Vec<String> = volumes
        .chunk_by(|a, b| kind(a) == kind(b))
        .map(|group| {
            let place = if several { format!("{}: ", group[0].target) } else { String::new() };
            let name = match group {
                [one] => format!("{}, {}", one.name, Bytes(one.size_bytes)),
                [first, .., last] => {
                    format!("{} to {}, {} each", first.name, last.name, Bytes(first.size_bytes))
                }
                [] => String::new(),
            };
            let (identity, on) = made_of(&group[0]);
            let identity = identity.map(|i| format!(", {i}")).unwrap_or_default();
            let on = on.map(|f| format!(", on {f}")).unwrap_or_default();
            format!("{place}{name}{identity}{on}{}", probes(group))
        })
        .collect();
    texts.join("; ")
}

fn probes(group: &[VolumeFacts]) -> String {
    let mut limits: BTreeMap<&str, (f64, f64, f64)> = BTreeMap::new();
    for probe in group.iter().flat_map(|v| &v.verified) {
        let entry =
            limits.entry(probe.limit.name()).or_insert((probe.asked, f64::INFINITY, f64::NEG_INFINITY));
        entry.1 = entry.1.min(probe.measured);
        entry.2 = entry.2.max(probe.measured);
    }
    let mut texts: Vec<String> = limits
        .into_iter()
        .map(|(limit, (asked, low, high))| {
            let figure = |x: f64| {
                if limit.ends_with("bps") { format!("{:.1} MB/s", x / 1e6) } else { format!("{x:.1}") }
            };
            let what = match limit {
                "read_iops" => "read IOPS",
                "write_iops" => "write IOPS",
                "read_bps" => "reading",
                "write_bps" => "writing",
                "total_iops" => "IOPS",
                "total_bps" => "in all",
                other => other,
            };
            let measured = if (high - low).abs() < 0.05 {
                figure(low)
            } else {
                format!("{} to {}", figure(low), figure(high))
            };
            format!("limit {} {what}, probe {measured}", figure(asked).trim_end_matches(".0"))
        })
        .collect();
    if let Some(burst) = group.iter().find_map(|v| v.burst) {
        texts.push(format!("{burst}, not probed: that would use up its credit"));
    }
    if let Some(limits) = group.iter().find_map(|v| v.host_limits.as_ref()).filter(|of| !of.is_unlimited()) {
        texts.push(format!("limited by the guest's host to {}", limits.in_words()));
    }
    if texts.is_empty() { String::new() } else { format!(", {}", texts.join(", ")) }
}

/// The machine, or the machines with their names.
fn machines(view: &RunView) -> String {
    let all = &view.environment;
    if all.elsewhere.is_empty() {
        return machine(all);
    }
    let mut targets: Vec<&str> = Vec::new();
    for cell in &view.cells {
        if !targets.contains(&cell.target.as_str()) {
            targets.push(&cell.target);
        }
    }
    let each: Vec<String> = targets.iter().map(|t| format!("{t}: {}", machine(all.of(t)))).collect();
    each.join("; ")
}

/// How far results of lab guests are valid, one line for guests that are alike.
fn emulated(view: &RunView) -> Vec<String> {
    let mut alike: BTreeMap<(bool, String), Vec<&str>> = BTreeMap::new();
    for guest in &view.emulated {
        let kind = (guest.software == Some(true), guest.believed.to_string());
        alike.entry(kind).or_default().push(&guest.target);
    }
    let line = |((software, believed), targets): ((bool, String), Vec<&str>)| {
        let plural = if targets.len() == 1 { "" } else { "s" };
        let nothing = if software {
            ". QEMU emulates the processor too, so CPU-bound figures (compression, checksums, NFS) are not credible"
        } else {
            ""
        };
        format!(
            "Emulated disks of lab guest{plural} {}: figures are credible for {believed}; beyond that, they show QEMU's speed, not a disk's{nothing}.",
            targets.join(", ")
        )
    };
    alike.into_iter().map(line).collect()
}

fn machine(env: &Environment) -> String {
    let mut parts: Vec<String> = Vec::new();
    if let Some(cpu) = &env.cpu_model {
        parts.push(env.cpus.map_or(cpu.clone(), |n| format!("{n} x {cpu}")));
    }
    parts.extend(env.memory_bytes.map(|m| format!("{} of memory", Bytes(m))));
    parts.extend(env.kernel.as_ref().map(|k| format!("Linux {k}")));
    parts.extend(env.distribution.clone());
    parts.extend(env.virtualization.as_ref().filter(|v| *v != "none").map(|v| format!("virtual ({v})")));
    if parts.is_empty() { "unknown".to_owned() } else { parts.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::lines;
    use crate::testing::{self, metric};
    use record::event::Stopped;
    use record::judged::{Checked, Reached, RunView};
    use record::plan::{Goal, Until};
    use record::volume::{HostLimits, Limits};

    fn line(view: &RunView, begin: &str) -> Option<String> {
        lines(view).into_iter().find(|l| l.starts_with(begin))
    }

    #[test]
    fn enough_is_not_all_where_cells_could_not_be_measured() {
        let mut view = testing::striped();
        view.stopped = Stopped::Enough { rounds: 6 };
        let ended = |view: &RunView| lines(view).into_iter().find(|l| l.contains("stopped after")).unwrap();
        assert!(ended(&view).contains("the requested precision is reached"));
        view.reached = Some(Reached {
            all: false,
            more_rounds: None,
            more_seconds: None,
            open: vec![view.cells[0].id.clone()],
            text: String::new(),
        });
        assert!(ended(&view).contains("what can still be measured"), "{}", ended(&view));
    }

    #[test]
    fn disks_that_are_not_the_same_one_are_told_one_by_one() {
        let mut view = testing::striped();
        view.volumes.truncate(2);
        assert!(
            line(&view, "Volumes").unwrap().starts_with("Volumes: vol[0] to vol[1], 1 GiB each, on ext4")
        );
        for (volume, serial) in view.volumes.iter_mut().zip(["A1", "B2"]) {
            volume.identity = Some(format!("unnamed model, serial {serial}"));
            volume.verified.clear();
        }
        let each = ["A1", "B2"].map(|serial| format!(", 1 GiB, unnamed model, serial {serial}, on ext4"));
        let expected = format!("Volumes: vol[0]{}; vol[1]{}.", each[0], each[1]);
        assert_eq!(line(&view, "Volumes").unwrap(), expected);
    }

    #[test]
    fn limits_that_a_host_sets_are_told_with_the_volume() {
        let mut view = testing::striped();
        view.volumes.truncate(2);
        for volume in &mut view.volumes {
            volume.verified.clear();
        }
        let limits = Limits { total_iops: Some(80), ..Limits::default() };
        let group = Some("web".to_owned());
        view.volumes[1].host_limits = Some(HostLimits { limits, group, ..HostLimits::default() });
        view.volumes[0].host_limits = Some(HostLimits::default());
        assert_eq!(
            line(&view, "Volumes").unwrap(),
            "Volumes: vol[0], 1 GiB, on ext4; vol[1], 1 GiB, on ext4, limited by the guest's host to total_iops 80, shared by group web."
        );
    }

    #[test]
    fn what_the_load_cost_is_one_line_over_all_cells() {
        let mut view = testing::striped();
        assert_eq!(line(&view, "Load").as_deref(), Some("Load by native-0.1.0."));
        for (cell, ns) in view.cells.iter_mut().zip([2134.0, 7510.0]) {
            cell.metrics.insert("engine_cpu_per_io".to_owned(), metric(ns, Some(30.0), "ns"));
            cell.metrics.insert("engine_instructions_per_io".to_owned(), metric(265.0, Some(1.0), "1"));
        }
        let text = line(&view, "Load").unwrap();
        assert_eq!(
            text,
            "Load by native-0.1.0, 2.13 us to 7.51 us of CPU per I/O, 265 instructions in user mode."
        );
    }

    #[test]
    fn a_run_that_stopped_when_it_was_enough_says_which_interval_it_shows() {
        let mut view = testing::striped();
        assert!(
            line(&view, "±").unwrap().contains("95 % interval (Student's t) over n trials of 20 s after")
        );
        view.measure.until = Some(Until::new(Goal::Interval(0.05), None));
        view.measure.max_trial_seconds = Some(60.0);
        view.stopped = Stopped::Enough { rounds: 6 };
        let text = line(&view, "±").unwrap();
        assert!(
            text.contains("allows for looking after every round over n trials of 20 s to 1 min 0 s"),
            "{text}"
        );
        assert!(text.ends_with("stopped after 6 rounds: the requested precision is reached."), "{text}");
    }

    #[test]
    fn right_content_is_said_and_wrong_content_is_not_called_right() {
        let mut view = testing::striped();
        assert_eq!(line(&view, "Content"), None);
        view.cells[0].verified = Some(Checked { trials: 3, bytes: 3 << 30, wrong_blocks: 0 });
        view.cells[1].verified = Some(Checked { trials: 1, bytes: 1 << 30, wrong_blocks: 0 });
        let right = "Content verified: 4 GiB checked in 4 trials, all as it was written.";
        assert_eq!(line(&view, "Content").as_deref(), Some(right));
        view.cells[1].verified = Some(Checked { trials: 1, bytes: 1 << 30, wrong_blocks: 1 });
        assert_eq!(line(&view, "Content"), None);
    }
}
