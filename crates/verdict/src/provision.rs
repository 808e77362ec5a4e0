//! Findings from the provisioning of the machines.

use crate::input::Input;
use record::finding::{Claim, Finding, Severity};
use record::plan::Cell;
use record::provision::Provisioned;
use std::collections::BTreeMap;

/// A finding about steps that changed something again when they ran a second time.
pub(crate) fn findings(cell: &Cell, trials: u32, input: &Input<'_>) -> Option<Finding> {
    let steps = &input.environment.of(&cell.target).provision;
    let suspects: Vec<&Provisioned> =
        steps.iter().filter(|step| step.is_idempotent() == Some(false)).collect();
    let names: Vec<String> = suspects.iter().map(|step| format!("`{} {}`", step.by, step.path)).collect();
    let again: u64 = suspects.iter().filter_map(|step| step.runs.get(1)?.changed).sum();
    if suspects.is_empty() || trials == 0 {
        return None;
    }
    let evidence = [("steps", suspects.len() as u64), ("changes_of_second_run", again)]
        .map(|(name, n)| (name.to_owned(), crate::span::float(n)));
    Some(Finding {
        claim: Claim::NotIdempotent,
        severity: Severity::Caveat,
        cell: cell.id.clone(),
        trials,
        rounds: Vec::new(),
        evidence: BTreeMap::from(evidence),
        text: format!(
            "The provisioning was run twice, and the second run of {} changed something again: the state of the machine depends on \
             how often it was provisioned.",
            names.join(" and ")
        ),
        remedy: "Let each step check the state before it changes anything, then run with `--provision`."
            .to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::findings;
    use crate::input::Input;
    use crate::run_tests::{cell, run_with};
    use record::environment::Environment;
    use record::event::Stopped;
    use record::finding::{Claim, Severity};
    use record::id::RunId;
    use record::provision::{ProvisionRun, Provisioned, Provisioner};

    fn done(path: &str, second: Option<u64>) -> Provisioned {
        let run = |changed| ProvisionRun { changed, ..ProvisionRun::default() };
        Provisioned {
            by: Provisioner::Shell,
            path: path.to_owned(),
            digest: path.to_owned(),
            tool: None,
            applied_unix_ms: 1,
            skipped: true,
            runs: vec![run(Some(3)), run(second)],
            error: None,
        }
    }

    #[test]
    fn a_step_that_changes_something_again_is_a_caveat_of_what_was_measured_there() {
        let measured = [cell("a", &[2000, 2010])];
        let mut plan = None;
        run_with(&measured, |p| plan = Some(p.clone()));
        let plan = plan.unwrap();
        let finding = |provision, trials| {
            let environment = Environment { provision, ..Environment::default() };
            let input = Input {
                run: &RunId("r".to_owned()),
                plan: &plan,
                environment: &environment,
                volumes: &[],
                trials: &[],
                stopped: &Stopped::Unfinished,
            };
            findings(&measured[0].0, trials, &input)
        };
        assert_eq!(finding(vec![done("good.sh", Some(0)), done("silent.sh", None)], 2), None);
        assert_eq!(finding(vec![done("bad.sh", Some(2))], 0), None, "nothing was measured");
        let found = finding(vec![done("good.sh", Some(0)), done("bad.sh", Some(2))], 2).unwrap();
        assert_eq!((found.claim, found.severity, found.trials), (Claim::NotIdempotent, Severity::Caveat, 2));
        assert!(found.text.contains("second run of `shell bad.sh` changed"), "{}", found.text);
        assert_eq!(found.evidence["changes_of_second_run"], 2.0);
    }
}
