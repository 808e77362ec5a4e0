//! Removes what a claim has.

use super::account;
use super::aws::Aws;
use super::error::{AwsError, Ec2Error};
use super::found::{Found, state};
use crate::protocol::{Answer, Left, Resource};
use crate::serve::Teller;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// A claim that is removed.
pub(super) struct Destruction<'a, 't> {
    aws: &'a Aws<'a>,
    claim_id: &'a str,
    tell: &'a Teller<'t>,
    /// What was seen and is not gone yet, by id, with the last reason why it stays.
    remaining: BTreeMap<String, (Resource, Option<String>)>,
    removed: Vec<Resource>,
}

impl<'a, 't> Destruction<'a, 't> {
    pub(super) fn new(aws: &'a Aws<'a>, claim_id: &'a str, tell: &'a Teller<'t>) -> Self {
        Self { aws, claim_id, tell, remaining: BTreeMap::new(), removed: Vec::new() }
    }

    /// Removes until EC2 shows nothing in several looks one after the other: what an interrupted `create` asked for last may be shown late.
    /// The limit ends only the wait for what is there, counted from the last resource that went: machines go before their group can.
    pub(super) fn perform(mut self, limit: Duration) -> Result<Answer, Ec2Error> {
        let mut since = Instant::now();
        let mut empty_looks = 0;
        self.tell.step(None, "looking for what carries the claim's id");
        if let Some(account) = account::number(self.aws)? {
            self.tell.account(account);
        }
        loop {
            let found = Found::of_claim(self.aws, self.claim_id)?;
            if self.note(&found) {
                since = Instant::now();
            }
            empty_looks = if found.is_empty() { empty_looks + 1 } else { 0 };
            if empty_looks >= self.aws.pace().looks {
                break;
            }
            if !found.is_empty() {
                self.remove(&found);
                if since.elapsed() > limit {
                    break;
                }
            }
            std::thread::sleep(self.aws.pace().poll);
        }
        let left = self.remaining.into_values().map(|(resource, why)| Left {
            resource,
            why: why.unwrap_or_else(|| format!("EC2 still shows it after {} s", limit.as_secs())),
        });
        Ok(Answer::Destroyed { removed: self.removed, left: left.collect() })
    }

    /// Notes what is new and what is gone. Returns whether anything is gone.
    fn note(&mut self, found: &Found) -> bool {
        let gone = self.removed.len();
        let mut before = std::mem::take(&mut self.remaining);
        for (resource, _) in found.resources() {
            let why = before.remove(&resource.id).and_then(|(_, why)| why);
            self.remaining.insert(resource.id.clone(), (resource, why));
        }
        for (resource, _) in before.into_values() {
            self.tell.removed(resource.clone());
            self.removed.push(resource);
        }
        self.removed.len() > gone
    }

    /// Asks for the end of what can end now. Volumes end with their machine, and a group can go once no machine is in it.
    fn remove(&mut self, found: &Found) {
        let ending = |instance: &&Value| state(instance) != Some("shutting-down");
        let instances: Vec<_> =
            found.instances.iter().filter(ending).filter_map(|of| of["InstanceId"].as_str()).collect();
        if !instances.is_empty() {
            self.tell.step(None, format!("terminating {}", instances.join(", ")));
            self.ask("terminate-instances", &json!({"InstanceIds": instances}), &instances);
        }
        let is_free = |volume: &&Value| matches!(volume["State"].as_str(), Some("available" | "error"));
        for id in found.volumes.iter().filter(is_free).filter_map(|of| of["VolumeId"].as_str()) {
            self.ask("delete-volume", &json!({"VolumeId": id}), &[id]);
        }
        if found.instances.is_empty() {
            for id in found.groups.iter().filter_map(|of| of["GroupId"].as_str()) {
                self.ask("delete-security-group", &json!({"GroupId": id}), &[id]);
            }
        }
    }

    /// A refusal is no end: the next look tells whether it matters, and asks again.
    fn ask(&mut self, operation: &str, input: &Value, ids: &[&str]) {
        let why = self
            .aws
            .call(operation, input)
            .err()
            .filter(|error| !is_gone(error))
            .map(|error| error.to_string());
        for id in ids {
            if let Some((_, last)) = self.remaining.get_mut(*id) {
                last.clone_from(&why);
            }
        }
    }
}

fn is_gone(error: &AwsError) -> bool {
    error.code().is_some_and(|code| code.ends_with(".NotFound"))
}
