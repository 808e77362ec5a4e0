//! `diskproof machines get` and `put`.

use super::selection::{PATIENT_SECONDS, chosen, reach};
use crate::args::{From, MachinesGet, MachinesPut};
use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;
use crate::signals::Wish;
use fleet::{Copied, CopyError};
use record::machine::Machine;
use record::printable::chain;
use record::quantity::Bytes;

pub(super) fn get(args: &MachinesGet, from: &From, settings: &Settings) -> Result<Exit, Failure> {
    let machines = chosen(std::slice::from_ref(&args.from.pattern), from, settings)?;
    let reach = reach(settings, PATIENT_SECONDS);
    told(&machines, |tell, cancel| {
        fleet::get(&machines, &args.from.path, &args.to, &reach, usize::from(from.fanout), tell, cancel)
    })
}

pub(super) fn put(args: &MachinesPut, from: &From, settings: &Settings) -> Result<Exit, Failure> {
    let machines = chosen(std::slice::from_ref(&args.to.pattern), from, settings)?;
    let reach = reach(settings, PATIENT_SECONDS);
    told(&machines, |tell, cancel| {
        fleet::put(&machines, &args.file, &args.to.path, &reach, usize::from(from.fanout), tell, cancel)
    })
}

type Tell<'a> = &'a mut dyn FnMut(usize, Result<Copied, CopyError>);

/// Copies, and tells what became of each copy.
fn told(
    machines: &[Machine],
    copy: impl FnOnce(Tell<'_>, &std::sync::atomic::AtomicBool) -> Result<bool, CopyError>,
) -> Result<Exit, Failure> {
    let wish = Wish::listen().map_err(|e| Failure::machine(format!("can't catch signals: {e}")))?;
    let (mut failures, mut unwritten) = (0, None);
    let mut tell = |at: usize, copied: Result<Copied, CopyError>| {
        let name = machines.get(at).map(|machine| machine.name.as_str()).unwrap_or_default();
        match copied {
            Ok(copied) => unwritten = output::answer(&line(name, &copied)).err(),
            Err(error) => {
                failures += 1;
                output::aside(&format!("diskproof: {name}: {}", chain(&error)));
            }
        }
    };
    let all = copy(&mut tell, &wish.cancel).map_err(Failure::machine)?;
    if let Some(failure) = unwritten {
        return Err(failure);
    }
    if let Some(number) = wish.signal().and_then(|signal| u8::try_from(signal).ok()).filter(|_| !all) {
        output::aside("what has arrived is kept; the same command goes on from there");
        return Ok(Exit::Signal(number));
    }
    Ok(if failures == 0 { Exit::Fine } else { Exit::Machine })
}

fn line(name: &str, copied: &Copied) -> String {
    let Copied { bytes, sent_bytes, digest, path, took } = copied;
    let digest = digest.get(..12).unwrap_or(digest);
    let sent = match *sent_bytes {
        0 => "it was there already".to_owned(),
        sent if sent == *bytes => format!("{:.1} s", took.as_secs_f64()),
        sent => format!("{} of it now, {:.1} s", Bytes(sent), took.as_secs_f64()),
    };
    format!("{name}: {path}: {}, sha256 {digest}..., {sent}", Bytes(*bytes))
}
