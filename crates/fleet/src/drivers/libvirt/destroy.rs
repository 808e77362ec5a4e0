//! Removes what carries a claim's id: guests by their metadata, files by their names. It looks again until it finds nothing, since a command
//! of an interrupted `create` may still have been on its way.

use super::existing::{on_hosts, originals};
use super::make::resource;
use super::note::{Guest, Note, Notes, notes};
use super::{names, place, pools, refused};
use crate::at::{At, AtError, AtOptions};
use crate::libvirt::GuestError;
use driver::protocol::{Answer, Claim, Failure, Left, Resource, ResourceKind, Settings};
use driver::serve::Teller;
use std::collections::BTreeSet;
use std::time::Duration;

/// Prints the claim's folders, `diskproof-$1-*`, in a folder, `$0`.
const FOLDERS: &str = r#"for d in "$0"/diskproof-"$1"-*; do if [ -d "$d" ] && ! [ -L "$d" ]; then printf '%s\n' "$d"; fi; done"#;
/// Removes a claim's files, `$1-*`, from a folder, `$0`, and the folder if it is empty then. Prints what is left.
const REMOVE: &str = r#"if [ -L "$0" ] || ! cd "$0" 2>/dev/null; then exit 0; fi
rm -f -- "$1"-* && cd / && { rmdir -- "$0" 2>/dev/null || ls -A -- "$0"; }"#;
/// Looks at most. The second one, or a later one that finds nothing, is the last.
const LOOKS: usize = 5;
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(300);

/// What was removed from a host, and what is left there.
#[derive(Default)]
struct Gone {
    removed: Vec<Resource>,
    left: Vec<Left>,
}

/// Destroys what a claim has.
pub(super) fn destroy(
    options: &AtOptions,
    claim: &Claim,
    settings: &Settings,
    tell: &Teller<'_>,
) -> Result<Answer, Failure> {
    if !names::is_claim_id(&claim.id) {
        return Err(refused(
            format!("`{}` is no id of a claim", claim.id),
            "32 hexadecimal digits, small letters",
        ));
    }
    let folder = driver::serve::text(settings, "folder").filter(|folder| folder.starts_with('/'));
    let is_one = super::settings::hosts(settings).len() == 1;
    let gone = on_hosts(options, settings, &|at| {
        if is_one {
            tell.account(place::account(at));
        }
        on_host(at, claim, folder, tell)
    })?;
    let (mut removed, mut left) = (Vec::new(), Vec::new());
    for host in gone {
        removed.extend(host.removed);
        left.extend(host.left);
    }
    Ok(Answer::Destroyed { removed, left })
}

fn on_host(at: &At, claim: &Claim, folder: Option<&str>, tell: &Teller<'_>) -> Result<Gone, GuestError> {
    let mut gone = Gone::default();
    for look in 0..LOOKS {
        if look > 0 {
            std::thread::sleep(PAUSE);
        }
        place::end(at, &claim.id)?;
        gone.left.clear();
        let has_found = once(at, claim, folder, tell, &mut gone)?;
        if !gone.left.is_empty() {
            break;
        }
        // The notes go last: they name the folders.
        let had_notes = place::forget(at, &claim.id)?;
        if look > 0 && !has_found && !had_notes {
            break;
        }
    }
    Ok(gone)
}

/// Removes what is there now. Returns whether there was something.
fn once(
    at: &At,
    claim: &Claim,
    folder: Option<&str>,
    tell: &Teller<'_>,
    gone: &mut Gone,
) -> Result<bool, GuestError> {
    let ours: Vec<Guest> =
        originals(at, tell)?.into_iter().filter(|guest| guest.note.claim.id == claim.id).collect();
    let Notes { read: noted, unread } = notes(at, &claim.id)?;
    let all = || noted.iter().chain(ours.iter().map(|guest| &guest.note));
    let pools: BTreeSet<String> = all().flat_map(Note::pools).collect();
    let mut folders: BTreeSet<String> = all().map(|note| note.folder.clone()).collect();
    let root = place::root(at);
    for base in std::iter::once(root.as_str()).chain(folder) {
        let said = at.run(
            "look for the claim's folders",
            &["sh", "-c", FOLDERS, base.trim_end_matches('/'), &claim.id],
        )?;
        folders.extend(said.lines().map(str::to_owned));
    }
    let mut kept: Vec<String> = Vec::new();
    let mut has_found = !ours.is_empty();
    for guest in ours {
        let name = names::domain(claim, &guest.note.machine);
        let resource = resource(ResourceKind::Machine, guest.uuid.clone(), &name);
        tell.step(Some(&guest.note.machine), "removing the guest");
        match remove_guest(at, &guest.uuid) {
            Ok(()) => {
                tell.removed(resource.clone());
                gone.removed.push(resource);
            }
            Err(error) => {
                // Its disks are in use, or would be if it is started again.
                folders.remove(&guest.note.folder);
                kept.extend(guest.note.volumes.into_iter().map(|volume| volume.file));
                gone.left.push(Left { resource, why: record::printable::chain(&error) });
            }
        }
    }
    gone.left.extend(unread.into_iter().map(left_note));
    for folder in folders {
        has_found |= remove_folder(at, claim, &folder, tell, gone)?;
    }
    for pool in pools {
        has_found |= remove_from_pool(at, claim, &pool, &kept, tell, gone);
    }
    Ok(has_found)
}

