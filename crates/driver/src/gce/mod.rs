//! The driver for Google Compute Engine (GCE), by its REST API. docs/drivers.md describes its settings.
//!
//! Equal machines of a request are one `bulkInsert`, which is all or nothing. Everything carries the claim in labels from the moment at
//! which it exists, and only what the labels say is ours is removed. The API itself removes a machine at the claim's deadline.

mod api;
mod body;
mod create;
mod credentials;
mod destroy;
mod driver;
mod failure;
mod inventory;
mod look;
mod machine;
mod name;
mod operation;
mod pace;
mod settings;
mod ssh;
mod table;
mod taken;
mod volume;

pub use driver::Gce;
pub use pace::Pace;
