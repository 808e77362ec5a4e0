//! The driver: reads what is asked and has it done.

use super::api::{Api, ENDPOINT};
use super::credentials::{Credentials, METADATA, VARIABLE, ask_metadata};
use super::failure::{drivers, users};
use super::machine::{self, Asked, Machine, Place};
use super::pace::Pace;
use super::volume::Volume;
use super::{create, destroy, look, name, table};
use crate::protocol::{
    Answer, Claim, Failure, MachineRequest, Offer, Rates, Settings, Task, Valid, VolumeOffer,
};
use crate::serve::{Driver, Teller, text};
use serde_json::Value;

/// The driver for Google Compute Engine.
#[derive(Debug, Clone, Copy, Default)]
pub struct Gce {
    /// How patient it is.
    pub pace: Pace,
}

impl Driver for Gce {
    fn perform(&self, task: Task, tell: &Teller<'_>) -> Result<Answer, Failure> {
        match task {
            Task::Capabilities => Ok(Answer::Capabilities(table::capabilities())),
            Task::Validate { machines } => Ok(Answer::Valid(validate(&machines, tell))),
            Task::Create { claim, machines, ssh_public_key } => {
                self.create(&claim, &machines, &ssh_public_key, tell)
            }
            Task::Status { claim, settings } => {
                check(&claim)?;
                let is_private = settings.get("use_private_ip").and_then(Value::as_bool).unwrap_or(false);
                self.with_api(&settings, |api| look::status(api, &claim, is_private))
            }
            Task::Destroy { claim, settings } => {
                check(&claim)?;
                self.with_api(&settings, |api| {
                    tell.account(api.project.as_str());
                    destroy::destroy(api, &claim, tell)
                })
            }
            Task::List { settings } => self.with_api(&settings, look::list),
        }
    }
}

impl Gce {
    fn create(
        &self,
        claim: &Claim,
        requests: &[MachineRequest],
        key: &str,
        tell: &Teller<'_>,
    ) -> Result<Answer, Failure> {
        check(claim)?;
        let asked = read(requests, tell);
        if let Some(problem) = asked.problems.into_iter().next() {
            let text = format!("machine {}: {}", problem.machine, problem.text);
            return Err(Failure { help: problem.help, ..users(text, "") });
        }
        let key = key.trim();
        if key.is_empty() || key.contains(char::is_control) {
            return Err(drivers("the public key is not one line of authorized_keys"));
        }
        let Some(first) = requests.first() else { return Ok(Answer::Created { machines: Vec::new() }) };
        if requests.iter().any(|request| account(&request.settings) != account(&first.settings)) {
            return Err(users(
                "the machines differ in project, metadata or endpoint",
                "create them by several calls",
            ));
        }
        if Credentials::is_fixed() && is_over_an_hour_away(claim.deadline) {
            tell.warn(format!(
                "the token in {VARIABLE} lasts an hour at most: put a new one there before you destroy the machines after that time"
            ));
        }
        self.with_api(&first.settings, |api| {
            tell.account(api.project.as_str());
            let placed: Result<Vec<_>, Failure> =
                asked.machines.into_iter().map(|machine| placed(machine, &first.settings)).collect();
            Ok(Answer::Created { machines: create::create(api, claim, &placed?, key, tell)? })
        })
    }

    /// Does something with the API of the account that settings reach.
    fn with_api(
        &self,
        settings: &Settings,
        act: impl FnOnce(&Api<'_>) -> Result<Answer, Failure>,
    ) -> Result<Answer, Failure> {
        let metadata = metadata(settings);
        let project = match text(settings, "project").filter(|project| !project.is_empty()) {
            Some(project) => project.to_owned(),
            None => from_metadata(metadata.as_deref(), "project", "project/project-id")?,
        };
        if !project.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.:".contains(&byte)) {
            return Err(users("project is not an id of a project", "gcloud projects list shows them"));
        }
        let endpoint = text(settings, "endpoint").unwrap_or(ENDPOINT).trim_end_matches('/').to_owned();
        if !is_safe(&endpoint) {
            return Err(users(
                "endpoint would get the token without encryption",
                "use https://, or an address of this machine",
            ));
        }
        let credentials = Credentials::new(metadata);
        act(&Api { endpoint, project, credentials: &credentials, pace: self.pace })
    }
}

/// The settings that decide which account is reached, and how.
fn account(settings: &Settings) -> [Option<&Value>; 4] {
    ["project", "endpoint", "metadata", "metadata_endpoint"].map(|key| settings.get(key))
}

fn is_over_an_hour_away(deadline: u64) -> bool {
    let now = jiff::Timestamp::now().as_second();
    i64::try_from(deadline).is_ok_and(|deadline| deadline.saturating_sub(now) > 3600)
}

/// Whether a token may be sent there.
fn is_safe(endpoint: &str) -> bool {
    host::http::HttpUrl::parse(endpoint).is_ok_and(|url| url.is_tls() || url.is_loopback())
}

/// The address of the metadata server, if the user allows to ask it.
fn metadata(settings: &Settings) -> Option<String> {
    let is_allowed = settings.get("metadata").and_then(Value::as_bool).unwrap_or(false);
    is_allowed
        .then(|| text(settings, "metadata_endpoint").unwrap_or(METADATA).trim_end_matches('/').to_owned())
}

fn from_metadata(server: Option<&str>, key: &str, path: &str) -> Result<String, Failure> {
    let help = format!("set {key}");
    let server = server.ok_or_else(|| users(format!("{key} is missing"), &help))?;
    let told =
        ask_metadata(server, path).map_err(|why| users(format!("{key} is missing, and {why}"), &help))?;
    Ok(super::operation::last(told.trim()).to_owned())
}

/// A machine with the place that its settings or the metadata server name.
fn placed(mut machine: Machine, settings: &Settings) -> Result<(Machine, Place), Failure> {
    let place = match machine.place.take() {
        Some(place) => place,
        None => Place::Zone(from_metadata(metadata(settings).as_deref(), "zone", "instance/zone")?),
    };
    Ok((machine, place))
}

fn check(claim: &Claim) -> Result<(), Failure> {
    match name::is_claim_id(&claim.id) {
        true => Ok(()),
        false => Err(drivers("the claim's id is not 32 hexadecimal digits in lower case")),
    }
}

fn read(requests: &[MachineRequest], tell: &Teller<'_>) -> Asked {
    let asked = machine::read(requests);
    for warning in &asked.warnings {
        tell.warn(warning.as_str());
    }
    asked
}

fn validate(requests: &[MachineRequest], tell: &Teller<'_>) -> Valid {
    let asked = read(requests, tell);
    let offers = match asked.problems.is_empty() {
        true => asked.machines.iter().map(offer).collect(),
        false => Vec::new(),
    };
    Valid { problems: asked.problems, offers }
}

fn offer(machine: &Machine) -> Offer {
    let volume = |volume: &Volume| VolumeOffer { price: None, rates: volume.rates() };
    Offer { price: None, ceiling: Rates::default(), volumes: machine.volumes.iter().map(volume).collect() }
}
