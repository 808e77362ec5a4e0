//! The rules, one after the other.

use super::{KEY, Told, Trial};
use crate::call::CallError;
use crate::protocol::{
    Answer, Backing, Capabilities, Created, DeviceName, MachineRequest, Problem, ResourceKind, Settings,
    Task, VERSION,
};
use crate::settings::{Source, merge};
use std::collections::BTreeSet;

/// A key that no driver has.
const NO_SUCH_KEY: &str = "diskproof-no-such-key";

/// Checks all rules. Without capabilities nothing else can be checked.
pub(super) fn all(trial: &mut Trial<'_>) {
    let capabilities = trial.capabilities();
    let sound = capabilities.as_ref().map_err(Clone::clone).and_then(sound);
    trial.rule("`capabilities` describes the driver", sound);
    let Ok(capabilities) = capabilities else { return };
    trial.secrets.clone_from(&capabilities.secrets);
    requests(trial);
    if !validates(trial, &capabilities) {
        return;
    }
    let [first, second, nobody] = trial.subject.claims.clone();
    let Some((machines, events)) = creates(trial, &first) else { return };
    creates_again(trial, &first, &machines);
    neighbours(trial, [&first, &second, &nobody]);
    killed(trial, &second, events);
    let rest = trial.listed(&[&first, &second, &nobody]);
    let none = rest.and_then(|rest| match rest.len() {
        0 => Ok(()),
        n => Err(format!("`list` still has {n} resources of claims that were destroyed")),
    });
    trial.rule("afterwards `list` has nothing of these claims", none);
    secrets(trial);
}

fn secrets(trial: &mut Trial<'_>) {
    const TEXT: &str = "no secret is in the output";
    let is_set = |name: &String| std::env::var(name).is_ok_and(|value| value.len() >= 8);
    if !trial.spilled.is_empty() {
        let names: BTreeSet<String> = trial.spilled.iter().cloned().collect();
        let names: Vec<String> = names.into_iter().collect();
        trial.rule(TEXT, Err(format!("the value of {} was in it", names.join(", "))));
    } else if trial.secrets.is_empty() || trial.secrets.iter().any(is_set) {
        trial.rule(TEXT, Ok(()));
    } else {
        let why = format!("none of {} is set to 8 characters or more", trial.secrets.join(", "));
        trial.unchecked(TEXT, &why);
    }
}

fn sound(capabilities: &Capabilities) -> Result<(), String> {
    let major = |version: &str| version.split('.').next().unwrap_or_default().to_owned();
    if major(&capabilities.protocol) != major(VERSION) {
        return Err(format!("it speaks version {}, this diskproof {VERSION}", capabilities.protocol));
    }
    let all = capabilities.settings.iter().chain(&capabilities.volume_settings);
    for (key, setting) in all {
        if setting.about.trim().is_empty() {
            return Err(format!("setting `{key}` has no `about`"));
        }
        if setting.required && setting.default.is_some() {
            return Err(format!("setting `{key}` is required and has a default"));
        }
        if let Some(default) = &setting.default {
            let one: Settings = [(key.clone(), default.clone())].into_iter().collect();
            let known = [(key.clone(), setting.clone())].into();
            if let Some(wrong) =
                merge(&known, &[], &|_| None, &[Source { name: "default", settings: &one }]).wrong.first()
            {
                return Err(format!("the default of `{key}` is wrong: {}", wrong.text));
            }
        }
    }
    if let Some((key, variable)) = capabilities.kept_secret() {
        return Err(format!("setting `{key}` takes its value from {variable}, which is a secret"));
    }
    if capabilities.name.is_empty() || capabilities.about.trim().is_empty() {
        return Err("`name` or `about` is empty".to_owned());
    }
    Ok(())
}

