//! Checks that a driver keeps to the protocol: anybody's driver can be run through it. It creates machines and destroys them again.

mod rules;

use crate::call::{CallError, Heard, How, call, converse};
use crate::program::Program;
use crate::protocol::{Answer, Capabilities, Claim, Event, Listed, MachineRequest, Resource, Settings, Task};
use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The public key that test machines get. Its private half was thrown away.
const KEY: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ4Wn8hHnVdzPTIyVqPc3nYJpGnFX1YX1VXzXwYHqkQe diskproof-driver-check";

/// The run of a check's claims.
pub const RUN: &str = "driver-check";

/// How a rule was kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kept {
    /// The driver keeps it.
    Yes,
    /// The driver does something else.
    No(String),
    /// It could not be checked.
    Unchecked(String),
}

/// A rule of the protocol, and whether the driver keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The rule, in one sentence.
    pub text: &'static str,
    /// Whether it was kept.
    pub kept: Kept,
}

/// What to check a driver with.
#[derive(Debug)]
pub struct Subject<'a> {
    /// The driver's program.
    pub program: &'a Program,
    /// A machine that it can create.
    pub machine: MachineRequest,
    /// The ids of three claims, drawn at random: two that create machines, and one that has nothing.
    pub claims: [String; 3],
    /// The longest time of one request.
    pub limit: Duration,
    /// When the claims end, in seconds since 1970 (UTC).
    pub deadline: u64,
    /// Ends the check when it is set. What was created is destroyed nevertheless.
    pub cancel: &'a AtomicBool,
    /// The locked file of each claim, which the driver holds while it works on it; as of [`How::request_file`].
    pub locks: [Option<&'a File>; 3],
}

/// What a check tells.
#[derive(Debug)]
pub enum News<'a> {
    /// A rule was checked.
    Rule(&'a Rule),
    /// The driver says that a claim has something, or has it no more.
    Resource {
        /// The claim's id.
        claim: &'a str,
        /// What it is.
        resource: &'a Resource,
        /// Whether it exists.
        exists: bool,
    },
}

/// Checks all rules in turn; `tell` gets each when it was checked. Afterwards it destroys whatever the check's claims have. Returns what could
/// not be destroyed.
pub fn check(subject: &Subject<'_>, tell: &mut dyn FnMut(News<'_>)) -> Vec<String> {
    let mut trial = Trial {
        subject,
        tell,
        secrets: Vec::new(),
        spilled: Vec::new(),
        settings: subject.machine.settings.clone(),
        has_created: false,
        is_over: false,
    };
    rules::all(&mut trial);
    trial.is_over = true;
    let mut left = Vec::new();
    let claims: &[String] = if trial.has_created { &subject.claims } else { &[] };
    for id in claims {
        match trial.ask(Task::Destroy { claim: trial.claim(id), settings: trial.settings.clone() }) {
            Ok((Answer::Destroyed { left: more, .. }, _)) => {
                left.extend(
                    more.iter()
                        .map(|left| format!("{} {}: {}", left.resource.name, left.resource.id, left.why)),
                );
            }
            Ok(_) => {}
            Err(error) => left.push(format!("claim {id}: {error}")),
        }
    }
    left
}

fn claim_of(task: &Task) -> Option<String> {
    match task {
        Task::Create { claim, .. } | Task::Status { claim, .. } | Task::Destroy { claim, .. } => {
            Some(claim.id.clone())
        }
        Task::Capabilities | Task::Validate { .. } | Task::List { .. } => None,
    }
}

/// A check that is going on.
struct Trial<'a> {
    subject: &'a Subject<'a>,
    tell: &'a mut dyn FnMut(News<'_>),
    /// The names of the driver's secrets.
    secrets: Vec<String>,
    /// The names of secrets whose value was in the output.
    spilled: Vec<String>,
    settings: Settings,
    /// Whether the driver was asked to create something.
    has_created: bool,
    /// Whether the rules are done, so that only what is left is destroyed.
    is_over: bool,
}

/// What was said of resources during a call, in order.
type Told = Vec<(Resource, bool)>;

