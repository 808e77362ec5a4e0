//! `verify`: every block identifies itself, every write is recorded, every read is compared with what was written.

pub(crate) mod asked;
pub(crate) mod books;
mod check;
mod diagnose;
mod faults;
mod guard;
mod held;
pub(crate) mod ledger;
mod lens;
mod original;
mod readback;
mod stamp;
pub(crate) mod sweep;
#[cfg(test)]
mod testing;
pub(crate) mod trial;

pub(crate) use books::Book;
pub(crate) use check::check;
pub(crate) use faults::Faults;
pub(crate) use guard::{Guard, Pick};
pub(crate) use ledger::Expected;
pub(crate) use lens::Lens;
pub(crate) use original::Original;
pub(crate) use readback::read_back;
pub(crate) use stamp::{Spot, Stamper};
