//! Load generators. They accept only a [`device::Ground`], so none can load a disk that the guard hasn't cleared.
//!
//! [`Engine`] is their interface; `bonnie`, `corpus`, `fio` and `native` implement it.

pub mod bonnie;
mod contract;
pub mod corpus;
mod data;
mod errno;
mod error;
pub mod fio;
pub mod native;
mod process;
mod regions;

pub use contract::{Engine, Job, Progress};
pub use error::EngineError;
pub use regions::PlaceError;
