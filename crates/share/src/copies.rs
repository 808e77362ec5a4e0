//! A run that outlives its controller: a copy elsewhere, to which each finished trial is sent as it ends, and from which another
//! controller goes on.
//!
//! Below the destination's address, each run has a folder of its own: `run.json` (machine, volumes, budgets, why it ended), `plan.json.zst`,
//! `experiment.yaml`, one object per trial, and `lease.json`, which says who goes on with the run.

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
