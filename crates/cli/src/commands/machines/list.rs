//! `diskproof machines list`.

use super::selection::{CONNECT_SECONDS, cant_wait, inventory, reach, select};
use crate::args::{From, MachinesList};
use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;
use fleet::Resolved;
use record::machine::Machine;
use record::printable::printable;
use serde::Serialize;
use std::sync::atomic::AtomicBool;

/// One line of `--json`.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    machine: &'a Machine,
    #[serde(skip_serializing_if = "Option::is_none")]
    connects_to: Option<&'a Resolved>,
}

pub(super) fn list(args: &MachinesList, from: &From, settings: &Settings) -> Result<Exit, Failure> {
    let inventory = inventory(from, settings)?;
    let mut candidates = inventory.candidates(&args.patterns);
    // Without an inventory, there is nothing else to list.
    if candidates.is_empty() {
        candidates = inventory.ssh_hosts;
    }
    let machines = select(&candidates, &args.patterns)?;
    let resolved = match args.resolve {
        true => {
            let reach = reach(settings, CONNECT_SECONDS);
            fleet::resolved(&machines, &reach, &AtomicBool::new(false)).map_err(cant_wait)?
        }
        false => vec![None; machines.len()],
    };
    if args.json {
        for (machine, resolved) in machines.iter().zip(&resolved) {
            let line = Line { machine, connects_to: resolved.as_ref() };
            output::json(&serde_json::to_string(&line).map_err(Failure::ours)?)?;
        }
    } else if machines.is_empty() {
        output::answer("no machines")?;
    } else {
        output::answer(&table(&machines, &resolved))?;
    }
    Ok(Exit::Fine)
}

fn table(machines: &[Machine], resolved: &[Option<Resolved>]) -> String {
    let title = ["machine", "ssh", "groups", "tags", "mac", "price", "defined in"].map(str::to_owned);
    let rows = machines.iter().zip(resolved).map(|(machine, resolved)| {
        let port = machine.port.map(|port| format!(" port {port}")).unwrap_or_default();
        let ssh = match resolved {
            Some(Resolved { user, host, port }) => format!("{user}@{host} port {port}"),
            None => printable(&format!("{}{port}", machine.ssh)).into_owned(),
        };
        let price = machine.price.as_ref().map(|price| match &price.currency {
            Some(currency) => format!("{} {currency}", price.text),
            None => price.text.clone(),
        });
        [
            machine.name.clone(),
            ssh,
            machine.groups.join(" "),
            machine.tags.join(" "),
            machine.mac.map(|mac| mac.to_string()).unwrap_or_default(),
            price.unwrap_or_default(),
            machine.source.clone(),
        ]
    });
    let rows: Vec<[String; 7]> = std::iter::once(title).chain(rows).collect();
    output::columns(&rows)
}