/// A note that can't be read stays: it may name a folder or a pool that has files of the claim.
fn left_note(file: String) -> Left {
    let name = file.rsplit('/').next().unwrap_or_default().trim_end_matches(".json").to_owned();
    Left {
        resource: resource(ResourceKind::Machine, file, &name),
        why: "this note about the machine can't be read, so its folder isn't known: remove the machine's files, then the note"
            .to_owned(),
    }
}

/// Switches a guest off, and removes it. One that is gone is none.
fn remove_guest(at: &At, uuid: &str) -> Result<(), AtError> {
    let state = at.virsh("look at the guest", &["domstate", "--domain", uuid]);
    let is_gone = |error: &AtError| matches!(error, AtError::Failed { said, .. } if said.contains("failed to get domain"));
    match state {
        Err(error) if is_gone(&error) => return Ok(()),
        Ok(said) if said.trim() == "shut off" => {}
        Err(error) => return Err(error),
        Ok(_) => {
            let off = at.virsh("switch the guest off", &["destroy", "--domain", uuid]);
            if let Err(AtError::Failed { said, .. }) = &off
                && said.contains("domain is not running")
            {
                // It switched itself off meanwhile.
            } else {
                off?;
            }
        }
    }
    // Without these options libvirt keeps a guest that has snapshots or saved memory.
    let all = ["--managed-save", "--nvram", "--snapshots-metadata", "--checkpoints-metadata"];
    match at.virsh("remove the guest", &[&["undefine", "--domain", uuid][..], &all].concat()) {
        Err(error) if is_gone(&error) => Ok(()),
        done => done.map(|_| ()),
    }
}

/// Removes the claim's volumes of a pool, without those that are `kept`. Returns whether there were some.
fn remove_from_pool(
    at: &At,
    claim: &Claim,
    pool: &str,
    kept: &[String],
    tell: &Teller<'_>,
    gone: &mut Gone,
) -> bool {
    let of = |name: &str| resource(ResourceKind::Volume, format!("{pool}/{name}"), name);
    let volumes = match pools::volumes(at, pool, &claim.id) {
        Ok(volumes) => volumes,
        Err(error) => {
            let resource = resource(ResourceKind::Volume, pool.to_owned(), pool);
            gone.left.push(Left { resource, why: record::printable::chain(&error) });
            return true;
        }
    };
    for name in volumes.iter().filter(|name| !kept.contains(name)) {
        match pools::remove(at, pool, name) {
            Ok(()) => {
                tell.removed(of(name));
                gone.removed.push(of(name));
            }
            Err(error) => {
                gone.left.push(Left { resource: of(name), why: record::printable::chain(&error) });
            }
        }
    }
    !volumes.is_empty()
}

/// Removes the claim's files of a folder. Returns whether the folder was there.
fn remove_folder(
    at: &At,
    claim: &Claim,
    folder: &str,
    tell: &Teller<'_>,
    gone: &mut Gone,
) -> Result<bool, AtError> {
    let files = place::files(at, folder, &claim.id)?;
    let of = |file: &str| {
        let name = file.trim_start_matches(claim.id.as_str()).trim_start_matches('-');
        resource(ResourceKind::Volume, format!("{folder}/{file}"), name.split('.').next().unwrap_or(name))
    };
    let is_there = at.run(
        "look for the claim's folder",
        &["sh", "-c", r#"if [ -d "$0" ] && ! [ -L "$0" ]; then echo yes; fi"#, folder],
    )?;
    let said = match at.run("remove the claim's files", &["sh", "-c", REMOVE, folder, &claim.id]) {
        Ok(said) => said,
        Err(error) => {
            let resource = resource(ResourceKind::Volume, folder.to_owned(), folder);
            gone.left.push(Left { resource, why: record::printable::chain(&error) });
            return Ok(true);
        }
    };
    // The boot disk and the settings of the first boot are the machine's own, and no volumes of the request.
    for file in files.iter().map(|file| of(file)).filter(|one| !matches!(one.name.as_str(), "0" | "seed")) {
        tell.removed(file.clone());
        gone.removed.push(file);
    }
    if !said.trim().is_empty() {
        let others =
            said.lines().map(|line| record::printable::printable(line).into_owned()).collect::<Vec<_>>();
        let resource = resource(ResourceKind::Volume, folder.to_owned(), folder);
        let why = format!("the driver didn't make {}, which is in it", others.join(", "));
        gone.left.push(Left { resource, why });
    }
    Ok(!is_there.trim().is_empty())
}
