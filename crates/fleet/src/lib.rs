//! Machines: starts the agent processes of a plan's machines (as a child process here, over ssh elsewhere), finds the routes between
//! machines for NFS, and starts lab guests for a run and restores their earlier state. Reads inventories, and asks, commands and wakes
//! many machines at once. Cuts runs into blocks for queues.

mod agent;
mod at;
mod command;
mod connect;
pub mod created;
mod drive;
pub mod drivers;
mod error;
mod guest_hosts;
mod guests;
mod hosted_by;
pub mod images;
mod imposed;
mod inventory;
pub mod libvirt;
mod link;
mod local;
mod mount;
mod options;
pub mod queue;
mod resolved;
mod routes;
mod runtime_dir;
mod select;
mod ssh_hosts;
mod status;
mod transfer;
mod tunnel;
mod wake;
mod watch;

pub use agent::{install, ssh};
pub use at::{At, AtError, AtOptions, LOCAL, here, on_each};
pub use command::{AsRoot, Command, CommandEvent, Outcome, run};
pub use connect::{Connected, connect, connect_as_it_is};
pub use error::{FleetError, NoSudo};
pub use guests::leave_abandoned;
pub use inventory::{Inventory, InventoryError, Sources};
pub use link::{Reach, by_hand};
pub use local::{agent_here, is_root, may_sudo};
pub use mount::{mount, unmount};
pub use options::Options;
pub use resolved::{Resolved, resolved};
pub use select::{NoneSelected, select};
pub use status::Statuses;
pub use transfer::{Copied, CopyError, get, put};
pub use tunnel::{TunnelEvent, tunnel};
pub use wake::{WakeError, wake};
pub use watch::{Alert, Limits, Watched, What};
