//! Port forwarding into a running guest: ports on 127.0.0.1 that lead to ports of the guest.

use crate::boot::free_port;
use crate::error::LabError;
use crate::qmp::{Monitor, QmpError};
use serde_json::json;

/// Tries with another port: a free port can be taken before QEMU opens it.
const ATTEMPTS: u32 = 5;

/// Forwards a free port on 127.0.0.1 and returns it.
pub(crate) fn open(monitor: &mut Monitor, guest_port: u16) -> Result<u16, LabError> {
    let mut said = String::new();
    for _ in 0..ATTEMPTS {
        let port = free_port()?;
        said = say(monitor, &format!("hostfwd_add net tcp:127.0.0.1:{port}-:{guest_port}"))?;
        if said.is_empty() {
            return Ok(port);
        }
    }
    Err(LabError::Monitor { doing: doing(guest_port), source: QmpError::Speech(said) })
}

/// Stops forwarding a port. Open connections stay until their clients close them.
pub(crate) fn close(monitor: &mut Monitor, port: u16) -> Result<(), LabError> {
    let said = say(monitor, &format!("hostfwd_remove net tcp:127.0.0.1:{port}"))?;
    // `not found`: it isn't forwarded any more, so there is nothing to do
    if said.contains("removed") || said.contains("not found") {
        return Ok(());
    }
    Err(LabError::Monitor { doing: doing(port), source: QmpError::Speech(said) })
}

fn doing(port: u16) -> String {
    format!("forwarding port {port}")
}

/// Runs a command of QEMU's human monitor, which alone can forward ports, and returns its output.
fn say(monitor: &mut Monitor, line: &str) -> Result<String, LabError> {
    let answer = monitor.ask("human-monitor-command", json!({ "command-line": line }));
    let answer =
        answer.map_err(|source| LabError::Monitor { doing: "forwarding a port".to_owned(), source })?;
    Ok(answer.as_str().unwrap_or_default().trim().to_owned())
}
