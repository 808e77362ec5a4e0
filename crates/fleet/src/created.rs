//! Machines that drivers create for a run: asked for, created, entered and destroyed. Each group of machines with the same settings is
//! one claim in the journal, which stands there before the driver is asked.

mod enter;
mod error;
mod hosted;
mod make;
mod offer;
mod request;
mod ssh_config;
mod status;
mod undo;

pub use enter::{Entered, enter, way};
pub use error::CreatedError;
pub use make::{Making, create};
pub use offer::{Bill, Tariff, bill, put_prices, put_rates, tariff};
pub use request::{Asked, Files, Group, Needed, Wrong, ask, is_created, needed};
pub use status::{Leftover, Live, are_there, leftovers, live};
pub use undo::{Undone, Which, destroy, undo};
