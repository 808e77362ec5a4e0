//! Load generators. They accept only a [`device::Ground`], so none can be pointed at a disk that the guard hasn't cleared.
//!
//! [`Engine`] is the seam: `fio` is the first engine behind it.

mod contract;
mod error;
pub mod fio;

pub use contract::{Engine, Job};
pub use error::EngineError;
