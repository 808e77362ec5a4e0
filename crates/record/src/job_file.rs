//! fio's job files: sections of options, and the options in force for each job. The only reader of such text.

mod arithmetic;
mod fit;
mod phase;
mod place;
mod script;
mod sections;
mod size;
mod text;

pub use fit::{On, first_unfit, unfit};
pub use phase::phases;
pub use place::{Misplaced, Names, NoRoom, Placed, Room, files, resolve};
pub use script::{InScript, NoJobFile, ScriptTrouble, from_script, is_script, variables};
pub use sections::{At, Given, InForce, JobFile, Section, Wrong, effective, is_on, is_untimed, read, value};
pub use size::{Size, seconds};
pub use text::{IncludeTrouble, NotIncluded, Unfilled, expand, filled};
