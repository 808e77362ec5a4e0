//! Machines: how the agents of a plan's machines are started (a child process here, ssh elsewhere), how machines reach each other for
//! NFS, and lab guests, which are brought up for a run and left as they were.

mod agent;
mod connect;
mod error;
mod guests;
mod local;
mod options;
mod routes;

pub use agent::{install, ssh};
pub use connect::{Connected, connect, connect_as_it_is};
pub use error::FleetError;
pub use guests::leave_abandoned;
pub use local::{agent_here, is_root, may_sudo};
pub use options::Options;
