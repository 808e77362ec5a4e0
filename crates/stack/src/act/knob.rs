//! Values under /sys and /proc.

use super::kind::{Doing, Reversible, Undoing, Undone};
use crate::error::ActError;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use std::path::PathBuf;

/// Writes a value and remembers what it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetKnob {
    /// The file, under /sys or /proc.
    pub path: PathBuf,
    /// What it held, without the newline.
    pub before: String,
    /// What it shall hold.
    pub after: String,
}

impl fmt::Display for SetKnob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "set {} from {} to {}", self.path.display(), self.before, self.after)
    }
}

impl SetKnob {
    fn now(&self) -> io::Result<String> {
        Ok(std::fs::read_to_string(&self.path)?.trim_end().to_owned())
    }

    fn write(&self, value: &str) -> Result<(), ActError> {
        std::fs::write(&self.path, value).map_err(ActError::io("write", &self.path))
    }
}

impl Reversible for SetKnob {
    fn perform(&self, doing: &mut Doing<'_>) -> Result<(), ActError> {
        let roots = doing.machine.roots;
        if !self.path.starts_with(&roots.sys) && !self.path.starts_with(&roots.proc) {
            let saw = "it is not under /sys or /proc".to_owned();
            return Err(ActError::NotOurs { what: self.path.display().to_string(), saw });
        }
        self.write(&self.after)?;
        let saw = self.now().map_err(ActError::io("read", &self.path))?;
        if selected(&saw) == self.after {
            return Ok(());
        }
        Err(ActError::Unverified { what: self.path.display().to_string(), expected: self.after.clone(), saw })
    }

    fn undo(&self, undoing: &Undoing<'_>) -> Result<Undone, ActError> {
        if undoing.rebooted {
            return Ok(Undone::Nothing);
        }
        let now = match self.now() {
            Ok(now) => now,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Undone::Nothing),
            Err(error) => return Err(ActError::io("read", &self.path)(error)),
        };
        if selected(&now) == selected(&self.before) {
            return Ok(Undone::Nothing);
        }
        if selected(&now) != self.after {
            return Ok(Undone::Left(format!("somebody set it to {now} since")));
        }
        self.write(selected(&self.before))?;
        Ok(Undone::Done)
    }
}

/// Some knobs show all their values and mark the one in force, e.g. `none [mq-deadline]`.
fn selected(text: &str) -> &str {
    text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map_or(text, |(value, _)| value)
}

#[cfg(test)]
mod tests {
    use super::selected;

    #[test]
    fn the_value_in_force_is_found() {
        assert_eq!(selected("none [mq-deadline] bfq"), "mq-deadline");
        assert_eq!(selected("128"), "128");
    }
}
