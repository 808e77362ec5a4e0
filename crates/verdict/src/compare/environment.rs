//! Differences between the machines of two runs, and between the conditions of the runs.

use record::comparison::{Difference, DifferenceOf};
use record::environment::Environment;
use record::finding::{Claim, Severity};
use record::judged::RunView;
use record::quantity::Bytes;
use record::volume::VolumeFacts;
use std::collections::BTreeSet;

/// If memory differs by less than this share, it is the same machine under another kernel.
const SAME_MEMORY: f64 = 0.02;

/// The number of digits of a digest in a text.
const SHOWN_DIGITS: usize = 12;

/// Claims that the rounds of a run aren't replicates, so that its intervals don't contain the change.
const UNSTEADY: [Claim; 3] = [Claim::MachineDrift, Claim::Trend, Claim::Autocorrelated];

type Field = fn(&Environment) -> Option<String>;

/// The differences between the machines and their volumes.
pub(super) fn differences(run: &RunView, baseline: &RunView) -> Vec<Difference> {
    const MACHINE: &str = "this is another machine";
    const MAY: &str = "a difference of the figures may come from it";
    let fields: [(&str, Field, Severity, &str); 11] = [
        ("CPU model", |e| e.cpu_model.clone(), Severity::Void, MACHINE),
        ("architecture", |e| e.architecture.clone(), Severity::Void, MACHINE),
        ("CPUs", |e| e.cpus.map(|n| n.to_string()), Severity::Void, MACHINE),
        ("virtualization", |e| e.virtualization.clone(), Severity::Void, MACHINE),
        ("kernel", |e| e.kernel.clone(), Severity::Caveat, MAY),
        ("governor", |e| e.governor.clone(), Severity::Caveat, MAY),
        ("clock source", |e| e.clocksource.clone(), Severity::Caveat, MAY),
        ("cgroup flavour", |e| e.throttle.clone(), Severity::Caveat, "other code limits the volumes"),
        ("root", |e| Some(e.root.to_string()), Severity::Note, "without root, caches may not be dropped"),
        ("distribution", |e| e.distribution.clone(), Severity::Note, "its defaults may differ"),
        ("diskproof", |e| Some(e.diskproof.clone()), Severity::Note, "another version measured"),
    ];
    let (now, then) = (&run.environment, &baseline.environment);
    let mut found: Vec<Difference> = fields
        .iter()
        .filter_map(|(what, field, severity, means)| machine(what, field(then), field(now), *severity, means))
        .collect();
    found.extend(memory(then, now));
    found.extend(provisions(run, baseline));
    for (tool, version) in &now.tools {
        let before = then.tools.get(tool);
        found.extend(before.and_then(|b| {
            let what = format!("version of {tool}");
            machine(&what, Some(b.clone()), Some(version.clone()), Severity::Note, "its defaults may differ")
        }));
    }
    for volume in &run.volumes {
        let before = baseline.volumes.iter().find(|v| v.name == volume.name);
        found.extend(before.into_iter().flat_map(|b| of_volume(b, volume)));
    }
    found
}

/// A difference between two machines; `None` if the values are equal, or if neither is known.
fn machine(
    what: &str,
    before: Option<String>,
    after: Option<String>,
    severity: Severity,
    means: &str,
) -> Option<Difference> {
    if before == after {
        return None;
    }
    let known = before.is_some() && after.is_some();
    let (severity, means) =
        if known { (severity, means) } else { (Severity::Note, "whether it differs isn't known") };
    let show = |v: &Option<String>| v.clone().unwrap_or_else(|| "unknown".to_owned());
    Some(Difference {
        what: what.to_owned(),
        of: DifferenceOf::Machine,
        severity,
        cell: None,
        text: format!("{what} is {}, in the baseline {}: {means}", show(&after), show(&before)),
        before,
        after,
    })
}