/// Sends a request to a program, and passes on what it says.
type Ask<'a> = dyn FnMut(&Program, &How<'_>, &mut dyn FnMut(Heard<'_>)) -> Result<Answer, CallError> + 'a;

impl Trial<'_> {
    fn rule(&mut self, text: &'static str, kept: Result<(), String>) {
        if self.is_cancelled() {
            return self.unchecked(text, "the check was interrupted");
        }
        let kept = kept.map_or_else(Kept::No, |()| Kept::Yes);
        (self.tell)(News::Rule(&Rule { text, kept }));
    }

    fn is_cancelled(&self) -> bool {
        !self.is_over && self.subject.cancel.load(Ordering::Relaxed)
    }

    fn unchecked(&mut self, text: &'static str, why: &str) {
        (self.tell)(News::Rule(&Rule { text, kept: Kept::Unchecked(why.to_owned()) }));
    }

    fn claim(&self, id: &str) -> Claim {
        Claim { id: id.to_owned(), run: RUN.to_owned(), deadline: self.subject.deadline }
    }

    /// Asks the driver, and gathers what it tells of resources.
    fn ask(&mut self, task: Task) -> Result<(Answer, Told), CallError> {
        let mut told = Vec::new();
        let claim = claim_of(&task);
        let ask = &mut |program: &Program, how: &How<'_>, heard: &mut dyn FnMut(Heard<'_>)| {
            call(program, task.clone(), how, heard)
        };
        self.has_created |= matches!(task, Task::Create { .. });
        let answer = self.hear(ask, claim.as_deref(), None, &mut told)?;
        Ok((answer, told))
    }

    /// Sends any bytes.
    fn send(&mut self, request: &[u8]) -> Result<Answer, CallError> {
        let ask = &mut |program: &Program, how: &How<'_>, heard: &mut dyn FnMut(Heard<'_>)| {
            converse(program, request, how, heard)
        };
        self.hear(ask, None, None, &mut Vec::new())
    }

    /// Kills the driver with its children at its `nth` event, counted from 1. Returns whether it was still at work.
    fn kill_at(&mut self, nth: usize, task: Task) -> bool {
        let claim = claim_of(&task);
        let ask = &mut |program: &Program, how: &How<'_>, heard: &mut dyn FnMut(Heard<'_>)| {
            call(program, task.clone(), how, heard)
        };
        let answer = self.hear(ask, claim.as_deref(), Some(nth), &mut Vec::new());
        matches!(answer, Err(CallError::Cancelled { .. }))
    }

    fn hear(
        &mut self,
        ask: &mut Ask<'_>,
        claim: Option<&str>,
        kill_at: Option<usize>,
        told: &mut Told,
    ) -> Result<Answer, CallError> {
        if self.is_cancelled() {
            return Err(CallError::Cancelled { driver: self.subject.program.name.clone() });
        }
        let own = AtomicBool::new(false);
        // A driver that is killed on purpose ends at once anyway; one that destroys what is left is not interrupted.
        let cancel = if kill_at.is_some() || self.is_over { &own } else { self.subject.cancel };
        let lock = self.subject.claims.iter().zip(self.subject.locks);
        let lock = lock.into_iter().find(|(id, _)| Some(id.as_str()) == claim).and_then(|(_, lock)| lock);
        let grace = if kill_at.is_some() { Duration::ZERO } else { Duration::from_secs(20) };
        let how = How {
            secrets: &self.secrets,
            limit: self.subject.limit,
            cancel: Some(cancel),
            grace,
            request_file: lock,
            // Else it may be done before it is killed.
            in_step: kill_at.is_some(),
        };
        let mut count = 0;
        let mut output = String::new();
        let answer = ask(self.subject.program, &how, &mut |heard| match heard {
            Heard::Event(event) => {
                count += 1;
                if kill_at == Some(count) {
                    own.store(true, Ordering::Relaxed);
                }
                output.push_str(&serde_json::to_string(event).unwrap_or_default());
                if let Event::Resource { resource, exists } = event {
                    told.push((resource.clone(), *exists));
                    // What is noted durably takes time, in which a driver that is to be killed would end by itself.
                    if let Some(claim) = claim.filter(|_| kill_at.is_none()) {
                        (self.tell)(News::Resource { claim, resource, exists: *exists });
                    }
                }
            }
            Heard::Line(line) => output.push_str(line),
        });
        for (resource, exists) in told.iter().filter(|_| kill_at.is_some()) {
            (self.tell)(News::Resource { claim: claim.unwrap_or_default(), resource, exists: *exists });
        }
        output.push_str(&match &answer {
            Ok(answer) => serde_json::to_string(answer).unwrap_or_default(),
            Err(error) => error.to_string(),
        });
        let spilled = self.secrets.iter().filter(|name| {
            let value = std::env::var(name).unwrap_or_default();
            // A shorter one may be in the output by chance.
            value.len() >= 8 && output.contains(&value)
        });
        self.spilled.extend(spilled.cloned());
        answer
    }

    fn capabilities(&mut self) -> Result<Capabilities, String> {
        match self.ask(Task::Capabilities) {
            Ok((Answer::Capabilities(capabilities), _)) => Ok(capabilities),
            Ok(_) => Err("it answered another task".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// What the account has of this check's claims.
    fn listed(&mut self, ids: &[&str]) -> Result<Vec<Listed>, String> {
        match self.ask(Task::List { settings: self.settings.clone() }) {
            Ok((Answer::Listed { resources }, _)) => {
                Ok(resources.into_iter().filter(|one| ids.contains(&one.claim.id.as_str())).collect())
            }
            Ok(_) => Err("it answered another task".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }
}
