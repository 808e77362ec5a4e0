//! Sends what a copy lacks, while no trial runs.

use super::layout::{
    FORMAT, Head, experiment_key, head_key, key_of_place, pack, plan_key, trials_key, unpack, unreadable,
};
use super::lease::{Claim, Controller, Holder, LeaseError, Moment};
use super::objects::Objects;
use crate::digest::Digest;
use crate::error::ShareError;
use crate::s3::{Condition, Put};
use record::id::{RunId, TrialId};
use record::plan::Raised;
use record::trial::TrialRecord;
use std::collections::{BTreeSet, VecDeque};
use std::time::{Duration, Instant};
use store::{Store, TrialPlace};

/// Pause after the first failure; it doubles with each further one, up to 32 times.
const PAUSE: Duration = Duration::from_secs(10);

/// The clock, as a parameter, so that tests can set it.
pub type Clock<'a> = &'a dyn Fn() -> Moment;

/// Sends a run's records to its copy. The store has them all, so nothing is lost if it fails.
pub struct Sender {
    objects: Box<dyn Objects>,
    run: RunId,
    holder: Holder,
    /// The last trial of the store that was looked at.
    after: Option<TrialPlace>,
    /// Trials that aren't known to be there, in the order of the store.
    pending: VecDeque<TrialPlace>,
    /// Whether `pending` knows what was there before.
    knows_there: bool,
    /// SHA-256 of the plan's object, once that is there.
    plan_digest: Option<String>,
    /// The head as it is there.
    head: Option<Vec<u8>>,
    failures: u32,
    retry_at: Option<Instant>,
}

/// What a pass did.
#[derive(Debug, Default)]
pub struct Sent {
    /// Number of trials that were sent.
    pub trials: u64,
    /// Number of trials that are still to be sent.
    pub unsent: u64,
    /// Trials that another controller made as well and sent first; this controller's stay in its own store only.
    pub others: Vec<TrialId>,
    /// Why not all was sent. `None`: all was, or the time was over, or it isn't time to try again yet.
    pub failure: Option<ShareError>,
}

impl Sender {
    /// A sender that has asked the destination nothing yet. Its leases last `lease`.
    #[must_use]
    pub fn new(objects: Box<dyn Objects>, run: &RunId, me: Controller, lease: Duration) -> Self {
        Self {
            objects,
            run: run.clone(),
            holder: Holder::new(run.clone(), me, lease),
            after: None,
            pending: VecDeque::new(),
            knows_there: false,
            plan_digest: None,
            head: None,
            failures: 0,
            retry_at: None,
        }
    }

    /// Sets how long a lease lasts from now on.
    pub fn set_lease(&mut self, lease: Duration) {
        self.holder.set_lease(lease);
    }

    /// The destination.
    #[must_use]
    pub fn objects(&self) -> &dyn Objects {
        &*self.objects
    }

    /// Takes the run's lease, as [`Holder::claim`].
    ///
    /// # Errors
    /// As [`Holder::claim`].
    pub fn claim(&mut self, now: Moment, take_over: bool) -> Result<Claim, LeaseError> {
        self.holder.claim(&*self.objects, now, take_over)
    }

    /// Renews the lease and does nothing else. A destination that doesn't answer is no error.
    ///
    /// # Errors
    /// Another controller has the run, or has taken it over.
    pub fn renew(&mut self, now: Moment) -> Result<(), LeaseError> {
        match self.holder.keep(&*self.objects, now) {
            Err(LeaseError::Share(_)) | Ok(()) => Ok(()),
            Err(lost) => Err(lost),
        }
    }

    /// Renews the lease and sends what the copy lacks, until `until`. After a failure, it does nothing for a while, unless it is told to
    /// `insist`.
    ///
    /// # Errors
    /// Another controller has the run, or has taken it over. That the destination doesn't answer is told in [`Sent::failure`].
    pub fn pass(
        &mut self,
        store: &Store,
        clock: Clock<'_>,
        until: Instant,
        insist: bool,
    ) -> Result<Sent, LeaseError> {
        let mut sent = Sent::default();
        let now = clock();
        let waits = !insist && self.retry_at.is_some_and(|at| now.at < at);
        let done = self
            .look(store)
            .and_then(|()| if waits { Ok(()) } else { self.send(store, clock, until, &mut sent) });
        sent.unsent = self.pending.len() as u64;
        match done {
            Ok(()) if waits => {}
            Ok(()) => {
                self.failures = 0;
                self.retry_at = None;
            }
            Err(LeaseError::Share(error)) => {
                self.retry_at = Some(clock().at + PAUSE * 2_u32.pow(self.failures.min(5)));
                self.failures = self.failures.saturating_add(1);
                sent.failure = Some(error);
            }
            Err(lost) => return Err(lost),
        }
        Ok(sent)
    }

