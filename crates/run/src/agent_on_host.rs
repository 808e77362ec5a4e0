//! An agent process on the machine that runs a guest.

use crate::agent_link::{AgentLink, NodeAt, out_of_turn};
use crate::error::RunError;
use crate::guest_host::{GuestHost, HostError, HostSnapshot};
use crate::protocol::{Reply, Request};
use record::topology::Topology;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};

/// A machine that an agent process looks at. It runs as long as this value lives, and changes nothing.
pub struct AgentOnHost {
    name: String,
    boot_id: Option<String>,
    link: Mutex<AgentLink>,
}

impl AgentOnHost {
    /// Starts the agent process. `name`: the host, for messages. `argv` starts it; `remote`: over a network.
    ///
    /// # Errors
    /// It can't be started, or is another version.
    pub fn start(name: &str, argv: Vec<OsString>, remote: bool) -> Result<Self, HostError> {
        let node = NodeAt { target: name.to_owned(), argv, remote, hosted: Vec::new() };
        let mut link = AgentLink::to(&node).map_err(failed)?;
        let about = link.hello(&AtomicBool::new(false), &mut |_| Ok(())).map_err(failed)?;
        Ok(Self { name: name.to_owned(), boot_id: about.boot_id, link: Mutex::new(link) })
    }

    fn ask(&self, request: &Request) -> Result<Reply, HostError> {
        let mut link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        link.ask(request, &AtomicBool::new(false), &mut |_| Ok(())).map_err(failed)
    }
}

impl fmt::Debug for AgentOnHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentOnHost").field("name", &self.name).finish_non_exhaustive()
    }
}

impl GuestHost for AgentOnHost {
    fn boot_id(&self) -> Option<String> {
        self.boot_id.clone()
    }

    fn below(&self, backings: &[PathBuf]) -> Result<Vec<Topology>, HostError> {
        match self.ask(&Request::BelowGuest { backings: backings.to_vec() })? {
            Reply::BelowGuest { below } if below.len() == backings.len() => Ok(below),
            other => Err(failed(out_of_turn(&other))),
        }
    }

    fn snapshot(&self, backings: &[PathBuf], devices: &[String]) -> Result<HostSnapshot, HostError> {
        let request = Request::GuestHost { backings: backings.to_vec(), devices: devices.to_vec() };
        match self.ask(&request)? {
            Reply::GuestHost { snapshot } if snapshot.files.len() == backings.len() => Ok(*snapshot),
            other => Err(failed(out_of_turn(&other))),
        }
    }
}

fn failed(error: RunError) -> HostError {
    HostError::Agent(Box::new(error))
}