/// Differences of provisioning. A step's digest covers everything that decides what it does.
fn provisions(run: &RunView, baseline: &RunView) -> Vec<Difference> {
    let targets: BTreeSet<&str> =
        run.cells.iter().chain(&baseline.cells).map(|c| c.target.as_str()).collect();
    let one = |target: &str| {
        let what = if targets.len() > 1 { format!("provision of {target}") } else { "provision".to_owned() };
        let steps = |of: &RunView| Some(provision(of.environment.of(target)));
        let (before, after) = (steps(baseline), steps(run));
        let differs = machine(&what, before, after, Severity::Void, "the machine was set up differently")?;
        Some(Difference { text: format!("environment differs: {}", differs.text), ..differs })
    };
    targets.iter().filter_map(|target| one(target)).collect()
}

/// The steps in order, each once, even if it ran several times.
fn provision(machine: &Environment) -> String {
    let mut steps: Vec<String> = Vec::new();
    for step in &machine.provision {
        let digest: String = step.digest.chars().take(SHOWN_DIGITS).collect();
        let shown = format!("{} {} ({digest})", step.by, step.path);
        if !steps.contains(&shown) {
            steps.push(shown);
        }
    }
    if steps.is_empty() { "none".to_owned() } else { steps.join(", ") }
}

fn memory(then: &Environment, now: &Environment) -> Option<Difference> {
    let (before, after) = (then.memory_bytes?, now.memory_bytes?);
    let share = crate::span::float(after) / crate::span::float(before.max(1)) - 1.0;
    let show = |bytes| Some(Bytes(bytes).to_string());
    let means = "more of the data may be cached in one of them";
    (share.abs() > SAME_MEMORY)
        .then(|| machine("memory", show(before), show(after), Severity::Caveat, means))
        .flatten()
}

fn of_volume(before: &VolumeFacts, after: &VolumeFacts) -> Vec<Difference> {
    let name = &after.name;
    let size = |v: &VolumeFacts| Some(format!("{} ({} bytes)", Bytes(v.size_bytes), v.size_bytes));
    let direct = |v: &VolumeFacts| v.loop_direct_io.map(|d| d.to_string());
    let limits = |v: &VolumeFacts| {
        let of = v.host_limits.as_ref()?;
        Some(if of.is_unlimited() { "none".to_owned() } else { of.in_words() })
    };
    let facts = [
        ("size", size(before), size(after), "the data lies elsewhere"),
        ("drive", before.identity.clone(), after.identity.clone(), "another drive was measured"),
        ("file system", before.backing_fs.clone(), after.backing_fs.clone(), "it lies on another one"),
        ("direct I/O", direct(before), direct(after), "one of them is cached twice"),
        ("host's limits", limits(before), limits(after), "the host of the guest grants another rate"),
    ];
    let one = |(what, b, a, means): (&str, Option<String>, Option<String>, &str)| {
        // The free space of an existing directory is never the same twice.
        let is_free_space = what == "size" && after.device.is_none();
        machine(&format!("{what} of {name}"), b, a, Severity::Caveat, means).filter(|_| !is_free_space)
    };
    facts.into_iter().filter_map(one).collect()
}

/// What no interval contains: the runs are of different times, and the rounds of one may not be replicates.
pub(super) fn course(run: &RunView, baseline: &RunView) -> Vec<Difference> {
    let of = |what: &str, severity, text: String| Difference {
        what: what.to_owned(),
        of: DifferenceOf::Course,
        severity,
        cell: None,
        before: None,
        after: None,
        text,
    };
    let mut found: Vec<Difference> = [run, baseline]
        .into_iter()
        .filter_map(|view| {
            let claims = view.findings.iter().filter(|f| UNSTEADY.contains(&f.claim)).count();
            let text = format!(
                "run {} was not stable ({claims} findings of drift, trend or autocorrelation): its intervals are too narrow",
                view.run
            );
            (claims > 0).then(|| of("steadiness", Severity::Caveat, text))
        })
        .collect();
    if run.run != baseline.run {
        found.push(of(
            "time",
            Severity::Note,
            "the runs were made at different times, so a change between them (load of others, temperature, where the data lies) is \
             in the ratios but not in their intervals; two stacks in one experiment are compared round by round"
                .to_owned(),
        ));
    }
    found
}