    /// Gives the lease back, as [`Holder::give_back`].
    ///
    /// # Errors
    /// As [`Holder::give_back`].
    pub fn give_back(&mut self, now: Moment) -> Result<(), ShareError> {
        self.holder.give_back(&*self.objects, now)
    }

    /// Adds the trials that the store got meanwhile.
    fn look(&mut self, store: &Store) -> Result<(), LeaseError> {
        let new = store.trials_since(&self.run, self.after.as_ref()).map_err(ShareError::from)?;
        if let Some(last) = new.last() {
            self.after = Some(last.clone());
        }
        self.pending.extend(new);
        Ok(())
    }

    fn send(
        &mut self,
        store: &Store,
        clock: Clock<'_>,
        until: Instant,
        sent: &mut Sent,
    ) -> Result<(), LeaseError> {
        self.holder.keep(&*self.objects, clock())?;
        if !self.knows_there {
            let there: BTreeSet<String> = self.objects.keys(&trials_key(&self.run))?.into_iter().collect();
            let run = &self.run;
            self.pending.retain(|place| !there.contains(&key_of_place(run, place)));
            self.knows_there = true;
        }
        self.send_head(store)?;
        while let Some(place) = self.pending.front() {
            if clock().at >= until {
                break;
            }
            if self.send_trial(store, place)? {
                sent.trials += 1;
            } else {
                sent.others.push(place.id.clone());
            }
            self.pending.pop_front();
        }
        Ok(())
    }

    /// Sends the run without its trials, where it has changed. The plan comes first, so that a head never stands without one.
    fn send_head(&mut self, store: &Store) -> Result<(), ShareError> {
        let plan_digest = match &self.plan_digest {
            Some(digest) => digest.clone(),
            None => self.send_plan(store)?,
        };
        let head = store.head(&self.run)?;
        let made = store.plan_as_made(&self.run)?;
        let summary = store.runs()?.into_iter().find(|summary| summary.id == self.run);
        let head = Head {
            format: FORMAT,
            run: self.run.clone(),
            experiment: head.plan.experiment.clone(),
            started_unix_ms: summary.as_ref().map_or(0, |summary| summary.started_unix_ms),
            trials_planned: summary.map_or(0, |summary| summary.trials_planned),
            plan_digest,
            raised: (head.plan != made).then(|| Raised::of(&head.plan)),
            environment: head.environment,
            volumes: head.volumes,
            stopped: head.stopped,
        };
        let bytes = serde_json::to_vec(&head)
            .map_err(|error| ShareError::Pack { what: format!("run {}", self.run), source: error.into() })?;
        if self.head.as_ref() != Some(&bytes) {
            self.objects.put(&head_key(&self.run), &bytes, &Condition::None)?;
            self.head = Some(bytes);
        }
        Ok(())
    }

    /// Sends the plan and the experiment file, and returns the digest of the plan's object.
    fn send_plan(&mut self, store: &Store) -> Result<String, ShareError> {
        let (key, plan) = (plan_key(&self.run), store.plan_as_made(&self.run)?);
        let mut bytes = pack("a plan", &plan)?;
        if self.objects.put(&key, &bytes, &Condition::IfAbsent)? == Put::Refused {
            let there =
                self.objects.get(&key)?.ok_or_else(|| unreadable(&key, "it comes and goes".to_owned()))?;
            if unpack::<record::plan::Plan>(&key, &there.bytes)? != plan {
                let why = "it is the plan of another run of the same name".to_owned();
                return Err(unreadable(&key, why));
            }
            // Another version may have compressed it otherwise.
            bytes = there.bytes;
        }
        self.objects.put(&experiment_key(&self.run), plan.source.as_bytes(), &Condition::None)?;
        let digest = Digest::of(&bytes).to_string();
        self.plan_digest = Some(digest.clone());
        Ok(digest)
    }

    /// Sends a trial. Returns false if another one of the same name is there.
    fn send_trial(&self, store: &Store, place: &TrialPlace) -> Result<bool, ShareError> {
        let key = key_of_place(&self.run, place);
        let trial = store.trial_at(&self.run, place)?;
        if self.objects.put(&key, &pack("a trial", &trial)?, &Condition::IfAbsent)? != Put::Refused {
            return Ok(true);
        }
        let there =
            self.objects.get(&key)?.ok_or_else(|| unreadable(&key, "it comes and goes".to_owned()))?;
        Ok(unpack::<TrialRecord>(&key, &there.bytes)? == trial)
    }
}
