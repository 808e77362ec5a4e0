//! Destroys created machines, also those of killed runs.

use super::error::CreatedError;
use super::make::{hear, now};
use super::request::{capabilities, other};
use driver::journal::{Entry, Held, Journal, JournalError, Stage};
use driver::protocol::{Answer, Event, Task};
use driver::{Heard, How, Places, call};
use std::time::Duration;

/// How long a driver may take to destroy.
const DESTROY: Duration = Duration::from_secs(30 * 60);
/// How long `undo` waits for a driver that outlived its controller: one that begins to start guests on a busy host takes minutes.
const OUTLIVED: Duration = Duration::from_secs(10 * 60);
/// How long it waits for a claim that somebody holds: a program that is just being started holds copies of all locks for a moment.
const STARTING: Duration = Duration::from_secs(5);

/// What an undo of created machines did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Undone {
    /// One line for each claim.
    pub lines: Vec<String>,
    /// What could not be destroyed, and why.
    pub left: Vec<String>,
    /// Whether a run is still going on, whose machines were left alone.
    pub going_on: bool,
}

/// Which claims to undo.
#[derive(Debug, Clone, Copy, Default)]
pub struct Which<'a> {
    /// Only those of this run; `None`: all.
    pub run: Option<&'a str>,
    /// Also machines that `create` made and that were to stay.
    pub also_kept: bool,
    /// The id of a claim that ends in any case.
    pub give_up: Option<&'a str>,
}

/// Destroys everything of a claim. The claim ends if nothing is left; else it stays in the journal with what is left.
///
/// # Errors
/// The driver fails, or finds nothing of a claim that has something: it may look into another account. The claim stays in the journal.
pub fn destroy(mut held: Held, places: &Places, tell: &dyn Fn(&str)) -> Result<Vec<String>, CreatedError> {
    let program = places.find(&held.entry().driver)?;
    let capabilities = capabilities(&program)?;
    let file =
        held.lock().try_clone().map_err(|source| CreatedError::File { path: "the lock".into(), source })?;
    let how =
        How { secrets: &capabilities.secrets, limit: DESTROY, request_file: Some(&file), ..How::default() };
    let Entry { claim, settings, .. } = held.entry().clone();
    // From here on the machines don't count as existing, whatever ends this.
    held.change(|entry| {
        entry.created.clear();
        entry.stage = Stage::Begun;
    })?;
    let (mut broken, mut finds, mut account) = (None, false, None);
    let answer = call(&program, Task::Destroy { claim, settings }, &how, &mut |heard| {
        let mut failed = hear(&program.name, &mut held, &heard, tell);
        match &heard {
            Heard::Event(Event::Account { id }) => account = Some(id.clone()),
            Heard::Event(Event::Resource { .. }) if !std::mem::replace(&mut finds, true) => {
                // What is here is in this account, also if `create` didn't get so far as to tell it.
                failed = failed.or(held.note_account(account.as_deref()).err());
            }
            _ => {}
        }
        broken = broken.take().or(failed);
    });
    let answer = answer?;
    if let Some(error) = broken {
        return Err(error.into());
    }
    let Answer::Destroyed { removed, left } = &answer else { return Err(other(&program)) };
    let finds = finds || !removed.is_empty() || !left.is_empty();
    let may_end_alone = capabilities.enforces_deadline && now() >= held.entry().claim.deadline;
    if !finds && !may_end_alone {
        trusted(&held, account)?;
    }
    let left = held.destroyed(answer)?;
    Ok(left.iter().map(|left| format!("{} {}: {}", left.resource.name, left.resource.id, left.why)).collect())
}

