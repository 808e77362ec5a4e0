//! Settings of the kernel, changed for a run and put back after it.

use crate::act::knob::SetKnob;
use crate::act::{Act, Doing};
use crate::error::{ActError, StackError};
use crate::journal::Journal;
use crate::machine::Machine;
use crate::volumes::Failed;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Writes a value under /sys or /proc. The journal's undo writes the old one back, unless somebody else has changed it since.
///
/// # Errors
/// The file can't be read or written, or doesn't take the value; then it is what it was.
pub fn set_knob(
    machine: &Machine<'_>,
    journal: &mut Journal,
    path: &Path,
    value: &str,
) -> Result<(), StackError> {
    let mark = journal.mark();
    let mut set = || {
        let before = std::fs::read_to_string(path).map_err(ActError::io("read", path))?.trim_end().to_owned();
        let act = Act::SetKnob(SetKnob { path: path.to_owned(), before, after: value.to_owned() });
        let never = AtomicBool::new(false);
        let mut doing = Doing { machine, progress: &mut |_| {}, cancel: &never, argv: &mut Vec::new() };
        journal.perform(&act, &mut doing)
    };
    let result = set().map_err(Failed::at(format!("set {} to {value}", path.display())));
    result.map_err(|failed| failed.undone(machine, journal, mark))
}
