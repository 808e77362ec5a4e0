//! `diskproof claim DISK` and `unclaim DISK`: whose a disk is, said once by its owner.

use crate::args::{Claim, Unclaim};
use crate::exit::{Exit, Failure};
use crate::output;
use crate::privilege;
use crate::settings::Settings;
use device::{ClaimBook, DiskReport, Roots};
use host::LocalRunner;
use record::quantity::Bytes;
use std::path::Path;

pub(crate) fn claim(args: &Claim, settings: &Settings) -> Result<Exit, Failure> {
    need_root("claim")?;
    let disk = find(&args.disk)?;
    let word = confirmation(&disk).ok_or_else(|| {
        Failure::machine(format!("{} tells no serial number and no id, so it can't be told from another disk", args.disk))
    })?;
    let typed = match &args.yes_i_own {
        Some(serial) => serial.clone(),
        None => ask(&disk, &word)?,
    };
    if typed != word {
        return Err(Failure::input(format!(
            "`{typed}` is not what disk {} calls itself (`{word}`); nothing was claimed",
            args.disk
        )));
    }
    let mut book = ClaimBook::open(&settings.state.value).map_err(Failure::machine)?;
    book.claim(&disk.identity).map_err(Failure::machine)?;
    output::answer(&format!("claimed: {} ({word}, {})", args.disk, Bytes(disk.size_bytes)))?;
    for dissent in &disk.dissent {
        output::aside(&format!("it would still be refused now: {dissent}"));
    }
    Ok(Exit::Fine)
}

pub(crate) fn unclaim(args: &Unclaim, settings: &Settings) -> Result<Exit, Failure> {
    need_root("unclaim")?;
    let mut book = ClaimBook::open(&settings.state.value).map_err(Failure::machine)?;
    if book.unclaim(&args.disk).map_err(Failure::machine)? {
        output::answer(&format!("no longer claimed: {}", args.disk))?;
        Ok(Exit::Fine)
    } else {
        Err(Failure::input(format!("{} was not claimed", args.disk)))
    }
}

fn need_root(verb: &str) -> Result<(), Failure> {
    if privilege::is_root() {
        return Ok(());
    }
    Err(Failure::machine(format!("only root may {verb} a disk: sudo diskproof {verb} ...")))
}

/// The disk of that name, path or id among all this kernel shows.
fn find(name: &str) -> Result<DiskReport, Failure> {
    let id = name.strip_prefix("/dev/disk/by-id/").unwrap_or(name);
    let disks = device::inventory(&Roots::default(), &LocalRunner, None);
    let known: Vec<String> = disks.iter().flat_map(|d| d.ids.clone()).collect();
    disks.into_iter().find(|d| d.ids.iter().any(|known| known == id)).ok_or_else(|| {
        let hint = if Path::new("/dev").join(name.trim_start_matches("/dev/")).exists() {
            "; claim it by its name in /dev/disk/by-id, since names like sda move from disk to disk".to_owned()
        } else if known.is_empty() {
            "; no disk of this machine has a name in /dev/disk/by-id".to_owned()
        } else {
            format!("; known are {}", known.join(", "))
        };
        Failure::input(format!("no disk is called {name}{hint}"))
    })
}

/// What the owner must type: the serial number, or the id where a disk tells none.
fn confirmation(disk: &DiskReport) -> Option<String> {
    disk.serial.clone().or_else(|| disk.ids.first().cloned())
}

fn ask(disk: &DiskReport, word: &str) -> Result<String, Failure> {
    if !output::can_ask() {
        return Err(Failure::input(format!(
            "claiming needs a confirmation: run it on a terminal, or add --yes-i-own {word}"
        )));
    }
    output::aside(&format!(
        "{} ({}, {}): diskproof will be allowed to ERASE EVERYTHING on it.",
        disk.path.display(),
        disk.model.as_deref().unwrap_or("unknown model"),
        Bytes(disk.size_bytes)
    ));
    output::ask(&format!("If it is yours and may be erased, type `{word}`: "))
        .ok_or_else(|| Failure::input("nothing was typed; nothing was claimed"))
}
