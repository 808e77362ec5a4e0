//! Targets that are one machine under several names, e.g. `local` and an ssh destination that leads back here.

use crate::error::RunError;
use crate::how::{How, volumes_of};
use record::environment::Environment;
use record::id::RunId;
use record::plan::Plan;
use record::printable::Shown as _;
use record::target::{Target, TargetKind};
use record::volume::{Volume, VolumeKind};
use spec::{Kernels, Lanes, lanes};
use std::collections::BTreeMap;

/// What the machines said about themselves, as far as it decides which of them may work at the same time.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) lanes: Lanes,
    /// The run's name on each machine. Everything that an agent process makes is named after it, so the second name of a machine
    /// has one of its own.
    pub(crate) names: BTreeMap<String, RunId>,
    /// What the user should know.
    pub(crate) remarks: Vec<String>,
}

impl Found {
    /// # Errors
    /// When two names of one machine would use the same disk or directory.
    pub(crate) fn of(plan: &Plan, how: &How, machines: &[(String, Environment)]) -> Result<Self, RunError> {
        let boots: BTreeMap<String, String> = machines
            .iter()
            .filter_map(|(name, machine)| Some((name.clone(), machine.boot_id.clone()?)))
            .collect();
        let mut names = BTreeMap::new();
        let mut remarks = Vec::new();
        let mut seen: Vec<&str> = Vec::new();
        // Guests of one shape are restored from one saved state, and so is their boot id. Two targets are two guests.
        let is_guest = |name: &str| {
            let target = plan.targets.iter().find(|target| target.name == name);
            matches!(target, Some(Target { kind: TargetKind::Guest { .. }, .. }))
        };
        for (name, machine) in machines {
            let mut same: Vec<&str> = machines
                .iter()
                .filter(|(other, about)| {
                    let alike = machine.boot_id.is_some() && about.boot_id == machine.boot_id;
                    other == name || (alike && !is_guest(name) && !is_guest(other))
                })
                .map(|(other, _)| other.as_str())
                .collect();
            // Other machines look for its folder in a shared directory by the run's own name.
            same.sort_by_key(|name| !loads_together(plan, name));
            let place = same.iter().position(|other| other == name).unwrap_or(0);
            names.insert(name.clone(), named(&how.run, place));
            if same.len() > 1 && !seen.contains(&name.as_str()) {
                share_no_volume(plan, &same)?;
                remarks.push(remark(&same));
                seen.extend(same);
            }
        }
        let hosts = how.nodes.iter().filter_map(|node| {
            let host = &node.hosted.first()?.host;
            Some((node.target.clone(), host.boot_id()?))
        });
        let here = observe::boot_id(&observe::Roots::default());
        let mut lanes = lanes(plan, &Kernels { here, boots, hosts: hosts.collect() });
        // A machine without a boot id may be any other one.
        if machines.iter().any(|(_, machine)| machine.boot_id.is_none()) {
            lanes.targets = vec![lanes.targets.concat()];
        }
        Ok(Self { lanes, names, remarks })
    }
}

/// The run's name for the first, second, ... name of a machine. `diskproof undo RUN` knows them.
fn named(run: &RunId, place: usize) -> RunId {
    if place == 0 { run.clone() } else { RunId(format!("{run}_{}", place + 1)) }
}

