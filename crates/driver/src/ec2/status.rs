//! Tells what exists.

use super::aws::Aws;
use super::error::AwsError;
use super::found::{Found, address, instances, machine, machine_state};
use super::tags;
use crate::protocol::{Answer, Listed, MachineStatus};
use serde_json::Value;

/// Returns the machines of a claim.
pub(super) fn status(aws: &Aws<'_>, claim_id: &str) -> Result<Answer, AwsError> {
    let instances = instances(aws, &tags::filter(claim_id))?;
    let status = |instance: &Value| {
        let resource = machine(instance)?;
        let address = address(instance, false).or_else(|| address(instance, true));
        Some(MachineStatus {
            name: resource.name,
            id: resource.id,
            state: machine_state(instance)?,
            address: address.map(str::to_owned),
        })
    };
    let ours = instances.iter().filter(|instance| tags::is_of(instance, claim_id));
    Ok(Answer::Status { machines: ours.filter_map(status).collect() })
}

/// Returns what all claims have.
pub(super) fn list(aws: &Aws<'_>) -> Result<Answer, AwsError> {
    let found = Found::take(aws, &tags::filter_any(), |resource| tags::claim(resource).is_some())?;
    let listed = found.resources().filter_map(|(resource, described)| {
        let made =
            described["LaunchTime"].as_str().or_else(|| described["CreateTime"].as_str()).and_then(seconds);
        Some(Listed { resource, claim: tags::claim(described)?, made, price: None })
    });
    Ok(Answer::Listed { resources: listed.collect() })
}

/// Seconds since 1970 of a time such as `2025-11-02T10:00:00+00:00`.
fn seconds(time: &str) -> Option<u64> {
    let time: jiff::Timestamp = time.parse().ok()?;
    u64::try_from(time.as_second()).ok()
}
