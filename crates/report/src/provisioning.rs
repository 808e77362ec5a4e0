//! How the machines were provisioned.

use record::environment::Environment;
use record::judged::RunView;
use record::provision::{ProvisionRun, Provisioned};
use record::quantity::Seconds;

/// One sentence for each machine that was provisioned.
pub(crate) fn lines(view: &RunView) -> Vec<String> {
    let all = &view.environment;
    let first = view.cells.iter().map(|cell| cell.target.as_str()).find(|t| !all.elsewhere.contains_key(*t));
    let machines = first.map(|target| (target, all)).into_iter();
    let machines = machines.chain(all.elsewhere.iter().map(|(target, machine)| (target.as_str(), machine)));
    let several = !all.elsewhere.is_empty();
    machines
        .filter(|(_, machine)| !machine.provision.is_empty())
        .map(|(target, machine)| {
            let place = if several { format!(" of {target}") } else { String::new() };
            format!("Provisioned beforehand{place}: {}. Undo does not revert this.", steps(machine))
        })
        .collect()
}

fn steps(machine: &Environment) -> String {
    machine.provision.iter().map(step).collect::<Vec<_>>().join("; ")
}

fn step(step: &Provisioned) -> String {
    let version = step.tool.as_ref().map(|tool| format!(" ({tool})")).unwrap_or_default();
    let name = format!("{} {}{version}", step.by, step.path);
    let seconds: f64 = step.runs.iter().map(|run| run.seconds).sum();
    let told = match step.runs.as_slice() {
        _ if step.error.is_some() => "failed".to_owned(),
        [first, second] => {
            format!("changed {}, then {}, in {}", changes(first), changes(second), Seconds(seconds))
        }
        _ => "not finished".to_owned(),
    };
    let skipped = if step.skipped { ", skipped since nothing changed after that" } else { "" };
    format!("{name} {told}{skipped}")
}

fn changes(run: &ProvisionRun) -> String {
    run.changed.map_or_else(|| "an unknown number".to_owned(), |changed| changed.to_string())
}

#[cfg(test)]
mod tests {
    use super::lines;
    use crate::testing;
    use record::provision::{ProvisionRun, Provisioned, Provisioner};

    fn done(changed: [Option<u64>; 2]) -> Provisioned {
        Provisioned {
            by: Provisioner::Shell,
            path: "tune.sh".to_owned(),
            digest: "0a1b".to_owned(),
            tool: None,
            applied_unix_ms: 1,
            skipped: false,
            runs: changed
                .map(|changed| ProvisionRun { changed, seconds: 0.25, ..Default::default() })
                .to_vec(),
            error: None,
        }
    }

    #[test]
    fn what_was_done_is_said_with_what_it_changed() {
        let mut view = testing::striped();
        assert_eq!(lines(&view), Vec::<String>::new());
        let playbook = Provisioned {
            by: Provisioner::Ansible,
            path: "site.yml".to_owned(),
            tool: Some("ansible-playbook [core 2.14.18]".to_owned()),
            skipped: true,
            ..done([Some(2), Some(0)])
        };
        view.environment.provision = vec![done([None, None]), playbook];
        assert_eq!(
            lines(&view),
            [
                "Provisioned beforehand: shell tune.sh changed an unknown number, then an unknown number, in 500 ms; ansible \
                 site.yml (ansible-playbook [core 2.14.18]) changed 2, then 0, in 500 ms, skipped since nothing changed after \
                 that. Undo does not revert this."
            ]
        );
        view.environment.provision[0].error = Some("step 1 of 2".to_owned());
        assert!(lines(&view)[0].contains("shell tune.sh failed;"));
    }
}
