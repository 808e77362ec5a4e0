//! What claims have, without a change.

use super::api::Api;
use super::inventory::Instance;
use super::name;
use crate::protocol::{Answer, Claim, Failure, Listed, MachineState, MachineStatus, Resource};

/// The state of a claim's machines.
pub(super) fn status(api: &Api<'_>, claim: &Claim, is_private: bool) -> Result<Answer, Failure> {
    let machines =
        api.instances(Some(&claim.id))?.iter().map(|instance| state(claim, instance, is_private)).collect();
    Ok(Answer::Status { machines })
}

fn state(claim: &Claim, instance: &Instance, is_private: bool) -> MachineStatus {
    let state = match instance.status.as_str() {
        "RUNNING" => MachineState::Running,
        "PENDING" | "PROVISIONING" | "STAGING" | "REPAIRING" => MachineState::Starting,
        "STOPPING" | "PENDING_STOP" | "DEPROVISIONING" => MachineState::Ending,
        _ => MachineState::Stopped,
    };
    MachineStatus {
        name: name::in_request(claim, &instance.name).unwrap_or(&instance.name).to_owned(),
        id: instance.path(),
        state,
        address: instance.address(is_private).or_else(|| instance.address(true)),
    }
}

/// What all claims of diskproof have in the project.
pub(super) fn list(api: &Api<'_>) -> Result<Answer, Failure> {
    let mut resources = Vec::new();
    for instance in api.instances(None)? {
        let claim = name::claim_of(&instance.labels, &instance.description);
        let machine = instance.local_disks().chain([instance.resource()]);
        resources.extend(
            machine.filter_map(|one| Some(listed(one, claim.clone()?, &instance.creation_timestamp))),
        );
    }
    for disk in api.disks(None)? {
        let claim = name::claim_of(&disk.labels, &disk.description);
        resources.extend(claim.map(|claim| listed(disk.resource(), claim, &disk.creation_timestamp)));
    }
    Ok(Answer::Listed { resources })
}

fn listed(resource: Resource, claim: Claim, made: &str) -> Listed {
    let made = made.parse::<jiff::Timestamp>().ok().and_then(|made| u64::try_from(made.as_second()).ok());
    Listed { resource, claim, made, price: None }
}
