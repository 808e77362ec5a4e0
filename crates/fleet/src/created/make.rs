//! Creates machines: all groups at the same time, each with its claim in the journal first.

use super::error::CreatedError;
use super::request::{Group, other};
use driver::journal::{Entry, Held, Journal, JournalError, Stage};
use driver::protocol::{Answer, Claim, Created, Event, Task};
use driver::{Heard, How, call};
use host::{CommandFailure, Crowd, CrowdEvent, Ending, Input, Invocation, Tool};
use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long a driver may take to create machines.
const CREATE: Duration = Duration::from_secs(30 * 60);
/// How long a driver that is to end may go on: it finishes what it has begun, and tells what exists.
const GRACE: Duration = Duration::from_secs(60);

/// What is made, and for whom.
#[derive(Clone, Copy)]
pub struct Making<'a> {
    /// The run or, for `create`, the name of the machines' set.
    pub run: &'a str,
    /// The experiment's name.
    pub experiment: &'a str,
    /// When the machines may be removed by anybody, in seconds since 1970 (UTC).
    pub deadline: u64,
    /// Whether they stay after this command.
    pub kept: bool,
    /// Ends the drivers when it is set.
    pub cancel: &'a AtomicBool,
    /// Tells the user a line.
    pub tell: &'a (dyn Fn(&str) + Sync),
}

