//! fio's job files: sections of options, and the options in force for each job. The only reader of such text.

mod fit;
mod phase;
mod place;
mod sections;
mod size;
mod text;

pub use fit::{On, first_unfit, unfit};
pub use phase::phases;
pub use place::{Names, Placed, Room, files, resolve};
pub use sections::{At, Given, InForce, JobFile, Section, Wrong, effective, is_on, is_untimed, read, value};
pub use size::{Size, seconds};
pub use text::{Unfilled, expand, filled, variables};
