//! `diskproof claim DISK` and `unclaim DISK`: a disk's owner allows diskproof to overwrite it, and takes that back.

use crate::args::{Claim, Unclaim};
use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;
use device::{BookError, Candidate, ClaimBook, Effort, Identity, Roots, Sample, Strength, Word};
use host::LocalRunner;
use record::printable::Shown as _;
use record::quantity::Bytes;

/// The word that the user types if the disk holds data.
const OVERWRITE: &str = "overwrite";

pub(crate) fn claim(args: &Claim, settings: &Settings) -> Result<Exit, Failure> {
    need_root("claim", settings)?;
    let id = args.disk.strip_prefix("/dev/disk/by-id/").unwrap_or(&args.disk);
    let roots = Roots::default();
    let disk = Candidate::by_id(&roots, id).map_err(Failure::input)?;
    refuse_mounted(&roots, &disk)?;
    let own = confirmation(disk.identity(), id);
    if let Some(typed) = &args.yes_i_own {
        same(typed, &own, &disk)?;
    }
    let sample = Sample::of(&disk, Effort::CLAIM).map_err(|error| error.to_string());
    let saw = sample.as_ref().map_or_else(|error| format!("it can't be read ({error})"), Sample::to_string);
    output::aside(&format!("{disk}: {saw}"));
    let blank = sample.as_ref().is_ok_and(|sample| !sample.has_data());
    if args.yes_i_own.is_none() {
        same(&ask(&disk, &own)?, &own, &disk)?;
    }
    if !blank && !args.overwrite_data {
        may_overwrite(args, &disk, &saw)?;
    }
    let word = Word { sample: sample.ok(), overwrite_data: !blank, unseen_processes: args.unseen_processes };
    let mut book = ClaimBook::open(&settings.state.value).map_err(Failure::machine)?;
    let claim = book.claim(&disk, word).map_err(Failure::machine)?;
    output::answer(&format!("claimed: {disk}"))?;
    if claim.strength == Strength::Weak {
        output::aside(
            "it has neither serial number nor WWN, so diskproof knows it by model, size and slot only: it would not notice a disk of the same model and size in that slot",
        );
    }
    if claim.word.unseen_processes {
        output::aside(
            "you vouch for processes that diskproof can't see: if one of them writes to the disk, its data is lost and the measurement is wrong",
        );
    }
    if let Err(refusal) = device::disk(&roots, &LocalRunner, &book, id, 0) {
        output::aside(&format!("as it is now, it would still be refused:\n{refusal}"));
    }
    Ok(Exit::Fine)
}

/// Who claims a mounted disk may mean another one.
fn refuse_mounted(roots: &Roots, disk: &Candidate) -> Result<(), Failure> {
    let mounted = disk.mounted(roots);
    if mounted.is_empty() {
        return Ok(());
    }
    let saw: Vec<&str> = mounted.iter().map(|one| one.saw.as_str()).collect();
    let mut remedies: Vec<&str> = mounted.iter().map(|one| one.remedy.as_str()).collect();
    remedies.dedup();
    Err(Failure::machine(format!(
        "nothing was claimed, since the disk is in use: {}; {}",
        saw.join("; "),
        remedies.join("; ")
    )))
}

fn same(typed: &str, own: &str, disk: &Candidate) -> Result<(), Failure> {
    if typed == own {
        return Ok(());
    }
    let said = format!("`{typed}` doesn't identify {disk}, which is `{own}`; nothing was claimed");
    Err(Failure::input(said))
}

/// Asks for the second confirmation, which a disk with data needs.
fn may_overwrite(args: &Claim, disk: &Candidate, saw: &str) -> Result<(), Failure> {
    let typed = if args.yes_i_own.is_none() && output::can_ask() {
        output::ask(&format!(
            "There may be data that no signature shows. If it may be lost, type `{OVERWRITE}`: "
        ))
    } else {
        None
    };
    if typed.as_deref() == Some(OVERWRITE) {
        return Ok(());
    }
    Err(Failure::input(format!(
        "{disk} doesn't look blank: {saw}; nothing was claimed; save what you need, and if the rest may be lost, add --overwrite-data"
    )))
}

pub(crate) fn unclaim(args: &Unclaim, settings: &Settings) -> Result<Exit, Failure> {
    need_root("unclaim", settings)?;
    let id = args.disk.strip_prefix("/dev/disk/by-id/").unwrap_or(&args.disk);
    let mut book = ClaimBook::open(&settings.state.value).map_err(Failure::machine)?;
    book.unclaim(id).map_err(|error| match error {
        BookError::NotClaimed { .. } => Failure::input(error),
        _ => Failure::machine(error),
    })?;
    output::answer(&format!("no longer claimed: {id}"))?;
    Ok(Exit::Fine)
}

fn need_root(verb: &str, settings: &Settings) -> Result<(), Failure> {
    if fleet::is_root() {
        return Ok(());
    }
    Err(Failure::machine(format!(
        "only root may {verb} a disk, since claims are in root's {}: sudo diskproof {verb} ...",
        settings.state.value.shown()
    )))
}

/// What the owner must type: the disk's serial number, else its WWN, else the name that was given on the command line.
fn confirmation(identity: &Identity, id: &str) -> String {
    let own = identity.serial.as_ref().or(identity.wwn.as_ref()).filter(|name| !name.is_empty());
    own.map_or(id, String::as_str).to_owned()
}

fn ask(disk: &Candidate, word: &str) -> Result<String, Failure> {
    if !output::can_ask() {
        return Err(Failure::input(format!(
            "claiming needs a confirmation: run it on a terminal, or add --yes-i-own {word}"
        )));
    }
    output::aside(&format!(
        "{disk} ({}, {}): diskproof will be allowed to ERASE EVERYTHING on it.",
        disk.identity().model.as_deref().unwrap_or("unknown model"),
        Bytes(disk.size_bytes())
    ));
    output::ask(&format!("If it is yours and may be erased, type `{word}`: "))
        .ok_or_else(|| Failure::input("nothing was typed; nothing was claimed"))
}

#[cfg(test)]
mod tests {
    use super::confirmation;
    use device::Identity;

    #[test]
    fn the_disk_s_own_name_is_asked_for() {
        let mut identity = Identity { wwn: Some("naa.5".to_owned()), ..Identity::default() };
        assert_eq!(confirmation(&identity, "ata-x"), "naa.5");
        identity.serial = Some("S1".to_owned());
        assert_eq!(confirmation(&identity, "ata-x"), "S1");
        assert_eq!(confirmation(&Identity::default(), "/dev/vdb"), "/dev/vdb");
    }
}
