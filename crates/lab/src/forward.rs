//! Ways into a running guest beside ssh: ports of 127.0.0.1 that lead to ports of the guest.

use crate::boot::free_port;
use crate::error::LabError;
use crate::qmp::{Monitor, QmpError};
use serde_json::json;

/// Free ports can be taken between our look and QEMU's.
const ATTEMPTS: u32 = 5;

/// Opens one and returns its port on 127.0.0.1.
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

/// Closes it. Connections that came by it are cut by whoever made them.
pub(crate) fn close(monitor: &mut Monitor, port: u16) -> Result<(), LabError> {
    let said = say(monitor, &format!("hostfwd_remove net tcp:127.0.0.1:{port}"))?;
    // gone already: nothing is to be closed
    if said.contains("removed") || said.contains("not found") {
        return Ok(());
    }
    Err(LabError::Monitor { doing: doing(port), source: QmpError::Speech(said) })
}

fn doing(port: u16) -> String {
    format!("forwarding port {port}")
}

/// What QEMU's human monitor answers, which has the only command for this.
fn say(monitor: &mut Monitor, line: &str) -> Result<String, LabError> {
    let answer = monitor.ask("human-monitor-command", json!({ "command-line": line }));
    let answer =
        answer.map_err(|source| LabError::Monitor { doing: "forwarding a port".to_owned(), source })?;
    Ok(answer.as_str().unwrap_or_default().trim().to_owned())
}
