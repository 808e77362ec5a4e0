//! What another machine lacks for a plan: diskproof itself looks there.

use crate::settings::Settings;
use fleet::FleetError;
use host::LocalRunner;
use record::plan::Plan;
use record::printable::chain;
use record::target::{Target, TargetKind};

/// Asks a machine over ssh what it lacks for the cells of this target, one noun each; or says why it can't be asked. diskproof copies
/// itself there first, as a run does.
pub(super) fn missing(
    plan: &Plan,
    target: &str,
    destination: &str,
    settings: &Settings,
) -> Result<Vec<String>, String> {
    let own = as_its_own(plan, target);
    let said = ask(&own, destination, settings).map_err(|error| chain(&error))?;
    serde_json::from_str(&said).map_err(|error| format!("its answer can't be read: {error}"))
}

/// The part of a plan that a machine performs, as if it were the controller's.
fn as_its_own(plan: &Plan, target: &str) -> Plan {
    let mut own = plan.clone();
    own.cells.retain(|cell| cell.target == target);
    own.targets = vec![Target {
        name: target.to_owned(),
        kind: TargetKind::Local,
        address: None,
        ceiling: None,
        shares: Vec::new(),
        hosted_by: None,
    }];
    own
}

fn ask(own: &Plan, destination: &str, settings: &Settings) -> Result<String, FleetError> {
    let ssh = fleet::ssh(destination, &settings.fleet());
    let installed = fleet::install(&ssh)?;
    // As root where a run would be: only root can read root's claims. Without sudo, the machine says that it lacks it.
    let may_sudo = || ssh.run(&LocalRunner, "try sudo there", &["sudo", "-n", "true"], None).is_ok();
    let sudo = spec::forecast(own).needs_root && installed.uid != 0 && may_sudo();
    let mut program = if sudo { vec!["sudo", "-n", "--"] } else { Vec::new() };
    program.extend([installed.path.as_str(), "look"]);
    let plan = serde_json::to_vec(own).unwrap_or_default();
    Ok(ssh.run(&LocalRunner, "look for what the plan needs there", &program, Some(plan))?)
}
