//! Kernel settings that are changed for a run or for the life of a stack, and put back.

use crate::act::knob::{SetKnob, selected};
use crate::act::{Act, Doing};
use crate::error::{ActError, StackError};
use crate::journal::{Journal, set_by_another};
use crate::machine::Machine;
use crate::volumes::Failed;
use record::knobs::{Knob, KnobName, KnobPlace, Knobs, Setting};
use record::printable::Shown as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Writes a value under /sys or /proc. The undo writes the earlier value back, unless the value was changed by others since.
///
/// # Errors
/// When the file can't be read or written or refuses the value, or another run has set it. Then it keeps its earlier value.
pub fn set_knob(
    machine: &Machine<'_>,
    journal: &mut Journal,
    path: &Path,
    value: &str,
) -> Result<(), StackError> {
    let mark = journal.mark();
    // The canonical path, which identifies the setting later.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let knob = Planned { path, value: value.to_owned(), disturbs: Vec::new() };
    match knob.set(machine, journal) {
        Ok(_) => Ok(()),
        Err(failed) => Err(failed.undone(machine, journal, mark)),
    }
}

/// A setting and its file.
pub(crate) struct Planned {
    path: PathBuf,
    value: String,
    disturbs: Vec<PathBuf>,
}

/// All settings of a layer on these devices, in the necessary order; or why one can't be made.
pub(crate) fn planned(
    machine: &Machine<'_>,
    knobs: &Knobs,
    devices: &[(u32, u32)],
) -> Result<Vec<Planned>, String> {
    let mut ordered: Vec<&Knob> = knobs.set.iter().collect();
    // A new scheduler resets other settings.
    ordered.sort_by_key(|knob| knob.name != KnobName::Scheduler);
    let mut planned = Vec::new();
    for knob in ordered {
        match knob.name.place() {
            KnobPlace::Machine(file) => planned.push(of(knob, machine.roots.proc.join(file))?),
            KnobPlace::Device(file) => {
                for devno in devices {
                    planned.push(of(knob, directory(machine, *devno)?.join(file))?);
                }
            }
        }
    }
    Ok(planned)
}

fn of(knob: &Knob, path: PathBuf) -> Result<Planned, String> {
    if !path.exists() {
        let word = knob.name.word();
        return Err(format!(
            "`{word}` can't be set: there is no {}; leave it out, or let the knobs stand right on the volumes",
            path.shown()
        ));
    }
    let disturbs = knob.name.disturbs().iter().map(|name| path.with_file_name(name)).collect();
    Ok(Planned { path, value: knob.value.clone(), disturbs })
}

/// The sysfs directory of a device; for a partition, that of its disk, which has the queue.
fn directory(machine: &Machine<'_>, devno: (u32, u32)) -> Result<PathBuf, String> {
    let link = machine.roots.sys.join(format!("dev/block/{}:{}", devno.0, devno.1));
    let real = link.canonicalize().map_err(|error| format!("{}: {error}", link.shown()))?;
    let whole = real.parent().filter(|_| real.join("partition").exists());
    Ok(whole.map_or_else(|| real.clone(), Path::to_owned))
}

impl Planned {
    /// Makes the setting, and returns its earlier and new values.
    pub(crate) fn set(&self, machine: &Machine<'_>, journal: &mut Journal) -> Result<Setting, Failed> {
        let step = format!("set {} to {}", self.path.shown(), self.value);
        self.journalled(machine, journal).map_err(Failed::at(step))
    }

    fn journalled(&self, machine: &Machine<'_>, journal: &mut Journal) -> Result<Setting, ActError> {
        let own = journal.run().clone();
        let free = || match set_by_another(machine, &own, &self.path) {
            Some(run) => Err(ActError::KnobTaken { path: self.path.clone(), run }),
            None => Ok(()),
        };
        free()?;
        let knob = SetKnob::reading(self.path.clone(), &self.value, &self.disturbs)?;
        let before = knob.before.clone();
        let act = Act::SetKnob(knob);
        let never = AtomicBool::new(false);
        let mut doing = Doing { machine, progress: &mut |_| {}, cancel: &never, argv: &mut Vec::new() };
        journal.perform_with(&act, &mut doing, |doing| {
            // Checked again, now that other runs can read our intent: of two at once, both give way.
            free()?;
            act.perform(doing)
        })?;
        let now = std::fs::read_to_string(&self.path).map_err(ActError::io("read", &self.path))?;
        let value = selected(now.trim_end()).to_owned();
        Ok(Setting { path: self.path.clone(), before: selected(&before).to_owned(), value })
    }
}
