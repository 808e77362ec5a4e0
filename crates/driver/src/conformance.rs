//! Checks that a driver keeps to the protocol: anybody's driver can be run through it. It creates machines and destroys them again.

mod rules;

use crate::call::{CallError, Heard, How, call, converse};
use crate::program::Program;
use crate::protocol::{Answer, Capabilities, Claim, Event, Listed, MachineRequest, Resource, Settings, Task};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The public key that test machines get. Its private half was thrown away.
const KEY: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ4Wn8hHnVdzPTIyVqPc3nYJpGnFX1YX1VXzXwYHqkQe diskproof-driver-check";

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
}

/// Checks all rules in turn; `tell` gets each when it was checked. Afterwards it destroys whatever the check's claims have. Returns what could
/// not be destroyed.
pub fn check(subject: &Subject<'_>, tell: &mut dyn FnMut(&Rule)) -> Vec<String> {
    let mut trial = Trial {
        subject,
        tell,
        secrets: Vec::new(),
        spilled: Vec::new(),
        settings: subject.machine.settings.clone(),
        has_created: false,
    };
    rules::all(&mut trial);
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

/// A check that is going on.
struct Trial<'a> {
    subject: &'a Subject<'a>,
    tell: &'a mut dyn FnMut(&Rule),
    /// The names of the driver's secrets.
    secrets: Vec<String>,
    /// The names of secrets whose value was in the output.
    spilled: Vec<String>,
    settings: Settings,
    /// Whether the driver was asked to create something.
    has_created: bool,
}

/// What was said of resources during a call, in order.
type Told = Vec<(Resource, bool)>;

/// Sends a request to a program, and passes on what it says.
type Ask<'a> = dyn FnMut(&Program, &How<'_>, &mut dyn FnMut(Heard<'_>)) -> Result<Answer, CallError> + 'a;

impl Trial<'_> {
    fn rule(&mut self, text: &'static str, kept: Result<(), String>) {
        let kept = kept.map_or_else(Kept::No, |()| Kept::Yes);
        (self.tell)(&Rule { text, kept });
    }

    fn unchecked(&mut self, text: &'static str, why: &str) {
        (self.tell)(&Rule { text, kept: Kept::Unchecked(why.to_owned()) });
    }

    fn claim(&self, id: &str) -> Claim {
        Claim { id: id.to_owned(), run: "driver-check".to_owned(), deadline: self.subject.deadline }
    }

    /// Asks the driver, and gathers what it tells of resources.
    fn ask(&mut self, task: Task) -> Result<(Answer, Told), CallError> {
        let mut told = Vec::new();
        self.has_created |= matches!(task, Task::Create { .. });
        let answer =
            self.hear(&mut |program, how, heard| call(program, task.clone(), how, heard), None, &mut told)?;
        Ok((answer, told))
    }

    /// Sends any bytes.
    fn send(&mut self, request: &[u8]) -> Result<Answer, CallError> {
        self.hear(&mut |program, how, heard| converse(program, request, how, heard), None, &mut Vec::new())
    }

    /// Kills the driver with its children at its `nth` event, counted from 1. Returns whether it was still at work.
    fn kill_at(&mut self, nth: usize, task: Task) -> bool {
        let answer = self.hear(
            &mut |program, how, heard| call(program, task.clone(), how, heard),
            Some(nth),
            &mut Vec::new(),
        );
        matches!(answer, Err(CallError::Cancelled { .. }))
    }

    fn hear(
        &mut self,
        ask: &mut Ask<'_>,
        kill_at: Option<usize>,
        told: &mut Told,
    ) -> Result<Answer, CallError> {
        let cancel = AtomicBool::new(false);
        let grace = if kill_at.is_some() { Duration::ZERO } else { Duration::from_secs(20) };
        let how = How {
            secrets: &self.secrets,
            limit: self.subject.limit,
            cancel: Some(&cancel),
            grace,
            request_file: None,
        };
        let mut count = 0;
        let mut output = String::new();
        let answer = ask(self.subject.program, &how, &mut |heard| match heard {
            Heard::Event(event) => {
                count += 1;
                if kill_at == Some(count) {
                    cancel.store(true, Ordering::Relaxed);
                }
                output.push_str(&serde_json::to_string(event).unwrap_or_default());
                if let Event::Resource { resource, exists } = event {
                    told.push((resource.clone(), *exists));
                }
            }
            Heard::Line(line) => output.push_str(line),
        });
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
