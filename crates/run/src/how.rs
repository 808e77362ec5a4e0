//! How a plan is carried out, and what it needs of each machine.

use crate::agent_link::NodeAt;
use crate::ledger::Earlier;
use crate::nfs_remote::Route;
use crate::wishes::Wishes;
use record::environment::Environment;
use record::id::RunId;
use record::plan::{Cell, Plan};
use record::volume::{Volume, VolumeKind};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How a plan is carried out.
#[derive(Debug)]
pub struct How {
    /// The run's id.
    pub run: RunId,
    /// The nodes: one for each target on which the plan builds or loads a cell.
    pub nodes: Vec<NodeAt>,
    /// The network routes between targets, where one mounts a file system that another serves.
    pub routes: Vec<Route>,
    /// Trials that earlier sessions of this run finished.
    pub earlier: Earlier,
    /// Carry out the provisioning steps again, even where nothing has changed since the last time.
    pub provision_anew: bool,
    /// What the user wants otherwise than planned while the run goes on.
    pub wishes: Arc<Wishes>,
    /// The forecast in seconds, as [`Event::RunStarted`] tells it. It comes from the plan with the created machines: the plan that is
    /// carried out has their addresses in their place, and not the rates of their volumes. Provisioning doesn't use it.
    pub forecast_seconds: f64,
    /// Whether [`Event::LoadSampled`] is wanted. It costs the measured machine a little.
    pub live: bool,
}

/// The environment of the first target, with those of the other targets in it.
pub(crate) fn together(machines: &[(String, Environment)]) -> Option<Box<Environment>> {
    let (_, first) = machines.first()?;
    let elsewhere = machines.iter().skip(1).cloned().collect();
    Some(Box::new(Environment { elsewhere, ..first.clone() }))
}

/// All volumes that the plan's cells use on a target, each once.
#[must_use]
pub fn volumes_of(plan: &Plan, target: &str) -> Vec<Volume> {
    let mut all: BTreeMap<String, Volume> = BTreeMap::new();
    for volume in cells_of(plan, target).flat_map(|cell| plan.volumes_of(cell)) {
        all.entry(volume.name.clone()).or_insert_with(|| volume.clone());
    }
    all.into_values().collect()
}

/// The targets on which the plan builds or loads a cell, in the order of the cells.
#[must_use]
pub fn targets_of(plan: &Plan) -> Vec<&str> {
    let mut all: Vec<&str> = Vec::new();
    for target in plan.cells.iter().flat_map(Cell::machines) {
        if !all.contains(&target) {
            all.push(target);
        }
    }
    all
}

fn cells_of<'p>(plan: &'p Plan, target: &'p str) -> impl Iterator<Item = &'p Cell> {
    plan.cells.iter().filter(move |cell| cell.is_built_on(target))
}

/// The most bytes that any cell lays out in each existing directory of a target, by the volume's name.
#[must_use]
pub fn space_of(plan: &Plan, target: &str) -> BTreeMap<String, u64> {
    let mut most: BTreeMap<String, u64> = BTreeMap::new();
    for cell in cells_of(plan, target) {
        let data = spec::space_bytes(cell);
        for volume in cell.stack.all_volumes().filter(|v| matches!(v.kind, VolumeKind::Directory { .. })) {
            let need = most.entry(volume.name.clone()).or_default();
            *need = data.max(*need);
        }
    }
    most
}
