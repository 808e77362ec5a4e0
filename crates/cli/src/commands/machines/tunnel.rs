//! `diskproof machines tunnel` and `mount`.

use super::selection::{PATIENT_SECONDS, cant_wait, reach, single};
use crate::args::{From, MachinesMount, MachinesTunnel};
use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;
use crate::signals::Wish;
use fleet::TunnelEvent;
use record::printable::Shown as _;

pub(super) fn tunnel(args: &MachinesTunnel, from: &From, settings: &Settings) -> Result<Exit, Failure> {
    let machine = single(&args.machine, from, settings)?;
    let wish = Wish::listen().map_err(|e| Failure::machine(format!("can't catch signals: {e}")))?;
    let forwards = args.forwards.join(", ");
    let mut unwritten = None;
    let mut tell = |event: TunnelEvent| match event {
        TunnelEvent::Open => {
            unwritten = output::answer(&format!("{}: open: {forwards} (Ctrl-C ends it)", machine.name)).err();
        }
        TunnelEvent::Lost { reason, pause } => {
            let seconds = pause.as_secs();
            output::aside(&format!("{}: lost: {reason}; connecting again in {seconds} s", machine.name));
        }
    };
    let reach = reach(settings, PATIENT_SECONDS);
    let never =
        fleet::tunnel(&machine, &args.forwards, &reach, &mut tell, &wish.cancel).map_err(cant_wait)?;
    match (never, unwritten) {
        (Some(reason), _) => Err(Failure::machine(format!("{}: {reason}", machine.name))),
        (None, Some(failure)) => Err(failure),
        (None, None) => Ok(Exit::Fine),
    }
}

pub(super) fn mount(args: &MachinesMount, from: &From, settings: &Settings) -> Result<Exit, Failure> {
    let absolute = |path: &std::path::Path| {
        std::path::absolute(path).map_err(|error| Failure::input(format!("{}: {error}", path.shown())))
    };
    if let Some(end) = &args.end {
        fleet::unmount(&absolute(end)?).map_err(Failure::machine)?;
        output::answer(&format!("{}: unmounted", end.shown()))?;
        return Ok(Exit::Fine);
    }
    let (Some(place), Some(at)) = (&args.from, &args.at) else {
        return Err(Failure::input("expected MACHINE:DIR and DIR"));
    };
    let machine = single(&place.pattern, from, settings)?;
    let at = absolute(at)?;
    fleet::mount(&machine, &place.path, &at, &reach(settings, PATIENT_SECONDS)).map_err(Failure::machine)?;
    let at = at.shown();
    output::answer(&format!(
        "{}:{} is mounted at {at}; diskproof machines mount --end {at}",
        machine.name, place.path
    ))?;
    Ok(Exit::Fine)
}