/// What is no valid request is refused with a failure; what is only unknown is ignored.
fn requests(trial: &mut Trial<'_>) {
    let refused = |answer: Result<Answer, CallError>| match answer {
        Err(CallError::Failed { .. }) => Ok(()),
        Ok(_) => Err("it was done".to_owned()),
        Err(error) => Err(error.to_string()),
    };
    let answer = trial.send(b"{ this is no JSON");
    trial.rule("a request that is no JSON is refused with a failure", refused(answer));
    let answer = trial.send(br#"{"protocol":"999.0","do":"capabilities"}"#);
    trial.rule("another major version of the protocol is refused with a failure", refused(answer));
    let answer = trial.send(format!(r#"{{"protocol":"{VERSION}","do":"no_such_task"}}"#).as_bytes());
    trial.rule("an unknown task is refused with a failure", refused(answer));
    let answer =
        trial.send(format!(r#"{{"protocol":"{VERSION}","do":"capabilities","newer":1}}"#).as_bytes());
    let kept = answer.map(|_| ()).map_err(|error| error.to_string());
    trial.rule("a key of a newer minor version is ignored", kept);
}

fn validates(trial: &mut Trial<'_>, capabilities: &Capabilities) -> bool {
    let machine = machine(trial, "m1");
    let ask = |trial: &mut Trial<'_>, machine: MachineRequest| match trial
        .ask(Task::Validate { machines: vec![machine] })
    {
        Ok((Answer::Valid(valid), _)) => Ok(valid),
        Ok(_) => Err("it answered another task".to_owned()),
        Err(error) => Err(error.to_string()),
    };
    let valid = ask(trial, machine.clone()).and_then(|valid| match valid.problems.first() {
        Some(problem) => Err(format!("{}; give working settings by --settings FILE", in_words(problem))),
        None if valid.offers.len() != 1 => Err(format!("{} offers for one machine", valid.offers.len())),
        None if valid.offers.iter().any(|offer| offer.volumes.len() != machine.volumes.len()) => {
            Err("an offer has another number of volumes than its machine".to_owned())
        }
        None => Ok(()),
    });
    let works = valid.is_ok();
    trial.rule("`validate` takes the settings and makes an offer for each machine", valid);
    let mut wrong = machine;
    wrong.settings.insert(NO_SUCH_KEY.to_owned(), "x".into());
    let named =
        |problem: &Problem| problem.key.as_deref() == Some(NO_SUCH_KEY) || problem.text.contains(NO_SUCH_KEY);
    let kept = ask(trial, wrong).and_then(|valid| match valid.problems.iter().any(named) {
        true => Ok(()),
        false => Err(format!(
            "a machine with `{NO_SUCH_KEY}` gave {} problems, none about it",
            valid.problems.len()
        )),
    });
    trial.rule("`validate` refuses an unknown setting by its name", kept);
    let required =
        capabilities.settings.iter().find(|(_, setting)| setting.required && setting.environment.is_empty());
    if let Some((key, _)) = required {
        let mut less = self::machine(trial, "m1");
        less.settings.remove(key);
        let kept = ask(trial, less).and_then(|valid| match valid.problems.is_empty() {
            true => Err(format!("a machine without `{key}` gave no problem")),
            false => Ok(()),
        });
        trial.rule("`validate` misses a required setting", kept);
    }
    works
}

fn in_words(problem: &Problem) -> String {
    let key = problem.key.as_ref().map(|key| format!("`{key}`: ")).unwrap_or_default();
    format!("{key}{}", problem.text)
}

fn machine(trial: &Trial<'_>, name: &str) -> MachineRequest {
    MachineRequest { name: name.to_owned(), ..trial.subject.machine.clone() }
}

fn create(trial: &Trial<'_>, id: &str) -> Task {
    let machines = vec![machine(trial, "m1"), machine(trial, "m2")];
    Task::Create { claim: trial.claim(id), machines, ssh_public_key: KEY.to_owned() }
}

fn created(answer: Result<(Answer, Told), CallError>) -> Result<(Vec<Created>, Told), String> {
    match answer {
        Ok((Answer::Created { machines }, told)) => Ok((machines, told)),
        Ok(_) => Err("it answered another task".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Creates two machines. Returns them and the number of resources that were told; `None`: it doesn't create.
fn creates(trial: &mut Trial<'_>, id: &str) -> Option<(Vec<Created>, usize)> {
    let task = create(trial, id);
    let made = created(trial.ask(task));
    let volumes = trial.subject.machine.volumes.len();
    let kept = made.as_ref().map_err(Clone::clone).and_then(|(machines, _)| answered(machines, volumes));
    trial.rule("`create` answers with the machines and volumes in the order of the request", kept);
    let (machines, told) = made.ok()?;
    let exists = |kind: ResourceKind, id: &str| {
        told.iter().any(|(one, made)| *made && one.kind == kind && one.id == id)
    };
    let untold = machines.iter().find_map(|machine| {
        let volume = machine.volumes.iter().find(|volume| !exists(ResourceKind::Volume, &volume.id));
        let whole = (!exists(ResourceKind::Machine, &machine.id)).then(|| machine.id.clone());
        whole.or_else(|| volume.map(|volume| volume.id.clone()))
    });
    let kept = untold.map_or(Ok(()), |id| Err(format!("{id} was created, and no event told of it")));
    trial.rule("an event tells of each machine and volume when it exists", kept);
    let kept = match trial.ask(Task::Status { claim: trial.claim(id), settings: trial.settings.clone() }) {
        Ok((Answer::Status { machines: now }, _)) => {
            let ids = |all: Vec<&str>| all.into_iter().map(str::to_owned).collect::<BTreeSet<String>>();
            let (made, now) = (
                ids(machines.iter().map(|m| m.id.as_str()).collect()),
                ids(now.iter().map(|m| m.id.as_str()).collect()),
            );
            if made == now { Ok(()) } else { Err(format!("it created {made:?}, and `status` has {now:?}")) }
        }
        Ok(_) => Err("it answered another task".to_owned()),
        Err(error) => Err(error.to_string()),
    };
    trial.rule("`status` has the claim's machines", kept);
    let claim = trial.claim(id);
    let kept = trial.listed(&[id]).and_then(|all| {
        let missing = machines.iter().find(|machine| !all.iter().any(|one| one.resource.id == machine.id));
        let other = all.iter().find(|one| one.claim != claim);
        match (missing, other) {
            (Some(machine), _) => Err(format!("machine {} is missing", machine.id)),
            (None, Some(other)) => Err(format!(
                "{} has the claim {:?}, and was created with {claim:?}",
                other.resource.id, other.claim
            )),
            (None, None) => Ok(()),
        }
    });
    trial.rule("`list` has them with the claim's id, run and deadline", kept);
    let count = told.iter().filter(|(_, made)| *made).count();
    Some((machines, count))
}

fn answered(machines: &[Created], volumes: usize) -> Result<(), String> {
    let names: Vec<&str> = machines.iter().map(|machine| machine.name.as_str()).collect();
    if names != ["m1", "m2"] {
        return Err(format!("asked for m1 and m2, it answered with {names:?}"));
    }
    let mut seen = BTreeSet::new();
    for machine in machines {
        if machine.address.is_empty() || machine.user.is_empty() {
            return Err(format!("machine {} has no address or no user", machine.id));
        }
        if machine.volumes.len() != volumes {
            return Err(format!(
                "machine {} has {} volumes in place of {volumes}",
                machine.id,
                machine.volumes.len()
            ));
        }
        for volume in &machine.volumes {
            let (DeviceName::Serial(name) | DeviceName::Link(name)) = &volume.device;
            if name.is_empty() || volume.size_bytes == 0 {
                return Err(format!("volume {} has no device or no size", volume.id));
            }
            let is_placed = |backing: &Backing| !backing.host.is_empty() && backing.path.starts_with('/');
            if !volume.backing.as_ref().is_none_or(is_placed) {
                return Err(format!("the backing of volume {} has no host or no absolute path", volume.id));
            }
        }
        let ids = machine.volumes.iter().map(|volume| (ResourceKind::Volume, &volume.id));
        if let Some((_, twice)) =
            ids.chain([(ResourceKind::Machine, &machine.id)]).find(|one| !seen.insert((one.0, one.1.clone())))
        {
            return Err(format!("the id {twice} is there twice"));
        }
    }
    Ok(())
}

/// The same claim and names return the same machines.
fn creates_again(trial: &mut Trial<'_>, id: &str, first: &[Created]) {
    let before = trial.listed(&[id]);
    let task = create(trial, id);
    let again = created(trial.ask(task));
    let after = trial.listed(&[id]);
    let ids = |listed: &[crate::protocol::Listed]| -> BTreeSet<(ResourceKind, String)> {
        listed.iter().map(|one| (one.resource.kind, one.resource.id.clone())).collect()
    };
    let kept = again.and_then(|(machines, _)| {
        let (was, now) = (identities(first), identities(&machines));
        if was != now {
            return Err(format!("first it returned {}, then {}", was.join(", "), now.join(", ")));
        }
        let (before, after) = (ids(&before?), ids(&after?));
        match before == after {
            true => Ok(()),
            false => Err(format!("before there were {} resources, then {}", before.len(), after.len())),
        }
    });
    trial.rule(
        "`create` again with the same claim and names returns the same machines and makes nothing more",
        kept,
    );
}

/// Names and ids of machines, with those of their volumes.
fn identities(machines: &[Created]) -> Vec<String> {
    let one = |machine: &Created| {
        let mut volumes: Vec<String> =
            machine.volumes.iter().map(|volume| format!("{} {}", volume.name, volume.id)).collect();
        volumes.sort();
        format!("{} {} ({})", machine.name, machine.id, volumes.join(", "))
    };
    machines.iter().map(one).collect()
}

fn destroy(trial: &mut Trial<'_>, id: &str) -> Result<usize, String> {
    match trial.ask(Task::Destroy { claim: trial.claim(id), settings: trial.settings.clone() }) {
        Ok((Answer::Destroyed { removed, left }, _)) => match left.first() {
            Some(left) => Err(format!("{} is left: {}", left.resource.id, left.why)),
            None => Ok(removed.len()),
        },
        Ok(_) => Err("it answered another task".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// `destroy` removes what its own claim has, and nothing else.
fn neighbours(trial: &mut Trial<'_>, [first, second, nobody]: [&str; 3]) {
    let task = create(trial, second);
    let made = created(trial.ask(task)).map(drop);
    let theirs = made.and_then(|()| trial.listed(&[second]));
    let of_nobody = destroy(trial, nobody);
    let after = trial.listed(&[first, second]);
    let kept = of_nobody.and_then(|removed| match (removed, after?.is_empty()) {
        (0, false) => Ok(()),
        (0, true) => Err("the machines of other claims are gone".to_owned()),
        (n, _) => Err(format!("it removed {n} resources")),
    });
    trial.rule("`destroy` of a claim that has nothing removes nothing, and is no error", kept);
    let removed = destroy(trial, first);
    let rest = trial.listed(&[first]);
    let kept = removed.and_then(|removed| match (removed, rest?.len()) {
        (0, _) => Err("it says that it removed nothing".to_owned()),
        (_, 0) => Ok(()),
        (_, n) => Err(format!("`list` still has {n} of its resources")),
    });
    trial.rule("`destroy` removes all that its claim has", kept);
    let now = trial.listed(&[second]);
    let kept = theirs.and_then(|before| {
        let (before, now) = (before.len(), now?.len());
        if before == now && now > 0 {
            Ok(())
        } else {
            Err(format!("the other claim had {before} resources, and now has {now}"))
        }
    });
    trial.rule("`destroy` touches no other claim", kept);
    let kept = destroy(trial, first).and_then(|removed| match removed {
        0 => Ok(()),
        n => Err(format!("it removed {n} resources that were gone")),
    });
    trial.rule("`destroy` again is no error and removes nothing", kept);
    let _ = destroy(trial, second);
}

/// A driver that is killed in the middle of `create` leaves only what `destroy` finds.
fn killed(trial: &mut Trial<'_>, id: &str, events: usize) {
    const TEXT: &str = "`destroy` finds what a `create` left that was killed in the middle";
    let mut cut = 0;
    let mut kept = Ok(());
    let moments: BTreeSet<usize> =
        [1, 2, events.div_ceil(2), events].into_iter().filter(|at| *at > 0).collect();
    for at in moments {
        let task = create(trial, id);
        cut += usize::from(trial.kill_at(at, task));
        let gone = destroy(trial, id);
        let rest = trial.listed(&[id]);
        kept = kept.and_then(|()| match (gone?, rest?.len()) {
            (_, 0) => Ok(()),
            (_, n) => {
                Err(format!("killed at its event {at}, it left {n} resources that `destroy` didn't remove"))
            }
        });
    }
    match (&kept, cut) {
        (Ok(()), 0) => trial.unchecked(TEXT, "it was always done before it was killed"),
        _ => trial.rule(TEXT, kept),
    }
}