/// Creates the machines of all groups at the same time. Returns all claims that were made, whatever happens, and the failure of the first
/// group that can't be created. The claims stay in the journal.
pub fn create(
    groups: &[Group],
    journal: &Journal,
    making: &Making<'_>,
) -> (Vec<Held>, Result<(), CreatedError>) {
    let mut claims = Vec::new();
    for group in groups {
        match begin(group, journal, making) {
            Ok(claim) => claims.push(claim),
            Err(error) => return (claims.into_iter().map(|(held, _)| held).collect(), Err(error)),
        }
    }
    let each: Vec<(Held, Result<(), CreatedError>)> = std::thread::scope(|scope| {
        let all: Vec<_> = groups
            .iter()
            .zip(claims)
            .map(|(group, (held, key))| scope.spawn(move || perform(group, held, key, making)))
            .collect();
        all.into_iter()
            .map(|one| one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    let (held, outcomes): (Vec<Held>, Vec<_>) = each.into_iter().unzip();
    (held, outcomes.into_iter().collect())
}

/// Notes the claim, and makes the key that logs in.
fn begin(group: &Group, journal: &Journal, making: &Making<'_>) -> Result<(Held, String), CreatedError> {
    let claim = Claim { id: drawn()?, run: making.run.to_owned(), deadline: making.deadline };
    let id = claim.id.clone();
    let mut entry = Entry::new(claim, making.experiment, &group.program.name, group.machines.clone(), now());
    entry.targets.clone_from(&group.targets);
    entry.kept = making.kept;
    let held = journal.begin(entry)?;
    let key = key(&journal.key(&id), lock(&held)?)?;
    Ok((held, key))
}

/// Another handle of a claim's lock, for a program that may outlive this process: whoever takes the claim over waits for it.
fn lock(held: &Held) -> Result<File, CreatedError> {
    held.lock().try_clone().map_err(|source| CreatedError::File { path: "the lock".into(), source })
}

/// Makes a key pair, and returns the public key. ssh-keygen holds the claim's lock: after a kill, it could leave a key behind `undo`.
fn key(path: &Path, lock: File) -> Result<String, CreatedError> {
    let keygen = Invocation::new(Tool::SshKeygen)
        .args(["-q", "-t", "ed25519", "-N", "", "-C", "diskproof", "-f"])
        .arg(path);
    let mut crowd = Crowd::default();
    crowd.start(&keygen, Input::File(lock))?;
    let mut said = Vec::new();
    let ending = loop {
        let event =
            crowd.next(None).map_err(|source| CreatedError::File { path: path.to_owned(), source })?;
        match event {
            Some(CrowdEvent::Output { bytes, .. }) => said.extend(bytes),
            Some(CrowdEvent::Ended { ending, .. }) => break ending,
            None => {}
        }
    };
    if ending != Ending::Status(0) {
        let status = if let Ending::Status(status) = ending { status } else { -1 };
        let stderr = String::from_utf8_lossy(&said).into_owned();
        return Err(
            CommandFailure::Failed { argv: keygen.argv(), status, stdout: String::new(), stderr }.into()
        );
    }
    let public = path.with_extension("key.pub");
    let text = fs::read_to_string(&public).map_err(|source| CreatedError::File { path: public, source })?;
    Ok(text.trim_end().to_owned())
}

fn perform(
    group: &Group,
    mut held: Held,
    key: String,
    making: &Making<'_>,
) -> (Held, Result<(), CreatedError>) {
    let task = Task::Create {
        claim: held.entry().claim.clone(),
        machines: group.machines.clone(),
        ssh_public_key: key,
    };
    let made = told(group, &mut held, task, making).and_then(|answer| match answer {
        Answer::Created { machines } => sound(group, &machines).map(|()| machines),
        _ => Err(other(&group.program)),
    });
    let noted = made.and_then(|machines| {
        Ok(held.change(|entry| {
            entry.created = machines;
            entry.stage = Stage::Created;
        })?)
    });
    (held, noted)
}

/// Has the driver work with the journal's lock, and notes each resource as it comes.
fn told(group: &Group, held: &mut Held, task: Task, making: &Making<'_>) -> Result<Answer, CreatedError> {
    let lock = lock(held)?;
    let how = How {
        secrets: &group.capabilities.secrets,
        limit: CREATE,
        cancel: Some(making.cancel),
        grace: GRACE,
        request_file: Some(&lock),
        ..How::default()
    };
    let broken: Mutex<Option<JournalError>> = Mutex::new(None);
    let answer = call(&group.program, task, &how, &mut |heard| {
        let account = match &heard {
            Heard::Event(Event::Account { id }) => held.note_account(Some(id)).err(),
            _ => None,
        };
        if let Some(error) = account.or_else(|| hear(&group.program.name, held, &heard, making.tell)) {
            broken.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get_or_insert(error);
        }
    });
    match broken.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) {
        Some(error) => Err(error.into()),
        None => Ok(answer?),
    }
}

/// Notes what a driver says, and tells it. Returns an error of the journal.
pub(crate) fn hear(
    driver: &str,
    held: &mut Held,
    heard: &Heard<'_>,
    tell: &dyn Fn(&str),
) -> Option<JournalError> {
    match heard {
        Heard::Event(Event::Resource { resource, exists }) => return held.note(resource, *exists).err(),
        Heard::Event(Event::Step { text, machine }) => {
            let machine = machine.as_ref().map(|machine| format!("{machine}: ")).unwrap_or_default();
            tell(&format!("{driver}: {machine}{text}"));
        }
        Heard::Event(Event::Warning { text }) => tell(&format!("warning: driver {driver}: {text}")),
        // It is noted where the claim is created.
        Heard::Event(Event::Account { .. } | Event::Result { .. }) => {}
        Heard::Line(line) => tell(&format!("{driver}: {line}")),
    }
    None
}

/// Checks that the driver's answer fits what was asked, before anything of it becomes a word of ssh's configuration.
fn sound(group: &Group, machines: &[Created]) -> Result<(), CreatedError> {
    let wrong = |what: String| Err(CreatedError::Answer { driver: group.program.name.clone(), what });
    if machines.len() != group.machines.len() {
        return wrong(format!("asked for {} machines, it created {}", group.machines.len(), machines.len()));
    }
    for (asked, made) in group.machines.iter().zip(machines) {
        let names = |volume: &&str| made.volumes.iter().any(|made| made.name == **volume);
        let asked_volumes: Vec<&str> = asked.volumes.iter().map(|volume| volume.name.as_str()).collect();
        if made.name != asked.name
            || made.volumes.len() != asked.volumes.len()
            || !asked_volumes.iter().all(names)
        {
            return wrong(format!("machine {} has another name or other volumes than asked for", made.name));
        }
        let word = |text: &str, others: &str| {
            let fits = |c: char| c.is_ascii_alphanumeric() || others.contains(c);
            !text.is_empty() && text.len() <= 255 && !text.starts_with('-') && text.chars().all(fits)
        };
        if made.through.as_deref().is_some_and(|host| !word(host, ".:-_@/[]")) {
            return wrong(format!("machine {} is reached through a host of another form", made.name));
        }
        for backing in made.volumes.iter().filter_map(|volume| volume.backing.as_ref()) {
            let is_path = backing.path.starts_with('/') && !backing.path.contains(char::is_control);
            let is_guest = backing.domain.as_deref().is_none_or(|domain| word(domain, ".-_"));
            if !word(&backing.host, ".:-_@/[]") || !is_path || !is_guest {
                return wrong(format!(
                    "a volume of machine {} is on a host, path or guest of another form",
                    made.name
                ));
            }
        }
        if !word(&made.address, ".:-_") || !word(&made.user, ".-_") {
            return wrong(format!(
                "machine {} has the address `{}` and the user `{}`",
                made.name, made.address, made.user
            ));
        }
        if !made.host_keys.iter().all(|key| is_key(key)) {
            return wrong(format!("machine {} has host keys of another form", made.name));
        }
    }
    Ok(())
}

/// Whether a text is a host's public key: its kind and its body. What follows is a comment, which is left out.
fn is_key(text: &str) -> bool {
    let mut parts = text.split(' ');
    let (kind, body) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let (word, base64) = (
        |c: char| c.is_ascii_alphanumeric() || "-.@".contains(c),
        |c: char| c.is_ascii_alphanumeric() || "+/=".contains(c),
    );
    !kind.is_empty() && kind.chars().all(word) && !body.is_empty() && body.chars().all(base64)
}

/// A claim's id.
fn drawn() -> Result<String, CreatedError> {
    let mut bytes = [0_u8; 16];
    let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(|source| CreatedError::File { path: "/dev/urandom".into(), source })?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Seconds since 1970 (UTC).
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
