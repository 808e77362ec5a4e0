//! `diskproof guests console`, `viewer`, `shell` and `ssh-config`.

use crate::args::{From, GuestPatterns, GuestsShell, GuestsViewer, OneGuest};
use crate::commands::hosts::{find, guest_failure, one_guest};
use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;
use crate::signals::Wish;
use fleet::libvirt;
use host::{Invocation, LocalRunner, Runner as _};
use std::path::Path;
use std::process::ExitStatus;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The program that shows screens.
const REMOTE_VIEWER: &str = "remote-viewer";

pub(super) fn console(args: &OneGuest, from: &From, settings: &Settings) -> Result<Exit, Failure> {
    let (at, guest) = one_guest(&args.guest, from, settings)?;
    output::aside("^] ends it");
    Ok(exit(libvirt::console(&at, &guest).map_err(guest_failure)?))
}

pub(super) fn shell(args: &GuestsShell, from: &From, settings: &Settings) -> Result<Exit, Failure> {
    let (at, guest) = one_guest(&args.guest, from, settings)?;
    Ok(exit(libvirt::shell(&at, &guest, &args.command).map_err(guest_failure)?))
}

pub(super) fn ssh_config(args: &GuestPatterns, from: &From, settings: &Settings) -> Result<Exit, Failure> {
    let found = find(&args.patterns, from, settings)?;
    for host in &found.hosts {
        for guest in &host.guests {
            output::answer(&libvirt::config_entry(&host.at, &guest.name).map_err(guest_failure)?)?;
        }
    }
    Ok(found.exit())
}

pub(super) fn viewer(args: &GuestsViewer, from: &From, settings: &Settings) -> Result<Exit, Failure> {
    let (at, guest) = one_guest(&args.guest, from, settings)?;
    let viewer = libvirt::viewer(&at, &guest).map_err(guest_failure)?;
    output::answer(&viewer.uri)?;
    let program = host::find(Path::new(REMOTE_VIEWER)).ok().filter(|_| !args.print);
    let wish = Wish::listen().map_err(|e| Failure::machine(format!("can't catch signals: {e}")))?;
    if let Some(program) = program {
        let call = Invocation::program(program).arg("--").arg(&viewer.uri);
        LocalRunner.run_until(&call, &wish.cancel).map_err(Failure::machine)?;
        return Ok(Exit::Fine);
    }
    if viewer.tunnel.is_none() {
        return Ok(Exit::Fine);
    }
    let why =
        if args.print { "" } else { "there is no remote-viewer here; open the URI with another viewer. " };
    output::aside(&format!("{why}The screen can be reached there until Ctrl-C"));
    while !wish.cancel.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(Exit::Fine)
}

fn exit(ended: ExitStatus) -> Exit {
    match ended.code() {
        Some(0) => Exit::Fine,
        Some(code) => Exit::Theirs(u8::try_from(code).unwrap_or(u8::MAX)),
        None => Exit::Machine,
    }
}
