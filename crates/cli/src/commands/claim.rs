//! `diskproof claim DISK` and `unclaim DISK`: whose a disk is, said once by its owner.

use crate::args::{Claim, Unclaim};
use crate::exit::{Exit, Failure};
use crate::output;
use crate::privilege;
use crate::settings::Settings;
use device::{BookError, Candidate, ClaimBook, Identity, Roots, Strength};
use host::LocalRunner;
use record::printable::Shown as _;
use record::quantity::Bytes;

pub(crate) fn claim(args: &Claim, settings: &Settings) -> Result<Exit, Failure> {
    need_root("claim", settings)?;
    let id = args.disk.strip_prefix("/dev/disk/by-id/").unwrap_or(&args.disk);
    let disk = Candidate::by_id(&Roots::default(), id).map_err(Failure::input)?;
    let word = confirmation(disk.identity(), id);
    let typed = match &args.yes_i_own {
        Some(serial) => serial.clone(),
        None => ask(&disk, &word)?,
    };
    if typed != word {
        return Err(Failure::input(format!(
            "`{typed}` is not what {disk} calls itself (`{word}`); nothing was claimed"
        )));
    }
    let mut book = ClaimBook::open(&settings.state.value).map_err(Failure::machine)?;
    let claim = book.claim(&disk).map_err(Failure::machine)?;
    output::answer(&format!("claimed: {disk}"))?;
    if claim.strength == Strength::Weak {
        output::aside(
            "it has neither serial number nor WWN, so it is told by model, size and slot: \
             a twin put into the same slot would not be noticed",
        );
    }
    if let Err(refusal) = disk.cleared(&Roots::default(), &LocalRunner, 0) {
        output::aside(&format!("as it is now, it would still be refused:\n{refusal}"));
    }
    Ok(Exit::Fine)
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
    if privilege::is_root() {
        return Ok(());
    }
    Err(Failure::machine(format!(
        "only root may {verb} a disk, since claims are in root's {}: sudo diskproof {verb} ...",
        settings.state.value.shown()
    )))
}

/// What the owner must type: what the disk calls itself, or the name it was given here when it has none of its own.
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