/// Whether a name is that of this run on some machine.
pub(crate) fn is_name_of(name: &RunId, run: &RunId) -> bool {
    let rest = name.0.strip_prefix(&run.0);
    rest.is_some_and(|rest| {
        let number = rest.strip_prefix('_').unwrap_or_default();
        rest.is_empty() || (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

fn remark(same: &[&str]) -> String {
    let quoted: Vec<String> = same.iter().map(|name| format!("`{name}`")).collect();
    let names = match quoted.split_last() {
        Some((last, [one])) => format!("{one} and {last}"),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    };
    format!("{names} are one machine: their trials take turns")
}

fn loads_together(plan: &Plan, name: &str) -> bool {
    plan.cells.iter().any(|cell| cell.is_together() && cell.is_built_on(name))
}

fn share_no_volume(plan: &Plan, same: &[&str]) -> Result<(), RunError> {
    let of = |target: &str| volumes_of(plan, target).into_iter().filter_map(|volume| place(&volume));
    for (at, second) in same.iter().enumerate() {
        for first in &same[..at] {
            let others: Vec<String> = of(first).collect();
            if let Some(what) = of(second).find(|what| others.contains(what)) {
                return Err(RunError::OneVolume {
                    first: (*first).to_owned(),
                    second: (*second).to_owned(),
                    what,
                });
            }
        }
    }
    Ok(())
}

/// The thing on a machine that a volume is, if it is there already. Emulated volumes are made for each name.
fn place(volume: &Volume) -> Option<String> {
    match &volume.kind {
        VolumeKind::Disk { id } | VolumeKind::Guest { id, .. } => Some(format!("disk {id}")),
        VolumeKind::Directory { path } => Some(format!("directory {}", path.shown())),
        VolumeKind::Created { volume, .. } => Some(format!("created volume {volume}")),
        VolumeKind::Emulate { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Found, is_name_of, named, remark};
    use crate::how::How;
    use crate::ledger::Earlier;
    use record::environment::Environment;
    use record::id::RunId;
    use record::plan::{Measure, Plan};
    use record::target::{Target, TargetKind};
    use std::sync::Arc;

    #[test]
    fn each_name_of_a_machine_has_a_name_of_the_run() {
        let run = RunId("20261126-1300-ab".to_owned());
        let names: Vec<String> = (0..3).map(|place| named(&run, place).0).collect();
        assert_eq!(names, ["20261126-1300-ab", "20261126-1300-ab_2", "20261126-1300-ab_3"]);
        assert!(names.iter().all(|name| is_name_of(&RunId(name.clone()), &run)));
        for other in ["20261126-1300-abc", "20261126-1300-ab_", "20261126-1300-ab_x", "20261126"] {
            assert!(!is_name_of(&RunId(other.to_owned()), &run), "{other}");
        }
    }

    /// Guests of the lab are restored from one saved state, so they have one boot id.
    #[test]
    fn two_guests_with_one_boot_id_are_two_machines() {
        let guest = |name: &str| Target {
            name: name.to_owned(),
            kind: TargetKind::Guest { lab: name.to_owned(), disks: Vec::new() },
            address: None,
            ceiling: None,
            shares: Vec::new(),
            hosted_by: None,
        };
        let mut plan = Plan::new("e".to_owned(), Vec::new(), Measure::new(1.0, 0.0, 1));
        let how = How {
            run: RunId("r".to_owned()),
            nodes: Vec::new(),
            routes: Vec::new(),
            earlier: Earlier::default(),
            provision_anew: false,
            wishes: Arc::default(),
            forecast_seconds: 0.0,
            live: false,
        };
        let machine = Environment { boot_id: Some("b".to_owned()), ..Environment::default() };
        let machines = ["nas", "vm"].map(|name| (name.to_owned(), machine.clone()));
        plan.targets = vec![guest("nas"), guest("vm")];
        let found = Found::of(&plan, &how, &machines).unwrap();
        assert!(found.remarks.is_empty() && found.names.values().all(|name| *name == how.run), "{found:?}");
        plan.targets.clear();
        let found = Found::of(&plan, &how, &machines).unwrap();
        assert_eq!((found.remarks.len(), found.names["vm"].0.as_str()), (1, "r_2"));
    }

    #[test]
    fn the_user_learns_which_names_are_one_machine() {
        assert_eq!(remark(&["here", "a"]), "`here` and `a` are one machine: their trials take turns");
        assert_eq!(remark(&["a", "b", "c"]), "`a`, `b` and `c` are one machine: their trials take turns");
    }
}
