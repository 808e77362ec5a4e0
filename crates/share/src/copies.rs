//! Copies of runs. A controller sends each finished trial to a place elsewhere. If the controller dies, another one fetches the run from
//! there and goes on.
//!
//! Each run has a folder below the address: `run.json` (machine, volumes, budgets, why it ended), `plan.json.zst`, `experiment.yaml`, one
//! object per trial, and `lease.json`, which names the controller that may go on.

mod address;
mod bucket;
mod fetch;
mod folder;
mod layout;
mod lease;
mod objects;
mod sender;

pub use address::CopyAddress;
pub use fetch::{CopiedRun, Fetched, fetch, has_run, runs};
pub use lease::{Claim, Controller, Holder, Lease, LeaseError, Moment};
pub use objects::{Found, Objects};
pub use sender::{Clock, Sender, Sent};
