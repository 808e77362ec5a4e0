//! Layers and the undo journal; the only crate that changes a machine.
//!
//! Every change is an [`Act`]: its intent, with all that its undo needs, is durable in the run's [`Journal`] before it is done.
//! [`Volumes::provide`] makes the volumes, [`build`] a stack on them, [`Built::undo`] takes the stack down, and
//! [`Journal::undo_all`] undoes everything; [`undo_run`] does the same for a process that is gone. docs/decisions/0003-journal.md
//! says why.

mod act;
mod bcache;
mod build;
mod cache;
mod error;
mod fill;
mod holders;
mod journal;
mod kernel_file;
mod knobs;
mod layer;
mod machine;
mod mounts;
mod names;
mod pool;
mod provision;
pub mod settle;
mod side_by_side;
mod sync;
mod thin;
mod throttle;
mod volumes;

pub use act::Act;
pub use bcache::BcacheDevice;
pub use build::nfs::mount;
pub use build::{Built, NfsClient, NfsSource, Remounted, build, build_unless, serve};
pub use cache::Cache;
pub use error::{ActError, JournalError, StackError, UndoError, UndoFailure};
pub use holders::Holder;
pub use journal::{Journal, Leftover, Mark, Skipped, UndoReport, leftovers, undo_run, undo_run_without};
pub use knobs::set_knob;
pub use machine::{Fill, Hooks, Injected, Machine, NoHooks, PREFIX, Phase, Point};
pub use pool::Pool;
pub use provision::{ProvisionError, Provisioning, provision};
pub use throttle::{Flavour, Throttle, detect};
pub use volumes::{Provided, RESERVE_BYTES, Shared, Volumes};
