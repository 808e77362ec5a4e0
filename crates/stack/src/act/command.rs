//! A layer that the user's own programs build.

use super::device_ref::{DeviceRef, RefState, Title};
use super::doing::{Doing, Reversible, Undoing, Undone};
use super::wipe;
use crate::error::ActError;
use host::Invocation;
use record::printable::Shown as _;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Runs the user's programs; the undo runs the programs that take the layer down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandUp {
    /// The devices that they work on.
    pub devices: Vec<DeviceRef>,
    /// Argument vectors, with placeholders filled in.
    pub up: Vec<Vec<String>>,
    /// Argument vectors of the undo; each must succeed even if `up` ran only partly or not at all.
    pub down: Vec<Vec<String>>,
}

impl fmt::Display for CommandUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = self.up.first().and_then(|argv| argv.first()).map_or("nothing", String::as_str);
        write!(f, "run the layer's own programs ({first}...)")
    }
}

impl Reversible for CommandUp {
    fn perform(&self, doing: &mut Doing<'_>) -> Result<(), ActError> {
        for argv in &self.up {
            doing.check_cancel()?;
            if let Some(program) = invocation(argv) {
                doing.run("build the layer", &program)?;
            }
        }
        Ok(())
    }

    fn undo(&self, undoing: &Undoing<'_>) -> Result<Undone, ActError> {
        if self.devices.is_empty() {
            let saw = "the journal names no device that it works on".to_owned();
            return Err(ActError::NotOurs { what: self.to_string(), saw });
        }
        for device in &self.devices {
            match device.standing(undoing)? {
                RefState::Ours(path) if path == device.path => {}
                // The programs name devices by path, and another device may have that path by now.
                RefState::Ours(path) => {
                    let saw = format!("its disk is {} now; take the layer down by hand", path.shown());
                    return Err(ActError::NotOurs { what: device.path.shown().to_string(), saw });
                }
                RefState::Gone => return Ok(Undone::Left(format!("{} is gone", device.path.shown()))),
                RefState::Left(saw) => return Ok(Undone::Left(saw)),
            }
        }
        let mut failed = None;
        for program in self.down.iter().filter_map(|argv| invocation(argv)) {
            let result = undoing.machine.runner.run(&program).map_err(ActError::tool("take the layer down"));
            failed = failed.or(result.err());
        }
        if let Some(error) = failed {
            return Err(error);
        }
        let own = self.devices.iter().filter(|device| matches!(device.title, Title::Backing(_)));
        let wiped = wipe::wipe(undoing, own.map(|device| (device, wipe::Written::Unknown)))?;
        Ok(if wiped == Undone::Nothing && !self.down.is_empty() { Undone::Done } else { wiped })
    }
}

fn invocation(argv: &[String]) -> Option<Invocation> {
    let (program, args) = argv.split_first()?;
    Some(Invocation::program(program).args(args))
}
