//! What a search reads of a run, from its records.

use record::environment::Environment;
use record::plan::Plan;
use record::volume::{VolumeFacts, VolumeKind};
use std::collections::{BTreeMap, BTreeSet};

/// The names of all facts.
pub(crate) const FACTS: [&str; 8] =
    ["experiment", "device", "stacks", "workloads", "kernel", "cpu", "virtualization", "image"];
/// Longest fact in bytes: registries limit a manifest to 4 MiB, and a person reads a line.
const LONGEST: usize = 1000;

/// Returns the facts of a run by name. What isn't recorded has no fact.
#[must_use]
pub fn facts(plan: &Plan, volumes: &[VolumeFacts], environment: &Environment) -> BTreeMap<String, String> {
    let set = |names: &mut dyn Iterator<Item = String>| joined(names.collect());
    let stacks = set(&mut plan.cells.iter().map(|cell| cell.stack.name.clone()));
    let workloads = set(&mut plan.cells.iter().map(|cell| cell.workload.name.clone()));
    let emulated =
        plan.cells.iter().flat_map(|cell| cell.stack.all_volumes()).filter_map(|volume| match volume.kind {
            VolumeKind::Emulate { .. } => Some("emulated".to_owned()),
            VolumeKind::Guest { .. } => Some("disk of a lab guest".to_owned()),
            VolumeKind::Disk { .. } | VolumeKind::Created { .. } | VolumeKind::Directory { .. } => None,
        });
    let models =
        volumes.iter().filter_map(|volume| volume.identity.as_deref()).map(|text| model(text).to_owned());
    let devices = set(&mut models.chain(emulated));
    let facts = [
        ("experiment", Some(plan.experiment.clone())),
        ("device", devices),
        ("stacks", stacks),
        ("workloads", workloads),
        ("kernel", environment.kernel.clone()),
        ("cpu", environment.cpu_model.clone()),
        ("virtualization", environment.virtualization.clone()),
        ("image", set(&mut environment.images().into_iter())),
    ];
    facts.into_iter().filter_map(|(name, fact)| Some((name.to_owned(), short(&fact?)))).collect()
}

/// The model in the text of an identity: it stands first.
fn model(identity: &str) -> &str {
    identity.split(", ").next().unwrap_or(identity)
}

fn joined(names: BTreeSet<String>) -> Option<String> {
    (!names.is_empty()).then(|| names.into_iter().collect::<Vec<_>>().join("; "))
}

/// As much of a fact as a search keeps.
pub(crate) fn short(text: &str) -> String {
    let text = record::printable::printable(text);
    let mut end = text.len().min(LONGEST);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}
