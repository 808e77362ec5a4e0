//! What a claim has, as EC2 describes it.

use super::aws::Aws;
use super::error::AwsError;
use super::tags;
use crate::protocol::{MachineState, Resource, ResourceKind};
use serde_json::{Value, json};
use std::thread;

/// All that was found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Instances, without those that are terminated: EC2 shows these for an hour.
    pub(super) instances: Vec<Value>,
    pub(super) volumes: Vec<Value>,
    pub(super) groups: Vec<Value>,
}

impl Found {
    /// Asks for everything that the filter matches, and keeps what `is_wanted`.
    pub(super) fn take(
        aws: &Aws<'_>,
        filter: &Value,
        is_wanted: impl Fn(&Value) -> bool + Sync,
    ) -> Result<Self, AwsError> {
        let keep = |all: Result<Vec<Value>, AwsError>| {
            all.map(|all| all.into_iter().filter(|of| is_wanted(of)).collect::<Vec<_>>())
        };
        thread::scope(|scope| {
            let volumes = scope.spawn(|| keep(list(aws, "describe-volumes", "Volumes", filter)));
            let groups =
                scope.spawn(|| keep(list(aws, "describe-security-groups", "SecurityGroups", filter)));
            let instances = keep(instances(aws, filter));
            let join = |handle: thread::ScopedJoinHandle<'_, _>| {
                handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            let (volumes, groups): (Result<_, AwsError>, Result<_, AwsError>) = (join(volumes), join(groups));
            let mut instances = instances?;
            instances.retain(|instance| state(instance) != Some("terminated"));
            Ok(Self { instances, volumes: volumes?, groups: groups? })
        })
    }

    /// Asks for what a claim has.
    pub(super) fn of_claim(aws: &Aws<'_>, claim_id: &str) -> Result<Self, AwsError> {
        Self::take(aws, &tags::filter(claim_id), |resource| tags::is_of(resource, claim_id))
    }

    /// Whether nothing was found.
    pub(super) fn is_empty(&self) -> bool {
        self.instances.is_empty() && self.volumes.is_empty() && self.groups.is_empty()
    }

    /// Each resource, with the description that it is from.
    pub(super) fn resources(&self) -> impl Iterator<Item = (Resource, &Value)> {
        let instances = self.instances.iter().filter_map(|of| Some((machine(of)?, of)));
        let volumes = self.volumes.iter().filter_map(|of| Some((volume(of)?, of)));
        let groups = self.groups.iter().filter_map(|of| Some((group(of)?, of)));
        instances.chain(volumes).chain(groups)
    }
}

/// Returns the instances that a filter matches, also the terminated ones.
pub(super) fn instances(aws: &Aws<'_>, filter: &Value) -> Result<Vec<Value>, AwsError> {
    let reservations = list(aws, "describe-instances", "Reservations", filter)?;
    Ok(reservations
        .iter()
        .flat_map(|reservation| reservation["Instances"].as_array().into_iter().flatten())
        .cloned()
        .collect())
}

fn list(aws: &Aws<'_>, operation: &str, what: &'static str, filter: &Value) -> Result<Vec<Value>, AwsError> {
    let mut reply = aws.call(operation, &json!({"Filters": filter}))?;
    match reply[what].take() {
        Value::Array(found) => Ok(found),
        _ => Err(AwsError::Reply { operation: operation.to_owned(), what }),
    }
}

/// The state of an instance, in EC2's words.
pub(super) fn state(instance: &Value) -> Option<&str> {
    instance["State"]["Name"].as_str()
}

/// The state of an instance in the protocol's words; `None`: it is gone.
pub(super) fn machine_state(instance: &Value) -> Option<MachineState> {
    match state(instance)? {
        "pending" => Some(MachineState::Starting),
        "running" => Some(MachineState::Running),
        "stopping" | "stopped" => Some(MachineState::Stopped),
        "shutting-down" => Some(MachineState::Ending),
        _ => None,
    }
}

/// Returns the address of an instance; `None`: it has none yet.
pub(super) fn address(instance: &Value, private: bool) -> Option<&str> {
    let key = if private { "PrivateIpAddress" } else { "PublicIpAddress" };
    instance[key].as_str().filter(|address| !address.is_empty())
}

/// Returns an instance as a resource.
pub(super) fn machine(instance: &Value) -> Option<Resource> {
    resource(ResourceKind::Machine, &instance["InstanceId"], tags::machine_name(instance))
}

fn volume(volume: &Value) -> Option<Resource> {
    resource(ResourceKind::Volume, &volume["VolumeId"], tags::value(volume, "Name"))
}

/// Returns a security group as a resource.
pub(super) fn group(group: &Value) -> Option<Resource> {
    resource(ResourceKind::Rule, &group["GroupId"], group["GroupName"].as_str())
}

fn resource(kind: ResourceKind, id: &Value, name: Option<&str>) -> Option<Resource> {
    Some(Resource { kind, id: id.as_str()?.to_owned(), name: name.unwrap_or_default().to_owned() })
}
