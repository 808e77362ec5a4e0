//! Machines: starts the agent processes of a plan's machines (as a child process here, over ssh elsewhere), finds the routes between
//! machines for NFS, and starts lab guests for a run and restores their earlier state.

mod agent;
mod connect;
mod error;
mod guests;
mod local;
mod options;
mod routes;

pub use agent::{install, ssh};
pub use connect::{Connected, connect, connect_as_it_is};
pub use error::{FleetError, NoSudo};
pub use guests::leave_abandoned;
pub use local::{agent_here, is_root, may_sudo};
pub use options::Options;
