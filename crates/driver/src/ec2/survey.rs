//! What EC2 says about the types and images that machines ask for.

use super::aws::Aws;
use super::ebs::VolumeType;
use super::error::AwsError;
use super::image::{self, Image};
use super::instance_type::{self, InstanceType};
use super::price;
use super::reading::{Machine, Wanted, problem};
use crate::protocol::{Offer, Problem, VolumeOffer};
use std::collections::{BTreeMap, BTreeSet};
use std::thread;

/// The types and images of a request.
pub(super) struct Survey {
    types: BTreeMap<String, InstanceType>,
    images: BTreeMap<String, Vec<Image>>,
}

impl Survey {
    /// Asks EC2: one call for all types, and one for each image.
    pub(super) fn take(aws: &Aws<'_>, machines: &[Machine]) -> Result<Self, AwsError> {
        let types: BTreeSet<_> =
            machines.iter().map(|machine| machine.wanted.machine_type.as_str()).collect();
        let images: BTreeSet<_> = machines.iter().map(|machine| machine.wanted.image.as_str()).collect();
        thread::scope(|scope| {
            let types = scope.spawn(|| instance_type::find(aws, &types));
            let images =
                images.iter().map(|name| Ok(((*name).to_owned(), absent_is_none(image::find(aws, name))?)));
            let images = images.collect::<Result<_, AwsError>>();
            let types = types.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            Ok(Self { types: types?, images: images? })
        })
    }

    /// Returns what doesn't exist, or doesn't fit together.
    pub(super) fn problems(&self, machines: &[Machine]) -> Vec<Problem> {
        machines.iter().flat_map(|machine| self.problems_of(machine)).collect()
    }

    fn problems_of(&self, machine: &Machine) -> Vec<Problem> {
        let wanted = &machine.wanted;
        let complain = |key, text: &str| vec![problem(&machine.name, None, Some(key), text)];
        let Some(of) = self.types.get(&wanted.machine_type) else {
            return complain(
                "machine_type",
                &format!("EC2 has no type {} in this region", wanted.machine_type),
            );
        };
        let mut problems = Vec::new();
        if self.images.get(&wanted.image).is_none_or(Vec::is_empty) {
            problems.extend(complain("image", &format!("EC2 has no image {} in this region", wanted.image)));
        } else if self.image(wanted).is_none() {
            let text = format!(
                "no image {} for {} ({})",
                wanted.image,
                wanted.machine_type,
                of.architectures.join(", ")
            );
            problems.extend(complain("image", &text));
        }
        let ephemeral = ephemeral(wanted).count();
        if ephemeral > of.disks.len() {
            let text = format!(
                "{} brings {} ephemeral disks with NVMe along, not {ephemeral}",
                wanted.machine_type,
                of.disks.len()
            );
            problems.extend(complain("machine_type", &text));
        }
        problems
    }

    /// Returns the image that a machine boots.
    pub(super) fn image(&self, wanted: &Wanted) -> Option<&Image> {
        let architectures = &self.types.get(&wanted.machine_type)?.architectures;
        self.images.get(&wanted.image)?.iter().find(|image| architectures.contains(&image.architecture))
    }

    /// Returns the size of a machine's ephemeral disk in bytes.
    pub(super) fn disk_bytes(&self, wanted: &Wanted, index: usize) -> Option<u64> {
        self.types.get(&wanted.machine_type)?.disks.get(index).copied()
    }

    /// Returns what a machine costs and promises.
    pub(super) fn offer(&self, wanted: &Wanted) -> Offer {
        let volume = |volume| VolumeOffer { price: price::of_volume(volume, wanted), rates: volume.rates() };
        Offer {
            price: price::of_machine(wanted, self.image(wanted).and_then(|image| image.boot.as_ref())),
            ceiling: self.types.get(&wanted.machine_type).map(|of| of.ceiling).unwrap_or_default(),
            volumes: wanted.volumes.iter().map(volume).collect(),
        }
    }
}

/// An image's id that doesn't exist is a problem of the setting, not of the call.
fn absent_is_none(found: Result<Vec<Image>, AwsError>) -> Result<Vec<Image>, AwsError> {
    match found {
        Err(error) if error.code().is_some_and(|code| code.starts_with("InvalidAMIID")) => Ok(Vec::new()),
        found => found,
    }
}

fn ephemeral(wanted: &Wanted) -> impl Iterator<Item = usize> {
    wanted
        .volumes
        .iter()
        .enumerate()
        .filter(|(_, volume)| volume.kind == VolumeType::Ephemeral)
        .map(|(index, _)| index)
}
