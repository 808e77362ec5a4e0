//! `diskproof machines wake`.

use super::selection::{CONNECT_SECONDS, cant_wait, chosen, reach};
use crate::args::{From, MachinesWake};
use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;
use crate::settings::keys::Progress;
use crate::signals::Wish;
use fleet::Statuses;
use record::machine::{Machine, MachineState, MachineStatus};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How long to wait before the next question; a machine that is off takes 3 s to be found so.
const PAUSE: Duration = Duration::from_secs(1);
/// How often the progress is printed.
const TELL: Duration = Duration::from_secs(10);

pub(super) fn wake(args: &MachinesWake, from: &From, settings: &Settings) -> Result<Exit, Failure> {
    let machines = chosen(&args.patterns, from, settings)?;
    let without: Vec<&str> = machines
        .iter()
        .filter(|machine| machine.mac.is_none())
        .map(|machine| machine.name.as_str())
        .collect();
    if !without.is_empty() {
        let names = without.join(", ");
        return Err(Failure::input(format!(
            "no hardware address is known of {names}: add `mac: \"52:54:00:12:34:56\"` in the inventory"
        )));
    }
    let wish = Wish::listen().map_err(|e| Failure::machine(format!("can't catch signals: {e}")))?;
    for machine in &machines {
        let Some(mac) = machine.mac else { continue };
        let sent = fleet::wake(mac, args.broadcast).map_err(Failure::machine)?;
        let to: Vec<String> = sent.iter().map(|to| to.ip().to_string()).collect();
        output::answer(&format!("{}: magic packet for {mac} sent to {}", machine.name, to.join(", ")))?;
    }
    if args.no_wait {
        return Ok(Exit::Fine);
    }
    wait(&machines, args, from, settings, &wish)
}

/// Waits until ssh answers on all machines.
fn wait(
    machines: &[Machine],
    args: &MachinesWake,
    from: &From,
    settings: &Settings,
    wish: &Wish,
) -> Result<Exit, Failure> {
    let began = Instant::now();
    let limit = Duration::try_from_secs_f64(args.timeout).unwrap_or(Duration::MAX);
    let reach = reach(settings, CONNECT_SECONDS);
    let mut waiting: BTreeMap<usize, String> = (0..machines.len()).map(|at| (at, String::new())).collect();
    let mut told = began;
    loop {
        let asked: Vec<usize> = waiting.keys().copied().collect();
        let mut answers = Vec::new();
        let mut tell = |at: usize, status: MachineStatus| answers.push((at, status));
        let mut statuses = Statuses::once(machines, &reach, usize::from(from.fanout));
        statuses.ask(asked, &mut tell, &wish.cancel).map_err(cant_wait)?;
        for (at, status) in answers {
            if status.state == MachineState::On {
                waiting.remove(&at);
                output::answer(&format!("{} is on, after {} s", status.machine, began.elapsed().as_secs()))?;
            } else {
                waiting.insert(at, status.reason.unwrap_or_default());
            }
        }
        if let Some(number) = wish.signal().and_then(|signal| u8::try_from(signal).ok()) {
            return Ok(Exit::Signal(number));
        }
        if waiting.is_empty() {
            return Ok(Exit::Fine);
        }
        if began.elapsed() >= limit {
            return Err(Failure::machine(too_late(machines, &waiting, limit)));
        }
        if told.elapsed() >= TELL && settings.progress.value != Progress::None {
            told = Instant::now();
            let names = names(machines, waiting.keys());
            output::aside(&format!("{} s: waiting for {names}", began.elapsed().as_secs()));
        }
        std::thread::sleep(PAUSE);
    }
}

fn names<'a>(machines: &[Machine], which: impl Iterator<Item = &'a usize>) -> String {
    which
        .filter_map(|at| machines.get(*at))
        .map(|machine| machine.name.as_str())
        .collect::<Vec<_>>()
        .join(", ")
}

fn too_late(machines: &[Machine], waiting: &BTreeMap<usize, String>, limit: Duration) -> String {
    let reasons: Vec<String> = waiting
        .iter()
        .map(|(at, reason)| format!("{}: {reason}", names(machines, std::iter::once(at))))
        .collect();
    format!("not on after {} s: {}", limit.as_secs(), reasons.join("; "))
}