/// Checks that a driver that finds nothing of a claim looked into the claim's account. Credentials of another one find nothing, either.
fn trusted(held: &Held, looked_into: Option<String>) -> Result<(), CreatedError> {
    let entry = held.entry();
    match (&entry.account, looked_into) {
        (Some(own), Some(other)) if *own != other => Err(CreatedError::OtherAccount {
            driver: entry.driver.clone(),
            account: own.clone(),
            other,
            run: entry.claim.run.clone(),
            claim: entry.claim.id.clone(),
        }),
        (Some(_), Some(_)) => Ok(()),
        // Nobody tells the account. Whoever created the machines a moment ago has their credentials.
        _ if held.is_begun_here() || entry.resources.is_empty() => Ok(()),
        _ => Err(no_trace(entry)),
    }
}

fn no_trace(entry: &Entry) -> CreatedError {
    let unseen = entry.resources.iter().map(|resource| format!("{} {}", resource.name, resource.id));
    CreatedError::NoTrace {
        driver: entry.driver.clone(),
        unseen: unseen.collect::<Vec<_>>().join(", "),
        run: entry.claim.run.clone(),
        claim: entry.claim.id.clone(),
    }
}

/// Destroys what runs left that have no living owner. Machines that `create` made stay until their deadline, unless `which` says otherwise.
/// What can't be read or destroyed is reported, and the others are undone nevertheless.
pub fn undo(journal: &Journal, places: &Places, which: Which<'_>, tell: &dyn Fn(&str)) -> Undone {
    let (entries, unreadable) = journal.entries();
    let mut undone = Undone { left: unreadable.iter().map(chain).collect(), ..Undone::default() };
    undone.left.extend(journal.tidy().err().as_ref().map(chain));
    for entry in entries {
        if which.run.is_some_and(|run| run != entry.claim.run) {
            continue;
        }
        let stays = entry.kept && now() < entry.claim.deadline && !entry.created.is_empty();
        if stays && !which.also_kept && which.run.is_none() {
            continue;
        }
        let is_given_up = which.give_up == Some(entry.claim.id.as_str());
        if let Err(error) = one(journal, places, (&entry, is_given_up), tell, &mut undone) {
            undone.left.push(chain(&error));
        }
    }
    undone
}

fn chain(error: &JournalError) -> String {
    record::printable::chain(error)
}

