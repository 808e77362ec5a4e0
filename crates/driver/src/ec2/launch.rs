//! Launches of machines with their volumes.

use super::ebs::{Volume, VolumeType};
use super::error::AwsError;
use super::image::Image;
use super::reading::{Machine, Wanted};
use super::{tags, user_data};
use crate::protocol::Claim;
use serde_json::{Map, Value, json};

/// Machines that differ only in their names: one call launches them, and makes their volumes.
pub(super) struct Launch<'a> {
    pub(super) machines: Vec<&'a Machine>,
    /// Ids of instances of these machines that have ended: what replaces them is another launch.
    pub(super) ended: Vec<String>,
}

/// Groups machines into as few launches as EC2 allows.
pub(super) fn group<'a>(machines: impl IntoIterator<Item = &'a Machine>) -> Vec<Launch<'a>> {
    let mut launches: Vec<Launch<'_>> = Vec::new();
    for machine in machines {
        match launches.iter_mut().find(|launch| launch.wanted() == Some(&machine.wanted)) {
            Some(launch) => launch.machines.push(machine),
            None => launches.push(Launch { machines: vec![machine], ended: Vec::new() }),
        }
    }
    launches
}

impl Launch<'_> {
    /// What each of the machines is.
    pub(super) fn wanted(&self) -> Option<&Wanted> {
        self.machines.first().map(|machine| &machine.wanted)
    }

    /// Returns the names of the machines, in the order of their launch index.
    pub(super) fn names(&self) -> Vec<&str> {
        self.machines.iter().map(|machine| machine.name.as_str()).collect()
    }

    /// Returns the input of `run-instances`. It follows from the request alone: with the same token EC2 makes nothing twice.
    pub(super) fn input(
        &self,
        wanted: &Wanted,
        claim: &Claim,
        public_key: &str,
        image: &Image,
        security_group: &str,
    ) -> Result<Value, AwsError> {
        let has_ephemeral = wanted.volumes.iter().any(|volume| volume.kind == VolumeType::Ephemeral);
        let mut input = json!({
            "ClientToken": self.token(claim)?,
            "ImageId": image.id,
            "InstanceType": wanted.machine_type,
            "MinCount": self.machines.len(),
            "MaxCount": self.machines.len(),
            "InstanceInitiatedShutdownBehavior": "terminate",
            "MetadataOptions": {"HttpTokens": "required"},
            "UserData": user_data::of(claim, &wanted.user, public_key, has_ephemeral),
            "BlockDeviceMappings": mappings(wanted, image),
            "TagSpecifications": self.tag_specifications(wanted, claim),
        });
        if let Some(input) = input.as_object_mut() {
            add_choices(input, wanted, security_group);
        }
        Ok(input)
    }

    fn token(&self, claim: &Claim) -> Result<String, AwsError> {
        let what = format!("{} {}", self.names().join(","), self.ended.join(","));
        let digest = host::sha256(what.as_bytes(), u64::MAX);
        let (digest, _) =
            digest.map_err(|_| AwsError::Reply { operation: "run-instances".into(), what: "token" })?;
        Ok(format!("{}-{}", claim.id, &digest[..16]))
    }

    fn tag_specifications(&self, wanted: &Wanted, claim: &Claim) -> Vec<Value> {
        let of_claim = tags::of_claim(claim);
        let mut of_instances = of_claim.clone();
        of_instances.extend(tags::of_machines(&self.names()));
        let mut all = vec![
            json!({"ResourceType": "instance", "Tags": of_instances}),
            json!({"ResourceType": "volume", "Tags": of_claim}),
            json!({"ResourceType": "network-interface", "Tags": of_claim}),
        ];
        if wanted.spot {
            all.push(json!({"ResourceType": "spot-instances-request", "Tags": of_claim}));
        }
        all
    }
}

/// The name that EC2 knows the volume with that index by; the machine itself goes by the volume's id.
pub(super) fn device_name(index: usize) -> String {
    let letter = u8::try_from(index).ok().and_then(|index| b'f'.checked_add(index)).unwrap_or(b'z');
    format!("/dev/sd{}", char::from(letter))
}

fn mappings(wanted: &Wanted, image: &Image) -> Vec<Value> {
    let mut mappings = Vec::new();
    if let Some(device) = &image.root_device {
        let mut ebs = json!({"DeleteOnTermination": true});
        if let Some(gib) = wanted.boot_gib {
            ebs["VolumeSize"] = gib.into();
        }
        mappings.push(json!({"DeviceName": device, "Ebs": ebs}));
    }
    let volumes =
        wanted.volumes.iter().enumerate().filter(|(_, volume)| volume.kind != VolumeType::Ephemeral);
    mappings
        .extend(volumes.map(|(index, volume)| json!({"DeviceName": device_name(index), "Ebs": ebs(volume)})));
    mappings
}

fn ebs(volume: &Volume) -> Value {
    let mut ebs = json!({
        "VolumeType": volume.kind.name(),
        "VolumeSize": volume.gib,
        "DeleteOnTermination": true,
    });
    if let Some(iops) = volume.iops {
        ebs["Iops"] = iops.into();
    }
    if let Some(throughput) = volume.throughput {
        ebs["Throughput"] = throughput.into();
    }
    ebs
}

fn add_choices(input: &mut Map<String, Value>, wanted: &Wanted, security_group: &str) {
    // Its own defaults would do in most accounts; here they are certain.
    let mut interface = json!({
        "DeviceIndex": 0,
        "Groups": [security_group],
        "AssociatePublicIpAddress": !wanted.private_address,
        "DeleteOnTermination": true,
    });
    if let Some(subnet) = &wanted.subnet {
        interface["SubnetId"] = json!(subnet);
    }
    input.insert("NetworkInterfaces".to_owned(), json!([interface]));
    if let Some(zone) = &wanted.zone {
        input.insert("Placement".to_owned(), json!({"AvailabilityZone": zone}));
    }
    if let Some(optimized) = wanted.ebs_optimized {
        input.insert("EbsOptimized".to_owned(), json!(optimized));
    }
    if wanted.spot {
        let options = json!({"SpotInstanceType": "one-time", "InstanceInterruptionBehavior": "terminate"});
        input.insert(
            "InstanceMarketOptions".to_owned(),
            json!({"MarketType": "spot", "SpotOptions": options}),
        );
    }
}
