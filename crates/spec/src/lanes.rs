//! Lanes: groups of machines that share nothing with the machines of other lanes. The trials of different lanes may run at the same
//! time; those of one lane take turns.

use record::id::LOCAL;
use record::plan::{Cell, Plan};
use record::target::{Target, TargetKind};
use std::collections::{BTreeMap, BTreeSet};

/// What is known about the kernels of a plan's machines; empty before they are connected.
#[derive(Debug, Clone, Default)]
pub struct Kernels {
    /// The boot id of the machine that the controller runs on. Lab guests share its processors and disks.
    pub here: Option<String>,
    /// The boot ids of the machines, by the target's name. Targets with one boot id share a kernel.
    pub boots: BTreeMap<String, String>,
    /// The boot ids of the machines that run guests, by the guest's target. A guest takes turns with its host and the host's other guests.
    pub hosts: BTreeMap<String, String>,
}

/// The lanes of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lanes {
    /// The targets of each lane, in the order of the cells.
    pub targets: Vec<Vec<String>>,
    /// The most trials that run at the same time.
    pub at_once: usize,
}

impl Lanes {
    /// The lane of a target.
    #[must_use]
    pub fn of(&self, target: &str) -> Option<usize> {
        self.targets.iter().position(|lane| lane.iter().any(|name| name == target))
    }

    /// Seconds until all work is done, where each item is the target and the seconds of a piece of work. With a limit on how many
    /// lanes work at once, it is at least the work divided by that number.
    #[must_use]
    pub fn span<'a>(&self, work: impl Iterator<Item = (&'a str, f64)>) -> f64 {
        let mut each = vec![0.0; self.targets.len()];
        for (target, seconds) in work {
            if let Some(lane) = self.of(target) {
                each[lane] += seconds;
            }
        }
        let workers = u32::try_from(self.at_once.min(each.len()).max(1)).unwrap_or(u32::MAX);
        let shared = each.iter().sum::<f64>() / f64::from(workers);
        each.into_iter().fold(shared, f64::max)
    }
}

/// Groups the machines of a plan into lanes: two machines are in one lane if they run one kernel, if one mounts what the other
/// serves, or if the experiment names something that both share.
#[must_use]
pub fn lanes(plan: &Plan, kernels: &Kernels) -> Lanes {
    let mut names: Vec<&str> = Vec::new();
    for name in plan.cells.iter().flat_map(Cell::machines) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let mut groups: Vec<(BTreeSet<String>, Vec<&str>)> = Vec::new();
    for name in &names {
        let mut keys = keys(plan, name, kernels);
        let mut members = Vec::new();
        groups.retain_mut(|(others, targets)| {
            let apart = others.is_disjoint(&keys);
            if !apart {
                keys.append(others);
                members.append(targets);
            }
            apart
        });
        members.push(*name);
        groups.push((keys, members));
    }
    let place = |name: &str| names.iter().position(|known| *known == name);
    let mut lanes: Vec<Vec<&str>> = groups.into_iter().map(|(_, members)| members).collect();
    lanes.iter_mut().for_each(|lane| lane.sort_by_key(|name| place(name)));
    lanes.sort_by_key(|lane| lane.first().and_then(|name| place(name)));
    let at_once =
        plan.measure.at_once.map_or(lanes.len(), |most| usize::try_from(most).unwrap_or(usize::MAX));
    let targets = lanes.into_iter().map(|lane| lane.into_iter().map(str::to_owned).collect()).collect();
    Lanes { targets, at_once: at_once.max(1) }
}

/// What a machine shares with others that have the same key.
fn keys(plan: &Plan, name: &str, kernels: &Kernels) -> BTreeSet<String> {
    let target = plan.targets.iter().find(|target| target.name == name);
    let boots = [&kernels.boots, &kernels.hosts].into_iter().filter_map(|boots| boots.get(name));
    let boots: Vec<&String> = boots.collect();
    let is_here = match target.map(|Target { kind, .. }| kind) {
        None | Some(TargetKind::Local | TargetKind::Guest { .. }) => true,
        // The machine of a driver may still be here; a run knows it by its kernel.
        Some(TargetKind::Ssh { .. } | TargetKind::Created { .. }) => {
            kernels.here.as_ref().is_some_and(|here| boots.contains(&here))
        }
    };
    let here = is_here.then(|| format!("host {LOCAL}"));
    let host = target.and_then(|target| host(plan, target)).map(|host| format!("host {host}"));
    let shared = target.into_iter().flat_map(|target| &target.shares).map(|what| format!("shares {what}"));
    let pairs = plan.cells.iter().map(Cell::machines).filter(|machines| machines.len() > 1);
    let pairs = pairs.filter(|machines| machines.contains(&name));
    let pairs = pairs.map(|machines| format!("together {}", machines.join(" ")));
    let boots = boots.iter().map(|boot| format!("boot {boot}"));
    boots.chain(here).chain(host).chain(shared).chain(pairs).collect()
}

