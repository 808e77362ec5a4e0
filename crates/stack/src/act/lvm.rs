//! LVM: physical volumes, their volume group, and changes to it.

use super::device_ref::DeviceRef;
use super::doing::{Doing, Reversible, Undoing, Undone};
use super::mapper;
use super::wipe;
use crate::error::ActError;
use crate::layer::lvm;
use crate::side_by_side::side_by_side;
use host::{Invocation, Tool};
use record::printable::Shown as _;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::Path;

/// Creates physical volumes with UUIDs that we choose, and a volume group of them with our prefix. The undo removes the group's
/// devices, then every label that carries one of these UUIDs; the group is gone with them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MakeGroup {
    /// The group's name.
    pub group: String,
    /// The group's physical volumes.
    pub pvs: Vec<Pv>,
}

/// A physical volume to create.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pv {
    /// The device.
    pub device: DeviceRef,
    /// The UUID that we chose, in LVM's spelling.
    pub uuid: String,
    /// Its tag.
    pub tag: Option<String>,
}

/// Runs one LVM command on our group. The undo removes all devices of the group; its metadata goes with the group. If a layer
/// above uses the volume already, that layer is undone only later: then the undo is left to the acts that created the group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeGroup {
    /// The group's name.
    pub group: String,
    /// The group's devices: the only ones that the command may see.
    pub devices: Vec<DeviceRef>,
    /// The command.
    pub command: LvmCommand,
    /// Its arguments, after the settings that all commands get.
    pub args: Vec<String>,
    /// Whether a layer above may already use the volume.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_use: bool,
}

/// The LVM commands that we use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LvmCommand {
    Pvcreate,
    Pvchange,
    Vgcreate,
    Lvcreate,
    Lvconvert,
    Lvextend,
}

impl LvmCommand {
    /// The name of the program.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pvcreate => "pvcreate",
            Self::Pvchange => "pvchange",
            Self::Vgcreate => "vgcreate",
            Self::Lvcreate => "lvcreate",
            Self::Lvconvert => "lvconvert",
            Self::Lvextend => "lvextend",
        }
    }
}

impl fmt::Display for MakeGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let devices: Vec<String> = self.pvs.iter().map(|pv| pv.device.path.shown().to_string()).collect();
        write!(f, "make the volume group {} on {}", self.group, devices.join(" "))
    }
}

impl fmt::Display for ChangeGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in the volume group {}", self.command.name(), self.group)
    }
}

impl Reversible for MakeGroup {
    fn perform(&self, doing: &mut Doing<'_>) -> Result<(), ActError> {
        let devices: Vec<&Path> = self.pvs.iter().map(|pv| pv.device.path.as_path()).collect();
        let machine = doing.machine;
        let run = |step: &lvm::Step| machine.runner.run(&invocation(step.command, &step.args, &devices));
        // Each takes its own command, because pvcreate takes one UUID; they run in parallel.
        let volumes = side_by_side(&lvm::pv_steps(&self.pvs), run);
        doing.check_cancel()?;
        let group = lvm::group_steps(&self.group, &self.pvs);
        for ran in volumes.into_iter().chain(group.iter().map(run)) {
            doing.argv.push(ran.map_err(ActError::tool("make the volume group"))?.argv);
        }
        Ok(())
    }

    fn undo(&self, undoing: &Undoing<'_>) -> Result<Undone, ActError> {
        let below: Vec<&DeviceRef> = self.pvs.iter().map(|pv| &pv.device).collect();
        let removed = mapper::remove_group(undoing, &self.group, &below)?;
        let ours = self.pvs.iter().map(|pv| (&pv.device, wipe::Written::Uuid(&pv.uuid)));
        wipe::join([Ok(removed), wipe::wipe(undoing, ours)])
    }
}

impl Reversible for ChangeGroup {
    fn perform(&self, doing: &mut Doing<'_>) -> Result<(), ActError> {
        let devices: Vec<&Path> = self.devices.iter().map(|device| device.path.as_path()).collect();
        let command = invocation(self.command, &self.args, &devices);
        if lvm::flushes(&self.args) {
            return doing.run_until(&self.to_string(), &command).map(|_| ());
        }
        doing.run(&self.to_string(), &command).map(|_| ())
    }

    fn undo(&self, undoing: &Undoing<'_>) -> Result<Undone, ActError> {
        if self.in_use {
            return Ok(Undone::Nothing);
        }
        mapper::remove_group(undoing, &self.group, &self.devices.iter().collect::<Vec<_>>())
    }
}

fn invocation(command: LvmCommand, args: &[String], devices: &[&Path]) -> Invocation {
    let list: Vec<String> = devices.iter().map(|device| device.shown().to_string()).collect();
    Invocation::new(Tool::Lvm)
        .env("LVM_SUPPRESS_FD_WARNINGS", "1")
        .args([command.name(), "--yes", "--quiet", "--config"])
        .arg(lvm::settings(devices))
        .args(["--devices", &list.join(",")])
        .args(args)
}
