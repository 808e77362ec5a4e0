//! Lab guests: the range in which figures of their disks are valid.

use crate::input::Input;
use record::emulated::{Guest, LAB, Range};
use record::plan::Plan;
use record::target::TargetKind;

/// The range in which figures of a machine's disks are valid; `None`: it isn't a lab guest.
pub(crate) fn believed(plan: &Plan, target: &str) -> Option<Range> {
    let target = plan.targets.iter().find(|t| t.name == target)?;
    match &target.kind {
        TargetKind::Guest { .. } => Some(LAB),
        TargetKind::Created { driver, .. } if driver == "lab" => Some(LAB),
        _ => None,
    }
}

/// The lab guests on which cells are built or that generate load, in the order of the file.
pub(crate) fn guests(input: &Input<'_>) -> Vec<Guest> {
    let plan = input.plan;
    let used =
        |name: &str| plan.cells.iter().any(|cell| [cell.target.as_str(), cell.loaded_from()].contains(&name));
    let guest = |name: &String| {
        let software = input.environment.of(name).is_software_emulated();
        Some(Guest { target: name.clone(), believed: believed(plan, name)?, software })
    };
    plan.targets.iter().map(|target| &target.name).filter(|name| used(name)).filter_map(guest).collect()
}

#[cfg(test)]
mod tests {
    use crate::run_tests::{cell, run_with};
    use record::emulated::{Guest, LAB};
    use record::target::{Target, TargetKind};

    #[test]
    fn only_lab_guests_that_are_used_are_told() {
        let target = |name: &str, kind| Target {
            name: name.to_owned(),
            kind,
            address: None,
            ceiling: None,
            shares: Vec::new(),
            hosted_by: None,
        };
        let guest = || TargetKind::Guest { lab: "lab".to_owned(), disks: vec![] };
        let mut measured = [cell("a", &[2000, 2010]), cell("b", &[2000, 2010])];
        measured[0].0.target = "vm".to_owned();
        let view = run_with(&measured, |plan| {
            plan.targets =
                vec![target("vm", guest()), target("idle", guest()), target("local", TargetKind::Local)];
        });
        assert_eq!(view.emulated, [Guest { target: "vm".to_owned(), believed: LAB, software: None }]);
    }
}