fn one(
    journal: &Journal,
    places: &Places,
    (entry, is_given_up): (&Entry, bool),
    tell: &dyn Fn(&str),
    undone: &mut Undone,
) -> Result<(), JournalError> {
    let (run, driver) = (&entry.claim.run, &entry.driver);
    let mut taken = journal.take(&entry.claim.id, STARTING);
    if matches!(taken, Err(JournalError::Busy { .. })) && entry.is_abandoned() {
        let most = OUTLIVED.as_secs() / 60;
        tell(&format!(
            "run {run}: its controller is gone, but driver {driver} still works; waiting for it, {most} min at most"
        ));
        taken = journal.take(&entry.claim.id, OUTLIVED);
    }
    let held = match taken {
        Ok(Some(held)) => held,
        Ok(None) => return Ok(()),
        Err(JournalError::Busy { .. }) => {
            undone.going_on = true;
            undone.lines.push(format!("machines of run {run}: in use, left alone"));
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let names = entry.targets.join(", ");
    match destroy(held, places, tell) {
        Ok(left) if left.is_empty() => {
            undone.lines.push(format!("machines of run {run}: driver {driver} destroyed {names}"));
        }
        Ok(_) | Err(_) if is_given_up => {
            let id = &entry.claim.id;
            if let Some(held) = journal.take(id, STARTING)? {
                held.give_up()?;
            }
            undone.lines.push(format!(
                "machines of run {run}: claim {id} is given up; what still exists of {names} stays"
            ));
        }
        Ok(left) => {
            undone.left.extend(left.into_iter().map(|left| format!("run {run}, driver {driver}: {left}")))
        }
        Err(error) => {
            let why = record::printable::chain(&error);
            undone.left.push(format!(
                "run {run}, driver {driver}, machines {names} (claim {}): {why}",
                entry.claim.id
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{CreatedError, Which, destroy, undo};
    use driver::Places;
    use driver::journal::{Entry, Held, Journal, Stage};
    use driver::protocol::{Claim, Created, Resource, ResourceKind};
    use std::path::Path;
    use std::time::Duration;

    const NOTHING: &str = r#"{"event":"result","done":{"destroyed":{"removed":[],"left":[]}}}"#;
    const FOUND: &str = r#"{"event":"result","done":{"destroyed":{"removed":[{"kind":"volume","id":"v1","name":"n"}],"left":[]}}}"#;

    /// A driver that answers `destroy` by these lines.
    fn places(dir: &Path, destroyed: &str) -> Places {
        let able = r#"{"event":"result","done":{"capabilities":{"protocol":"1.0","name":"d","about":"a","settings":{},"volume_settings":{},"secrets":[],"enforces_deadline":false}}}"#;
        let text = format!(
            "#!/bin/sh\nread -r r\ncase \"$r\" in\n*capabilities*) echo '{able}';;\n*) echo '{destroyed}';;\nesac\n"
        );
        let path = dir.join("diskproof-driver-d");
        testkit::script(&path, &text);
        let own = ("/nowhere".into(), Vec::new());
        Places { built_in: Vec::new(), own, path: dir.as_os_str().to_owned() }
    }

    /// A kept claim whose machine and volume exist.
    fn begun(journal: &Journal) -> Held {
        let claim = Claim { id: "aa".to_owned(), run: "r".to_owned(), deadline: u64::MAX >> 1 };
        let mut held = journal.begin(Entry::new(claim, "e", "d", Vec::new(), 5)).unwrap();
        let made = r#"{"name":"m","id":"i","address":"h","user":"u","host_keys":[],"volumes":[]}"#;
        let made: Created = serde_json::from_str(made).unwrap();
        held.change(|entry| {
            entry.kept = true;
            entry.stage = Stage::Created;
            entry.created = vec![made];
        })
        .unwrap();
        let volume = Resource { kind: ResourceKind::Volume, id: "v1".to_owned(), name: "n".to_owned() };
        held.note(&volume, true).unwrap();
        held
    }

    /// A process that another test starts has the claim's lock, too, until it becomes another program.
    fn again(journal: &Journal) -> Held {
        journal.take("aa", Duration::from_secs(60)).unwrap().unwrap()
    }

    #[test]
    fn with_other_credentials_a_claim_stays() {
        let dir = tempfile::tempdir().unwrap();
        let journal = Journal::of(dir.path());
        drop(begun(&journal));
        let nothing = places(dir.path(), NOTHING);
        let error = destroy(again(&journal), &nothing, &|_| {}).unwrap_err();
        assert!(matches!(error, CreatedError::NoTrace { .. }), "{error}");
        assert!(error.to_string().contains("n v1") && error.to_string().contains("--give-up aa"), "{error}");
        let undone = undo(&journal, &nothing, Which::default(), &|_| {});
        assert_eq!((undone.left.len(), journal.entries().0.len()), (1, 1), "{undone:?}");
        let given_up = Which { run: Some("r"), give_up: Some("aa"), ..Which::default() };
        let undone = undo(&journal, &nothing, given_up, &|_| {});
        assert!(undone.left.is_empty() && undone.lines[0].contains("given up"), "{undone:?}");
        assert!(journal.entries().0.is_empty());
    }

    #[test]
    fn whoever_created_machines_has_the_credentials_and_so_has_who_finds_some() {
        let dir = tempfile::tempdir().unwrap();
        let journal = Journal::of(dir.path());
        let left = destroy(begun(&journal), &places(dir.path(), NOTHING), &|_| {}).unwrap();
        assert!(left.is_empty() && journal.entries().0.is_empty());
        drop(begun(&journal));
        let left = destroy(again(&journal), &places(dir.path(), FOUND), &|_| {}).unwrap();
        assert!(left.is_empty() && journal.entries().0.is_empty());
    }

    /// A driver's answer in an account, after these events.
    fn within(account: &str, events: &[&str], result: &str) -> String {
        let told = format!(r#"{{"event":"account","id":"{account}"}}"#);
        let lines = [&[told.as_str()], events, &[result]].concat();
        lines.into_iter().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
    }

    const GONE: &str = r#"{"event":"resource","exists":false,"kind":"volume","id":"v2","name":"o"}"#;

    /// A claim that was created in account A by another process.
    fn begun_in_a(journal: &Journal) {
        begun(journal).note_account(Some("A")).unwrap();
    }

    #[test]
    fn after_a_destroy_that_was_cut_short_the_machines_do_not_count_as_existing() {
        let dir = tempfile::tempdir().unwrap();
        let journal = Journal::of(dir.path());
        drop(begun(&journal));
        let error =
            destroy(again(&journal), &places(dir.path(), &within("A", &[GONE], "")), &|_| {}).unwrap_err();
        assert!(error.to_string().contains("without a result"), "{error}");
        let entry = journal.entries().0.remove(0);
        assert!(entry.created.is_empty() && entry.stage == Stage::Begun, "{entry:?}");
        assert_eq!(entry.account.as_deref(), Some("A"), "what it found is there");
    }

    #[test]
    fn a_driver_killed_before_it_told_a_removal_ends_the_claim_in_the_next_undo() {
        let dir = tempfile::tempdir().unwrap();
        let journal = Journal::of(dir.path());
        begun_in_a(&journal);
        // It removed everything, and was killed before it said so.
        let killed = places(dir.path(), &within("A", &[], ""));
        let undone = undo(&journal, &killed, Which { also_kept: true, ..Which::default() }, &|_| {});
        assert_eq!((undone.left.len(), journal.entries().0.len()), (1, 1), "{undone:?}");
        let undone =
            undo(&journal, &places(dir.path(), &within("A", &[], NOTHING)), Which::default(), &|_| {});
        assert!(undone.left.is_empty() && journal.entries().0.is_empty(), "{undone:?}");
    }

    #[test]
    fn another_account_never_ends_a_claim_and_the_right_one_does() {
        for first in [within("A", &[], ""), within("A", &[GONE], "")] {
            let dir = tempfile::tempdir().unwrap();
            let journal = Journal::of(dir.path());
            begun_in_a(&journal);
            let all = Which { also_kept: true, ..Which::default() };
            let undone = undo(&journal, &places(dir.path(), &first), all, &|_| {});
            assert_eq!(undone.left.len(), 1, "{undone:?}");
            let undone = undo(&journal, &places(dir.path(), &within("B", &[], NOTHING)), all, &|_| {});
            assert!(
                undone.left[0].contains("works in account B") && undone.left[0].contains("in account A"),
                "{undone:?}"
            );
            assert_eq!(journal.entries().0.len(), 1);
            let undone = undo(&journal, &places(dir.path(), &within("A", &[], NOTHING)), all, &|_| {});
            assert!(undone.left.is_empty() && journal.entries().0.is_empty(), "{undone:?}");
        }
        // Also where `create` was killed before it told of a resource.
        let dir = tempfile::tempdir().unwrap();
        let journal = Journal::of(dir.path());
        let claim = Claim { id: "aa".to_owned(), run: "r".to_owned(), deadline: u64::MAX >> 1 };
        journal.begin(Entry::new(claim, "e", "d", Vec::new(), 5)).unwrap().note_account(Some("A")).unwrap();
        let undone =
            undo(&journal, &places(dir.path(), &within("B", &[], NOTHING)), Which::default(), &|_| {});
        assert_eq!((undone.left.len(), journal.entries().0.len()), (1, 1), "{undone:?}");
    }

    #[test]
    fn a_damaged_file_keeps_undo_from_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let journal = Journal::of(dir.path());
        drop(begun(&journal));
        std::fs::write(dir.path().join("created/bb.json"), "{").unwrap();
        let all = Which { also_kept: true, ..Which::default() };
        let undone = undo(&journal, &places(dir.path(), FOUND), all, &|_| {});
        assert_eq!((undone.lines.len(), undone.left.len()), (1, 1), "{undone:?}");
        assert!(undone.left[0].contains("is damaged"), "{undone:?}");
    }
}