/// The machine that a target's work uses, as the experiment names it: the target itself, or the host of its guest. A driver of which the
/// host isn't known may have machines anywhere; a run learns where they are.
fn host<'p>(plan: &'p Plan, target: &'p Target) -> Option<&'p str> {
    if let Some(by) = &target.hosted_by {
        let machine = plan.targets.iter().find(|other| other.name == by.machine && other.hosted_by.is_none());
        return machine.map_or(Some(&by.machine), |machine| match machine.kind {
            TargetKind::Local => Some(LOCAL),
            _ => host(plan, machine),
        });
    }
    match &target.kind {
        TargetKind::Ssh { destination } => Some(destination),
        TargetKind::Created { driver, .. } if driver == "lab" => Some(LOCAL),
        TargetKind::Created { driver, settings, .. } if driver == "libvirt" => settings.get("host")?.as_str(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Kernels, Lanes, lanes};
    use record::plan::Plan;
    use std::collections::BTreeMap;

    fn plan(targets: &str, measure: &str) -> Plan {
        let text = format!(
            "experiment: demo\ntargets: {{ {targets} }}\nvolumes: {{ vol: {{ emulate: {{ size: 1g }} }} }}\n\
             stacks: {{ raw: {{ on: vol }} }}\nworkloads: {{ read: {{ rw: read, size: 64m }} }}\nmeasure: {{ {measure} }}\n"
        );
        crate::parse(&text, "demo.yaml", std::path::Path::new("/"), &Default::default()).unwrap().plan
    }

    fn said(lanes: &Lanes) -> Vec<String> {
        lanes.targets.iter().map(|lane| lane.join(" ")).collect()
    }

    const FOUR: &str = "here: local, a: { ssh: a }, b: { ssh: b, shares: [switch1] }, c: { ssh: c, shares: [switch1, rack] }";

    #[test]
    fn what_shares_takes_turns() {
        let free = lanes(&plan(FOUR, ""), &Kernels::default());
        assert_eq!((said(&free), free.at_once), (vec!["here".into(), "a".into(), "b c".into()], 3));
        let boots =
            |pairs: &[(&str, &str)]| pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        let own = [("here", "1"), ("a", "2"), ("b", "3"), ("c", "4")];
        let known = Kernels { here: Some("1".to_owned()), boots: boots(&own), hosts: BTreeMap::default() };
        assert_eq!(said(&lanes(&plan(FOUR, ""), &known)), ["here", "a", "b c"]);
        let twice = Kernels { boots: boots(&[("here", "1"), ("a", "1"), ("b", "3"), ("c", "1")]), ..known };
        assert_eq!(said(&lanes(&plan(FOUR, ""), &twice)), ["here a b c"], "b shares with c, and c is a");
    }

    #[test]
    fn a_lab_guest_shares_the_machine_that_it_runs_on() {
        let two = plan(
            "g: { guest: lab1, disks: { d: { size: 64m } } }, h: { guest: lab2, disks: { d: { size: 64m } } }, \
                        a: { ssh: a }",
            "",
        );
        let alone = Kernels { here: Some("1".to_owned()), ..Kernels::default() };
        assert_eq!(said(&lanes(&two, &alone)), ["g h", "a"]);
        let a_is_here = Kernels { boots: [("a".to_owned(), "1".to_owned())].into(), ..alone };
        assert_eq!(said(&lanes(&two, &a_is_here)), ["g h a"]);
    }

    #[test]
    fn a_created_guest_takes_turns_with_its_host_and_with_the_other_guests_there() {
        let guest = |name: &str, host: &str| format!("{name}: {{ driver: libvirt, host: {host}, image: i }}");
        let targets = ["a: { ssh: ham0 }", "b: { ssh: ham1 }", "here: local"].map(str::to_owned);
        let guests = [guest("c", "ham0"), guest("d", "ham0"), guest("e", "local")];
        let plan = plan(&[&targets[..], &guests[..]].concat().join(", "), "");
        let named = said(&lanes(&plan, &Kernels::default()));
        assert_eq!(named, ["a c d", "b", "here e"], "as the experiment names them");
        let of =
            |pairs: &[(&str, &str)]| pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        // A run has ssh destinations in place of created machines, and knows the kernels of their hosts.
        let mut entered = plan;
        for target in &mut entered.targets {
            if target.name.as_str() >= "c" && target.name != "here" {
                target.kind =
                    record::target::TargetKind::Ssh { destination: format!("{}.x.diskproof", target.name) };
            }
        }
        let known = Kernels {
            here: Some("1".to_owned()),
            boots: of(&[("here", "1"), ("a", "2"), ("b", "3"), ("c", "4"), ("d", "5"), ("e", "6")]),
            hosts: of(&[("c", "2"), ("d", "2"), ("e", "1")]),
        };
        assert_eq!(said(&lanes(&entered, &known)), ["a c d", "b", "here e"]);
    }

    #[test]
    fn a_guest_takes_turns_with_the_machine_that_hosts_it() {
        let guest = |name: &str, by: &str| {
            format!("{name}: {{ ssh: {name}, hosted_by: {{ machine: {by}, guest: g }} }}")
        };
        let targets = ["a: { ssh: root@ham0 }", "here: local"].map(str::to_owned);
        let guests = [guest("b", "a"), guest("c", "root@ham0"), guest("d", "ham9"), guest("e", "here")];
        let plan = plan(&[&targets[..], &guests[..]].concat().join(", "), "");
        assert_eq!(said(&lanes(&plan, &Kernels::default())), ["a b c", "here e", "d"]);
    }

    #[test]
    fn the_time_is_that_of_the_slowest_lane_or_of_the_work_that_may_be_done_at_once() {
        let span = |measure: &str, work: &[(&'static str, f64)]| {
            lanes(&plan(FOUR, measure), &Kernels::default()).span(work.iter().copied())
        };
        let work = [("here", 10.0), ("a", 40.0), ("b", 30.0), ("c", 30.0), ("here", 20.0)];
        assert_eq!(span("", &work).to_bits(), 60.0_f64.to_bits());
        assert_eq!(span("at_once: 2", &work).to_bits(), 65.0_f64.to_bits());
        assert_eq!(span("at_once: 1", &work).to_bits(), 130.0_f64.to_bits());
        let here = lanes(&plan("here: local", ""), &Kernels::default());
        assert_eq!(here.span([("here", 1.0), ("here", 2.0)].into_iter()).to_bits(), 3.0_f64.to_bits());
    }
}
